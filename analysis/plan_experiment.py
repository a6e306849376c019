"""Experiments of two arms: what the first n simulated runs of each say of the gain, by layout and round count."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .plan_informed import Informed, observed_logits, state_noise
from .plan_posterior import GainPrior, Posterior, SumOfSquares
from .plan_prior import JointPrior
from .plan_spread import ONE_START, SHARED_START, RunSpread, Spreads, between
from .simulate import ArmRuns

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis prior: draws of the spreads, the prior of the gain, the drift that is allowed for."""

    spreads: Spreads
    prior: GainPrior | JointPrior
    drift_sd: float
    requests: int


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A layout, and how many runs stand in one start."""

    layout: str
    per_start: int

    def shape(self, runs: int) -> tuple[int, int]:
        """Blocks and runs in a start of an experiment of so many runs."""
        return (1, runs) if self.layout == ONE_START else (runs // self.per_start, self.per_start)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What two arms' runs say: estimates in log tokens and -log time (simulation, rounds), and what teaches the spreads."""

    tokens: Floats
    time: Floats
    variances: tuple[Floats, Floats]  # simulation, rounds, draw of the spreads
    spread: tuple[SumOfSquares, ...]
    prior: GainPrior

    @property
    def estimate(self) -> Floats:
        """Estimated log gain, (simulation, rounds)."""
        return np.asarray(self.tokens + self.time)

    def posterior(self, moved: Floats | float = 0.0, of_tokens: float = 0.0) -> Posterior:
        """Of the log gain; `moved` is added to it, a share in tokens: the same noise about another true gain."""
        estimates = (np.asarray(self.tokens + of_tokens * moved), np.asarray(self.time + (1.0 - of_tokens) * moved))
        return Posterior.of(estimates, self.variances, self.spread, self.prior)


def minus_log_time(arm: ArmRuns, arrangement: Arrangement, runs: int) -> Floats:
    """-log time of the first runs with their starts: (simulation, run)."""
    blocks, per_start = arrangement.shape(runs)
    time = arm.log_step[:, :runs]
    if arrangement.layout != SHARED_START:
        time = time + np.repeat(arm.start[:, :blocks], per_start, axis=1)
    if arrangement.layout == ONE_START:
        time = time + arm.period[:, None]
    return np.asarray(-time)


def observed_spread(arm: ArmRuns, runs: int, analysis: Analysis) -> RunSpread:
    """Run spreads by each draw of the analysis prior, at the survival that the runs show: (simulation, rounds, draw)."""
    pooled = arm.survival[:, :, :runs].mean(axis=2)[:, :, None, :]
    spreads = analysis.spreads
    drawn = Spreads(*(getattr(spreads, name)[None, None, :] for name in Spreads.__slots__))
    return RunSpread.of(pooled, drawn, analysis.requests, analysis.drift_sd)


def _squares(values: Floats, df: float, expected: Floats) -> SumOfSquares:
    """About the mean of the last axis."""
    squares = ((values - values.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return SumOfSquares(np.asarray(squares), df, expected)


def _time_squares(time: Floats, blocks: int, per_start: int, within: Floats, start: Floats) -> list[SumOfSquares]:
    """Of runs about their start, and of starts about their mean; the last alone speaks of the spread between starts."""
    stands = time.reshape(len(time), 1, blocks, per_start)
    means = stands.mean(axis=-1)
    inside = ((stands - means[..., None]) ** 2).sum(axis=(-1, -2))
    return [
        SumOfSquares(np.asarray(inside), float(blocks * (per_start - 1)), within),
        _squares(means, float(blocks - 1), start + within / per_start),
    ]


def experiment(
    arm: ArmRuns, other: ArmRuns, arrangement: Arrangement, runs: int, rounds: tuple[int, ...], analysis: Analysis
) -> Experiment | Informed:
    """Analyse every simulated experiment of so many runs of each arm.

    Parameters
    ----------
    arm, other
        Simulated runs; the gain is that of `arm` over `other`.
    arrangement
        How runs stand in starts.
    runs
        Of each arm.
    rounds
        The round counts that were simulated.
    analysis
        What the analysis believes before.
    """
    blocks, per_start = arrangement.shape(runs)
    every_round = np.asarray(rounds, dtype=float)[None, :, None]
    spreads = [observed_spread(side, runs, analysis) for side in (arm, other)]
    tokens = [side.log_tokens[:, :, :runs] for side in (arm, other)]
    times = [minus_log_time(side, arrangement, runs) for side in (arm, other)]
    parts: list[SumOfSquares] = []
    for y, time, spread in zip(tokens, times, spreads, strict=True):
        parts.append(_squares(y, float(runs - 1), spread.tokens(every_round)))
        start = 0.0 * spread.start if arrangement.layout == SHARED_START else spread.start
        parts += _time_squares(time, blocks, per_start, spread.time, start)
    if isinstance(analysis.prior, JointPrior):
        state = [observed_logits(side.survival, runs) for side in (arm, other)]
        state += [np.broadcast_to(time.mean(axis=-1)[:, None, None], (*state[0].shape[:2], 1)) for time in times]
        starts = 0.5 * np.ravel(between(spreads[0], spreads[1], arrangement.layout)[0, 0])
        noise = state_noise(
            analysis.prior, analysis.spreads, analysis.requests, runs, np.asarray(rounds, dtype=float), starts, blocks
        )
        return Informed(np.concatenate(state, axis=-1), noise, tuple(parts), analysis.prior)
    a, b = spreads
    counting = (a.tokens(every_round) + b.tokens(every_round)) / runs
    timing = between(a, b, arrangement.layout) / blocks + (a.time + b.time) / runs
    differences = [(side[0].mean(axis=-1) - side[1].mean(axis=-1)) for side in (tokens, times)]
    time_of_all = np.broadcast_to(differences[1][:, None], differences[0].shape)
    return Experiment(differences[0], time_of_all, (counting, timing), tuple(parts), analysis.prior)


def rate_half_width(
    arm: ArmRuns, arrangement: Arrangement, runs: int, rounds: tuple[int, ...], analysis: Analysis
) -> Floats:
    """Half of the 90 % interval of one arm's log rate, (simulation, rounds): no difference, so nothing cancels."""
    blocks, per_start = arrangement.shape(runs)
    spread = observed_spread(arm, runs, analysis)
    tokens = spread.tokens(np.asarray(rounds, dtype=float)[None, :, None])
    own = (
        arrangement if arrangement.layout == ONE_START else Arrangement("", per_start)
    )  # with its starts, whoever shares
    parts = [_squares(arm.log_tokens[:, :, :runs], float(runs - 1), tokens)]
    parts += _time_squares(minus_log_time(arm, own, runs), blocks, per_start, spread.time, spread.start)
    variance = (spread.start + spread.drift + spread.time / per_start) / blocks + tokens / runs
    log_weight = sum((part.log_weight() for part in parts), np.zeros_like(variance))
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    return Posterior(weight, np.zeros_like(variance), np.sqrt(variance)).half_width()
