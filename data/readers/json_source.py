"""JSON of an engine, read strictly where it is read: each complaint names the place and repeats no text of it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ..errors import InputError
from ..faults import described
from ..record_fields import LARGEST_COUNT
from .source import LARGEST_SOURCE, Source

MISSING = ("n/a", "N/A")  # what some engines write in place of null
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def refuse(where: str, found: str, wanted: str) -> NoReturn:
    """Raise the one line that says where, what was found and what would do."""
    raise InputError(f"{where}: found {found}; {wanted}")


def shown(name: str) -> str:
    """A name of a source as it may be printed: text that could be a prompt or an output is never repeated."""
    return name if PLAIN_NAME.fullmatch(name) else described(name)


def parsed(text: str | bytes) -> tuple[Any, int]:
    """Parse one JSON text.

    Parameters
    ----------
    text
        The whole text; bytes are UTF-8, with or without a byte-order mark.

    Returns
    -------
    value, bare
        The value, and how often it held a bare NaN or Infinity: strict JSON has none, some benches write them into
        fields that nobody reads. They stay what they are, so that a field that is read refuses them.

    Raises
    ------
    InputError
        It is no JSON, is nested too deeply, is too large, or an object holds a field twice.
    """
    bare = 0

    def constant(name: str) -> float:
        nonlocal bare
        bare += 1
        return float(name)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            refuse("text", f"the field {shown(twice)} twice in one object", "each field once would do")
        return fields

    if len(text) > LARGEST_SOURCE:
        refuse("text", f"{len(text)} bytes", f"at most {LARGEST_SOURCE} would do")
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        return json.loads(plain, parse_constant=constant, object_pairs_hook=unique), bare
    except InputError:
        raise
    except RecursionError:
        found = "objects nested too deeply"
    except UnicodeDecodeError:
        found = "bytes that are not UTF-8"
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        found = f"something that is not JSON at line {line}" if line else "a number of too many digits"
    refuse("text", found, "the whole JSON that was written would do")


class Entry:
    """One object of a source with its place; a missing field and a null are both None, never zero."""

    def __init__(self, fields: Mapping[str, Any], where: str) -> None:
        self.fields, self.where = fields, where

    def at(self, name: str) -> str:
        """The place of a field, for messages."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, *names: str) -> tuple[str, Any]:
        """The field that goes by one of these names, and its value; two names that disagree are refused."""
        there = [(name, self.fields[name]) for name in names if self.fields.get(name) not in (None, *MISSING)]
        for name, value in there[1:]:
            if value != there[0][1]:
                refuse(self.at(name), f"another value than {there[0][0]} has", "one value would do")
        return there[0] if there else (names[0], None)

    def count(self, *names: str, least: int = 0) -> int | None:
        """A whole number, an integral float read as one."""
        name, value = self.get(*names)
        return None if value is None else self._whole(self.at(name), value, least)

    def needed_count(self, *names: str, least: int = 0) -> int:
        """A whole number that nothing else can stand for."""
        number = self.count(*names, least=least)
        if number is None:
            refuse(self.at(names[0]), "nothing", f"a whole number of at least {least} would do")
        return number

    def counts(self, *names: str) -> tuple[int, ...] | None:
        """Whole numbers by position: a list, or an object with the keys "0", "1" and so on."""
        name, value = self.get(*names)
        if value is None:
            return None
        value = unwrapped(value)
        if isinstance(value, dict):
            if set(value) != {str(place) for place in range(len(value))}:
                refuse(self.at(name), "keys that are not 0, 1 and so on", "one count for each position would do")
            value = [value[str(place)] for place in range(len(value))]
        if not isinstance(value, list):
            refuse(self.at(name), described(value), "a list of counts, one a position, would do")
        return tuple(self._whole(f"{self.at(name)}[{place}]", one, 0) for place, one in enumerate(value, 1))

    def seconds(self, name: str) -> float | None:
        """A positive finite time."""
        value = self.fields.get(name)
        if value is None:
            return None
        number = not isinstance(value, bool) and isinstance(value, int | float)
        if not number or not 0 < value < float(LARGEST_COUNT):
            refuse(self.at(name), described(value), "a positive finite number of seconds would do")
        return float(value)

    def text(self, name: str) -> str | None:
        """A text, which is compared and never printed."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            refuse(self.at(name), described(value), "a text would do")
        return value

    def entry(self, name: str) -> "Entry | None":
        """An object inside this one."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            refuse(self.at(name), described(value), "an object would do")
        return None if value is None else Entry(value, self.at(name))

    def entries(self, name: str) -> "list[Entry] | None":
        """A list of objects inside this one, counted from 1 in messages."""
        value = self.fields.get(name)
        return None if value is None else entries_of(value, self.at(name))

    @staticmethod
    def _whole(where: str, value: object, least: int) -> int:
        wanted = f"a whole number of at least {least} would do"
        if isinstance(value, bool) or not isinstance(value, int | float):
            refuse(where, described(value), wanted)
        if not least <= value <= LARGEST_COUNT or value != int(value):  # in this order: NaN and infinity stop here
            refuse(where, described(value), wanted)
        return int(value)


def unwrapped(value: object) -> object:
    """A list or an object that was written into a text as JSON; anything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parsed(value)[0]
        except InputError:
            return value
    return value


def entries_of(value: object, where: str) -> list[Entry]:
    """The objects of a list, each with its place counted from 1."""
    if not isinstance(value, list):
        refuse(where, described(value), "a list of objects would do")
    for place, one in enumerate(value, 1):
        if not isinstance(one, dict):
            refuse(f"{where}[{place}]", described(one), "an object would do")
    return [Entry(one, f"{where}[{place}]") for place, one in enumerate(value, 1)]


def rows_of(source: Source) -> Iterator[Entry]:
    """The objects of a source: JSON Lines (plain, or with `data:` before each line), one object, or one list.

    JSON Lines are read line by line, anything else whole. Each object knows its place: `line 3`, `[3]`, or none.

    Raises
    ------
    InputError
        It is none of these, or a line holds no JSON object.
    """
    lines = _numbered(source)
    number, first = next(lines, (0, b""))
    try:
        value, _ = parsed(first)
    except InputError:
        value = None  # no JSON in one line: the whole text may be
    if not isinstance(value, dict):
        value, _ = parsed(source.text())
        yield from entries_of(value, "") if isinstance(value, list) else [_object(value, "")]
        return
    following = next(lines, None)
    yield Entry(value, f"line {number}" if following else "")
    while following is not None:
        number, line = following
        try:
            value, _ = parsed(line)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from error
        yield _object(value, f"line {number}")
        following = next(lines, None)


def _numbered(source: Source) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, without what server-sent events put before and after it."""
    for number, line in enumerate(source.lines(), 1):
        text = line.strip().removeprefix(b"data:").strip()
        if text and text != b"[DONE]":
            yield number, text


def _object(value: object, where: str) -> Entry:
    if not isinstance(value, dict):
        refuse(where or "text", described(value), "a JSON object would do")
    return Entry(value, where)


def starts_as_json(source: Source) -> bool:
    """Whether the first thing of a source is a JSON object or list."""
    return next((text for _, text in _numbered(source)), b"")[:1] in (b"{", b"[")
