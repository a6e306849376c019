"""The hierarchy of hazards: cells and positions in, their joint normal law out, and the means drawn given the hazards.

Per kind of hazard (of fixed or of dynamic policies, which share no mean), with beta_i the mean of position i:

    theta_{k,i} = beta_i + d_k + x_{k,i}        x ~ Normal(0, s_cell_position)
    d_k ~ Normal(0, a_k),  a_k^2 = s_cell^2 + s_run^2 / n_k     the cell's effect plus the mean effect of its n_k runs
    beta = centre + zero-sum normal              centre ~ Normal(hazard_centre, hazard_centre_sd)

theta is the in-sample logit hazard. beta and d are integrated out of the sampled model: counts fix sums of them so closely
that samplers would follow ridges. They are drawn afterwards from their law given theta, which is exact.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .contrasts import Contrasts
from .coordinates import Coordinates, coordinates, exposed_places, run_centring, run_weights, runs_of_cells, width
from .evidence import Evidence, Floats
from .priors import Priors
from .spreads import SMALLEST_SD, half_normal, not_nothing


def mean_covariance(deepest: int, priors: Priors) -> Floats:
    """Covariance of the position means beta: the centre's variance everywhere, and a zero-sum normal's."""
    ones = np.ones((deepest, deepest)) / deepest
    return np.asarray(priors.hazard_centre_sd**2 * deepest * ones + priors.position_sd**2 * (np.eye(deepest) - ones))


def _mean_precision(deepest: int, priors: Priors) -> Floats:
    ones = np.ones((deepest, deepest)) / deepest
    return np.asarray(ones / (deepest * priors.hazard_centre_sd**2) + (np.eye(deepest) - ones) / priors.position_sd**2)


def cell_variance(s_cell: Any, run_sd: Any, runs: Any) -> Any:
    """Variance of a cell's effect plus the mean effect of its runs."""
    return s_cell**2 + SMALLEST_SD**2 + run_sd**2 / runs


def log_density(at: Coordinates, theta: Any, a_squared: Any, white: Any, deepest: int, priors: Priors) -> Any:
    """Log density of the hazards of one kind, beta and d integrated out, in time linear in cells.

    theta_k has covariance B_k = white I + a_k^2 1 1' about beta, and beta one of K x K (Sherman, Morrison and Woodbury).

    Parameters
    ----------
    at
        Which cell and position each entry of theta is.
    theta
        Logit hazards: shape (n,).
    a_squared, white
        `cell_variance` of each cell, and the variance of x.
    deepest, priors
        Positions, and what is believed of their means.
    """
    seen = np.zeros((len(at.cells), deepest))
    seen[at.cell, at.place] = 1.0
    size, before = seen.sum(axis=1), _mean_precision(deepest, priors)
    left = pt.set_subtensor(pt.zeros(seen.shape)[at.cell, at.place], theta - priors.hazard_centre)
    share = a_squared / (white + a_squared * size)
    sums = left.sum(axis=1)
    inner = before + (np.diag(seen.sum(axis=0)) - pt.dot(seen.T * share, seen)) / white
    right = (left.sum(axis=0) - pt.dot(share * sums, seen)) / white
    factor = pt.linalg.cholesky(inner)
    back = pt.linalg.solve_triangular(factor, right, lower=True)
    size_of_inner = 2.0 * pt.log(pt.diagonal(factor)).sum() - np.linalg.slogdet(before)[1]
    log_size = len(at.cell) * pt.log(white) - pt.log1p(-share * size).sum() + size_of_inner
    square = ((left**2).sum() - (share * sums**2).sum()) / white - (back**2).sum()
    return -0.5 * (len(at.cell) * np.log(2.0 * np.pi) + log_size + square)


def _sampled(
    at: Coordinates,
    kind: str,
    a_squared: Any,
    s_shape: Any,
    taken: Any,
    overdispersion: Any,
    deepest: int,
    priors: Priors,
) -> Any:
    """theta of one kind from flat coordinates, with its law as a potential; `taken` is what runs take from each cell."""
    white = s_shape**2
    of_cells = (at.design.T @ np.eye(len(at.cells))[at.cell]) ** 2
    of_means = np.diag(at.design.T @ mean_covariance(deepest, priors)[np.ix_(at.place, at.place)] @ at.design)
    unit = (of_means + pt.dot(of_cells, a_squared) + white) ** (0.5 * (1.0 - at.design_centring))
    wide = width(at.trials, overdispersion)
    scaled = pt.dot(at.scale, at.offset + wide * pm.Flat(f"{kind}_design", shape=len(at.scale)))
    design = priors.hazard_centre * at.design.sum(axis=0) + unit * scaled
    rest: Any = 0.0
    if q := at.rest.shape[1]:
        c = at.rest_centring
        effect = s_shape ** (1.0 - c) * pm.Normal(f"{kind}_rest", 0.0, s_shape**c, shape=q)
        design -= pt.dot(at.shear, effect)
        rest = pt.dot(at.rest, effect)
    theta = pt.dot(at.design, design) - taken[at.cell]
    # of theta's density the part of `rest`, Normal(0, white) and 0 at design's theta, stands at its own variable
    alone = log_density(at, theta, a_squared, white, deepest, priors) + 0.5 * q * pt.log(2.0 * np.pi * white)
    pm.Potential(f"{kind}_design_density", alone + pt.log(unit * wide).sum() + np.log(np.diag(at.scale)).sum())
    return theta + rest


