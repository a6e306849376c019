"""The hierarchical model of one worker group: evidence and priors in, a `pm.Model` out; nothing is sampled here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pymc as pm
import pytensor.tensor as pt

from .evidence import Evidence, Ints
from .exposure_uniforms import state_uniforms
from .hierarchy import state_hazards
from .observations import observations, totals, trials_of
from .priors import Priors
from .recursion import (
    expit,
    exposure,
    fixed_hazard,
    shifted,
    step_chances,
    total_moments,
    verified_chance,
)
from .spreads import half_normal
from .step_arms import run_anchor
from .timing import state_times
from .transport import state_transport

SMALLEST_OVERDISPERSION = 1e-7  # a concentration of 1e7: a binomial to all purposes, and finite in floating point


@dataclass(frozen=True, slots=True)
class _Exposed:
    """Runs of cells whose exposure stands in the likelihood, and their hazards and exposure: shape (run, position)."""

    runs: Ints
    hazard: Any
    v: Any
    kappa: Any
    e: Any


def _state_totals(evidence: Evidence, data: dict[str, Any], exposed: _Exposed, extra: Any) -> None:
    """L1: the total verified of each run, normal."""
    runs = totals(evidence)
    e = exposed.e[np.searchsorted(exposed.runs, runs)] * evidence.inside[runs]
    mean, variance = total_moments(e, evidence.positions, data["total_rounds"], extra)
    pm.Normal("verified_tokens", mean, pt.sqrt(variance), observed=data["total_tokens"])


def _exposed(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, omega: Any, hazard: Any, overdispersion: Any, forward: bool,
) -> tuple[_Exposed, tuple[Ints, Any]]:  # fmt: skip
    """Exposure where it matters; and the fixed runs of mixed cells with their hazards had every position been verified."""
    cells = np.flatnonzero(evidence.exposure_matters)
    kappa = half_normal("kappa", priors.rejected_gap_scale)
    delta = half_normal("delta", priors.masked_gap_scale, shape=len(cells))
    uniform = state_uniforms(evidence, priors, logits, shift, omega, cells, delta, kappa, overdispersion, forward)
    runs = np.flatnonzero(evidence.exposure_matters[evidence.cell])
    of_run = np.searchsorted(cells, evidence.cell[runs])
    h = hazard[runs]
    v = verified_chance(h, uniform[of_run], priors.exposure_power, priors.exposure_shape)
    taught = np.flatnonzero((evidence.fixed & evidence.mixed[evidence.cell])[runs])
    unmasked = fixed_hazard(h[taught], v[taught], delta[of_run[taught]][:, None], pt) if len(taught) else h[taught]
    return _Exposed(runs, h, v, kappa, exposure(h, v, kappa, pt)), (runs[taught], unmasked)


def log_beta_binomial(
    taken: Any, tried: Any, log_ways: Any, chance: Any, concentration: Any, gammaln: Any = pt.gammaln
) -> Any:
    """Log chance of `taken` of `tried` whose share is beta, in a graph or, with its `gammaln`, by scipy.

    The log binomial coefficient is given, and the sum of the beta's two parameters is one number for all: half of the gamma
    functions that PyMC's own takes.
    """
    a = chance * concentration
    b = concentration - a
    rise = gammaln(a + taken) - gammaln(a) + gammaln(b + (tried - taken)) - gammaln(b)
    return log_ways + rise - gammaln(concentration + tried) + gammaln(concentration)


def build_model(
    evidence: Evidence,
    priors: Priors,
    config_ms: npt.NDArray[np.float64],
    forward: bool = False,
) -> pm.Model:
    """State the model.

    Parameters
    ----------
    evidence
        The runs of one worker group.
    priors
        What is believed before.
    config_ms
        The cost table H[0..K], ms.
    forward
        Whether the model is for draws of the prior: the same law, stated by forward draws. Otherwise hazards and the
        exposure of cells with fixed and dynamic runs stand in coordinates that mix well, with potentials.

    Returns
    -------
    pymc.Model
        Free variables that stand in the likelihood; what no count speaks of (the exposure and masked tail of cells at
        L0, mean run effects) is drawn after sampling, exactly, by `models.derive`.
    """
    with pm.Model(check_bounds=False) as model:
        data = {name: pm.Data(name, value) for name, value in observations(evidence).items()}
        overdispersion = half_normal("overdispersion", priors.overdispersion_scale)
        logits, shift = state_hazards(evidence, priors, overdispersion, forward)
        of_dynamic, omega = state_transport(evidence, priors)
        shift = shift + of_dynamic
        hazard = expit(logits[evidence.cell] + shift[:, None], pt)
        anchor: Any = config_ms[evidence.depth]
        accepted, chances, exposed = hazard, {}, None
        if evidence.exposure_matters.any():
            exposed, (taught, unmasked) = _exposed(
                evidence, priors, logits, shift, omega, hazard, overdispersion, forward
            )
            accepted = pt.set_subtensor(hazard[taught], unmasked)
            mean = run_anchor(evidence, exposed.runs, exposed.e, config_ms, pt)
            anchor = pt.set_subtensor(pt.as_tensor(anchor)[exposed.runs], mean)
            chances = step_chances(exposed.hazard, exposed.v, exposed.e, exposed.kappa, pt)
            if len(totals(evidence)):
                _state_totals(evidence, data, exposed, overdispersion)
        accepted = shifted(accepted, omega[:, None], pt)
        concentration = 1.0 / (overdispersion + SMALLEST_OVERDISPERSION)
        for name, trials in trials_of(evidence).items():
            of_run = trials.run if exposed is None or name == "accepted" else np.searchsorted(exposed.runs, trials.run)
            p = pt.clip((chances | {"accepted": accepted})[name][of_run, trials.place], 1e-9, 1.0 - 1e-9)
            tried, ways = data[f"{name}_tried"], data[f"{name}_ways"]
            pm.CustomDist(name, tried, ways, p, concentration, logp=log_beta_binomial, observed=data[f"{name}_taken"])
        if len(evidence.times):
            state_times(evidence, priors, config_ms, anchor, data, forward)
    return model
