"""Comparisons that share an arm run together: one layout and round count for all, so that the arm is measured once."""

from dataclasses import replace
from itertools import product

import numpy as np
import xarray as xr

from ..data.plan_arm import Arm
from ..data.plan_file import VALUE
from .plan_choice import REACHED, Chosen, reached
from .plan_spread import SHARED_START
from .plan_worlds import Worlds, arrangements, restarts
from .planning import COMPARISON, LAYOUT, MINUTE_SECONDS, ROUNDS, RUNS

type Place = tuple[int, int, int]


def sharing(chosen: tuple[Chosen, ...]) -> list[list[Chosen]]:
    """Comparisons to be run, in groups of one stage and cell that are linked by arms which they share."""
    groups: list[list[Chosen]] = []
    for entry in (entry for entry in chosen if entry.place is not None):
        linked = [group for group in groups if any(_linked(entry, member) for member in group)]
        merged = [member for group in linked for member in group]
        groups = [group for group in groups if group not in linked] + [[*merged, entry]]
    return sorted(groups, key=lambda group: min(entry.arm.stage for entry in group))


def _linked(first: Chosen, second: Chosen) -> bool:
    alike = (first.arm.stage, first.arm.cell) == (second.arm.stage, second.arm.cell)
    return alike and bool({first.arm.name, first.other.name} & {second.arm.name, second.other.name})


def runs_of_arms(members: list[tuple[Chosen, int]]) -> dict[str, int]:
    """Runs of each arm: as many as the most demanding comparison that it stands in asks for."""
    out: dict[str, int] = {}
    for entry, runs in members:
        for arm in (entry.arm, entry.other):
            out[arm.name] = max(out.get(arm.name, 0), runs)
    return out


def session_minutes(worlds: Worlds, runs: dict[str, int], layout: int, rounds: int) -> float:
    """Minutes of a session with so many runs of each arm; `layout` and `rounds` are places in the grid."""
    arrangement, length = arrangements(worlds.plan)[layout], worlds.plan.allowed.rounds[rounds]
    starts = [restarts(arrangement, count, 1) for count in runs.values()]
    begun = max(starts) if arrangement.layout == SHARED_START else sum(starts)
    decoding = sum(count * worlds.run_minutes(name, length) for name, count in runs.items())
    return decoding + begun * worlds.plan.minutes.restart


def _by_value(entry: Chosen, worlds: Worlds) -> bool:
    """Whether a design is taken for what it is worth: no design reaches the goal, or the goal is value itself."""
    return entry.why != REACHED or worlds.plan.goal.kind == VALUE


def _own_minutes(worlds: Worlds, arm: Arm, runs: int, layout: int, rounds: int) -> float:
    return session_minutes(worlds, {arm.name: runs}, layout, rounds)


def _runs_place(entry: Chosen, grid: xr.Dataset, worlds: Worlds, layout: int, rounds: int, most: int) -> int | None:
    """The least allowed runs that reach the goal, or those worth most beyond what its own arm costs; None where none do."""
    at = grid.sel({COMPARISON: entry.arm.name}).transpose(LAYOUT, RUNS, ROUNDS, missing_dims="ignore")
    serving = float(worlds.rates[entry.other.name].mean())
    if not _by_value(entry, worlds):
        good = np.flatnonzero(reached(worlds.plan, at, serving)[layout, : most + 1, rounds])
        return int(good[0]) if len(good) else None
    seconds = 3600.0 * worlds.plan.goal.horizon_hours
    value = at["rule_value"].values[layout, : most + 1, rounds] * seconds
    own = [_own_minutes(worlds, entry.arm, n, layout, rounds) for n in worlds.plan.allowed.runs[: most + 1]]
    net = value - serving * MINUTE_SECONDS * np.array(own)
    return int(net.argmax()) if net.max() > 0 else None


def _together(group: list[Chosen], grid: xr.Dataset, worlds: Worlds) -> list[Place] | None:
    """Places of one layout and round count whose session costs least beyond what it is worth; None where there is none."""
    plan = worlds.plan
    serving = float(worlds.rates[group[0].other.name].mean())
    best, least = None, np.inf
    sizes = len(arrangements(plan)), len(plan.allowed.rounds), len(plan.allowed.runs)
    for layout, rounds, most in product(*(range(size) for size in sizes)):
        found = [_runs_place(entry, grid, worlds, layout, rounds, most) for entry in group]
        places = [(layout, runs, rounds) for runs in found if runs is not None]
        if len(places) < len(group):
            continue
        runs = runs_of_arms([(entry, plan.allowed.runs[at[1]]) for entry, at in zip(group, places, strict=True)])
        cost = serving * MINUTE_SECONDS * session_minutes(worlds, runs, layout, rounds)
        for entry, place in zip(group, places, strict=True):
            if _by_value(entry, worlds):
                value = grid["rule_value"].sel({COMPARISON: entry.arm.name}).transpose(LAYOUT, RUNS, ROUNDS)
                cost -= float(value.values[place]) * 3600.0 * plan.goal.horizon_hours
        if cost < least:
            best, least = places, cost
    return best


def share(chosen: tuple[Chosen, ...], grid: xr.Dataset, worlds: Worlds) -> tuple[Chosen, ...]:
    """Give comparisons that share an arm the designs that are cheapest together, so that what is advised is what is run.

    Where no layout and round count does for all of a group, each keeps its own design, in a session of its own.

    Parameters
    ----------
    chosen
        Of `choose`: each comparison by itself.
    grid
        Of `with_rule_value`.
    worlds
        What it was made from.
    """
    moved: dict[str, Place] = {}
    for group in sharing(chosen):
        places = _together(group, grid, worlds) if len(group) > 1 else None
        if places is not None:
            moved |= {entry.arm.name: place for entry, place in zip(group, places, strict=True)}
    return tuple(replace(entry, place=moved.get(entry.arm.name, entry.place)) for entry in chosen)
