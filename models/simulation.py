"""Made-up counts and times of a group's own shape, from one draw of the model: what calibration fits again."""

from dataclasses import replace

import numpy as np
import xarray as xr

from ..data.words import Level
from .evidence import Evidence, Floats
from .model import SMALLEST_OVERDISPERSION
from .population import population
from .priors import Priors
from .recursion import lower_odds
from .repetition import expected_log_steps, recorded
from .timing import DEGREES

type Generator = np.random.Generator


def _verified_halfway(evidence: Evidence) -> Floats:
    """Counts of V >= i halfway between what was accepted and all that could be verified: only to choose coordinates with."""
    out, before = np.zeros(evidence.verified.shape), evidence.rounds.astype(float)
    for i in range(evidence.deepest):
        before = np.where(evidence.inside[:, i], np.floor((evidence.accepted[:, i] + before) / 2.0), 0.0)
        out[:, i] = before
    return out


def at_level(evidence: Evidence, level: Level) -> Evidence:
    """The same cells and runs with one level of evidence: dynamic runs record as much, or at L4 all runs are fixed.

    What a run did not record at that level is made up: `simulated` counts take its place.
    """
    if level != Level.L4:
        verified = _verified_halfway(evidence)
        levels = np.where(evidence.fixed, Level.L4.value, level.value)
        return replace(evidence, level=levels, verified=verified, verified_tokens=verified.sum(axis=1))
    every = np.ones_like(evidence.fixed)
    return replace(
        evidence, fixed=every, level=np.full(len(every), Level.L4.value),
        dynamic_cell=np.zeros_like(evidence.dynamic_cell), screened_fixed=np.ones_like(evidence.screened_fixed),
        origin=evidence.screened_depth,
    )  # fmt: skip


def _beta_binomial(rng: Generator, n: int, p: float, overdispersion: float) -> int:
    concentration = 1.0 / (overdispersion + SMALLEST_OVERDISPERSION)
    p = min(max(p, 1e-9), 1.0 - 1e-9)
    return int(rng.binomial(n, rng.beta(p * concentration, (1.0 - p) * concentration)))


def _accepted(rng: Generator, rounds: int, chance: Floats, depth: int, overdispersion: float) -> Floats:
    """Rounds in which positions 1..i were accepted, a beta-binomial step each: shape (position,)."""
    out, left = np.zeros(len(chance)), rounds
    for i in range(depth):
        out[i] = left = _beta_binomial(rng, left, chance[i], overdispersion)
    return out


def _table(rng: Generator, rounds: int, h: Floats, v: Floats, w: Floats, depth: int, overdispersion: float) -> Floats:
    """Rounds by verified depth and accepted length, position by position: shape (K + 1, K + 1)."""
    out = np.zeros((len(h) + 1, len(h) + 1), dtype=np.int64)
    dead = np.zeros(len(h) + 1, dtype=np.int64)  # verified so far and rejected, by accepted length
    alive = rounds
    for i in range(depth):
        tried = _beta_binomial(rng, alive, v[i], overdispersion)
        taken = _beta_binomial(rng, tried, h[i] / v[i], overdispersion)
        on = _beta_binomial(rng, int(dead.sum()), w[i], overdispersion)
        still = rng.multivariate_hypergeometric(dead, on)
        out[i] += dead - still
        out[i, i] += alive - tried
        dead, alive = still, taken
        dead[i] += tried - taken
    out[depth] += dead
    out[depth, depth] += alive
    return out.astype(float)


def _times(rng: Generator, draws: xr.Dataset, mean: Floats, evidence: Evidence) -> Floats:
    """Steps of each request in ms: a run effect for all of a run's, and each its own Student deviation."""
    s_run, s_request = (float(draws[name].values[0, 0]) for name in ("s_run_time", "s_request_time"))
    tau = mean + s_run * rng.standard_normal(mean.shape)
    place = np.searchsorted(evidence.timed, evidence.time_run)
    return np.exp(tau[place] + s_request * rng.standard_t(DEGREES, len(place)))


def simulated(draws: xr.Dataset, evidence: Evidence, priors: Priors, config_ms: Floats, seed: int) -> Evidence:
    """Counts and times that the runs of a group might have given.

    Parameters
    ----------
    draws
        One draw (chain and draw of size 1) of the sampled variables.
    evidence
        The shape: cells, policies, rounds and levels; its own counts are not used.
    priors, config_ms
        What the model is built from.
    seed
        With it `models.derive.derived` completes the same draw, so that its figures are the truth of these counts.
    """
    held = population(draws, evidence, priors, seed)
    runs = recorded(held, evidence, priors, config_ms)
    rng = np.random.default_rng([seed, 2])
    overdispersion = float(draws["overdispersion"].values[0, 0])
    accepted, verified = np.zeros_like(evidence.accepted), np.full_like(evidence.verified, np.nan)
    tokens, table = np.full_like(evidence.verified_tokens, np.nan), np.full_like(evidence.table, np.nan)
    for r, rounds in enumerate(evidence.rounds):
        depth = int(evidence.depth[r])
        if evidence.fixed[r] or evidence.level[r] == Level.L0:
            accepted[r] = _accepted(rng, int(rounds), runs.chance[0, 0, r], depth, overdispersion)
            continue
        h, v = runs.hazard[0, 0, r], runs.verified_chance[0, 0, r]
        w = lower_odds(v, held.kappa[0, 0], np)
        full = _table(rng, int(rounds), h, v, w, depth, overdispersion)
        accepted[r] = full.sum(axis=0)[::-1].cumsum()[::-1][1:]
        verified[r] = full.sum(axis=1)[::-1].cumsum()[::-1][1:]
        tokens[r], table[r] = verified[r].sum(), full
    times = evidence.times
    if len(times):
        mean = expected_log_steps(draws, held, evidence, runs, config_ms)[0, 0]
        times = _times(rng, draws, mean, evidence)
    return replace(
        evidence, accepted=accepted, verified=verified, verified_tokens=tokens, table=table, times=times,
    )  # fmt: skip
