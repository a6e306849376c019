"""Coordinates in which the hazards are sampled: a linear map chosen from the counts, which leaves the model as it is.

The exposed logit hazards theta of one kind of cells are split by an orthonormal basis of the entries. `design` spans the
position means and cell means; `rest` is what is left, and there the hierarchy's covariance is s^2 I whatever the spreads
of positions and cells, since all else that the hierarchy says lies in `design`. So `rest` may be turned freely: it is
turned to the directions in which the counts speak independently. Then `design` is sheared by what `rest` says of it, and
cells by the mean of their runs as their rounds weigh them, so that what has few rounds does not pull on what has many.

How far an effect x ~ Normal(0, s) is sampled centred: x = s^(1 - c) y, y ~ Normal(0, s^c). Where counts fix x more closely
than s does, c = 1 mixes best; where they say little, c = 0 does; `Reach.centring` lies between.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .contrasts import Contrasts
from .evidence import Evidence, Flags, Floats, Ints
from .priors import Priors
from .spreads import SMALLEST_SD

HUNDREDTH, DOWN_TO = 100.0, 300.0
CAUTIOUS, BOLD = (
    0.006,
    0.0006,
)  # overdispersion at most and at least, roughly: n trials tell what n / (1 + .006 n) would without
NO_COUNT = 1e-6
LEAST_TOLD = 0.01  # a direction known no better than ten times the largest effect tells of no spread
LARGEST = 2.0  # half-normal scales: 1 in 20 lies beyond
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
    trials: Floats  # d: that speak of each, roughly
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


def counted_logits(evidence: Evidence, overdispersion: float = CAUTIOUS) -> tuple[Floats, Floats]:
    """Rough logit hazard and its information of each run and position; no information where nothing was tried."""
    tried = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    tried = tried * evidence.counted[:, None]
    share = (np.minimum(evidence.accepted, tried) + 0.5) / (tried + 1.0)
    worth = tried / (1.0 + overdispersion * tried)
    return np.log(share / (1.0 - share)), worth * share * (1.0 - share)


@dataclass(frozen=True, slots=True)
class Reach:
    """Between which values a spread may lie as far as the counts go; only to choose coordinates with."""

    low: float
    high: float

    @classmethod
    def of(cls, estimate: Floats, variance: Floats, largest: float) -> "Reach":
        """By moments (DerSimonian and Laird), three standard errors about their estimate.

        With n effects that are known to sigma, the posterior of a spread s beyond sigma falls as s^-n only: 1 % lie beyond
        sigma 100^(1 / (n - 1)). And where no spread is proven its density is flat below sigma, down to nothing.

        Parameters
        ----------
        estimate, variance
            Of each effect: shape (n,).
        largest
            What the prior lets one expect at most.
        """
        n = len(estimate)
        if not n:
            return cls(largest / DOWN_TO, largest)
        weight = 1.0 / np.maximum(variance, 1e-12)
        total, noise = float(weight.sum()), 3.0 * np.sqrt(2.0 * n)
        excess = float((weight * estimate**2).sum()) - n
        sigma = np.sqrt(n / total)
        tail = sigma * HUNDREDTH ** (1.0 / (n - 1)) if n > 1 else largest
        low, high = (float(np.sqrt(max(excess + side * noise, 0.0) / total)) for side in (-1, 1))
        high = min(max(high, tail, sigma), largest)
        return cls(min(max(low, sigma / DOWN_TO, SMALLEST_SD), high), high)

    @classmethod
    def told(cls, information: Floats, product: Floats, largest: float) -> "Reach":
        """From joint information on effects (n, n) and its product with their estimate, by the directions that it tells."""
        known, turn = np.linalg.eigh(information)
        seen = known * largest**2 > LEAST_TOLD
        return cls.of((turn.T @ product)[seen] / known[seen], 1.0 / known[seen], largest)

    @property
    def middle(self) -> float:
        """On the scale of logs."""
        return float(np.sqrt(self.low * self.high))

    def centring(self, cautious: Floats, bold: Floats) -> Floats:
        """c of each effect, on which counts hold an information between these two.

        An effect known to sigma is stiff by (s / sigma)^(1 - c) where s is large, and by (sigma / s)^c where s is small: c
        makes the worst of both equal over the reach.
        """
        least, most = (1.0 / np.sqrt(np.maximum(information, 1e-12)) for information in (bold, cautious))
        above, below = np.log(np.maximum(self.high / least, 1.0)), np.log(np.maximum(most / self.low, 1.0))
        return np.asarray(above / np.maximum(above + below, 1e-12))


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


def _of_kind(evidence: Evidence, chosen: Flags, priors: Priors) -> Coordinates:
    centre = priors.hazard_centre
    cell, place = exposed_places(evidence)
    entries, cells = np.flatnonzero(chosen[cell]), np.flatnonzero(chosen)
    own, place = np.searchsorted(cells, cell[entries]), place[entries]
    estimate, count = _by_entry(evidence, CAUTIOUS, cell[entries], place)
    _, bold = _by_entry(evidence, BOLD, cell[entries], place)
    ones = np.ones((len(entries), 1))
    positions = orthonormal(np.column_stack([ones, np.eye(evidence.deepest)[place]]))
    design = orthonormal(np.column_stack([positions, np.eye(len(cells))[own]]))
    rest = complement(design)
    of_cells = np.arange(design.shape[1]) >= positions.shape[1]
    apart, largest = np.where(count > NO_COUNT, estimate - centre, 0.0), LARGEST * priors.cell_scale
    before = np.where(of_cells, largest, UNKNOWN_SD * np.sqrt(len(cells)))
    told = _told(rest, design, count, apart, before)
    shape = Reach.told(*told, LARGEST * priors.cell_position_scale)
    noise = 1.0 / count + shape.low**2
    told = _told(design[:, of_cells], design[:, ~of_cells], 1.0 / noise, apart, before[~of_cells])
    cells_reach = Reach.told(*told, largest)
    before[of_cells] = cells_reach.middle
    inner = np.linalg.inv((design.T * count) @ design + np.diag(before**-2.0))
    across = (design.T * count) @ rest
    shear = inner @ across
    known, turn = np.linalg.eigh((rest.T * count) @ rest - across.T @ shear)
    centring = np.where(of_cells, cells_reach.centring((design**2).T @ count, (design**2).T @ bold), 1.0)
    boldly = np.diag(_told(rest @ turn, design, bold, apart, before)[0])
    unit = before ** (1.0 - centring)
    scale = np.linalg.cholesky(inner / np.outer(unit, unit))
    offset = np.linalg.solve(scale, design.T @ apart / unit)
    trials = (design**2).T @ _tried(evidence, cell[entries], place)
    return Coordinates(
        entries, own, place, cells, design, rest @ turn, shear @ turn, scale, offset, trials, centring, shape.centring(known, boldly),
    )  # fmt: skip


def coordinates(evidence: Evidence, priors: Priors) -> list[Coordinates]:
    """The maps of fixed (first) and dynamic cells, as far as there are any."""
    kinds = (~evidence.dynamic_cell, evidence.dynamic_cell)
    return [_of_kind(evidence, chosen, priors) for chosen in kinds if chosen.any()]
