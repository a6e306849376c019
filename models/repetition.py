"""The recorded runs on the draws, and repetitions of them: what the model expects to see where it has looked."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from .evidence import Evidence, Floats
from .model import SMALLEST_OVERDISPERSION
from .population import Population
from .priors import Priors
from .recursion import expit, exposure, fixed_hazard, shifted, verified_chance
from .step_arms import expected_log_ms, run_anchor
from .timing import requests_of_runs, run_noise
from .transport import of_runs


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


def _counts(rng: np.random.Generator, chance: Floats, overdispersion: Floats, evidence: Evidence) -> Floats:
    """Accepted counts of a repetition of each run's rounds: a beta-binomial step a position."""
    concentration = 1.0 / (overdispersion[..., None] + SMALLEST_OVERDISPERSION)
    before, out = np.broadcast_to(evidence.rounds, chance.shape[:-1]), []
    for i in range(evidence.deepest):
        p = np.clip(chance[..., i], 1e-9, 1 - 1e-9)
        drawn = rng.binomial(before, rng.beta(p * concentration, (1.0 - p) * concentration))
        before = np.where(evidence.inside[:, i], drawn, 0)
        out.append(before)
    return np.stack(out, axis=-1)


def repeated(
    draws: xr.Dataset, held: Population, evidence: Evidence, runs: Recorded, config_ms: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Repeat each run once a draw, with a new run effect on its time and the same start.

    Returns
    -------
    tuple of numpy.ndarray
        Accepted counts (chain, draw, run, position) and median steps in ms (chain, draw, run), NaN without a time.
    """
    steps = np.full(runs.anchor_ms.shape, np.nan)
    if "log_base" in draws:
        mean = expected_log_steps(draws, held, evidence, runs, config_ms)
        s_run, s_request = (draws[name].values[..., None] for name in ("s_run_time", "s_request_time"))
        noise = run_noise(s_run, s_request, requests_of_runs(evidence))
        steps[..., evidence.timed] = np.exp(mean + noise * rng.standard_normal(mean.shape))
    return _counts(rng, runs.chance, draws["overdispersion"].values, evidence), steps
