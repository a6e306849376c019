"""A study's cost table and the ranges of its assumptions, as values and as read from their tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from .faults import described
from .toml_table import Table
from .words import Label


@dataclass(frozen=True, slots=True)
class Range:
    """An assumption's central value and the ends that the envelope enumerates."""

    central: float
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost table: config times H[0..K] and remote times D by batch in ms, each with its label and reason."""

    config_ms: tuple[float, ...]
    config_label: Label
    config_reason: str
    remote_ms: Mapping[int, float]
    remote_label: Label
    remote_reason: str
    reference_overlap: float
    reference_overhead_ms: float


def read_range(table: Table, low: float, high: float) -> Range:
    """A range of an assumption; the centre has to lie inside it."""
    central, lowest, highest = (table.number(key, low, high) for key in ("central", "low", "high"))
    read = Range(central, lowest, highest, table.text("reason", default=""))
    if not read.low <= read.central <= read.high:
        table.fault("central", f"{read.central:g}", f"a value from low {read.low:g} to high {read.high:g} would do")
    table.nothing_else()
    return read


def _config(table: Table, max_depth: int) -> tuple[tuple[float, ...], Label, str]:
    values = table.take("values")
    good = isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < 1e9 for v in values
    )
    if not good or len(values) != max_depth + 1:
        table.fault(
            "values", described(values), f"{max_depth + 1} times in ms, for the depths 0 to {max_depth}, would do"
        )
        values = [0.0] * (max_depth + 1)
    label = Label(table.one_of("label", tuple(Label), default=Label.ASSUMED))
    reason = table.text("reason", default="")
    table.nothing_else()
    return tuple(float(v) for v in values), label, reason


def _remote(table: Table) -> tuple[dict[int, float], Label, str]:
    values = table.table("values", required=False)
    times: dict[int, float] = {}
    for key in values.values:
        if not (key.isascii() and key.isdecimal() and len(key) < 7 and int(key) > 0):
            values.fault("key", "a key that is no batch", 'keys such as "4" would do')
        else:
            times[int(key)] = values.number(key, 0.0, 1e9)
    label = Label(table.one_of("label", tuple(Label), default=Label.MEASURED))
    reason = table.text("reason", default="")
    table.nothing_else()
    return times, label, reason


def read_cost(table: Table, max_depth: int) -> Cost:
    """The cost table; remote times, and what the measured runs paid of them, may be left out."""
    cost = Cost(
        *_config(table.table("config_ms"), max_depth),
        *_remote(table.table("remote_ms", required=False)),
        reference_overlap=table.number("reference_overlap", 0.0, 1.0, default=0.75),
        reference_overhead_ms=table.number("reference_overhead_ms", 0.0, 1e6, default=0.30),
    )
    table.nothing_else()
    return cost
