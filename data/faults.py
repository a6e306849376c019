"""A fault or a warning in an input: where it is, what was found and what would do."""

from collections.abc import Iterable
from dataclasses import dataclass

FAULT, WARNING = "fault", "warning"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing amiss in one input; `line` is 0 where the whole file is meant."""

    file: str
    line: int
    field: str
    found: str
    wanted: str
    severity: str = FAULT

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field}: found {self.found}; {self.wanted}"


def faults_alone(things: Iterable[Fault]) -> list[Fault]:
    """Those that forbid the use of the input."""
    return [thing for thing in things if thing.severity == FAULT]


def warnings_alone(things: Iterable[Fault]) -> list[Fault]:
    """Those that a reader should know and that forbid nothing."""
    return [thing for thing in things if thing.severity == WARNING]


def first_of(faults: list[Fault]) -> str:
    """One line for many faults."""
    more = f" (and {len(faults) - 1} more faults: `draftdepth check` lists all)" if len(faults) > 1 else ""
    return f"{faults[0]}{more}"


def described(value: object) -> str:
    """Say what kind of thing a value is, without repeating any text that it holds.

    Text in an input may be a prompt or an output, so only numbers are shown as they are.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            written = repr(value) if isinstance(value, float) or abs(value) < 10**24 else "a whole number"
            return written if len(written) <= 24 else f"a number of {len(written)} digits"
        case str():
            return f"a text of {len(value)} characters"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"an object of {len(value)} fields"
    return "something that is not JSON"
