"""Counts and times as the likelihood takes them: which entries stand in it hangs on policies and levels, not on the counts.

So a model that was compiled for one group takes another group's counts wherever cells, policies, levels and copies agree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from ..data.words import Level
from .evidence import Evidence, Flags
from .timing import deviations, guess, log_medians

type Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Trials:
    """`taken` of `tried` at some runs and positions."""

    run: Numbers
    place: Numbers  # position, from 0
    tried: Numbers
    taken: Numbers

    @property
    def log_ways(self) -> Numbers:
        """Log binomial coefficients."""
        return np.asarray(-special.betaln(self.taken + 1, self.tried - self.taken + 1) - np.log(self.tried + 1.0))


def _trials(chosen: Flags, tried: Numbers, taken: Numbers) -> Trials:
    run, place = np.nonzero(chosen)
    return Trials(run, place, tried[chosen].astype(np.int64), taken[chosen].astype(np.int64))


def _at_level(evidence: Evidence, level: Level) -> Flags:
    return np.asarray(evidence.counted & ~evidence.fixed & (evidence.level == level))


def _before(rounds: Numbers, counts: Numbers) -> Numbers:
    return np.column_stack([rounds, counts])[:, :-1]


def totals(evidence: Evidence) -> Numbers:
    """Runs at L1: only the total of their verified tokens is known."""
    return np.flatnonzero(_at_level(evidence, Level.L1))


def trials_of(evidence: Evidence) -> dict[str, Trials]:
    """Every binomial step of the likelihood, by name.

    `accepted`: A_i of A_{i-1} as far as the policy may verify. `verified`: rounds with V >= i of those with V >= i - 1
    (L2). At L3 `verified_if_accepted` (A >= i - 1), `accepted_if_verified` and `verified_if_rejected` (A < i - 1).
    """
    inside = evidence.inside
    joint = _at_level(evidence, Level.L3)[:, None] & inside
    alone = evidence.counted[:, None] & inside & ~joint
    out = {"accepted": _trials(alone, _before(evidence.rounds, evidence.accepted), evidence.accepted)}
    seen = _at_level(evidence, Level.L2)[:, None] & inside
    if seen.any():
        verified = np.nan_to_num(evidence.verified)
        out["verified"] = _trials(seen, _before(evidence.rounds, verified), verified)
    if joint.any():
        table = np.nan_to_num(evidence.table)  # run, V, A
        at = range(1, evidence.deepest + 1)
        alive = np.stack([table[:, :, i - 1 :].sum((1, 2)) for i in at], axis=1)
        tried = np.stack([table[:, i:, i - 1 :].sum((1, 2)) for i in at], axis=1)
        taken = np.stack([table[:, :, i:].sum((1, 2)) for i in at], axis=1)
        lost = np.stack([table[:, i - 1 :, : i - 1].sum((1, 2)) for i in at], axis=1)
        lost_on = np.stack([table[:, i:, : i - 1].sum((1, 2)) for i in at], axis=1)
        later = joint & (evidence.positions > 1)  # nothing is rejected before the first position
        out["verified_if_accepted"] = _trials(joint, alive, tried)
        out["accepted_if_verified"] = _trials(joint, tried, taken)
        out["verified_if_rejected"] = _trials(later, lost, lost_on)
    return out


def observations(evidence: Evidence) -> dict[str, Numbers]:
    """The model's data by name: `<step>_tried`, `<step>_taken`, `<step>_ways` (log), `total_rounds`, `log_median`, ..."""
    out: dict[str, Numbers] = {}
    for name, trials in trials_of(evidence).items():
        out[f"{name}_tried"], out[f"{name}_taken"], out[f"{name}_ways"] = trials.tried, trials.taken, trials.log_ways
    if len(runs := totals(evidence)):
        out["total_rounds"] = evidence.rounds[runs].astype(float)
        out["total_tokens"] = evidence.verified_tokens[runs]
    if len(evidence.times):
        out["log_median"], out["log_median_guess"] = log_medians(evidence), guess(evidence)
        apart, weight = deviations(evidence)
        if len(weight):
            out["deviation"] = apart
    return out
