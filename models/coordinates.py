"""Coordinates in which the hazards are sampled: a linear map chosen from the counts, which leaves the model as it is.

The exposed logit hazards theta are split by an orthonormal basis of the entries. `design` spans the means of positions (of each
kind of hazard), suites, suites at positions and cells; `rest` is what is left, and there the hierarchy's covariance is s^2 I whatever
the spreads of those, since all else that the hierarchy says lies in `design`. So `rest` may be turned freely: it is
turned to the directions in which the counts speak independently. Then `design` is sheared by what `rest` says of it, and
cells by the mean of their runs as their rounds weigh them, so that what has few rounds does not pull on what has many.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt

from .contrasts import Contrasts
from .evidence import Evidence, Flags, Floats, Ints
from .hazard_law import Variances, mean_covariance
from .places import Places, indicator
from .priors import Priors
from .reach import Reach

CAUTIOUS, BOLD = 0.006, 0.0006  # overdispersion at most and at least: n trials tell what n / (1 + .006 n) would without
NO_COUNT = 1e-6
LARGEST = 2.0  # half-normal scales: 1 in 20 lies beyond
UNKNOWN_SD = 0.5  # how well a position's mean is known before, roughly: only to scale with


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The map of a group's hazards; n entries, d of design, q of rest."""

    places: Places
    design: Floats  # n, d: the ones first, then positions, suites, suites at positions, cells
    rest: Floats  # n, q
    shear: Floats  # d, q: what the rest takes from design
    scale: Floats  # d, d: a factor of the rough posterior covariance of design, in units of the prior's spread^(1 - c)
    offset: Floats  # d: where counts and spreads put it where rest is nothing, in the same coordinates
    trials: Floats  # d: that speak of each, roughly
    design_centring: Floats  # d
    rest_centring: Floats  # q

    def prior_variance(self, variances: Variances, priors: Priors) -> Any:
        """Of each direction of design, shape (d,)."""
        at = self.places
        suite = at.suite[at.cell]
        kind = at.kind[suite]
        means = mean_covariance(at.deepest, priors)[np.ix_(at.place, at.place)] * (kind[:, None] == kind)
        of_suites, of_suite_positions, of_cells = (
            (self.design.T @ indicator(of).T) ** 2 for of in (suite, suite * at.deepest + at.place, at.cell)
        )
        own = of_suites.sum(axis=1) * variances.suite + of_suite_positions.sum(axis=1) * variances.suite_position
        return np.diag(self.design.T @ means @ self.design) + own + pt.dot(of_cells, variances.cell) + variances.white


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


def counted_logits(evidence: Evidence, overdispersion: float = CAUTIOUS) -> tuple[Floats, Floats]:
    """Rough logit hazard and its information of each run and position; no information where nothing was tried."""
    tried = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    tried = tried * evidence.counted[:, None]
    share = (np.minimum(evidence.accepted, tried) + 0.5) / (tried + 1.0)
    worth = tried / (1.0 + overdispersion * tried)
    return np.log(share / (1.0 - share)), worth * share * (1.0 - share)


def tells_hazard(evidence: Evidence) -> Flags:
    """Runs whose counts speak of their cell's hazard alone: a fixed run beside dynamic ones speaks of the masked tail too."""
    return np.asarray(~(evidence.fixed & evidence.mixed[evidence.cell]))


def _by_entry(evidence: Evidence, overdispersion: float, cell: Ints, place: Ints) -> tuple[Floats, Floats]:
    """Pooled logit hazard of entries and its information."""
    logit, information = counted_logits(evidence, overdispersion)
    information = information * tells_hazard(evidence)[:, None]
    known, total = (np.zeros((len(evidence.cells), evidence.deepest)) for _ in range(2))
    np.add.at(known, evidence.cell, information)
    np.add.at(total, evidence.cell, information * logit)
    count = np.maximum(known[cell, place], NO_COUNT)
    return total[cell, place] / count, count


def _tried(evidence: Evidence, cell: Ints, place: Ints) -> Floats:
    """Trials of each entry, over the runs that speak of its hazard alone."""
    tried = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    out = np.zeros((len(evidence.cells), evidence.deepest))
    np.add.at(out, evidence.cell, tried * (evidence.counted & tells_hazard(evidence))[:, None])
    return np.asarray(out[cell, place])


def width(trials: Floats, overdispersion: Any) -> Any:
    """How much closer n trials tell a logit than the scale of `Coordinates` has it: they tell what n / (1 + n x) would."""
    return ((1.0 + trials * overdispersion) / (1.0 + trials * CAUTIOUS)) ** 0.5


