"""Full refits of simulated experiments: the rows that they are made of, their agreement with the fast analysis, one seed."""

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.groups import fit_groups
from draftdepth.analysis.plan_agreement import Agreement, Design, agreements, refit_designs, verdict_of
from draftdepth.analysis.plan_experiment import Arrangement
from draftdepth.analysis.plan_refit import Refit, experiment_runs
from draftdepth.analysis.plan_spread import INTERLEAVED, ONE_START, SHARED_START
from draftdepth.analysis.plan_worlds import Worlds
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.evidence import evidence_of
from draftdepth.models.observations import observations
from draftdepth.models.priors import Priors
from draftdepth.models.transport import paths, sampled_steps
from draftdepth.reports.numbers import as_json
from draftdepth.reports.plan_agreement_json import agreement_document
from draftdepth.reports.plan_md import agreement_section

from .plan_examples import example_worlds


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Worlds, xr.Dataset, xr.Dataset]:
    folder = tmp_path_factory.mktemp("refit")
    worlds = example_worlds(folder, simulations=100)
    inputs = usable_inputs(load_study(str(folder)))
    return worlds, next(iter(fit_groups(inputs.runs)))[1], screen(load_study(str(folder)), inputs.runs)


def _rows(made: tuple[Worlds, xr.Dataset, xr.Dataset], layout: str, world: int = 3, per_start: int = 1) -> xr.Dataset:
    worlds, stored, _ = made
    arm, other = worlds.plan.comparisons[0]
    sides = [(side, worlds.runs[side.name]) for side in (arm, other)]
    return experiment_runs(stored, sides, world, Arrangement(layout, per_start), 4, 4000, 1)


def test_an_experiment_stands_beside_the_stored_runs_as_it_was_simulated(made: Any) -> None:
    worlds, stored, _ = made
    rows = _rows(made, INTERLEAVED)
    assert rows.sizes["run"] == stored.sizes["run"] + 8
    xr.testing.assert_equal(rows["accepted"].isel(run=slice(0, stored.sizes["run"])), stored["accepted"])
    fixed = rows.isel(run=np.flatnonzero(rows["policy"].values == "fixed"))
    simulated = worlds.runs["fixed three"]
    np.testing.assert_allclose(fixed["accepted"].values[:, :3] / 4000, simulated.survival[3, 1, :4])
    assert (fixed["accepted"].values[:, 3:] == 0).all()
    medians = np.log(np.nanmedian(fixed["step_ms"].values, axis=1))
    np.testing.assert_allclose(medians, simulated.log_step[3, :4] + simulated.start[3, :4])
    assert set(fixed["level"].values) == {"L4"}
    assert not fixed["screened"].any()


@pytest.mark.parametrize(
    ("layout", "per_start", "starts"),
    [(INTERLEAVED, 1, 8), (INTERLEAVED, 2, 4), (ONE_START, 1, 2), (SHARED_START, 2, 2)],
)
def test_runs_share_the_starts_that_the_layout_says(made: Any, layout: str, per_start: int, starts: int) -> None:
    rows = _rows(made, layout, per_start=per_start)
    new = rows["start"].values[np.char.startswith(rows["start"].values.astype(str), "planned")]
    assert len(set(new.tolist())) == starts


def test_experiments_of_one_shape_exchange_their_data(made: Any) -> None:
    """A compiled program takes another world's counts: shapes and everything but counts and times agree."""
    first, second = (evidence_of(_rows(made, INTERLEAVED, world)) for world in (3, 4))
    one, two = observations(first), observations(second)
    assert {name: np.shape(value) for name, value in one.items()} == {
        name: np.shape(value) for name, value in two.items()
    }
    assert first.run_ids == second.run_ids
    np.testing.assert_array_equal(first.start, second.start)
    assert any(not np.array_equal(one[name], two[name]) for name in one)


