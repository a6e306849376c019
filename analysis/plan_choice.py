"""Which design a comparison should take: the cheapest that reaches the goal, or the one that is worth most, or none."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.plan_arm import Arm
from ..data.plan_file import ASSURANCE, LOSS, PRECISION, VALUE, Plan
from .plan_worlds import Worlds
from .planning import COMPARISON, LAYOUT, MINUTE_SECONDS, ROUNDS, RUNS

type Floats = npt.NDArray[np.float64]
type Flags = npt.NDArray[np.bool_]

REACHED, BEST_VALUE = "goal reached", "goal not reached, best value"
SETTLED, NONE = "no new run is needed", "no new run is worth it"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One comparison's answer; `place` is layout, runs and rounds in the grid, None where nothing should be run.

    `best_place` is worth most, `nearest` comes closest to the goal or goes farthest beyond it. `worth` says whether any
    design has a positive value net of cost, by EVSI or under the written rule; `settled` whether the stored result asks for
    this arm already.
    """

    arm: Arm
    other: Arm
    why: str
    place: tuple[int, int, int] | None
    worth: bool
    settled: bool
    loss_before: float
    best_place: tuple[int, int, int]
    nearest: tuple[int, int, int]


def goal_measure(plan: Plan) -> str:
    """The entry of the grid that the goal speaks of."""
    return {PRECISION: "half_width", ASSURANCE: "assurance", LOSS: "loss_after"}.get(plan.goal.kind, "net_rule_tokens")


def reached(plan: Plan, at: xr.Dataset, serving: float) -> Flags:
    """Whether each design reaches the goal by more than its own Monte-Carlo error, (layout, runs, rounds).

    The cheapest of many designs is picked, so that one which only seems good enough would be picked too often.
    """
    measure = goal_measure(plan)
    values = at[measure].values
    if plan.goal.kind == VALUE:
        return np.asarray((values >= values.max()) & (values > 0))
    error = at[f"{measure}_error"].values
    if plan.goal.kind == ASSURANCE:
        return np.asarray(values - error >= plan.goal.target)
    return np.asarray(values + error <= plan.goal.target * (serving if plan.goal.kind == LOSS else 1.0))


def loss_before(worlds: Worlds, arm: Arm, other: Arm) -> tuple[float, bool]:
    """Expected loss in tok/s of what the rule says today, and whether it asks for the arm already."""
    difference = worlds.rates[arm.name] - worlds.rates[other.name]
    settled = arm.kind == "fixed" and arm.scalar_ms is None and worlds.today[arm.cell] == arm.depth
    lost = np.maximum(-difference if settled else difference, 0.0)
    return float(lost.mean()), settled


def with_rule_value(grid: xr.Dataset, worlds: Worlds) -> xr.Dataset:
    """The grid with `rule_value` = expected loss before - after, in tok/s, and `net_rule_tokens` = that net of cost."""
    plan = worlds.plan
    before, serving = [], []
    for arm, other in plan.comparisons:
        before.append(loss_before(worlds, arm, other)[0])
        serving.append(float(worlds.rates[other.name].mean()))
    earlier = xr.DataArray(before, dims=COMPARISON, coords={COMPARISON: grid[COMPARISON]})
    rate = xr.DataArray(serving, dims=COMPARISON, coords={COMPARISON: grid[COMPARISON]})
    value = (earlier - grid["loss_after"]).transpose(COMPARISON, LAYOUT, RUNS, ROUNDS)
    net = value * plan.goal.horizon_hours * 3600.0 - rate * MINUTE_SECONDS * grid["minutes"]
    return grid.assign(loss_before=earlier, rule_value=value, net_rule_tokens=net)


def choose(grid: xr.Dataset, worlds: Worlds) -> tuple[Chosen, ...]:
    """Choose for every comparison.

    Parameters
    ----------
    grid
        Of `with_rule_value`.
    worlds
        What it was made from.
    """
    out = []
    for arm, other in worlds.plan.comparisons:
        at = grid.sel({COMPARISON: arm.name}).transpose(LAYOUT, RUNS, ROUNDS, missing_dims="ignore")
        serving = float(worlds.rates[other.name].mean())
        before, settled = loss_before(worlds, arm, other)
        good = reached(worlds.plan, at, serving)
        minutes = at["minutes"].values
        net = at["net_rule_tokens"].values
        best = _place(np.argmax(net), net.shape)
        worth = bool(net.max() > 0 or at["net_tokens"].values.max() > 0)
        why = NONE
        place: tuple[int, int, int] | None = None
        if settled:
            why = SETTLED
        elif good.any():
            why, place = REACHED, _place(np.argmin(np.where(good, minutes, np.inf)), good.shape)
        elif net.max() > 0:
            why, place = BEST_VALUE, best
        measure = at[goal_measure(worlds.plan)].values
        least = worlds.plan.goal.kind in (PRECISION, LOSS)
        nearest = _place(np.argmin(measure) if least else np.argmax(measure), measure.shape)
        out.append(Chosen(arm, other, why, place, worth, settled, before, best, nearest))
    return tuple(out)


def _place(flat: np.int64, shape: tuple[int, ...]) -> tuple[int, int, int]:
    layout, runs, rounds = np.unravel_index(flat, shape)
    return int(layout), int(runs), int(rounds)
