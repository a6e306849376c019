"""What is worth logging: by how much verified positions (L2) or per-round pairs (L3) of the present policy narrow a gain.

Knowing the exposure exactly is the most that any number of logged rounds can give. What remains then is the masked tail, the
move to another depth and the step time of a depth that was never run: only a fixed-depth arm speaks of those.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.plan_arm import Arm
from ..data.words import CELL, CHAIN, DRAW, FIXED, POSITION, RUN, Level
from ..models import recursion
from . import equations
from .bounds import run_bounds
from .decision import Rule
from .plan_arms import arm_draws, chosen_draws
from .plan_posterior import Posterior, decided
from .plan_spread import Z90
from .planning import Estimate, share_of

type Floats = npt.NDArray[np.float64]

BOUND_DRAWS = 200
BOUND_ROUNDS = 10**6
LEVELS = (Level.L0, Level.L1, Level.L2, Level.L3)


@dataclass(frozen=True, slots=True)
class Logged:
    """What a level of evidence of the present policy would leave of the gain's uncertainty.

    `half_width`: 1.645 standard deviations of the log gain that remain; `bound_width`: mean width of the worst-case bound
    of the tokens a round at the depth, as a share of the tokens; `assurance` of deciding rightly from that alone.
    """

    level: str
    half_width: float
    bound_width: float
    assurance: Estimate
    wrong: Estimate


def _basis(known: Floats) -> Floats:
    """Constant, linear, square and cross terms of standardised columns."""
    spread = known.std(axis=0)
    z = (known - known.mean(axis=0))[:, spread > 1e-9] / spread[spread > 1e-9]
    pairs = [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i, z.shape[1])]
    return np.column_stack([np.ones(len(z)), z, *pairs])


def explained(target: Floats, known: Floats, beside: Floats | None = None) -> tuple[Floats, float]:
    """E[target | known] by a quadratic regression fitted on the other half, and the standard deviation that remains.

    What is known `beside` gets a quadratic of its own, without cross terms to the rest.
    """
    basis, even = _basis(known), np.arange(len(target)) % 2 == 0
    if beside is not None:
        basis = np.column_stack([basis, _basis(beside)[:, 1:]])
    fitted = np.empty_like(target)
    for train, apply in ((even, ~even), (~even, even)):
        weights, *_ = np.linalg.lstsq(basis[train], target[train], rcond=None)
        fitted[apply] = basis[apply] @ weights
    return fitted, min(float(np.sqrt(np.mean((target - fitted) ** 2))), float(target.std()))


@dataclass(frozen=True, slots=True)
class _Present:
    """Hazards, verified chances and exposures of the present dynamic policy, (draw, position up to its cap)."""

    h: Floats
    v: Floats
    e: Floats

    @classmethod
    def of(cls, draws: xr.Dataset, cap: int) -> "_Present":
        v = draws["verified_chance"].values[:, :cap]
        h = v * draws["acceptance"].values[:, :cap]
        return cls(h, v, np.asarray(recursion.exposure(h, v, draws["kappa"].values[:, None], np)))


def _logit(p: Floats) -> Floats:
    inside = np.clip(p, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(inside / (1.0 - inside)))


def _bound_widths(present: _Present, depth: int, deepest: int) -> dict[str, float]:
    """Mean width of the bound of 1 + S*_1 + ... + S*_d by level, as a share of its lower end: `bounds` on expected counts."""
    places = np.linspace(0, len(present.h) - 1, min(BOUND_DRAWS, len(present.h))).astype(int)
    h, v, e = (values[places] for values in (present.h, present.v, present.e))
    size, cap = h.shape
    s = np.cumprod(h, axis=1)
    pad = ((0, 0), (0, deepest - cap))
    table = np.zeros((size, deepest + 1, deepest + 1))
    reach = np.column_stack([np.ones(size), s])  # accepted 0..cap
    stop = np.column_stack([1.0 - v, np.ones(size)])  # and not verified on
    for length in range(cap + 1):
        table[:, length, length] = reach[:, length] * stop[:, length]
    runs = xr.Dataset(
        {
            "request_rounds": (RUN, np.full(size, BOUND_ROUNDS)),
            "accepted": ((RUN, POSITION), np.pad(s, pad) * BOUND_ROUNDS),
            "verified": ((RUN, POSITION), np.pad(e, pad) * BOUND_ROUNDS),
            "verified_tokens": (RUN, e.sum(axis=1) * BOUND_ROUNDS),
            "accepted_by_verified": ((RUN, "verified_depth", "accepted_length"), table * BOUND_ROUNDS),
        },
        coords={"policy_depth": (RUN, np.full(size, cap))},
    )
    out = {}
    for level in LEVELS:
        low, high = run_bounds(runs.assign_coords(level=(RUN, np.full(size, str(level)))))
        column = deepest + depth - 1
        out[str(level)] = float(((high - low)[:, column] / equations.tokens_per_round(1.0, low[:, column])).mean())
    return out


def worth_logging(
    group: xr.Dataset, cell: xr.Dataset, arm: Arm, other: Arm, rule: Rule, deepest: int
) -> tuple[Logged, ...]:
    """Hold levels of evidence of the present policy against each other; empty where its evidence is complete already.

    Parameters
    ----------
    group
        Posterior draws of the worker group.
    cell
        The screen of the cell.
    arm, other
        A fixed-depth arm and the present policy, both without a remote scalar's effect.
    rule
        The written rule: with logs alone its corners stay untaught, so that what is said of it here is the most.
    deepest
        Positions of the trained block.
    """
    stored = group.sel({CELL: cell[CELL].item()})
    draws = chosen_draws(stored, stored.sizes[CHAIN] * stored.sizes[DRAW])
    if str(cell["policy"].values) == FIXED or not bool((draws["verified_chance"].values < 1.0 - 1e-12).any()):
        return ()
    present, spread = _Present.of(draws, int(cell["cap"])), draws["s_run"].values
    rates = [arm_draws(side, cell, draws, deepest, {}).rate(spread) for side in (arm, other)]
    log_gain = np.log(rates[0] / rates[1])
    widths = _bound_widths(present, arm.depth, deepest)
    exposed = _logit(present.e)
    known = {Level.L1: present.e.sum(axis=1, keepdims=True), Level.L2: exposed, Level.L3: _logit(present.v)}
    out = []
    for level in LEVELS:
        fitted, sd = np.full_like(log_gain, log_gain.mean()), float(log_gain.std())
        if level is not Level.L0:
            fitted, sd = explained(log_gain, known[level], exposed if level is Level.L3 else None)
        posterior = Posterior(np.ones((len(fitted), 1)), fitted[:, None], np.full((len(fitted), 1), sd))
        verdict, better = decided(posterior, rule), log_gain > 0
        right = share_of((verdict.change & better) | (verdict.keep & ~better))
        wrong = share_of((verdict.change & ~better) | (verdict.keep & better))
        out.append(Logged(str(level), Z90 * sd, widths[str(level)], right, wrong))
    return tuple(out)
