"""Engine output to run records: each record is checked before the file is written, whole or not at all."""

import json
from collections.abc import Sequence
from pathlib import Path

from ..data.errors import InputError, MissingInputError
from ..data.faults import Fault, faults_alone
from ..data.jsonl import faults_across
from ..data.readers import FORMATS, ReaderOptions
from ..data.records import Run, parse_run
from ..data.study import first_of
from .output import write_whole

LARGEST_SOURCE = 1 << 30  # bytes


def list_formats() -> str:
    """What can be read, with the evidence that each format holds and what it lacks."""
    return "".join(
        f"{form.name}: {form.summary}\n  evidence: {form.evidence}\n  lacks: {form.lacks}\n" for form in FORMATS.values()
    )


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_SOURCE:
            raise InputError(f"{path}: found more than {LARGEST_SOURCE >> 30} GiB; a smaller file would do")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise MissingInputError(f"{path}: found nothing; a file that is there would do") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}; a file that this user may read would do") from error


def convert_files(format_name: str, paths: Sequence[Path], options: ReaderOptions, target: Path) -> tuple[str, list[str]]:
    """Convert sources of one format into one run-record file.

    Returns
    -------
    said, warned
        What goes to stdout, and the warnings and notes for stderr.

    Raises
    ------
    InputError
        The format is unknown, a source cannot be used, or a record would not pass `draftdepth check`.
    """
    form = FORMATS.get(format_name)
    if form is None:
        raise InputError(f"no format is called {format_name!r}; there are: {', '.join(sorted(FORMATS))}")
    rows: list[dict[str, object]] = []
    told: list[str] = []
    placed: list[tuple[str, int, Run]] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            conversion = form.convert(_read(path), options)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        told += [f"warning: {path}: {warning}" for warning in conversion.warnings]
        told += [f"note: {path}: {note}" for note in conversion.notes]
        for number, row in enumerate(conversion.records, 1):
            run, found = parse_run(row, f"{path}, record", number)
            faults += found
            if run is not None:
                placed.append((f"{path}, record", number, run))
        rows += conversion.records
    faults += faults_across(placed)
    if refused := faults_alone(faults):
        raise InputError(first_of(refused))
    if not rows:
        raise InputError(f"no run record in {', '.join(map(str, paths))}: {'; '.join(told) or 'nothing usable was found'}")
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_whole(target.parent, {target.name: text})
    return f"{len(rows)} run records in {target}\n", told
