"""Cells of which a fit holds no count: hazards drawn from the hierarchy, the step's base from its prior unless times were kept."""

from dataclasses import replace
from typing import Any

import numpy as np

from .evidence import Evidence, Floats, Ints
from .hazard_law import Variances, draw_means, mean_covariance
from .places import Places, runs_of_cells
from .prediction import Fitted
from .transport import walk

type Generator = np.random.Generator


def _means(fitted: Fitted, names: list[tuple[bool, str]], rng: Generator) -> Floats:
    """beta of the suite of each new cell, by kind and name: shape (chain, draw, cell, position), exact given the fit.

    A suite that the fit does not hold draws its own about the position means of its kind; where no cell is of that kind, these
    are their prior's.
    """
    evidence, priors, places = fitted.evidence, fitted.priors, Places.of(fitted.evidence)
    variances = Variances.of(fitted.spreads, runs_of_cells(evidence))
    mu, beta, _ = draw_means(places, fitted.draws["theta"].values, variances, priors, rng)
    size = (*mu.shape[:2], evidence.deepest)
    means = {places.names[number][0]: mu[..., kind, :] for number, kind in enumerate(places.kind)}
    suites = {name: beta[..., number, :] for number, name in enumerate(places.names)}
    for name in sorted(set(names) - set(suites)):
        if name[0] not in means:
            centre = np.full(evidence.deepest, priors.hazard_centre)
            means[name[0]] = rng.multivariate_normal(centre, mean_covariance(evidence.deepest, priors), size=size[:2])
        level = variances.suite[..., None] ** 0.5 * rng.standard_normal((*size[:2], 1))
        of_positions = variances.suite_position[..., None] ** 0.5 * rng.standard_normal(size)
        suites[name] = means[name[0]] + level + of_positions
    return np.stack([suites[name] for name in names], axis=-2)


def _logits(fitted: Fitted, design: Evidence, rng: Generator) -> Floats:
    """Logit hazards of new cells at the centre of their runs: their suite's mean, an effect and a shape of the cell's own."""
    own = Variances.of(fitted.spreads, np.full(len(design.cells), np.inf))
    beta = _means(fitted, list(zip(design.dynamic_cell.tolist(), design.suite.tolist(), strict=True)), rng)
    effect = own.cell**0.5 * rng.standard_normal(own.cell.shape)
    return np.asarray(beta + effect[..., None] + own.white[..., None, None] ** 0.5 * rng.standard_normal(beta.shape))


def _with_design(evidence: Evidence, design: Evidence, added: Ints, place: Ints) -> Evidence:
    """The evidence with the cells of `design`, which stand at `place`; those numbered in `added` are new to it."""

    def joined(name: str) -> Any:
        out = np.concatenate([getattr(evidence, name), getattr(design, name)[added]])
        out[place] = getattr(design, name)
        return out

    names = ("suite", "batch", "dynamic_cell", "screened_fixed", "screened_depth", "cap", "origin")
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
        `evidence` and `held` hold the cells of `design` besides. A cell's hazards are of the kind that its policies make it: its suite's
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

    logit = _logits(fitted, design, rng)
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
