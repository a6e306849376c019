"""Exposure from what was verified: e_i = P(V >= i) is told at L2, its sum at L1, and U follows from it.

With h and kappa given, F_i = h_1 ... h_i does not move with the exposure, R_i = e_i - F_i, and e_i grows with v_i alone:

    e_i = F_{i-1} v_i + R_{i-1} v_i k / (1 - v_i + v_i k),  k = exp(-kappa),  from v_i = h_i to v_i = 1, where e_i = e_{i-1}

So e is sampled where the counts put it, v_i is a root of a quadratic, and U_i that of `recursion.verified_chance`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt

from ..data.words import Level
from .coordinates import CAUTIOUS, width
from .evidence import Evidence, Flags, Floats, Ints
from .priors import Priors
from .recursion import expit, lower_odds, verified_uniform

USUAL_GAP = 1.5  # of logits, where no count tells of it: only where sampling starts, and its unit
MOST = 1.0 - 1e-9


def runs_at(evidence: Evidence, level: Level) -> Flags:
    """Dynamic runs at a level whose counts stand in the likelihood."""
    return np.asarray(evidence.counted & ~evidence.fixed & (evidence.level == level))


def by_cell(evidence: Evidence, of_run: Floats | Ints) -> Floats:
    """Sums over the runs of each cell."""
    out = np.zeros((len(evidence.cells), *of_run.shape[1:]))
    np.add.at(out, evidence.cell, of_run)
    return out


def shares_of_cells(evidence: Evidence, weight: Floats) -> Floats:
    """Weights of runs in their cell: shape (cell, run), rows add to 1 or 0."""
    out = np.zeros((len(evidence.cells), len(evidence.cell)))
    out[evidence.cell, np.arange(len(evidence.cell))] = weight
    return np.asarray(out / np.maximum(out.sum(axis=1, keepdims=True), 1e-9))


def open_width(cautious: Floats, trials: Floats, overdispersion: Any) -> tuple[Any, Any]:
    """Unit of a logit on which counts hold some information at the cautious overdispersion, and the share that they tell."""
    information = cautious / width(trials, overdispersion) ** 2
    sd = (information + USUAL_GAP**-2) ** -0.5
    return sd, information * sd**2


def gap_above(floor: Any, estimate: Any, sd: Any, known: Any, t: Any) -> tuple[Any, Any]:
    """A logit's distance above a floor, s softplus(known (estimate - floor) / s + t), and log of its change with t."""
    at = (known * (estimate - floor) + (1.0 - known) * USUAL_GAP) / sd + t
    return sd * pt.softplus(at), pt.log(sd) - pt.softplus(-at)


@dataclass(frozen=True, slots=True)
class _Path:
    """What is verified up to some position, of some cells."""

    accepted: Any  # F
    exposed: Any  # e
    factor: Any  # k

    def floor(self, h: Any) -> Any:
        """e of the next position when only what is accepted is verified."""
        return self.accepted * h + (self.exposed - self.accepted) * h * self.factor / (1.0 - h + h * self.factor)

    def chance(self, e: Any) -> tuple[Any, Any]:
        """v of the next position with exposure e, and log de/dv."""
        f, r, k = self.accepted, self.exposed - self.accepted, self.factor
        b = f + r * k + e * (1.0 - k)
        v = 2.0 * e / (b + pt.sqrt(pt.maximum(b**2 - 4.0 * f * (1.0 - k) * e, 1e-300)))
        return v, pt.log(f + r * k / (1.0 - v + v * k) ** 2)


def _uniforms(h: Any, v: Any, priors: Priors) -> tuple[Any, Any]:
    """U, and log dU/dv."""
    power, shape = priors.exposure_power, priors.exposure_shape
    v = pt.clip(v, h, MOST)
    rise = np.log(shape * power) + (power - 1.0) * pt.log(v) + (shape - 1.0) * pt.log(1.0 - v**power)
    return verified_uniform(h, v, power, shape), rise - shape * pt.log(1.0 - h**power)


def _walk(h: Any, kappa: Any, priors: Priors, exposure_of: Any) -> tuple[Any, Any]:
    """U and log density over all positions; `exposure_of(place, path, floor)` gives e and log de/dt."""
    ones = pt.ones_like(h[:, 0])
    path, uniforms, density = _Path(ones, ones, pt.exp(-kappa)), [], 0.0
    for place in range(int(h.type.shape[1])):
        here = h[:, place]
        e, change = exposure_of(place, path, path.floor(here))
        v, steep = path.chance(e)
        u, rise = _uniforms(here, v, priors)
        uniforms.append(u)
        density += (rise - steep + change).sum()
        path = _Path(path.accepted * here, e, path.factor)
    return pt.stack(uniforms, axis=1), density


