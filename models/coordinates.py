"""Coordinates in which the hazards are sampled: a linear map chosen from the counts, which leaves the model as it is.

The exposed logit hazards theta of one kind of cells are split by an orthonormal basis of the entries. `design` spans the
position means and cell means; `rest` is what is left, and there the hierarchy's covariance is s^2 I whatever the spreads
of positions and cells, since all else that the hierarchy says lies in `design`. So `rest` may be turned freely: it is
turned to the directions in which the counts speak independently. Then `design` is sheared by what `rest` says of it, and
cells by the mean of their runs as their rounds weigh them, so that what has few rounds does not pull on what has many.

How far an effect x ~ Normal(0, s) is sampled centred: x = s^(1 - c) y, y ~ Normal(0, s^c). Where counts fix x more closely
than s does, c = 1 mixes best; where they say little, c = 0 does; c = s^2 / (s^2 + 1/information) lies between.
"""

from dataclasses import dataclass

import numpy as np

from .contrasts import Contrasts
from .evidence import Evidence, Flags, Floats, Ints

LEAST_SD = 0.02  # to scale with
CAUTIOUS_OVERDISPERSION = (
    0.006  # as large as the prior lets one expect: n trials tell what n / (1 + .006 n) would without
)
UNKNOWN_SD = 0.5  # how well a position's mean is known before, roughly: only to scale with


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The map of the cells of one kind (dynamic or fixed hazards); n entries, d of design, q of rest."""

    entries: Ints  # places in the list of exposed (cell, position): n
    cell: Ints  # of each entry, counted from 0 within the kind
    place: Ints  # position of each entry, from 0
    cells: Ints  # cells of this kind
    design: Floats  # n, d: the ones first, then positions, then cells
    rest: Floats  # n, q
    shear: Floats  # d, q: what the rest takes from design
    scale: Floats  # d, d: a factor of the rough posterior covariance of design, in units of the prior's spread^(1 - c)
    offset: Floats  # d: where the counts lie, in the same coordinates
    design_centring: Floats  # d
    rest_centring: Floats  # q


def exposed_places(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and position (from 0) wherever some run may verify."""
    cell, place = np.nonzero(evidence.positions <= evidence.cap[:, None])
    return cell, place


def runs_of_cells(evidence: Evidence) -> Floats:
    """Runs of each cell that are new evidence, at least 1."""
    return np.maximum(np.bincount(evidence.cell[evidence.counted], minlength=len(evidence.cells)), 1.0)


def orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of the columns' span, in their order; a column that adds nothing is left out."""
    out = np.zeros((len(columns), 0))
    for column in columns.T:
        left = column - out @ (out.T @ column)
        left -= out @ (out.T @ left)
        size = np.linalg.norm(left)
        if size > 1e-6:
            out = np.column_stack([out, left / size])
    return out


def complement(basis: Floats) -> Floats:
    """An orthonormal basis of what is orthogonal to `basis`."""
    full, _ = np.linalg.qr(basis, mode="complete")
    return np.asarray(full[:, basis.shape[1] :])


def counted_logits(evidence: Evidence) -> tuple[Floats, Floats]:
    """Rough logit hazard and its binomial information of each run and position; no information where nothing was tried."""
    tried = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    tried = tried * evidence.counted[:, None]
    share = (np.minimum(evidence.accepted, tried) + 0.5) / (tried + 1.0)
    worth = tried / (1.0 + CAUTIOUS_OVERDISPERSION * tried)
    return np.log(share / (1.0 - share)), worth * share * (1.0 - share)


def spread(estimate: Floats, variance: Floats) -> float:
    """A spread that effects have at least, by moments (DerSimonian and Laird), three standard errors below their own.

    0 where the counts may do without one: an effect that is sampled centred on a spread that vanishes is a funnel.
    """
    if not len(estimate):
        return 0.0
    weight = 1.0 / np.maximum(variance, 1e-12)
    excess = float((weight * estimate**2).sum()) - len(estimate) - 3.0 * np.sqrt(2.0 * len(estimate))
    return float(np.sqrt(max(excess, 0.0) / float(weight.sum())))


