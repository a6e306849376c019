"""How far one run's log rate lies from its arm's: the equations of run, round, time and start spread, and what they add up to.

A question and its inverse stand side by side: `half_width` of so many runs, and `runs_needed` for a half-width.
"""

from dataclasses import dataclass
from functools import cache
from math import ceil, inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from ..models.recursion import expit

type Floats = npt.NDArray[np.float64]

INTERLEAVED, ONE_START, SHARED_START = "interleaved", "one_start", "shared_start"
"""How an arm's runs are laid out: a new start in every block of all arms; all in one start; arms share each start."""

Z90 = 1.6448536269514722  # half of a 90 % interval of a standard normal
NODES = 7
REQUEST_NU = 4  # of `models.timing`: log request ~ StudentT(4, run, s_request)


@dataclass(frozen=True, slots=True)
class Spreads:
    """Spreads that future runs are drawn from, one entry a draw: logit, shares or log time."""

    run: Floats
    overdispersion: Floats
    start: Floats
    run_time: Floats
    request_time: Floats

    def at(self, places: Any) -> "Spreads":
        """The draws at some places."""
        return Spreads(
            self.run[places],
            self.overdispersion[places],
            self.start[places],
            self.run_time[places],
            self.request_time[places],
        )


def survival_of(hazard: Any) -> Any:
    """Prefix survival S_1..S_d of hazards h_1..h_d in the last axis."""
    return np.cumprod(hazard, axis=-1)


def run_mean_survival(logit: Floats, run_sd: Floats) -> Floats:
    """S_1 ... S_d, the mean over the run effect (Gauss-Hermite); logit hazards (..., d), run spread (...)."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    total = np.zeros_like(logit)
    for point, weight in zip(points, weights / weights.sum(), strict=True):
        total = total + weight * survival_of(expit(logit + point * run_sd[..., None], np))
    return np.asarray(total)


def _ratio(survival: Any) -> tuple[Any, Any, Any]:
    """Hazards, S_{i-1}, and (S_i + ... + S_d) / h_i: how tokens move with each hazard."""
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    hazard = np.clip(survival / np.maximum(before, 1e-12), 1e-9, 1.0 - 1e-9)
    later = np.cumsum(survival[..., ::-1], axis=-1)[..., ::-1]
    return hazard, np.maximum(before, 1e-12), later / hazard


def token_slope(survival: Any) -> Any:
    """d log(1 + sum S) / d(shift of all logit hazards): d log h = (1 - h) d shift, so dE = sum_j (1 - h_j) sum_{i>=j} S_i."""
    hazard, _, lever = _ratio(survival)
    return ((1.0 - hazard) * hazard * lever).sum(axis=-1) / (1.0 + survival.sum(axis=-1))


def token_noise(survival: Any) -> tuple[Any, Any]:
    """Variance of a run's log tokens: the part of 1 / rounds, and the part of overdispersion.

    Position by position, beta-binomial given the one before, with rho = 1 / (concentration + 1): var h_j = h_j (1 - h_j)
    ((1 - rho) / (rounds S_{j-1}) + rho). At rho = 0 the first part is (sum (2i - 1) S_i - (sum S_i)^2) / E^2.

    Returns
    -------
    tuple
        `a` and `b` with variance (1 - rho) a / rounds + rho b.
    """
    hazard, before, lever = _ratio(survival)
    squared = lever**2 * hazard * (1.0 - hazard) / (1.0 + survival.sum(axis=-1))[..., None] ** 2
    return (squared / before).sum(axis=-1), squared.sum(axis=-1)


def correlation(overdispersion: Any) -> Any:
    """rho = 1 / (concentration + 1), concentration = 1 / overdispersion."""
    return overdispersion / (1.0 + overdispersion)


@cache
def median_variance(requests: int) -> float:
    """Variance of the median of so many standard StudentT(4), by simulation with a fixed seed (error below 1 %)."""
    rng = np.random.default_rng(20260919)
    return float(np.median(rng.standard_t(REQUEST_NU, (200_000, requests)), axis=1).var())


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Variances of one arm's log rate: within a start `floor` + `per_round` / rounds, between starts, between periods.

    `time` is the part of the floor that stands in step times; the rest of it stands in tokens.
    """

    floor: Any
    per_round: Any
    start: Any
    drift: Any
    time: Any = 0.0

    @classmethod
    def of(cls, survival: Any, spreads: Spreads, requests: int, drift_sd: float) -> "RunSpread":
        """Add up an arm's variances; survival (..., d) at a run in the middle, spreads (...)."""
        binomial, beta = token_noise(survival)
        rho = correlation(spreads.overdispersion)
        tokens = (token_slope(survival) * spreads.run) ** 2 + rho * beta
        time = spreads.run_time**2 + median_variance(requests) * spreads.request_time**2
        floor = tokens + time
        return cls(floor, (1.0 - rho) * binomial, spreads.start**2, drift_sd**2 + 0.0 * floor, time)

    def within(self, rounds: Any) -> Any:
        """Variance of a run about its start."""
        return self.floor + self.per_round / rounds

    def tokens(self, rounds: Any) -> Any:
        """The part of `within` that stands in tokens."""
        return self.floor - self.time + self.per_round / rounds


