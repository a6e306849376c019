"""The uniforms U behind the exposure, in the coordinates in which counts tell of them.

Fixed runs beside dynamic ones teach the masked tail: they fix their own hazard closely, wherever the hazard h of the dynamic
policy and the transport omega lie. At the first position g = h + (1 - h) share before transport, so what is sampled is how
far logit g lies above logit h; later positions follow nearly. Counts of what was verified are taken by `exposure_verified`: where
they are known by position and in more rounds than fixed runs have, they tell v, and fixed runs are left to tell delta.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from ..data.words import Level
from .coordinates import counted_logits
from .evidence import Evidence, Flags, Floats, Ints
from .exposure_verified import by_cell, by_ratio, by_total, gap_above, open_width, runs_at, shares_of_cells
from .priors import Priors
from .recursion import expit, log_share_density, verified_from_share, verified_uniform


def tells_tail(evidence: Evidence) -> Flags:
    """Runs that teach a masked tail: fixed ones of cells with a dynamic policy."""
    return np.asarray(evidence.counted & evidence.fixed & (evidence.depth > 0) & evidence.mixed[evidence.cell])


def _fixed_logits(evidence: Evidence, cells: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Logit share that fixed runs passed, its information, trials: (cell, position); weights of runs: (cell, position, run)."""
    logit, information = counted_logits(evidence)
    taught = tells_tail(evidence)[:, None]
    information = information * taught
    known = by_cell(evidence, information)
    estimate = by_cell(evidence, information * logit) / np.maximum(known, 1e-9)
    trials = by_cell(evidence, np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside * taught)
    weights = np.stack([shares_of_cells(evidence, of_run) for of_run in information.T], axis=1)
    return estimate[cells], known[cells], trials[cells], weights[cells]


def _by_gap(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, omega: Any, cells: Ints, delta: Any, overdispersion: Any,
    t: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """U of cells whose masked tail fixed runs teach, and the log density of t."""
    estimate, information, trials, weights = _fixed_logits(evidence, cells)
    reference = logits[cells] + pt.dot(weights, shift)
    sd, known = open_width(information, trials, overdispersion)
    gap, change = gap_above(reference + pt.dot(weights, omega), estimate, sd, known, t)
    g, h = expit(reference + gap, pt), expit(reference, pt)
    share = -g * pt.expm1(-gap)  # (g - h) / (1 - h)
    below = delta[:, None]
    density = log_share_density(h, share, below, priors.exposure_power, priors.exposure_shape, pt)
    change += pt.log(g) + pt.log1p(-g) - pt.log1p(-h)
    v = verified_from_share(h, share, below, pt)
    return verified_uniform(h, v, priors.exposure_power, priors.exposure_shape), (density + change).sum()


def ways(evidence: Evidence, cells: Ints) -> dict[str, Flags]:
    """Which cells are sampled in which coordinates: those of what more rounds tell of."""
    rounds = [
        by_cell(evidence, evidence.rounds * runs)[cells]
        for runs in (tells_tail(evidence), *(runs_at(evidence, level) for level in (Level.L1, Level.L2, Level.L3)))
    ]
    fixed, totals, counts, tables = rounds
    gap = (fixed > counts) & (fixed > tables)
    ratio = (counts > tables) & ~gap
    total = (totals > 0) & (counts == 0) & (tables == 0) & ~gap
    return {"masked_gap": gap, "verified_ratio": ratio, "verified_total": total}


def state_uniforms(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, omega: Any, cells: Ints, delta: Any, kappa: Any,
    overdispersion: Any, forward: bool,
) -> Any:  # fmt: skip
    """U of the exposure of some cells, uniform whatever the hazard, so that one prior serves every level.

    Parameters
    ----------
    evidence, priors
        What the model is built from.
    logits, shift, omega
        In-sample logit hazards (cell, position), each run's difference to its cell, and the transport of fixed runs.
    cells
        Whose exposure stands in the likelihood.
    delta, kappa, overdispersion
        The masked gap of each of them, the rejected gap, and of shares (only to scale with).
    forward
        Whether the model is for draws of the prior; the law is the same.

    Returns
    -------
    tensor
        Shape (len(cells), position), named `uniform`.
    """
    deepest, plain = evidence.deepest, np.ones(len(cells), dtype=bool)
    out = pt.zeros((len(cells), deepest))
    for name, chosen in ({} if forward else ways(evidence, cells)).items():
        if not chosen.any():
            continue
        places = np.flatnonzero(chosen)
        t = pm.Flat(name, shape=(len(places), deepest))
        if name == "masked_gap":
            u, density = _by_gap(
                evidence, priors, logits, shift, omega, cells[places], delta[places], overdispersion, t
            )
        else:
            by = by_ratio if name == "verified_ratio" else by_total
            u, density = by(evidence, priors, logits, shift, cells[places], kappa, overdispersion, t)
        pm.Potential(f"{name}_density", density)
        out, plain[places] = pt.set_subtensor(out[places], u), False
    if plain.any():
        rest = pm.Uniform("exposure_uniform", 0.0, 1.0, shape=(int(plain.sum()), deepest))
        out = pt.set_subtensor(out[np.flatnonzero(plain)], rest)
    return pm.Deterministic("uniform", out)
