"""Lines of logs without what terminals put into them, and the times that stand before them."""

import re
from collections.abc import Iterator

from .json_source import refuse

ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
WHEN = re.compile(r"\b(?:\d{4}-)?(\d\d-\d\d[ T]\d\d:\d\d:\d\d)")
SPAN = re.compile(r"(\d\d-\d\d \d\d:\d\d:\d\d)\.\.(\d\d-\d\d \d\d:\d\d:\d\d)")


def plain(line: bytes) -> Iterator[str]:
    """The texts of a line: colours are taken away, and a carriage return parts what was written over itself."""
    for piece in ANSI.sub(b"", line).split(b"\r"):
        if piece.strip():
            yield piece.decode("utf-8", "replace").strip()


def time_of(text: str) -> str | None:
    """Month, day and time of a log line as text that sorts within a year."""
    found = WHEN.search(text)
    return found[1].replace("T", " ") if found else None


def span_of(select: str | None) -> tuple[str, str] | None:
    """The two ends of a span such as `07-18 20:26:00..07-18 20:29:00`, both inside it.

    Raises
    ------
    InputError
        It is no such span, or ends before it begins.
    """
    if select is None:
        return None
    found = SPAN.fullmatch(select)
    if found is None or found[1] > found[2]:
        refuse("select", "no span of time", "MM-DD HH:MM:SS..MM-DD HH:MM:SS would do")
    return found[1], found[2]