def test_a_refit_believes_of_its_arm_what_the_stored_result_did(made: Any) -> None:
    """Worlds are stored draws; transport of the planned arm has the same law in the fit of the stored runs and in the refit."""
    before, after = evidence_of(made[1]), evidence_of(_rows(made, INTERLEAVED))
    np.testing.assert_array_equal(paths(before), paths(after))
    assert [len(steps) for steps in sampled_steps(before)] == [0, 0]
    assert [steps.tolist() for steps in sampled_steps(after)] == [
        [0, 0],
        [0, 4],
    ]  # from the policy, and from depth 4 to 3


def test_the_full_verdict_is_the_written_rule() -> None:
    sure = Refit(0.95, 0.03, 0.03, 0.001, 0.03, 0)
    assert verdict_of(sure, Rule()) == (True, False)
    assert verdict_of(sure, Rule(probability=0.96)) == (False, False)
    assert verdict_of(sure, Rule(expected_loss_share=0.0005)) == (False, False)
    assert verdict_of(Refit(0.04, -0.03, 0.03, 0.03, 0.001, 0), Rule()) == (False, True)


def test_the_difference_is_paired_and_never_called_exact(made: Any) -> None:
    worlds = made[0]
    arm, other = worlds.plan.comparisons[0]
    design = Design(arm, other, Arrangement(INTERLEAVED, 1), 4, 500, 0, tuple(range(50)))
    none, p = np.zeros((2, 50), dtype=bool), np.zeros((2, 50))
    same = Agreement(design, none, none, p, p, ~none, 0).difference
    assert same[0] == 0.0
    assert 0.01 < same[1] < 0.02
    right = none.copy()
    right[1, :10] = True
    value, error = Agreement(design, right, none, p, p, ~none, 0).difference
    assert value == pytest.approx(0.2)
    assert error == pytest.approx(np.sqrt(0.2 * 0.8 / 50), rel=0.05)


def test_worlds_are_spread_over_the_designs_and_scalars_left_out(made: Any) -> None:
    designs = refit_designs(made[0], 100)
    assert sum(len(design.worlds) for design in designs) == 100
    assert {design.arm.name for design in designs} == {"fixed three"}
    assert len({(design.runs, design.rounds) for design in designs}) == 4
    assert all(0 <= world < 100 for design in designs for world in design.worlds)


def test_the_page_says_whether_fast_and_full_agree(made: Any) -> None:
    worlds = made[0]
    arm, other = worlds.plan.comparisons[0]
    design = Design(arm, other, Arrangement(INTERLEAVED, 1), 4, 500, 0, tuple(range(50)))
    none, p = np.zeros((2, 50), dtype=bool), np.zeros((2, 50))
    apart = none.copy()
    apart[1, :30] = True
    inside = np.ones((2, 50), dtype=bool)
    inside[1, :10] = False
    for right, word in ((none, "agree within"), (apart, "do **not** agree within")):
        found = agreement_document((Agreement(design, right, none, p, p, inside, 3),) * 2)
        assert found is not None
        assert found["experiments"] == 100
        assert [row["divergent"] for row in found["designs"]] == [3, 3]
        page = agreement_section(json.loads(as_json({"agreement": found})))
        assert word in page
        assert "in 100.0 % (fast) and 80.0 % (full) of them, each ± 3.0 %" in page
    assert agreement_document(()) is None
    assert "--refit" in agreement_section({"agreement": None})


@pytest.mark.slow
def test_refits_are_the_same_whenever_they_are_done(made: Any) -> None:
    worlds, stored, screened = made
    config = np.array([28.79, 31.86, 34.44, 37.76, 41.56, 43.68])
    found = [
        agreements(worlds, lambda _: stored, screened, config, Priors(), 3, experiments=4) for _ in range(2)
    ]  # fmt: skip
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first.p_gain, second.p_gain)
        assert (first.p_gain >= 0).all()
        assert (np.abs(first.p_gain[0] - first.p_gain[1]) < 0.5).all()
