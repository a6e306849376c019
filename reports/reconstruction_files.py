"""Writes the SYNTHETIC records of the study `sp2` anew from its published figures, whole or not at all.

`python -m draftdepth.reports.reconstruction_files OUT_DIR` says as well whether the screen prints of them what was published.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from ..analysis.reconstruction import misprints, reconstruct
from ..data.errors import DraftdepthError
from ..data.inputs import usable_inputs
from ..data.study import load_study
from .output import write_whole


def main(words: Sequence[str]) -> int:
    """Write the records below a folder; 0 done, 2 bad input, 4 records of which the screen prints something else."""
    if len(words) != 1:
        sys.stderr.write("usage: python -m draftdepth.reports.reconstruction_files OUT_DIR\n")
        return 2
    study, folder = load_study("sp2"), Path(words[0])
    files = reconstruct(study)
    try:
        write_whole(folder, files)
        said = misprints(study, usable_inputs(study, {key: folder / root for key, root in study.roots.items()}))
    except DraftdepthError as error:
        sys.stderr.write(f"draftdepth: {error}\n")
        return 2
    (sys.stderr if said else sys.stdout).write("\n".join(said or sorted(files)) + "\n")
    return 4 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
