"""The recorded runs on the draws, and repetitions of them: what the model expects to see where it has looked."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import xarray as xr

from ..data.words import CHAIN, DRAW
from .evidence import Evidence, Floats, Ints
from .model import SMALLEST_OVERDISPERSION
from .population import Population
from .priors import Priors
from .recursion import expit, exposure, fixed_hazard, shifted, verified_chance
from .step_arms import expected_log_ms, run_anchor
from .timing import requests_of_runs, run_noise
from .transport import of_runs

BLOCK = 1 << 20  # draws times runs times positions worked on at once: 8 MiB an array
SPREADS_OF_TIMES = ("s_run_time", "s_request_time")
type Block = tuple[slice, slice]  # of chains and draws


@dataclass(frozen=True, slots=True)
class Recorded:
    """Draws in front (chain, draw), then runs."""

    chance: Floats  # position: to pass it under the run's own policy
    fixed_survival: Floats  # position: untransported; a fixed run's own holds its transport, which its rounds saw
    anchor_ms: Floats
    hazard: Floats  # position: to be verified and accepted, under a dynamic policy
    verified_chance: Floats  # position: v


def recorded(held: Population, evidence: Evidence, priors: Priors, config_ms: Floats) -> Recorded:
    """What the model says of each recorded run."""
    of_dynamic, omega = of_runs(evidence, held.omega)
    h = expit(held.logit_in_sample[..., evidence.cell, :] + (held.run_shift + of_dynamic)[..., None], np)
    v = verified_chance(h, held.uniform[..., evidence.cell, :], priors.exposure_power, priors.exposure_shape)
    dynamic = evidence.dynamic_cell[evidence.cell][:, None]
    unmasked = np.where(dynamic, fixed_hazard(h, v, held.delta[..., evidence.cell, None], np), h)
    g = shifted(unmasked, omega[..., None], np)
    anchor = np.where(
        evidence.exposure_matters[evidence.cell],
        run_anchor(
            evidence, np.arange(len(evidence.cell)), exposure(h, v, held.kappa[..., None, None], np), config_ms, np
        ),
        config_ms[evidence.depth],
    )
    chance = np.where(evidence.fixed[:, None], g, np.asarray(h, dtype=float))
    return Recorded(chance, np.cumprod(g, axis=-1), anchor, h, v)


def expected_log_steps(
    draws: xr.Dataset, held: Population, evidence: Evidence, runs: Recorded, config_ms: Floats
) -> Floats:
    """Log step of each timed run's arm under its start on the draws, log ms: shape (chain, draw, timed run)."""
    start = draws["start"].values
    return np.asarray(expected_log_ms(
        evidence, config_ms, draws["log_base"].values, runs.anchor_ms, held.slope[..., None], held.gamma[..., None], start, np,
    ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repeated:
    """Of each run on every draw: what the model says of it, as in `Recorded`, and what its rounds give when run once more."""

    chance: Floats
    fixed_survival: Floats
    accepted: Ints  # position: counts
    step_ms: Floats  # the median request's; NaN without a time


def _blocks(front: tuple[int, ...], entries: int) -> Iterator[Block]:
    """Draws in the order of memory, so many at once that `entries` of each make a `BLOCK`."""
    chains, draws = front
    size = max(BLOCK // max(entries, 1), 1)
    for chain in range(chains):
        for first in range(0, draws, size):
            yield slice(chain, chain + 1), slice(first, first + size)


def _part(held: Population, block: Block) -> Population:
    return Population(*(getattr(held, field.name)[block] for field in fields(held)))


def _counts(rng: np.random.Generator, chance: Floats, overdispersion: Floats, evidence: Evidence) -> Ints:
    """Accepted counts of a repetition of each run's rounds: a beta-binomial step a position."""
    concentration = 1.0 / (overdispersion[..., None] + SMALLEST_OVERDISPERSION)
    out, passed = np.empty(chance.shape, dtype=np.int64), np.empty(chance.shape[:-1])
    before = np.broadcast_to(evidence.rounds, passed.shape)
    blocks = list(_blocks(overdispersion.shape, chance.shape[-2]))
    for i in range(evidence.deepest):
        for block in blocks:
            p = np.clip(chance[block][..., i], 1e-9, 1 - 1e-9)
            passed[block] = rng.beta(p * concentration[block], (1.0 - p) * concentration[block])
        for block in blocks:
            drawn = rng.binomial(before[block], passed[block])
            out[block][..., i] = np.where(evidence.inside[:, i], drawn, 0)
        before = out[..., i]
    return out


def repeated(
    draws: xr.Dataset, held: Population, evidence: Evidence, priors: Priors, config_ms: Floats, rng: np.random.Generator
) -> Repeated:
    """Repeat each run once a draw, with a new run effect on its time and the same start.

    Parameters
    ----------
    draws, held
        Sampled variables and their completion, dims chain and draw.
    evidence, priors, config_ms
        What the model was built from.
    rng
        For what is new in a repetition.
    """
    front, runs = held.run_sd.shape, len(evidence.cell)
    chance, fixed_survival = (np.empty((*front, runs, evidence.deepest)) for _ in range(2))
    step_ms = np.full((*front, runs), np.nan)
    for block in _blocks(front, runs * evidence.deepest):
        here = _part(held, block)
        told = recorded(here, evidence, priors, config_ms)
        chance[block], fixed_survival[block] = told.chance, told.fixed_survival
        if "log_base" in draws:
            given = draws[["log_base", "start", *SPREADS_OF_TIMES]].isel({CHAIN: block[0], DRAW: block[1]})
            mean = expected_log_steps(given, here, evidence, told, config_ms)
            s_run, s_request = (given[name].values[..., None] for name in SPREADS_OF_TIMES)
            noise = run_noise(s_run, s_request, requests_of_runs(evidence))
            step_ms[block][..., evidence.timed] = np.exp(mean + noise * rng.standard_normal(mean.shape))
    accepted = _counts(rng, chance, draws["overdispersion"].values, evidence)
    return Repeated(chance, fixed_survival, accepted, step_ms)
