"""How a number is written, everywhere: one place for rounding, ranges and the plain text of JSON."""

import json
from collections.abc import Callable, Mapping
from math import exp, isfinite
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


def chance(value: float) -> str:
    """A chance as whole percent: draws tell no more."""
    return f"{100 * value:.0f} %" if isfinite(value) else NOTHING


def percent_beside(value: float, limit: float, digits: int = 0) -> str:
    """A share as percent, with as many decimals more as it takes not to look like the limit that it misses."""
    while digits < 15 and value != limit and float(f"{100 * value:.{digits}f}") == float(f"{100 * limit:.{digits}f}"):
        digits += 1
    return f"{100 * value:.{digits}f} %"


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


def _fixed(digits: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{digits}f}" if isfinite(value) else NOTHING


def _plain(value: float) -> str:
    return f"{value:.6g}" if isfinite(value) else NOTHING


def _signed(value: float) -> str:
    return percent(value, True)


def _times(logarithm: float) -> str:
    """A log odds as the factor that it stands for; 700 is about as far as a float goes."""
    if not isfinite(logarithm):
        return NOTHING
    factor = exp(min(logarithm, 700.0))
    return f"{factor:.2f} times" if factor < 10 else f"{factor:.3g} times"


KINDS: Mapping[str, Callable[[float], str]] = {
    "rate": one_decimal,
    "ms": one_decimal,
    "loss": _fixed(2),
    "tokens": _fixed(3),
    "share": share,
    "percent": percent,
    "gain": _signed,
    "chance": chance,
    "count": _fixed(0),
    "times": _times,
    "plain": _plain,
}
"""How a number is written, by what it is."""


def written(kind: str, value: float) -> str:
    """The text of a number; what rounds to nothing has no minus."""
    text = KINDS[kind](value)
    return text[1:] if text.startswith("-") and not text.strip("-0. %") else text
