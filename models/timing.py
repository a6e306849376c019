"""Step times: a base of each cell, starts of the server, the row slope between arms, runs and their requests.

A run is told by the median of its requests, as the screen takes it. Requests of one run may fall into two clusters; a
likelihood of each request about a run's own level has then two modes for that level, and its median has one.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .evidence import Evidence, Flags, Floats, Ints
from .priors import Priors

LEAST_SHARE_OF_BASE = 0.05  # no arm's step takes less than this share of the base: T(0) stays positive
DEGREES = 4  # of the Student law of requests
MEDIAN_NOISE = 4 / 3  # the median of n such values has spread s / (2 f(0) sqrt(n)), and their density f(0) is 3/8


def requests_of_runs(evidence: Evidence) -> Ints:
    """Requests with a time of each timed run."""
    return np.bincount(evidence.time_run, minlength=len(evidence.cell))[evidence.timed]


def log_medians(evidence: Evidence) -> Floats:
    """Log of the median request of each timed run, in log ms."""
    times = (np.median(evidence.times[evidence.time_run == run]) for run in evidence.timed)
    return np.log(np.fromiter(times, dtype=float))


def deviations(evidence: Evidence) -> tuple[Floats, Floats]:
    """Each request's log distance to its run's median, widened to the requests' own spread, and its weight.

    A run of n requests has n - 1 free distances: each is widened by sqrt(n / (n - 1)) and counts as (n - 1) / n.
    """
    place = np.searchsorted(evidence.timed, evidence.time_run)
    size = requests_of_runs(evidence)[place]
    several = size > 1
    apart = np.log(evidence.times) - log_medians(evidence)[place]
    return (apart * np.sqrt(size / np.maximum(size - 1, 1)))[several], ((size - 1) / size)[several]


def start_shares(evidence: Evidence) -> Floats:
    """Share of each start among a cell's timed starts: shape (cell, start), rows add to 1 (or 0 without a time)."""
    out = np.zeros((len(evidence.cells), int(evidence.start.max(initial=-1)) + 1))
    out[evidence.cell[evidence.timed], evidence.start[evidence.timed]] = 1.0
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1.0)


