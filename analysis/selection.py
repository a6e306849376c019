"""Runs chosen by words: `policy=fixed depth=1..4 batch=4`, all of which have to hold."""

import numpy as np
import xarray as xr

from ..data.errors import InputError
from ..data.words import CELL, DEPTH, RUN
from ..models.evidence import Flags

TEXTS = {"policy": "policy", "suite": "suite", "worker": "worker", CELL: CELL, RUN: "run_id"}
NUMBERS = {DEPTH: "policy_depth", "batch": "batch"}


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