def between(a: RunSpread, b: RunSpread, layout: str) -> Any:
    """Variance between block means of a difference that more runs inside the starts do not lower."""
    if layout == SHARED_START:
        return 0.0 * a.start
    starts = a.start + b.start
    return starts + a.drift + b.drift if layout == ONE_START else starts


def difference_variance(a: RunSpread, b: RunSpread, layout: str, runs: Any, rounds: Any, per_start: int) -> Any:
    """Variance of the difference of two arms' mean log rates, `runs` of each."""
    blocks = 1.0 if layout == ONE_START else runs / per_start
    return between(a, b, layout) / blocks + (a.within(rounds) + b.within(rounds)) / runs


def half_width(a: RunSpread, b: RunSpread, layout: str, runs: Any, rounds: Any, per_start: int) -> Any:
    """Half of the 90 % interval of a log rate ratio, known spreads: what `runs` of each arm buy."""
    return Z90 * np.sqrt(difference_variance(a, b, layout, runs, rounds, per_start))


def runs_needed(
    a: RunSpread, b: RunSpread, layout: str, wanted: float, rounds: float, per_start: int, most: int = 10**9
) -> int | None:
    """The least number of runs of each arm whose half-width is at most `wanted`; None where no number does.

    The inverse of `half_width`: runs come in whole starts of `per_start`.
    """
    variance = (wanted / Z90) ** 2
    within = float(a.within(rounds) + b.within(rounds))
    fixed = float(between(a, b, layout))
    step = 1 if layout == ONE_START else per_start
    left = variance - fixed if layout == ONE_START else variance
    if left <= 0.0:
        return None
    exact = within / left if layout == ONE_START else (fixed * per_start + within) / left
    if not isfinite(exact) or exact > most:
        return None
    runs = max(step, ceil(exact / step) * step)
    while runs > step and half_width(a, b, layout, runs - step, rounds, per_start) <= wanted:
        runs -= step  # the ceiling met a rounding error
    while half_width(a, b, layout, runs, rounds, per_start) > wanted:
        runs += step
    return runs


def rounds_worth(a: RunSpread, b: RunSpread, layout: str, per_start: int, share: float = 0.05) -> float:
    """Rounds a run beyond which even infinitely many would narrow the interval by no more than `share`.

    `inf` where nothing but rounds spreads the runs.
    """
    floor = float(a.floor + b.floor)
    if layout != ONE_START:
        floor += per_start * float(between(a, b, layout))
    if floor <= 0.0:
        return inf
    return float(a.per_round + b.per_round) / (floor * (1.0 / (1.0 - share) ** 2 - 1.0))