def _timed_arms(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and depth of each timed policy."""
    key = np.stack([evidence.cell, evidence.fixed, evidence.depth])[:, evidence.timed]
    cell, _, depth = np.unique(key, axis=1)
    return cell, depth


def single_arm(evidence: Evidence) -> Flags:
    """Cells with one timed policy: its step is the cell's base, whatever it verified."""
    return np.asarray(np.bincount(_timed_arms(evidence)[0], minlength=len(evidence.cells)) == 1)


def reference_ms(evidence: Evidence, config_ms: Floats) -> Floats:
    """Config time at which a cell's base stands: the mean over its timed arms, where base and slope do not pull together."""
    cell, depth = _timed_arms(evidence)
    count = np.bincount(cell, minlength=len(evidence.cells))
    total = np.bincount(cell, config_ms[depth], minlength=len(evidence.cells))
    return np.where(count > 0, total / np.maximum(count, 1), config_ms[evidence.origin])


def rows_ms(slope: Any, gamma: Any, batch: Any, config_ms: Any, reference_ms: Any) -> Any:
    """m B^-gamma B (H - reference), in ms: what an arm's step takes beyond its cell's base."""
    return slope * batch ** (1.0 - gamma) * (config_ms - reference_ms)


def arm_ms(base_ms: Any, rows: Any, xp: Any) -> Any:
    """Step time of an arm, in ms, kept positive."""
    return xp.maximum(base_ms + rows, LEAST_SHARE_OF_BASE * base_ms)


def run_anchor(evidence: Evidence, runs: Ints, exposed: Any, config_ms: Floats, xp: Any) -> Any:
    """Config time of some runs in ms: H at a fixed depth, sum_k P(V = k) H[k] under a dynamic policy.

    `exposed` is P(V >= i) of those runs: shape (..., len(runs), position).
    """
    mean = config_ms[0] + (exposed * evidence.inside[runs] * np.diff(config_ms)).sum(axis=-1)
    return xp.where(evidence.fixed[runs], config_ms[evidence.depth[runs]], mean)


def own_starts(evidence: Evidence) -> Floats:
    """How each timed run's start differs from the mean of its cell's starts: shape (timed run, start)."""
    shares, timed = start_shares(evidence), evidence.timed
    return np.asarray(np.eye(shares.shape[1])[evidence.start[timed]] - shares[evidence.cell[timed]])


def run_noise(s_run: Any, s_request: Any, requests: Ints) -> Any:
    """Spread of a run's log median about its arm: between runs, and of a median of its requests."""
    return (s_run**2 + (MEDIAN_NOISE * s_request) ** 2 / requests) ** 0.5


def expected_log_ms(
    evidence: Evidence, config_ms: Floats, log_base: Any, anchor: Any, slope: Any, gamma: Any, start: Any, xp: Any
) -> Any:
    """Log step time of each timed run's arm under its start, in log ms.

    Parameters
    ----------
    evidence, config_ms
        The runs of one worker group; H[0..K] in ms.
    log_base
        Of each cell, at `reference_ms` and over its own starts: shape (..., cell).
    anchor
        Config time of each run, ms: shape (..., run).
    slope, gamma
        The row slope and how it falls with the batch: shape (..., 1).
    start
        Effect of each start: shape (..., start).
    xp
        numpy or pytensor.tensor.
    """
    timed = evidence.timed
    cell = evidence.cell[timed]
    mean = log_base[..., cell]
    if evidence.slope_matters:
        several = ~single_arm(evidence)[cell]
        apart = several * (anchor[..., timed] - reference_ms(evidence, config_ms)[cell])
        mean = xp.log(arm_ms(xp.exp(mean), rows_ms(slope, gamma, evidence.batch[cell], apart, 0.0), xp))
    return mean + xp.dot(start, own_starts(evidence).T)


def state_times(
    evidence: Evidence,
    priors: Priors,
    config_ms: Floats,
    anchor: Any,
    data: dict[str, Any],
) -> None:
    """Add step times to the model on the context stack.

    log median_r ~ Normal(arm + start, `run_noise`), so that run effects are integrated out; requests about their run's
    median are Student. A cell's `log_base` holds the mean effect of its own starts, so that what only one cell had is no
    ridge; it is sampled in units of what its runs leave open, about their mean.

    Parameters
    ----------
    evidence
        The runs of one worker group; at least one has a time.
    priors
        What is believed before.
    config_ms
        The cost table H[0..K], ms.
    anchor
        Config time of each run, ms: H at a fixed depth, the effective anchor of a dynamic policy.
    data
        `log_median` of each timed run, `log_median_guess` of each cell, `deviation` of requests.
    """
    shares, requests = start_shares(evidence), requests_of_runs(evidence)
    s_start = pm.HalfNormal("s_start", priors.start_time_scale)
    s_run = pm.LogNormal("s_run_time", np.log(priors.run_time_centre), priors.run_time_log_sd)
    s_request = pm.LogNormal("s_request_time", np.log(priors.request_time_centre), priors.request_time_log_sd)
    start = s_start * pm.Normal("start_score", 0.0, 1.0, shape=shares.shape[1])
    noise = run_noise(s_run, s_request, requests)
    of_cell = np.eye(len(evidence.cells))[evidence.cell[evidence.timed]]
    unit = (1.0 / priors.time_centre_sd**2 + pt.dot(noise**-2, of_cell)) ** -0.5
    centre = np.log(priors.time_centre_ms) + pt.dot(shares, start) - data["log_median_guess"]
    score = pm.Normal("base_score", centre / unit, priors.time_centre_sd / unit, shape=len(evidence.cells))
    log_base = pm.Deterministic("log_base", data["log_median_guess"] + unit * score)
    slope, gamma = _slope(evidence, priors) if evidence.slope_matters else (0.0, 0.0)
    mean = expected_log_ms(evidence, config_ms, log_base, pt.as_tensor(anchor), slope, gamma, start, pt)
    pm.Normal("log_step", mean, noise, observed=data["log_median"])
    _, weight = deviations(evidence)
    if len(weight):
        law = pm.StudentT.dist(nu=DEGREES, mu=0.0, sigma=s_request)
        pm.Potential("requests", (weight * pm.logp(law, data["deviation"])).sum())


def guess(evidence: Evidence) -> Floats:
    """Mean log median of each cell, 0 without a time: only where its base is sampled from."""
    cell = evidence.cell[evidence.timed]
    total = np.bincount(cell, log_medians(evidence), minlength=len(evidence.cells))
    return np.asarray(total / np.maximum(np.bincount(cell, minlength=len(evidence.cells)), 1))


def _slope(evidence: Evidence, priors: Priors) -> tuple[Any, Any]:
    """The row slope m and how fast it falls with the batch, gamma."""
    if evidence.teaches_slope:
        gamma = pm.HalfNormal("slope_batch", priors.row_slope_batch_scale)
        return pm.HalfNormal("slope", priors.row_slope_scale), gamma
    return pm.Beta("slope", priors.row_slope_alpha, priors.row_slope_beta), 0.0
