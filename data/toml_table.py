"""Entries of one TOML table, read with all faults kept."""

from collections.abc import Mapping
from typing import Any

from .faults import Fault, described


class Table:
    """Reads the entries of one TOML table and keeps every fault that it meets."""

    def __init__(self, values: Mapping[str, Any], where: str, file: str, faults: list[Fault]) -> None:
        self.values, self.where, self.file, self.faults = values, where, file, faults
        self.asked: set[str] = set()

    def fault(self, key: str, found: str, wanted: str) -> None:
        """Keep a fault of one entry."""
        self.faults.append(Fault(self.file, 0, f"{self.where}{key}", found, wanted))

    def take(self, key: str) -> Any:
        """The value as it stands, or None; the entry is known from now on."""
        self.asked.add(key)
        return self.values.get(key)

    def table(self, key: str, required: bool = True) -> "Table":
        """A table below this one, empty where there is none."""
        value = self.take(key)
        if not isinstance(value, dict):
            if required or value is not None:
                self.fault(key, "nothing" if value is None else described(value), "a table would do")
            value = {}
        return Table(value, f"{self.where}{key}.", self.file, self.faults)

    def tables(self, key: str) -> list["Table"]:
        """The tables of an array, at least one."""
        value = self.take(key)
        if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
            self.fault(key, "nothing" if value is None else described(value), f"at least one [[{key}]] would do")
            return []
        return [
            Table(entry, f"{self.where}{key}[{place}].", self.file, self.faults) for place, entry in enumerate(value, 1)
        ]

    def text(self, key: str, default: str | None = None) -> str:
        """A printable text."""
        value = self.take(key)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and value.isprintable() and (value or default == ""):
            return value
        self.fault(key, "nothing" if value is None else described(value), "a printable text would do")
        return ""

    def one_of(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of some words."""
        value = self.take(key)
        if value is None and default is not None:
            return default
        if value in allowed:
            return str(value)
        self.fault(key, "nothing" if value is None else described(value), f"one of {', '.join(allowed)} would do")
        return allowed[0]

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """A finite number from low to high."""
        value = self.take(key)
        if value is None and default is not None:
            return default
        if (
            isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high
        ):  # so no NaN either
            found = "nothing" if value is None else described(value)
            self.fault(key, found, f"a number from {low:g} to {high:g} would do")
            return low
        return float(value)

    def whole(self, key: str, low: int, high: int, optional: bool = False) -> int | None:
        """A whole number from low to high."""
        value = self.take(key)
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            found = "nothing" if value is None else described(value)
            self.fault(key, found, f"a whole number from {low} to {high} would do")
            return None if optional else low
        return value

    def nothing_else(self) -> None:
        """Keep a fault for each entry that nobody asked for."""
        for key in sorted(set(self.values) - self.asked):
            self.fault(key if key.isprintable() else "entry", "an entry that no study has", "remove or rename it")
