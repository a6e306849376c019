"""Runs chosen by words: `policy=fixed depth=1..4 batch=4`, all of which have to hold."""

import numpy as np
import xarray as xr

from ..data.errors import InputError
from ..data.words import CELL, DEPTH, RUN
from ..models.evidence import Flags

TEXTS = {"policy": "policy", "suite": "suite", "worker": "worker", CELL: CELL, RUN: "run_id"}
NUMBERS = {DEPTH: "policy_depth", "batch": "batch"}
TURN = "each"
EACH = {f"{name}={TURN}": name for name in NUMBERS}


def _numbers(text: str, where: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    try:
        return int(low), int(high if dots else low)
    except ValueError:
        raise InputError(f"{where}: found no number; a number or a range such as 1..4 would do") from None


def chosen(runs: xr.Dataset, words: str, option: str = "--hold-out") -> Flags:
    """Which runs the words mean.

    Parameters
    ----------
    runs
        Runs of a study.
    words
        `name=value` with spaces between; names are policy, depth, batch, suite, worker, cell and run; depth and batch take
        a range `1..4`. No words mean no run.
    option
        How messages call the words.

    Raises
    ------
    InputError
        A word that is not of this form, a name that is not known, or words that mean no run.
    """
    if not words.strip():
        return np.zeros(runs.sizes[RUN], dtype=bool)
    out = np.ones(runs.sizes[RUN], dtype=bool)
    for word in words.split():
        name, equals, value = word.partition("=")
        where = f"{option} {name if name in TEXTS | NUMBERS else '...'}"
        if not equals or name not in TEXTS | NUMBERS:
            raise InputError(
                f"{where}: found a word that chooses no runs; {', '.join([*TEXTS, *NUMBERS])} = a value would do"
            )
        if name in TEXTS:
            out &= runs[TEXTS[name]].values.astype(str) == value
        else:
            low, high = _numbers(value, where)
            out &= (runs[NUMBERS[name]].values >= low) & (runs[NUMBERS[name]].values <= high)
    if not out.any():
        raise InputError(f"{option}: found words that mean no run of the study; words that mean some would do")
    return out


def in_turn(runs: xr.Dataset, words: str, option: str = "--hold-out") -> list[str]:
    """The same words with each value in place of `each`.

    Parameters
    ----------
    runs
        Runs of a study.
    words
        As `chosen` reads them; one of them may be `batch=each` or `depth=each`: each value among the runs that the others mean.
    option
        How messages call the words.

    Raises
    ------
    InputError
        Two such words, or other words that mean no run.
    """
    each = [word for word in words.split() if word in EACH]
    if not each:
        return [words]
    if len(each) > 1:
        raise InputError(f"{option}: found two words with {TURN}; one would do")
    others = " ".join(word for word in words.split() if word not in EACH)
    among = chosen(runs, others, option) if others else np.ones(runs.sizes[RUN], dtype=bool)
    name = EACH[each[0]]
    values = sorted(set(runs[NUMBERS[name]].values[among].tolist()))
    return [" ".join(f"{name}={value:.0f}" if word in EACH else word for word in words.split()) for value in values]