def _forward(at: Coordinates, kind: str, a_squared: Any, s_shape: Any, deepest: int, priors: Priors) -> Any:
    """theta of one kind by the sentences of the hierarchy: the same law, for draws of the prior."""
    means = np.full(deepest, priors.hazard_centre)
    beta = pm.MvNormal(f"{kind}_mean", means, cov=mean_covariance(deepest, priors))
    effect = pm.Normal(f"{kind}_cell", 0.0, pt.sqrt(a_squared), shape=len(at.cells))
    return beta[at.place] + effect[at.cell] + s_shape * pm.Normal(f"{kind}_shape", shape=len(at.cell))


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
    s_cell = half_normal("s_cell", priors.cell_scale)
    run_sd = not_nothing(half_normal("s_run", priors.run_scale))
    s_shape = not_nothing(half_normal("s_cell_position", priors.cell_position_scale))
    runs, contrasts = runs_of_cells(evidence), Contrasts.of(evidence)
    shift, taken = pt.zeros(len(evidence.cell)), pt.zeros(len(evidence.cells))
    if contrasts.size:
        c = run_centring(evidence, contrasts, priors)
        effect = run_sd ** (1.0 - c) * pm.Normal("run_effect", 0.0, run_sd**c, shape=contrasts.size)
        difference = contrasts.differences(pm.Deterministic("run_contrast", effect), pt)
        shift = pt.set_subtensor(shift[contrasts.run], difference)
        if not forward:
            weights = run_weights(evidence)[contrasts.run]
            taken = pt.inc_subtensor(taken[contrasts.cell], weights * difference)
    cell, place = exposed_places(evidence)
    logits = pt.zeros((len(evidence.cells), evidence.deepest))
    theta = pt.zeros(len(cell))
    for at in coordinates(evidence, priors):
        kind = "dynamic" if evidence.dynamic_cell[at.cells[0]] else "fixed"
        a_squared = cell_variance(s_cell, run_sd, runs[at.cells])
        if forward:
            here = _forward(at, kind, a_squared, s_shape, evidence.deepest, priors)
        else:
            here = _sampled(at, kind, a_squared, s_shape, taken[at.cells], overdispersion, evidence.deepest, priors)
        theta = pt.set_subtensor(theta[at.entries], here)
    return pt.set_subtensor(logits[cell, place], pm.Deterministic("theta", theta)), shift


def draw_means(
    evidence: Evidence, priors: Priors, theta: Floats, s_shape: Floats, a_squared: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Position means and cell effects given the exposed hazards: normal, exact.

    Parameters
    ----------
    evidence, priors
        What the model was built from.
    theta
        In-sample logit hazards at `exposed_places`: shape (..., entry).
    s_shape
        `not_nothing(s_cell_position)`: shape (...).
    a_squared
        `cell_variance`: shape (..., cell).
    rng
        For the draws.

    Returns
    -------
    tuple of numpy.ndarray
        beta of each cell's kind (..., cell, position) and d (..., cell), logit scale.
    """
    cell, place = exposed_places(evidence)
    seen = np.zeros((len(evidence.cells), evidence.deepest))
    seen[cell, place] = 1.0
    held = np.zeros((*theta.shape[:-1], *seen.shape))
    held[..., cell, place] = theta
    white = s_shape[..., None] ** 2
    size = seen.sum(axis=1)
    share = a_squared / (white + a_squared * size)
    beta = np.zeros_like(held)
    before = _mean_precision(evidence.deepest, priors)
    for chosen in (~evidence.dynamic_cell, evidence.dynamic_cell):
        if not chosen.any():
            continue
        some, exposed = held[..., chosen, :], seen[chosen]
        told = np.einsum("...k,ki,kj->...ij", share[..., chosen], exposed, exposed)
        inner = before + (np.diag(exposed.sum(axis=0)) - told) / white[..., None]
        sums = some.sum(axis=-2) - np.einsum("...k,ki->...i", share[..., chosen] * some.sum(axis=-1), exposed)
        factor = np.linalg.cholesky(inner)
        right = sums / white + before @ np.full(evidence.deepest, priors.hazard_centre)
        mean = np.linalg.solve(inner, right[..., None])[..., 0]
        noise = rng.standard_normal(mean.shape)
        back = np.linalg.solve(np.swapaxes(factor, -1, -2), noise[..., None])[..., 0]
        beta[..., chosen, :] = (mean + back)[..., None, :]
    left = ((held - beta) * seen).sum(axis=-1)
    sd = np.sqrt(share * white)
    return beta, share * left + sd * rng.standard_normal(left.shape)
