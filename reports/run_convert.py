"""Engine output to run records: each record is checked before the file is written, whole or not at all."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.errors import InputError
from ..data.faults import Fault, faults_alone, first_of, warnings_alone
from ..data.jsonl import faults_across
from ..data.readers import FORMATS, Format, ReaderOptions, Source, recognised
from ..data.records import parse_run
from ..data.run_record import Run
from .output import write_whole

AUTO = "auto"


def list_formats() -> str:
    """What can be read, with the evidence that each format holds and what it lacks."""
    return "".join(
        f"{form.name}: {form.summary}\n  evidence: {form.evidence}\n  lacks: {form.lacks}\n"
        for form in FORMATS.values()
    )


def _form(name: str, sources: Sequence[Source]) -> tuple[Format, list[str]]:
    """The format that is named, or that knows all sources, and what is to be said of it."""
    if name != AUTO:
        if name not in FORMATS:
            raise InputError(f"no format is called {name!r}; there are: {', '.join([AUTO, *sorted(FORMATS)])}")
        return FORMATS[name], []
    forms = [recognised(source, FORMATS) for source in sources]
    if len({form.name for form in forms}) > 1:
        listed = ", ".join(f"{source.name} is {form.name}" for source, form in zip(sources, forms, strict=True))
        raise InputError(f"found several formats: {listed}; sources of one format would do")
    return forms[0], [f"recognised as {forms[0].name}: {forms[0].summary}"]


def checked(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Hold records that share a file against each other, and each against the schema.

    Returns
    -------
    list of str
        What a reader should know of them: copies.

    Raises
    ------
    InputError
        `draftdepth check` would refuse the file; the first fault is named.
    """
    placed: list[tuple[str, int, Run]] = []
    faults: list[Fault] = []
    for number, row in enumerate(rows, 1):
        run, found = parse_run(row, "record", number)
        faults += found
        if run is not None:
            placed.append(("record", number, run))
    across = faults_across(placed)
    if refused := faults_alone(faults + across):
        raise InputError(first_of(refused))
    return [str(warning) for warning in warnings_alone(across)]


def as_lines(rows: Sequence[dict[str, Any]]) -> str:
    """Records as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def convert_files(
    format_name: str, paths: Sequence[Path], options: ReaderOptions, target: Path
) -> tuple[str, list[str]]:
    """Convert sources of one format, or of the one that `auto` recognises, into one run-record file.

    Returns
    -------
    said, warned
        What goes to stdout, and the warnings and notes for stderr.

    Raises
    ------
    InputError
        The format is unknown, a source cannot be used, or a record would not pass `draftdepth check`.
    """
    sources = [Source.of_path(path) for path in paths]
    form, told = _form(format_name, sources)
    try:
        done = form.convert(sources, options)
    except InputError as error:
        raise InputError(f"{error}{f' ({told[0]})' if told else ''}") from error
    told += [f"warning: {warning}" for warning in done.warnings]
    if not done.records:
        wanted = "finished requests of a server with speculation on would do"
        raise InputError(f"no run record in {', '.join(map(str, paths))}: {wanted} ({'; '.join(told)})")
    told += [f"warning: {warning}" for warning in checked(done.records) if not done.counts.get("copies")]
    told += [f"note: {note}" for note in done.notes]
    write_whole(target.parent, {target.name: as_lines(done.records)}, paths)
    return f"{len(done.records)} run records in {target}\n", told
