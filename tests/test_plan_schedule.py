"""What is advised is what is scheduled: designs, blocks, shared arms, minutes and seeds."""

from typing import Any

import pytest
import xarray as xr
from draftdepth.analysis.plan_choice import Chosen, choose, with_rule_value
from draftdepth.analysis.plan_schedule import Session, sessions
from draftdepth.analysis.plan_sharing import session_minutes, share, sharing
from draftdepth.analysis.plan_worlds import Worlds, arrangements
from draftdepth.analysis.planning import minutes_of, plan_grid
from draftdepth.data.plan_arm import Arm

from .plan_examples import example_worlds

NEAR: tuple[int, int, int] = (0, 0, 0)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return example_worlds(tmp_path_factory.mktemp("schedule"), simulations=200, target=0.5, effect=0.04, effect_sd=0.04)


@pytest.fixture(scope="module")
def grid(worlds: Worlds) -> xr.Dataset:
    return with_rule_value(plan_grid(worlds), worlds)


def _at(worlds: Worlds, *places: tuple[int, int, int] | None) -> tuple[Chosen, ...]:
    pairs = worlds.plan.comparisons
    return tuple(
        Chosen(arm, other, "goal reached", place, True, False, 0.0, NEAR, NEAR)
        for (arm, other), place in zip(pairs, places, strict=True)
    )


def _scheduled_as_advised(worlds: Worlds, chosen: tuple[Chosen, ...], found: tuple[Session, ...]) -> None:
    allowed = worlds.plan.allowed
    for entry in chosen:
        here = [
            session for session in found if {entry.arm, entry.other} <= set(session.arms) and entry.place is not None
        ]
        if entry.place is None:
            assert not any(entry.arm in session.arms for session in found)
            continue
        layout, runs, rounds = entry.place
        (session,) = here
        assert (session.arrangement, session.rounds) == (arrangements(worlds.plan)[layout], allowed.rounds[rounds])
        turns = [turn for turn in session.turns if turn.arm == entry.arm.name]
        assert len(turns) == session.runs[entry.arm.name] == allowed.runs[runs]
        baseline = {turn.block for turn in session.turns if turn.arm == entry.other.name}
        assert {turn.block for turn in turns} <= baseline
        assert session.runs[entry.other.name] >= allowed.runs[runs]


def test_the_schedule_is_that_of_the_advice(worlds: Worlds, grid: xr.Dataset) -> None:
    alone = choose(grid, worlds)
    chosen = share(alone, grid, worlds)
    assert [entry.why for entry in chosen] == [entry.why for entry in alone]
    assert all(entry.place is not None for entry in chosen)
    found = sessions(worlds, chosen, 7)
    _scheduled_as_advised(worlds, chosen, found)
    assert len(found) == 1  # both stand against the same baseline
    assert {entry.place and (entry.place[0], entry.place[2]) for entry in chosen} == {
        (found[0].layout, found[0].rounds_place)
    }
    at = grid.sel(comparison="fixed three").transpose("layout", "runs", "rounds")
    assert chosen[0].place is not None
    assert float(at["assurance"].values[chosen[0].place]) >= 0.5
    minutes = session_minutes(worlds, found[0].runs, found[0].layout, found[0].rounds_place)
    pairs = [float(grid["minutes"].sel(comparison=e.arm.name).transpose(*at.dims).values[e.place]) for e in alone]
    assert minutes < sum(pairs)  # the baseline is measured once


@pytest.mark.parametrize(
    ("places", "count"),
    [
        (((0, 3, 1), (0, 1, 1)), 1),
        (((0, 3, 1), (0, 1, 0)), 2),
        (((0, 3, 1), (1, 3, 1)), 2),
        (((0, 2, 0), None), 1),
        ((None, None), 0),
    ],
)
def test_designs_that_differ_in_layout_or_rounds_have_sessions_of_their_own(
    worlds: Worlds, places: tuple[Any, Any], count: int
) -> None:
    chosen = _at(worlds, *places)
    found = sessions(worlds, chosen, 7)
    assert len(found) == count
    _scheduled_as_advised(worlds, chosen, found)


def test_an_arm_leaves_the_blocks_when_it_has_its_runs(worlds: Worlds) -> None:
    (session,) = sessions(worlds, _at(worlds, (0, 3, 1), (0, 1, 1)), 7)
    assert session.runs == {"now": 16, "fixed three": 16, "remote 0": 4}
    assert {turn.block for turn in session.turns if turn.arm == "remote 0"} == {1, 2, 3, 4}
    assert len({turn.run for turn in session.turns}) == len(session.turns) == 36
    assert sum(turn.restart for turn in session.turns) == 36


def test_minutes_of_a_session_of_one_pair_are_the_grids(worlds: Worlds) -> None:
    for layout, arrangement in enumerate(arrangements(worlds.plan)):
        pair = minutes_of(worlds, ("fixed three", "now"), arrangement, 8)
        assert session_minutes(worlds, {"fixed three": 8, "now": 8}, layout, 1) == pytest.approx(pair[1])


def test_the_order_is_drawn_with_the_seed_that_is_told(worlds: Worlds) -> None:
    chosen = _at(worlds, (0, 3, 1), (0, 3, 1))
    (first,), (again,), (other,) = (sessions(worlds, chosen, seed) for seed in (7, 7, 8))
    assert first == again
    assert first.seed != other.seed
    assert first.turns != other.turns


def _chosen(
    name: str, against: str, stage: int, place: tuple[int, int, int] | None = NEAR, cell: str = "S/c"
) -> Chosen:
    arm, other = (Arm(n, cell, "fixed", 1, None, None, stage, f"{n}/c") for n in (name, against))
    return Chosen(arm, other, "goal reached", place, True, False, 0.0, NEAR, NEAR)


def test_comparisons_are_linked_by_arms_within_a_stage_and_cell() -> None:
    a, b, c = _chosen("a", "x", 1), _chosen("b", "y", 1), _chosen("y", "x", 1)
    later, elsewhere, none = _chosen("d", "x", 2), _chosen("e", "x", 1, cell="S/d"), _chosen("f", "x", 1, place=None)
    groups = [{entry.arm.name for entry in group} for group in sharing((later, a, b, c, elsewhere, none))]
    assert {"a", "b", "y"} in groups
    assert [len(group) for group in groups if "f" in group] == []
    assert sorted(len(group) for group in groups) == [1, 1, 3]
    assert groups[-1] == {"d"}
