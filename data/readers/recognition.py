"""Which format a source is in, told by its content alone, or why none of them can be."""

from collections.abc import Mapping

from ..errors import InputError
from .form import Format, named
from .json_source import refuse, rows_of, starts_as_json
from .source import Source

MEANS = {"tau", "acceptance", "acceptance_rate", "delta_accepted", "mean_accept_length", "draft_acceptance_rate"}
WANTED = (
    "an engine's own output with rounds and accepted counts by position would do, such as two scrapes of /metrics; "
    "draftdepth convert --list tells the formats"
)


def recognised(source: Source, formats: Mapping[str, Format]) -> Format:
    """The one format that knows a source.

    Parameters
    ----------
    source
        What is to be read; all of a log may be looked through, in constant memory.
    formats
        The formats by name.

    Raises
    ------
    InputError
        None or several know it; the message says what there is and what would do.
    """
    fitting = [form for form in formats.values() if form.recognises(source)]
    if len(fitting) > 1:
        found = f"something that {', '.join(form.name for form in fitting)} know"
        raise named(InputError(f"text: found {found}; the name of one format would do"), source)
    if not fitting:
        try:
            _refuse(source)
        except InputError as error:
            raise named(error, source) from error
    return fitting[0]


def _refuse(source: Source) -> None:
    if not next(source.lines(), b"").strip():
        refuse("text", "nothing in its first line, and no format that knows it", WANTED)
    if not starts_as_json(source):
        refuse("text", "text that no format knows", WANTED)
    rows = [row for _, row in zip(range(100), rows_of(source), strict=False)]
    if any(_means(row.fields, 0) for row in rows):
        refuse("text", "means or totals of acceptance, without counts by position", WANTED)
    refuse("text", "JSON that no format knows", WANTED)


def _means(value: object, depth: int) -> bool:
    if isinstance(value, dict) and depth < 8:
        return bool(MEANS & set(value)) or any(_means(one, depth + 1) for one in value.values())
    return isinstance(value, list) and depth < 8 and any(_means(one, depth + 1) for one in value)
