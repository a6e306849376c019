"""How a number is written, everywhere: one place for rounding, ranges and the plain text of JSON."""

import json
from math import isfinite
from typing import Any

NOTHING = "–"


def one_decimal(value: float) -> str:
    """A rate or time at one decimal; a dash where there is no number."""
    return f"{value:.1f}" if isfinite(value) else NOTHING


def percent(share: float, signed: bool = False) -> str:
    """A share as percent at one decimal."""
    if not isfinite(share):
        return NOTHING
    return f"{100 * share:+.1f} %" if signed else f"{100 * share:.1f} %"


def share(value: float) -> str:
    """A share at three decimals."""
    return f"{value:.3f}" if isfinite(value) else NOTHING


def span(low: float, high: float) -> str:
    """Both ends of a range of rates or times."""
    return f"{one_decimal(low)} to {one_decimal(high)}" if isfinite(low) and isfinite(high) else NOTHING


def percent_span(low: float, high: float) -> str:
    """Both ends of a range of gains."""
    return f"{percent(low, True)} to {percent(high, True)}" if isfinite(low) and isfinite(high) else NOTHING


def plain(value: Any) -> Any:
    """Make a value fit for JSON, unrounded: NaN becomes null, numpy's scalars and arrays become Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def as_json(value: Any) -> str:
    """JSON text that is the same whenever the value is: sorted keys, shortest round-trip numbers, a final newline."""
    return json.dumps(plain(value), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
