"""Cells of which a fit holds no count: hazards drawn from the hierarchy, the step's base from its prior unless times were kept."""

from dataclasses import replace
from typing import Any

import numpy as np

from .coordinates import runs_of_cells
from .evidence import Evidence, Flags, Floats, Ints
from .hierarchy import cell_variance, draw_means, mean_covariance
from .prediction import Fitted
from .spreads import not_nothing
from .transport import walk

type Generator = np.random.Generator


def _position_means(fitted: Fitted, dynamic: bool, rng: Generator) -> Floats:
    """beta of one kind of hazards, shape (chain, draw, position): exact given the fit, the prior where no cell is of that kind."""
    evidence, priors, draws = fitted.evidence, fitted.priors, fitted.draws
    like = np.flatnonzero(evidence.dynamic_cell == dynamic)
    if not len(like):
        centre = np.full(evidence.deepest, priors.hazard_centre)
        return rng.multivariate_normal(centre, mean_covariance(evidence.deepest, priors), size=draws["s_cell"].shape)
    run_sd = fitted.held.run_sd[..., None]
    a_squared = cell_variance(draws["s_cell"].values[..., None], run_sd, runs_of_cells(evidence))
    s_shape = not_nothing(draws["s_cell_position"].values)
    beta, _ = draw_means(evidence, priors, draws["theta"].values, s_shape, a_squared, rng)
    return np.asarray(beta[..., like[0], :])


def _logits(fitted: Fitted, dynamic: Flags, rng: Generator) -> Floats:
    """Logit hazards of new cells at the centre of their runs: a mean of positions, an effect and a shape of the cell's own."""
    draws = fitted.draws
    own = np.sqrt(cell_variance(draws["s_cell"].values, 0.0, 1.0))[..., None, None]
    shape = not_nothing(draws["s_cell_position"].values)[..., None, None]
    size = (*draws["s_cell"].shape, len(dynamic))
    means = {bool(kind): _position_means(fitted, bool(kind), rng) for kind in np.unique(dynamic)}
    beta = np.stack([means[bool(kind)] for kind in dynamic], axis=-2)
    return np.asarray(beta + own * rng.standard_normal((*size, 1)) + shape * rng.standard_normal(beta.shape))


def _with_design(evidence: Evidence, design: Evidence, added: Ints, place: Ints) -> Evidence:
    """The evidence with the cells of `design`, which stand at `place`; those numbered in `added` are new to it."""

    def joined(name: str) -> Any:
        out = np.concatenate([getattr(evidence, name), getattr(design, name)[added]])
        out[place] = getattr(design, name)
        return out

    names = ("batch", "dynamic_cell", "screened_fixed", "screened_depth", "cap", "origin")
    cells = (*evidence.cells, *(design.cells[k] for k in added))
    return replace(evidence, cells=cells, **{name: joined(name) for name in names})


def with_unseen(fitted: Fitted, design: Evidence, seed: int) -> Fitted:
    """A fit that predicts arms of further cells as well.

    Parameters
    ----------
    fitted
        Of the same worker group. A cell of it that `design` names too gave step times alone: its base is kept, its hazards
        are drawn anew.
    design
        Cells and policies of runs that the fit does not hold; nothing of their counts and times is read.
    seed
        Of the draws.

    Returns
    -------
    Fitted
        `evidence` and `held` hold the cells of `design` besides. A cell's hazards are of the kind that its policies make it: position
        means of that kind, the cell's effect and its shape over positions from their spreads; the uniform of its exposure, its
        masked tail and its transport from their priors. A base of which nothing is known is drawn from its prior.
    """
    rng, evidence, held, priors = np.random.default_rng(seed), fitted.evidence, fitted.held, fitted.priors
    added = np.array([k for k, name in enumerate(design.cells) if name not in evidence.cells], dtype=np.int64)
    cells = [*evidence.cells, *(design.cells[k] for k in added)]
    place = np.array([cells.index(name) for name in design.cells], dtype=np.int64)
    joint = _with_design(evidence, design, added, place)
    front, size = held.run_sd.shape, len(design.cells)

    def joined(old: Floats, new: Floats, axis: int) -> Floats:
        out = np.concatenate([old, np.take(new, added, axis)], axis)
        where: list[Any] = [slice(None)] * out.ndim
        where[axis] = place
        out[tuple(where)] = new
        return out

    logit = _logits(fitted, design.dynamic_cell, rng)
    steps = rng.standard_normal((*front, len(joint.cells), joint.deepest + 1))
    moved = np.asarray(walk(joint, fitted.draws["s_transport"].values, steps))[..., place, :]
    base = np.log(priors.time_centre_ms) + priors.time_centre_sd * rng.standard_normal((*front, size))
    if "log_base" not in fitted.draws:  # the group has no time at all
        base = np.full((*front, size), np.nan)
    known = np.flatnonzero(place < len(evidence.cells))
    timed = known[~np.isnan(held.log_base[..., place[known]]).any(axis=(0, 1))]
    base[..., timed] = held.log_base[..., place[timed]]
    return replace(
        fitted,
        evidence=joint,
        held=replace(
            held,
            logit=joined(held.logit, logit, 2),
            logit_in_sample=joined(held.logit_in_sample, logit, 2),
            uniform=joined(held.uniform, rng.uniform(size=logit.shape), 2),
            delta=joined(held.delta, priors.masked_gap_scale * np.abs(rng.standard_normal((*front, size))), 2),
            omega=joined(held.omega, moved, 2),
            log_base=joined(held.log_base, base, 2),
        ),
    )
