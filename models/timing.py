"""Step times: a base of each cell, starts of the server, the row slope between arms, runs and their requests.

A run is told by the median of its requests, as the screen takes it. Requests of one run may fall into two clusters; a
likelihood of each request about a run's own level has then two modes for that level, and its median has one.
"""

from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .evidence import Evidence, Floats, Ints
from .priors import Priors
from .recursion import expit
from .spreads import half_normal
from .starts import StartLaw, mean_of_starts, own_starts, start_shares
from .step_arms import expected_log_ms, rows_of_runs, usual_batch

USUAL_LOGIT_SD = 1.4  # of a share in (0, 1) of which nothing is known: only to scale with
DEGREES = 4  # of the Student law of requests
MEDIAN_NOISE = 4 / 3  # the median of n such values has spread s / (2 f(0) sqrt(n)), and their density f(0) is 3/8


def requests_of_runs(evidence: Evidence) -> Ints:
    """Requests with a time of each timed run."""
    return np.bincount(evidence.time_run, minlength=len(evidence.cell))[evidence.timed]


def log_medians(evidence: Evidence) -> Floats:
    """Log of the median request of each timed run, in log ms."""
    order = np.argsort(evidence.time_run, kind="stable")
    of_runs = np.split(evidence.times[order], np.cumsum(requests_of_runs(evidence))[:-1])
    return np.log([np.median(times) for times in of_runs])


def deviations(evidence: Evidence) -> tuple[Floats, Floats]:
    """Each request's log distance to its run's median, widened to the requests' own spread, and its weight.

    A run of n requests has n - 1 free distances: each is widened by sqrt(n / (n - 1)) and counts as (n - 1) / n.
    """
    place = np.searchsorted(evidence.timed, evidence.time_run)
    size = requests_of_runs(evidence)[place]
    several = size > 1
    apart = np.log(evidence.times) - log_medians(evidence)[place]
    return (apart * np.sqrt(size / np.maximum(size - 1, 1)))[several], ((size - 1) / size)[several]


def run_noise(s_run: Any, s_request: Any, requests: Ints) -> Any:
    """Spread of a run's log median about its arm: between runs, and of a median of its requests."""
    return (s_run**2 + (MEDIAN_NOISE * s_request) ** 2 / requests) ** 0.5


def state_times(
    evidence: Evidence,
    priors: Priors,
    config_ms: Floats,
    anchor: Any,
    data: dict[str, Any],
    forward: bool,
) -> None:
    """Add step times to the model on the context stack.

    log median_r ~ Normal(arm + start, `run_noise`), so that run effects are integrated out; requests about their run's
    median are Student. A cell's `log_base` holds the mean effect of its own starts, so that what only one cell had is no
    ridge; it is sampled in units of what its runs leave open, about where their mean puts it given the row slope. Starts are
    sampled by what medians and bases leave open of them: two starts that differ are no ridge for the row slope either.

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
    forward
        Whether the model is for draws of the prior; the law is the same.
    """
    shares, cells = start_shares(evidence), len(evidence.cells)
    s_start = half_normal("s_start", priors.start_time_scale)
    s_run = pm.LogNormal("s_run_time", np.log(priors.run_time_centre), priors.run_time_log_sd)
    s_request = pm.LogNormal("s_request_time", np.log(priors.request_time_centre), priors.request_time_log_sd)
    score = pm.Normal("start_score", 0.0, 1.0, shape=shares.shape[1])
    noise = run_noise(s_run, s_request, requests_of_runs(evidence))
    variance = pt.concatenate([noise**2, np.full(cells, priors.time_centre_sd**2)])
    law = StartLaw.of(variance, np.vstack([own_starts(evidence), shares]), s_start)
    rows_of = partial(rows_of_runs, evidence, config_ms, pt.as_tensor(anchor))
    slope, gamma = _slope(evidence, priors, data, rows_of, law, forward) if evidence.slope_matters else (0.0, 0.0)
    log_centre = np.log(priors.time_centre_ms)
    of_arms = partial(
        expected_log_ms, evidence, config_ms, anchor=pt.as_tensor(anchor), slope=slope, gamma=gamma, xp=pt
    )
    if forward:
        start = pm.Deterministic("start", s_start * score)
        log_base = pm.Normal("log_base", log_centre + pt.dot(shares, start), priors.time_centre_sd, shape=cells)
        pm.Normal("log_step", of_arms(log_base=log_base, start=start), noise, observed=data["log_median"])
    else:
        weights = mean_of_starts(evidence)
        about = data["log_median_guess"]
        if evidence.slope_matters:
            about -= pt.dot(weights, rows_of(slope, gamma)) / pt.exp(about)
        open_by_runs = pt.dot(weights**2, noise**2) + priors.time_centre_sd**2 * (weights.sum(axis=1) == 0.0)
        unit = (priors.time_centre_sd**-2 + 1.0 / open_by_runs) ** -0.5
        log_base = pm.Deterministic("log_base", about + unit * pm.Flat("base_score", shape=cells))
        arms = of_arms(log_base=log_base, start=np.zeros(shares.shape[1]))
        residual = pt.concatenate([data["log_median"] - arms, log_base - log_centre])
        pm.Potential("log_step", law.log_density(residual))
        pm.Potential("base_unit", pt.log(unit).sum())
        pm.Deterministic("start", law.starts(residual, score))
    _, weight = deviations(evidence)
    if len(weight):
        law = pm.StudentT.dist(nu=DEGREES, mu=0.0, sigma=s_request)
        pm.Potential("requests", (weight * pm.logp(law, data["deviation"])).sum())


