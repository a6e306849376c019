"""Writes a study's run records and its card anew from their originals, whole or not at all.

`python -m draftdepth.reports.provenance_files STUDY_FOLDER ORIGINALS_FOLDER` writes `runs/` and `CARD.md`.
"""

import sys
from pathlib import Path

from ..data.errors import DraftdepthError
from ..data.readers.provenance import build, read_sources
from .output import write_whole


def main(arguments: list[str]) -> int:
    """Write the records and the card of one study anew; 0 done, 2 bad input."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m draftdepth.reports.provenance_files STUDY_FOLDER ORIGINALS_FOLDER\n")
        return 2
    study, originals = map(Path, arguments)
    try:
        files = build(read_sources(study), originals)
        write_whole(study, files, originals.iterdir())
    except DraftdepthError as error:
        sys.stderr.write(f"draftdepth: {error}\n")
        return 2
    sys.stdout.write(f"{len(files)} files written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
