"""Transport: how hazards move with the depth that is run, omega, a random walk in depth from each cell's origin.

A cell with a dynamic policy has its origin at that policy's cap: another cap of the policy is walked to, and a fixed arm has
one step more, for a scheduler that picks its rounds is no fixed arm even where it masks nothing. A cell of fixed arms alone
has it at the screened depth. Neither moves when an arm is added: a planned arm is believed alike before and after it is run.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .evidence import Evidence, Floats, Ints
from .priors import Priors
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


def sampled_steps(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and number of each step that some run's likelihood holds."""
    run = np.flatnonzero(evidence.counted & (evidence.depth > 0))
    taken = paths(evidence)[evidence.cell[run], evidence.depth[run]]
    taken[:, 0] *= evidence.fixed[run]
    walked = np.zeros((len(evidence.cells), evidence.deepest + 1))
    np.maximum.at(walked, evidence.cell[run], taken)
    cell, step = np.nonzero(walked)
    return cell, step


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
    """State omega of each run, as `of_runs` gives it."""
    s_transport = half_normal("s_transport", priors.transport_scale)
    cell, step = sampled_steps(evidence)
    if not len(cell):
        return pt.zeros(len(evidence.cell)), pt.zeros(len(evidence.cell))
    taken = pm.Normal("transport_step", 0.0, 1.0, shape=len(cell))
    steps = pt.set_subtensor(pt.zeros((len(evidence.cells), evidence.deepest + 1))[cell, step], taken)
    return of_runs(evidence, walk(evidence, s_transport, steps))