def by_ratio(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, cells: Ints, kappa: Any, overdispersion: Any, t: Any
) -> tuple[Any, Any]:
    """U of cells with counts of V >= i (L2), e_i / e_{i-1} sampled above its floor; and the log density of t."""
    runs = runs_at(evidence, Level.L2)[:, None] * evidence.inside
    verified = np.nan_to_num(evidence.verified)
    tried = np.column_stack([evidence.rounds, verified])[:, :-1] * runs
    n, m = by_cell(evidence, tried)[cells], by_cell(evidence, verified * runs)[cells]
    share = (m + 0.5) / (n + 1.0)
    estimate = np.log(share / (1.0 - share))
    sd, known = open_width(n / (1.0 + CAUTIOUS * n) * share * (1.0 - share), n, overdispersion)
    weights = shares_of_cells(evidence, tried.sum(axis=1))[cells]
    h = expit(logits[cells] + pt.dot(weights, shift)[:, None], pt)
    h = pt.specify_shape(h, (len(cells), evidence.deepest))

    def exposure_of(place: int, path: _Path, floor: Any) -> tuple[Any, Any]:
        low = pt.log(floor) - pt.log(path.exposed - floor)
        gap, change = gap_above(low, estimate[:, place], sd[:, place], known[:, place], t[:, place])
        q = expit(low + gap, pt)
        return path.exposed * q, change + pt.log(path.exposed) + pt.log(q) + pt.log1p(-q)

    return _walk(h, kappa, priors, exposure_of)


def by_total(
    evidence: Evidence, priors: Priors, logits: Any, shift: Any, cells: Ints, kappa: Any, overdispersion: Any, t: Any
) -> tuple[Any, Any]:
    """U of cells with totals of verified tokens (L1), and the log density of t.

    At the cell's cap D the total sum e_i is sampled first, between its least value (v = h) and D; then each e_i but the last
    between what the later positions need at least and leave at most.
    """
    runs = runs_at(evidence, Level.L1)
    rounds = by_cell(evidence, evidence.rounds * runs)[cells]
    tokens = by_cell(evidence, np.where(runs, np.nan_to_num(evidence.verified_tokens), 0.0))[cells] / np.maximum(
        rounds, 1
    )
    caps = np.array([evidence.depth[runs & (evidence.cell == cell)].max() for cell in cells])
    weights = shares_of_cells(evidence, (evidence.rounds * runs).astype(float))[cells]
    h = expit(logits[cells] + pt.dot(weights, shift)[:, None], pt)
    h = pt.specify_shape(h, (len(cells), evidence.deepest))
    inside = evidence.positions <= caps[:, None]
    accepted, on = pt.cumprod(h, axis=1) * inside, lower_odds(h, kappa, pt) * inside
    later, after = (
        [pt.zeros_like(h[:, 0])],
        [pt.zeros_like(h[:, 0])],
    )  # sums beyond a position of F, and of what R leaves
    for place in range(evidence.deepest - 1, 0, -1):
        later.insert(0, later[0] + accepted[:, place])
        after.insert(0, on[:, place] * (1.0 + after[0]))
    least, most = accepted[:, 0] + later[0], caps.astype(float)
    # v_1 = h_1 leaves R_1 = 0, so the least total is sum F
    reach = most - least
    half = np.clip(tokens / most, 0.05, 0.95)
    spread = most**2 * half * (1.0 - half) / 2.0 * (1.0 / np.maximum(rounds, 1) + overdispersion)
    middle = pt.clip((tokens - least) / reach, 0.02, 0.98)
    told = (middle * (1.0 - middle) * reach) ** 2 / spread
    sd = (told + USUAL_GAP**-2) ** -0.5
    share = expit(told * sd**2 * pt.log(middle / (1.0 - middle)) + sd * t[:, 0], pt)
    budget = [least + reach * share]
    of_total = pt.log(reach) + pt.log(share) + pt.log1p(-share) + pt.log(sd)

    def exposure_of(place: int, path: _Path, floor: Any) -> tuple[Any, Any]:
        left, number = budget[0], caps - place  # positions from here to the cap
        s = expit(t[np.arange(len(cells)), np.where(number > 1, place + 1, place)], pt)
        own = accepted[:, place]
        top = (left - later[place] + own * after[place]) / (1.0 + after[place])
        low, high = pt.maximum(floor, left / np.maximum(number, 1)), pt.minimum(path.exposed, top)
        free = floor + (path.exposed - floor) * s, pt.log(path.exposed - floor)
        within = low + (high - low) * s, pt.log(pt.maximum(high - low, 1e-12))
        of_s = pt.log(s) + pt.log1p(-s)
        e = pt.switch(number > 1, within[0], pt.switch(number == 1, left, free[0]))
        # the first t is the total's, the next ones those of positions before the cap, where the rest of the total goes
        change = pt.switch(number > 1, within[1] + of_s, pt.switch(number == 1, of_total, free[1] + of_s))
        budget[0] = left - pt.switch(number > 0, e, 0.0)
        return e, change

    return _walk(h, kappa, priors, exposure_of)
