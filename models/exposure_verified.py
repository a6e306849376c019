"""Exposure from what was verified: e_i = P(V >= i) is told at L2, its sum at L1, and U follows from it.

With h and kappa given, F_i = h_1 ... h_i does not move with the exposure, R_i = e_i - F_i, and e_i grows with v_i alone:

    e_i = F_{i-1} v_i + R_{i-1} v_i k / (1 - v_i + v_i k),  k = exp(-kappa),  from v_i = h_i to v_i = 1, where e_i = e_{i-1}

So e is sampled where the counts put it, v_i is a root of a quadratic, and U_i that of `recursion.verified_chance`.
"""

from collections.abc import Callable
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


def _before(values: Any) -> Any:
    """Each position's predecessor, 1 before the first."""
    return pt.concatenate([pt.ones_like(values[:, :1]), values[:, :-1]], axis=1)


def _floor(h: Any, accepted: Any, exposed: Any, factor: Any) -> Any:
    """e of the next position when only what is accepted is verified, from F and e of the last."""
    return accepted * h + (exposed - accepted) * h * factor / (1.0 - h + h * factor)


def _exposures(h: Any, factor: Any, exposure_of: Callable[[int, Any, Any], Any]) -> Any:
    """e of all positions; `exposure_of(place, e of the last, floor)` gives each in turn."""
    accepted = exposed = pt.ones_like(h[:, 0])
    out = []
    for place in range(int(h.type.shape[1])):
        exposed = exposure_of(place, exposed, _floor(h[:, place], accepted, exposed, factor))
        accepted = accepted * h[:, place]
        out.append(exposed)
    return pt.stack(out, axis=1)


def _uniforms(h: Any, e: Any, factor: Any, priors: Priors) -> tuple[Any, Any]:
    """U from the exposure, and log dU/de: shape (cell, position)."""
    f, last = _before(pt.cumprod(h, axis=1)), _before(e)
    r, b = last - f, f + (last - f) * factor + e * (1.0 - factor)
    v = 2.0 * e / (b + pt.sqrt(pt.maximum(b**2 - 4.0 * f * (1.0 - factor) * e, 1e-300)))
    steep = pt.log(f + r * factor / (1.0 - v + v * factor) ** 2)
    power, shape = priors.exposure_power, priors.exposure_shape
    v = pt.clip(v, h, MOST)
    rise = np.log(shape * power) + (power - 1.0) * pt.log(v) + (shape - 1.0) * pt.log(1.0 - v**power)
    return verified_uniform(h, v, power, shape), rise - shape * pt.log(1.0 - h**power) - steep


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

    k = pt.exp(-kappa)

    def above(low: Any, last: Any, place: Any) -> tuple[Any, Any]:
        base = pt.log(low) - pt.log(last - low)
        gap, change = gap_above(base, estimate[:, place], sd[:, place], known[:, place], t[:, place])
        return expit(base + gap, pt), change

    e = _exposures(h, k, lambda place, last, low: last * above(low, last, place)[0])
    last, every = _before(e), slice(None)
    q, change = above(_floor(h, _before(pt.cumprod(h, axis=1)), last, k), last, every)
    u, density = _uniforms(h, e, k, priors)
    return u, (density + change + pt.log(last) + pt.log(q) + pt.log1p(-q)).sum()


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
    on_rejected = pt.exp(-kappa)
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
    budget, changes = [least + reach * share], []
    of_total = pt.log(reach) + pt.log(share) + pt.log1p(-share) + pt.log(sd)

    def exposure_of(place: int, last: Any, floor: Any) -> Any:
        left, number = budget[0], caps - place  # positions from here to the cap
        s = expit(t[np.arange(len(cells)), np.where(number > 1, place + 1, place)], pt)
        own = accepted[:, place]
        top = (left - later[place] + own * after[place]) / (1.0 + after[place])
        low, high = pt.maximum(floor, left / np.maximum(number, 1)), pt.minimum(last, top)
        # the first t is the total's, the next ones those of positions before the cap, where the rest of the total goes
        low, width = (
            pt.switch(number > 1, low, floor),
            pt.switch(number > 1, pt.maximum(high - low, 1e-12), last - floor),
        )
        e = pt.switch(number == 1, left, low + width * s)
        changes.append(pt.switch(number == 1, of_total, pt.log(width) + pt.log(s) + pt.log1p(-s)))
        budget[0] = left - pt.switch(number > 0, e, 0.0)
        return e

    e = _exposures(h, on_rejected, exposure_of)
    u, density = _uniforms(h, e, on_rejected, priors)
    return u, density.sum() + sum(change.sum() for change in changes)