def _told(columns: Floats, beside: Floats, weight: Floats, apart: Floats, before: Floats) -> tuple[Floats, Floats]:
    """What entries tell of `columns` when `beside` (each before within `before`) is fitted too: information, and it times
    the estimate."""
    inner = np.linalg.inv((beside.T * weight) @ beside + np.diag(before**-2.0))
    across = (beside.T * weight) @ columns
    left = columns.T @ (weight * apart) - across.T @ inner @ (beside.T @ (weight * apart))
    return (columns.T * weight) @ columns - across.T @ inner @ across, left


def run_weights(evidence: Evidence) -> Floats:
    """Share of each run in what is known of its cell: shape (run,), adding to 1 over the new runs of a cell; 0 without any."""
    information = (counted_logits(evidence)[1].sum(axis=1) + 1e-6 * evidence.counted) * tells_hazard(evidence)
    of_cell = np.bincount(evidence.cell, information, len(evidence.cells))
    return np.asarray(information / np.where(of_cell > 0.0, of_cell, 1.0)[evidence.cell])


def run_centring(evidence: Evidence, contrasts: Contrasts, priors: Priors) -> Floats:
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
    largest = LARGEST * priors.run_scale
    known = use & (freedom > 0)
    reach = Reach.of(shift[known] / np.sqrt(max(share, 1e-3)), 1.0 / np.maximum(own[known], 1e-6), largest)
    weights, bold = run_weights(evidence), counted_logits(evidence, BOLD)[1].sum(axis=1)
    return reach.centring(contrasts.information(own, weights), contrasts.information(bold, weights))


def _blocks(places: Places) -> list[Floats]:
    """An orthonormal basis of what the hierarchy says beside cells' own shapes: positions, suites, suites at positions, cells."""
    suite = places.suite[places.cell]
    kind = places.kind[suite]
    every = (np.column_stack([indicator(kind).T, indicator(kind * places.deepest + places.place).T]), indicator(suite).T,
             indicator(suite * places.deepest + places.place).T, indicator(places.cell).T)  # fmt: skip
    basis, out = np.zeros((len(suite), 0)), []
    for columns in every:
        grown = orthonormal(np.column_stack([basis, columns]))
        out.append(grown[:, basis.shape[1] :])
        basis = grown
    return out


def coordinates(evidence: Evidence, places: Places, priors: Priors) -> Coordinates:
    """The map of a group's hazards, by what the counts tell of them."""
    estimate, count = _by_entry(evidence, CAUTIOUS, places.cell, places.place)
    _, bold = _by_entry(evidence, BOLD, places.cell, places.place)
    blocks = _blocks(places)
    design = np.column_stack(blocks)
    block = np.repeat(range(len(blocks)), [columns.shape[1] for columns in blocks])
    rest = complement(design)
    apart = np.where(count > NO_COUNT, estimate - priors.hazard_centre, 0.0)
    largest = LARGEST * np.array([0.0, priors.suite_scale, priors.suite_position_scale, priors.cell_scale])
    before = np.where(block > 0, largest[block], UNKNOWN_SD * np.sqrt(len(places.suite)))
    told = _told(rest, design, count, apart, before)
    shape = Reach.told(*told, LARGEST * priors.cell_position_scale)
    noise, centring, middle = 1.0 / count + shape.low**2, np.ones(design.shape[1]), before.copy()
    for number in range(1, len(blocks)):
        own = block == number
        if own.any():
            told = _told(design[:, own], design[:, ~own], 1.0 / noise, apart, before[~own])
            reach = Reach.told(*told, largest[number])
            middle[own] = reach.middle
            centring[own] = reach.centring((design[:, own] ** 2).T @ count, (design[:, own] ** 2).T @ bold)
    before = middle
    inner = np.linalg.inv((design.T * count) @ design + np.diag(before**-2.0))
    across = (design.T * count) @ rest
    shear = inner @ across
    known, turn = np.linalg.eigh((rest.T * count) @ rest - across.T @ shear)
    boldly = np.diag(_told(rest @ turn, design, bold, apart, before)[0])
    unit = before ** (1.0 - centring)
    scale = np.linalg.cholesky(inner / np.outer(unit, unit))
    offset = np.linalg.solve(scale, inner @ ((design.T * count) @ apart) / unit)
    trials = (design**2).T @ _tried(evidence, places.cell, places.place)
    return Coordinates(
        places, design, rest @ turn, shear @ turn, scale, offset, trials, centring, shape.centring(known, boldly),
    )  # fmt: skip
