"""A plan file at the door: what ships reads, and each fault is one line that says what would do."""

import re
from pathlib import Path

import pytest
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.data.plan_file import read_plan
from draftdepth.data.study import embedded_studies, load_study

from .plan_examples import example_study, plan_text

CELLS = frozenset({"S/c"})


def test_the_shipped_plans_read_and_cost_only_isolation_comes_first() -> None:
    cells = frozenset({"W5-E1p/c150", "canonical-nvfp4/c4", "canonical-threshold-040/c1"})
    plans = {}
    for name in embedded_studies():
        study = load_study(name)
        plans[name] = read_plan(study.folder / "plan.toml", study, cells)
    assert set(plans) == {"sp2", "gx10"}
    pairs = plans["sp2"].comparisons
    assert [arm.scalar_ms for arm, _ in pairs[:3]] == [0.0, 0.8, 1.5]
    assert all(arm.stage == 1 and (arm.kind, arm.depth) == (other.kind, other.depth) for arm, other in pairs[:3])
    caps = [(arm.depth, other.depth, arm.scalar_ms, other.scalar_ms) for arm, other in pairs if arm.kind == "dynamic"]
    assert (3, 5, 0.8, 0.8) in caps
    assert len(plans["sp2"].comparisons) == 5
    assert (len(plans["sp2"].allowed.runs), len(plans["sp2"].allowed.rounds)) == (10, 4)


FAULTS = [
    ('kind = "assurance"', 'kind = "certainty"', "goal.kind: found a text of 9 characters; one of precision"),
    ("target = 0.8", "target = 1.5", "goal.target: found 1.5; a number from"),
    ("horizon_hours = 100.0\n", "", "goal.horizon_hours: found nothing"),
    ("runs = [2, 4, 8, 16]", "runs = [4, 2]", "allowed.runs: found counts out of order"),
    ("runs = [2, 4, 8, 16]", "runs = [1, 2]", "allowed.runs: found 1; at least 2 runs"),
    ("runs = [2, 4, 8, 16]", "runs = []", "allowed.runs: found a list of 0"),
    ("runs_per_start = 1", "runs_per_start = 3", "allowed.runs: found counts that are no whole starts"),
    ("switches_at_runtime = false", "switches_at_runtime = 1", "allowed.switches_at_runtime: found 1; true or false"),
    ("run = 2.0", "run = -1", "minutes.run: found -1"),
    ("simulations = 400", "simulations = 3", "design.simulations: found 3"),
    ("gain = 0.01", "gain = 2.0", "effect\\[1\\].gain: found 2.0"),
    ("gain_sd = 0.1", "gain_sd = 0", "analysis.gain_sd: found 0"),
    ('name = "fixed three"', 'name = "now"', "arm: found a name twice"),
    ('against = "now"', 'against = "then"', "arm\\[2\\].against: found no other arm's name"),
    ("depth = 3", "depth = 6", "arm\\[2\\].policy.depth: found 6; 1 to 5 would do: what is deeper is UNSUPPORTED"),
    ("depth = 3", "cap = 3", "arm\\[2\\].policy.depth: found nothing"),
    ("remote_scalar_ms = 0.0", "remote_scalar_ms = 4.4", "arm\\[3\\].remote_scalar_ms: found 4.4; a scalar with an effect"),
    ('recorded_as = "S-remote/c"', 'recorded_as = "S/c"', "arm\\[3\\].recorded_as: found no cell that is new"),
    ('recorded_as = "S-remote/c"', 'recorded_as = "S-planned/c"', "arm: found two arms whose records look alike"),
    ('cell = "S/c"', 'cell = "S/d"', "arm\\[1\\].cell: found a cell that the study does not fit"),
    ("[minutes]", "[minutes]\nsalary = 3", "minutes.salary: found an entry that no study has"),
    ("schema = 1", "schema = 2", "schema: found 2"),
    ("schema = 1", "schema = ", "found something that is not TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), FAULTS, ids=[f"{old} -> {new}" for old, new, _ in FAULTS])
def test_a_fault_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    study = load_study(str(example_study(tmp_path)))
    text = plan_text()
    assert old in text
    path = tmp_path / "plan.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=said) as caught:
        read_plan(path, study, CELLS)
    assert "\n" not in str(caught.value)
    assert re.search("would do|remove or rename it", str(caught.value))


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    study = load_study(str(example_study(tmp_path)))
    with pytest.raises(MissingInputError, match=r"a plan\.toml"):
        read_plan(tmp_path / "plan.toml", study, CELLS)
