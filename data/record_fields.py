"""The fields of one row, each read as a name, a count or a list of counts; every fault that is met is kept."""

from collections.abc import Callable, Mapping
from typing import Any

from .faults import Fault, described

LARGEST_COUNT = 10**15  # far above any counter, and exact in a float
LONGEST_NAME = 120
_TOO_LARGE = f"no counter reaches {LARGEST_COUNT:.0e}"


class Row:
    """Checks the fields of one row and keeps every fault that it meets."""

    def __init__(self, row: Mapping[str, Any], file: str, line: int) -> None:
        self.row, self.file, self.line = row, file, line
        self.faults: list[Fault] = []

    def fault(self, field: str, found: str, wanted: str, severity: str = "fault") -> None:
        """Keep a fault of a field."""
        self.faults.append(Fault(self.file, self.line, field, found, wanted, severity))

    def required(self, field: str) -> bool:
        """Whether a field that every row needs is there."""
        if field not in self.row:
            self.fault(field, "nothing", "every run needs this field")
        return field in self.row

    def name(self, field: str) -> str:
        """A printable name of a bounded length; empty where it is none."""
        if not self.required(field):
            return ""
        value = self.row[field]
        if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
            return value
        self.fault(field, described(value), f"a printable name of 1 to {LONGEST_NAME} characters would do")
        return ""

    def count(self, field: str, value: object, least: int = 0) -> int | None:
        """A whole number; an integral float is read as one."""
        wanted = f"a whole number of at least {least} would do"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(field, described(value), wanted)
        elif not least <= value <= LARGEST_COUNT or value != int(value):
            self.fault(field, described(value), _TOO_LARGE if value > LARGEST_COUNT else wanted)
        else:
            return int(value)
        return None

    def counts(self, field: str, value: object) -> tuple[int, ...] | None:
        """A list of whole numbers, or None where any entry is none."""
        if not isinstance(value, list):
            self.fault(field, described(value), "a list of counts, one a position, would do")
            return None
        read = [self.count(f"{field}[{place}]", entry) for place, entry in enumerate(value, 1)]
        return None if None in read else tuple(entry for entry in read if entry is not None)

    def optional(self, field: str, read: Callable[[str, object], Any]) -> Any:
        """A field as `read` reads it, or None where it is absent or null."""
        value = self.row.get(field)
        return None if value is None else read(field, value)