def _centring(sd: float, information: Floats) -> Floats:
    worth = sd**2 * np.maximum(information, 0.0)
    return np.asarray(worth / (1.0 + worth))


def run_weights(evidence: Evidence) -> Floats:
    """Share of each run in what is known of its cell: shape (run,), adding to 1 over the new runs of a cell."""
    information = counted_logits(evidence)[1].sum(axis=1) + 1e-6 * evidence.counted
    return np.asarray(information / np.bincount(evidence.cell, information, len(evidence.cells))[evidence.cell])


def run_centring(evidence: Evidence, contrasts: Contrasts) -> Floats:
    """c of each run contrast; the spread of runs is that of their mean distance to their arm's pooled logits."""
    logit, information = counted_logits(evidence)
    key = np.stack([evidence.cell, evidence.fixed, evidence.depth])
    _, arm = np.unique(key, axis=1, return_inverse=True)
    arm = arm.ravel()
    weight, total = (np.zeros((arm.max() + 1, evidence.deepest)) for _ in range(2))
    np.add.at(weight, arm, information)
    np.add.at(total, arm, information * logit)
    own = information.sum(axis=1)
    shift = (information * (logit - (total / np.maximum(weight, 1e-12))[arm])).sum(axis=1) / np.maximum(own, 1e-6)
    use = own > 0
    freedom = max(int(use.sum()) - len(np.unique(arm[use])), 0)
    share = freedom / max(int(use.sum()), 1)  # a run also moves its own arm's mean
    sd = spread(shift[use] / np.sqrt(max(share, 1e-3)), 1.0 / own[use]) if freedom else 0.0
    return _centring(sd, contrasts.information(own))


def _of_kind(evidence: Evidence, chosen: Flags, centre: float) -> Coordinates:
    cell, place = exposed_places(evidence)
    entries, cells = np.flatnonzero(chosen[cell]), np.flatnonzero(chosen)
    own, place = np.searchsorted(cells, cell[entries]), place[entries]
    logit, information = counted_logits(evidence)
    by_cell = [np.zeros((len(evidence.cells), evidence.deepest)) for _ in range(2)]
    np.add.at(by_cell[0], evidence.cell, information)
    np.add.at(by_cell[1], evidence.cell, information * logit)
    count = np.maximum(by_cell[0][cell[entries], place], 1e-6)
    estimate = np.where(count > 1e-6, by_cell[1][cell[entries], place] / count, centre)
    ones = np.ones((len(entries), 1))
    positions = orthonormal(np.column_stack([ones, np.eye(evidence.deepest)[place]]))
    design = orthonormal(np.column_stack([positions, np.eye(len(cells))[own]]))
    rest = complement(design)
    of_cells = np.arange(design.shape[1]) >= positions.shape[1]
    shape_sd = spread(rest.T @ estimate, (rest**2).T @ (1.0 / count))
    cell_noise = (design[:, of_cells] ** 2).T @ (1.0 / count) + shape_sd**2
    cell_sd = spread(design[:, of_cells].T @ estimate, cell_noise)
    before = np.where(of_cells, max(cell_sd, LEAST_SD), UNKNOWN_SD * np.sqrt(len(cells)))
    inner = np.linalg.inv((design.T * count) @ design + np.diag(before**-2.0))
    across = (design.T * count) @ rest
    shear = inner @ across
    known, turn = np.linalg.eigh((rest.T * count) @ rest - across.T @ shear)
    centring = np.where(of_cells, _centring(cell_sd, (design**2).T @ count), 1.0)
    unit = before ** (1.0 - centring)
    scale = np.linalg.cholesky(inner / np.outer(unit, unit))
    offset = np.linalg.solve(scale, design.T @ (estimate - centre) / unit)
    return Coordinates(
        entries, own, place, cells, design, rest @ turn, shear @ turn, scale, offset, centring, _centring(shape_sd, known),
    )  # fmt: skip


def coordinates(evidence: Evidence, centre: float) -> list[Coordinates]:
    """The maps of fixed (first) and dynamic cells, as far as there are any; `centre` is the prior mean of a logit hazard."""
    kinds = (~evidence.dynamic_cell, evidence.dynamic_cell)
    return [_of_kind(evidence, chosen, centre) for chosen in kinds if chosen.any()]
