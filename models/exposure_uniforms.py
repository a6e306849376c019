"""The uniforms U behind the exposure, and the coordinates in which fixed runs beside dynamic ones teach them.

Fixed runs fix their own hazard g closely, wherever the hazard h of the dynamic policy lies. At the first position
g = h + (1 - h) share, so what is sampled is t of

    logit g - logit h = s softplus(known (g^ - logit h) / s + t)

with g^ the logit share that the fixed runs passed and s how closely they tell it. So t stays put when h moves, and has the
width of one, until h reaches g; later positions follow nearly.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .coordinates import counted_logits
from .evidence import Evidence, Flags, Floats, Ints
from .priors import Priors
from .recursion import expit, log_share_density, verified_from_share, verified_uniform

USUAL_GAP = 1.5  # of logits, where no count tells of it: only where sampling starts, and its unit


def tells_tail(evidence: Evidence) -> Flags:
    """Runs that teach a masked tail: fixed ones of cells with a dynamic policy."""
    return np.asarray(evidence.counted & evidence.fixed & (evidence.depth > 0) & evidence.mixed[evidence.cell])


def _by_cell(evidence: Evidence, of_run: Floats) -> Floats:
    out = np.zeros((len(evidence.cells), *of_run.shape[1:]))
    np.add.at(out, evidence.cell, of_run)
    return out


def _fixed_logits(evidence: Evidence, cells: Ints) -> tuple[Floats, Floats, Floats]:
    """Logit share that fixed runs passed and its information (cell, position); weights of their effects (cell, run)."""
    logit, information = counted_logits(evidence)
    information = information * tells_tail(evidence)[:, None]
    known = _by_cell(evidence, information)
    estimate = _by_cell(evidence, information * logit) / np.maximum(known, 1e-9)
    weights = _by_cell(evidence, np.diag(information.sum(axis=1)))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    return estimate[cells], known[cells], weights[cells]


def _taught(evidence: Evidence, priors: Priors, logits: Any, shift: Any, cells: Ints, delta: Any) -> Any:
    """U of cells whose masked tail fixed runs teach, from flat coordinates, with its law as a potential."""
    estimate, information, weights = _fixed_logits(evidence, cells)
    reference = logits[cells] + pt.dot(weights, shift)[:, None]
    sd = (information + USUAL_GAP**-2) ** -0.5
    known = information * sd**2
    at = (known * (estimate - reference) + (1.0 - known) * USUAL_GAP) / sd
    at += pm.Flat("masked_gap", shape=information.shape)
    gap = sd * pt.softplus(at)
    g, h = expit(reference + gap, pt), expit(reference, pt)
    share = -g * pt.expm1(-gap)  # (g - h) / (1 - h)
    below = delta[:, None]
    density = log_share_density(h, share, below, priors.exposure_power, priors.exposure_shape, pt)
    change = pt.log(g) + pt.log1p(-g) - pt.log1p(-h) + np.log(sd) - pt.softplus(-at)
    pm.Potential("masked_gap_density", (density + change).sum())
    v = verified_from_share(h, share, below, pt)
    return verified_uniform(h, v, priors.exposure_power, priors.exposure_shape)


def state_uniforms(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, cells: Ints, delta: Any, forward: bool
) -> Any:
    """U of the exposure of some cells, uniform whatever the hazard, so that one prior serves every level.

    Parameters
    ----------
    evidence, priors
        What the model is built from.
    logits, shift
        In-sample logit hazards (cell, position) and each run's difference to its cell.
    cells
        Whose exposure stands in the likelihood.
    delta
        The masked gap of each of them.
    forward
        Whether the model is for draws of the prior; the law is the same.

    Returns
    -------
    tensor
        Shape (len(cells), position), named `uniform`.
    """
    taught = evidence.mixed[cells] & (not forward)
    out = pt.zeros((len(cells), evidence.deepest))
    if (~taught).any():
        plain = pm.Uniform("exposure_uniform", 0.0, 1.0, shape=(int((~taught).sum()), evidence.deepest))
        out = pt.set_subtensor(out[np.flatnonzero(~taught)], plain)
    if taught.any():
        places = np.flatnonzero(taught)
        by_gap = _taught(evidence, priors, logits, shift, cells[places], delta[places])
        out = pt.set_subtensor(out[places], by_gap)
    return pm.Deterministic("uniform", out)
