"""The hazards of the model: their law of `hazard_law` in the coordinates that mix, and runs about their cells.

All means over suites, cells and runs are integrated out of the sampled model: counts fix sums of them so closely that samplers
would follow ridges. They are drawn afterwards from their law given the hazards, which is exact (`hazard_law.draw_means`).
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .contrasts import Contrasts
from .coordinates import Coordinates, coordinates, run_centring, run_weights, width
from .evidence import Evidence
from .hazard_law import Variances, log_density, mean_covariance
from .places import Places, runs_of_cells
from .priors import Priors
from .spreads import half_normal, not_nothing


def _sampled(at: Coordinates, variances: Variances, taken: Any, overdispersion: Any, priors: Priors) -> Any:
    """theta from flat coordinates, with its law as a potential; `taken` is what runs take from each cell."""
    unit = at.prior_variance(variances, priors) ** (0.5 * (1.0 - at.design_centring))
    wide = width(at.trials, overdispersion)
    scaled = pt.dot(at.scale, at.offset + wide * pm.Flat("hazard_design", shape=len(at.scale)))
    design = priors.hazard_centre * at.design.sum(axis=0) + unit * scaled
    rest: Any = 0.0
    if q := at.rest.shape[1]:
        c, s_shape = at.rest_centring, variances.white**0.5
        effect = s_shape ** (1.0 - c) * pm.Normal("hazard_rest", 0.0, s_shape**c, shape=q)
        design -= pt.dot(at.shear, effect)
        rest = pt.dot(at.rest, effect)
    theta = pt.dot(at.design, design) - taken[at.places.cell]
    # of theta's density the part of `rest`, Normal(0, white) and 0 at design's theta, stands at its own variable
    alone = log_density(at.places, theta, variances, priors) + 0.5 * q * pt.log(2.0 * np.pi * variances.white)
    pm.Potential("hazard_design_density", alone + pt.log(unit * wide).sum() + np.log(np.diag(at.scale)).sum())
    return theta + rest


def _forward(places: Places, variances: Variances, priors: Priors) -> Any:
    """theta by the sentences of the hierarchy: the same law, for draws of the prior."""
    deepest, kinds, suites = places.deepest, int(places.kind.max()) + 1, len(places.names)
    centre, covariance = np.full(deepest, priors.hazard_centre), mean_covariance(deepest, priors)
    mean = pm.MvNormal("hazard_mean", centre, cov=covariance, shape=(kinds, deepest))
    suite = pm.Normal("hazard_suite", 0.0, variances.suite**0.5, shape=(suites, 1))
    of_suite = pm.Normal("hazard_suite_position", 0.0, variances.suite_position**0.5, shape=(suites, deepest))
    effect = pm.Normal("hazard_cell", 0.0, variances.cell**0.5, shape=len(places.suite))
    shape = pm.Normal("hazard_shape", 0.0, variances.white**0.5, shape=len(places.cell))
    beta = mean[places.kind] + suite + of_suite
    return beta[places.suite[places.cell], places.place] + effect[places.cell] + shape


def state_hazards(evidence: Evidence, priors: Priors, overdispersion: Any, forward: bool) -> tuple[Any, Any]:
    """Add the hazards to the model on the context stack.

    Parameters
    ----------
    evidence
        The runs of one worker group.
    priors
        What is believed before.
    overdispersion
        Of shares, as sampled: only to scale with.
    forward
        Whether the model is for draws of the prior; the law is the same.

    Returns
    -------
    tuple
        In-sample logit hazards (cell, position), 0 where no run may verify; and each run's difference to its cell.
    """
    scales = {
        "s_suite": priors.suite_scale, "s_suite_position": priors.suite_position_scale, "s_cell": priors.cell_scale,
        "s_run": priors.run_scale, "s_cell_position": priors.cell_position_scale,
    }  # fmt: skip
    spreads = {name: half_normal(name, scale) for name, scale in scales.items()}
    runs, contrasts = runs_of_cells(evidence), Contrasts.of(evidence)
    shift, taken = pt.zeros(len(evidence.cell)), pt.zeros(len(evidence.cells))
    if contrasts.size:
        c, run_sd = run_centring(evidence, contrasts, priors), not_nothing(spreads["s_run"])
        effect = run_sd ** (1.0 - c) * pm.Normal("run_effect", 0.0, run_sd**c, shape=contrasts.size)
        difference = contrasts.differences(pm.Deterministic("run_contrast", effect), pt)
        shift = pt.set_subtensor(shift[contrasts.run], difference)
        if not forward:
            weights = run_weights(evidence)[contrasts.run]
            taken = pt.inc_subtensor(taken[contrasts.cell], weights * difference)
    places, variances = Places.of(evidence), Variances.of(spreads, runs)
    if forward:
        theta = _forward(places, variances, priors)
    else:
        theta = _sampled(coordinates(evidence, places, priors), variances, taken, overdispersion, priors)
    logits = pt.zeros((len(evidence.cells), evidence.deepest))
    return pt.set_subtensor(logits[places.cell, places.place], pm.Deterministic("theta", theta)), shift