def guess(evidence: Evidence) -> Floats:
    """Mean log median of each cell over its starts, 0 without a time: only where its base is sampled from."""
    return np.asarray(mean_of_starts(evidence) @ log_medians(evidence))


def _slope(
    evidence: Evidence, priors: Priors, data: dict[str, Any], rows_of: Any, law: StartLaw, forward: bool
) -> tuple[Any, Any]:
    """The row slope m and how fast it falls with the batch, gamma.

    m is sampled in units of what runs and starts leave open of it, about where they put it: where starts are alike they fix
    it closely, where they differ hardly at all. One that falls is sampled where the batches are, as m B^-gamma.
    """
    falls = evidence.teaches_slope
    gamma = half_normal("slope_batch", priors.row_slope_batch_scale) if falls else 0.0
    fall = usual_batch(evidence) ** gamma if falls else 1.0
    scale = priors.row_slope_scale / fall
    law_of_slope = (pm.HalfNormal, (scale,)) if falls else (pm.Beta, (priors.row_slope_alpha, priors.row_slope_beta))
    if forward:
        here = law_of_slope[0]("slope_here", *law_of_slope[1])
        return pm.Deterministic("slope", here * fall), gamma
    weights, guess_of_cell = mean_of_starts(evidence), data["log_median_guess"]
    of_run = evidence.cell[evidence.timed]
    steeper, apart = rows_of(fall, gamma) / pt.exp(guess_of_cell[of_run]), data["log_median"] - guess_of_cell[of_run]
    none = np.zeros(len(evidence.cells))
    steeper = pt.concatenate([steeper - pt.dot(weights, steeper)[of_run], none])
    information, product = law.product(steeper, steeper), law.product(steeper, pt.concatenate([apart, none]))
    score = pm.Flat("slope_score")
    if falls:
        sd = (scale**-2 + information) ** -0.5
        at = sd * product + score
        here, change = sd * pt.softplus(at), pt.log(sd) - pt.softplus(-at)
    else:
        told = information / 16.0  # on the logit, at a share of a half
        sd = (USUAL_LOGIT_SD**-2 + told) ** -0.5
        share = pt.clip(product / (information + 1e-9), 0.05, 0.95)
        here = expit(sd**2 * told * pt.log(share / (1.0 - share)) + sd * score, pt)
        change = pt.log(sd) + pt.log(here) + pt.log1p(-here)
    pm.Potential("slope_density", pm.logp(law_of_slope[0].dist(*law_of_slope[1]), here) + change)
    return pm.Deterministic("slope", here * fall), gamma
