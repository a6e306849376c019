"""Transport: how hazards move with the depth that is run, omega, a random walk in depth from each cell's origin.

A cell with a dynamic policy has its origin at that policy's cap: another cap of the policy is walked to, and a fixed arm has
one step more, for a scheduler that picks its rounds is no fixed arm even where it masks nothing. A cell of fixed arms alone
has it at the screened depth. Neither moves when an arm is added: a planned arm is believed alike before and after it is run.
"""

import itertools
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .coordinates import BOLD, CAUTIOUS, LARGEST, NO_COUNT, counted_logits
from .evidence import Evidence, Floats, Ints
from .priors import Priors
from .reach import Reach
from .spreads import half_normal


def paths(evidence: Evidence) -> Floats:
    """1 for each step that stands before omega of a cell and depth: shape (cell, depth 0..K, step 0..K).

    Step 0 is that from a dynamic policy to a fixed arm of its cap, step e + 1 that between the depths e and e + 1.
    """
    depth, step = np.arange(evidence.deepest + 1), np.arange(evidence.deepest)
    origin = evidence.origin[:, None]
    low, high = np.minimum(depth, origin), np.maximum(depth, origin)
    walked = (low[..., None] <= step) & (step < high[..., None])
    first = np.broadcast_to(evidence.dynamic_cell[:, None, None], (*low.shape, 1))
    return np.concatenate([first, walked], axis=-1).astype(float)


def _walked(evidence: Evidence) -> Floats:
    """1 for each step that stands before omega of a run, of dynamic ones without the first: shape (run, step 0..K)."""
    taken = paths(evidence)[evidence.cell, evidence.depth]
    taken[:, 0] *= evidence.fixed
    return np.asarray(taken * (evidence.counted & (evidence.depth > 0))[:, None])


def sampled_steps(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and number of each step that some run's likelihood holds."""
    walked = np.zeros((len(evidence.cells), evidence.deepest + 1))
    np.maximum.at(walked, evidence.cell, _walked(evidence))
    cell, step = np.nonzero(walked)
    return cell, step


def _told(evidence: Evidence, overdispersion: float) -> tuple[Floats, Floats]:
    """What arms of a cell tell of the steps between them, roughly, each position's hazard unknown: information on the sampled steps,
    and it times their estimate."""
    cell, step = sampled_steps(evidence)
    taken = _walked(evidence)
    logit, weight = counted_logits(evidence, overdispersion)
    information, product = np.zeros((len(cell), len(cell))), np.zeros(len(cell))
    for k, fixed in itertools.product(np.unique(cell), (False, True)):
        runs, own = np.flatnonzero((evidence.cell == k) & (evidence.fixed == fixed)), np.flatnonzero(cell == k)
        here, w = taken[np.ix_(runs, step[own])], weight[runs]
        share = w / np.maximum(w.sum(axis=0), NO_COUNT)
        for i in range(evidence.deepest):
            apart = here - share[:, i] @ here
            information[np.ix_(own, own)] += (apart.T * w[:, i]) @ apart
            product[own] += (apart.T * w[:, i]) @ logit[runs, i]
    return information, product


def walk(evidence: Evidence, s_transport: Any, steps: Any) -> Any:
    """omega of fixed depths from standard normal steps (cell, step): shape (cell, depth 0..K), draws in front."""
    return s_transport[..., None, None] * (paths(evidence) * steps[..., None, :]).sum(axis=-1)


def of_caps(evidence: Evidence, omega: Any) -> Any:
    """omega of the dynamic policy under each cap: the same walk without its first step, and zero at its origin."""
    return omega - omega[..., np.arange(len(evidence.cells)), evidence.origin][..., None]


def of_runs(evidence: Evidence, omega: Any, runs: Ints | slice = slice(None)) -> tuple[Any, Any]:
    """omega of some runs: of dynamic ones (it moves their hazard h), and of fixed ones (it moves g); else zero."""
    here, fixed = (..., evidence.cell[runs], evidence.depth[runs]), evidence.fixed[runs]
    return of_caps(evidence, omega)[here] * ~fixed, omega[here] * fixed


def state_transport(evidence: Evidence, priors: Priors) -> tuple[Any, Any]:
    """State omega of each run, as `of_runs` gives it.

    Steps are sampled along the directions in which the arms of a cell tell of them, centred as far as they do: independent normal
    steps of one spread have the same law in every orthonormal basis.
    """
    s_transport = half_normal("s_transport", priors.transport_scale)
    cell, step = sampled_steps(evidence)
    if not len(cell):
        return pt.zeros(len(evidence.cell)), pt.zeros(len(evidence.cell))
    told, product = _told(evidence, CAUTIOUS)
    known, turn = np.linalg.eigh(told)
    boldly = np.diag(turn.T @ _told(evidence, BOLD)[0] @ turn)
    c = Reach.told(told, product, LARGEST * priors.transport_scale).centring(known, boldly)
    turned = s_transport**-c * pm.Normal("transport_turned", 0.0, s_transport**c, shape=len(cell))
    taken = pm.Deterministic("transport_step", pt.dot(turn, turned))
    steps = pt.set_subtensor(pt.zeros((len(evidence.cells), evidence.deepest + 1))[cell, step], taken)
    return of_runs(evidence, walk(evidence, s_transport, steps))
