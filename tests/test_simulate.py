"""Simulated runs against the law that they are drawn from."""

from pathlib import Path

import numpy as np
import pytest
from draftdepth.analysis.plan_arms import ArmDraws
from draftdepth.analysis.plan_spread import Spreads, median_variance, token_noise, token_slope
from draftdepth.analysis.simulate import ArmRuns, simulate_arm
from draftdepth.data.plan_arm import Arm
from draftdepth.data.words import Label

from .plan_examples import example_worlds

SIZE, RUNS = 400, 30
HAZARD = np.array([0.85, 0.8, 0.7])


def _simulate(
    run: float, overdispersion: float = 0.0, rounds: tuple[int, ...] = (300, 3000)
) -> tuple[ArmRuns, Spreads]:
    one = np.ones(SIZE)
    spreads = Spreads(run * one, overdispersion * one, 0.03 * one, 0.02 * one, 0.01 * one)
    arm = Arm("a", "S/c", "fixed", 3, None, None, 1, "S-planned/c")
    logit = np.broadcast_to(np.log(HAZARD / (1 - HAZARD)), (SIZE, 3))
    worlds = ArmDraws(arm, 3.0, logit, np.full(SIZE, np.log(70.0)), np.zeros(SIZE), Label.ESTIMATED)
    return simulate_arm(worlds, spreads, rounds, RUNS, 3, 0.004, np.random.default_rng(20260925)), spreads


def test_without_run_spread_counts_are_binomial() -> None:
    runs, _ = _simulate(run=0.0)
    survival = np.cumprod(HAZARD)
    for place, rounds in enumerate((300, 3000)):
        seen = runs.survival[:, place].reshape(-1, 3)
        error = np.sqrt(survival * (1 - survival) / rounds / len(seen))
        assert (np.abs(seen.mean(axis=0) - survival) < 4 * error).all()
        assert seen.var(axis=0) == pytest.approx(survival * (1 - survival) / rounds, rel=0.05)


def test_runs_differ_in_log_tokens_by_run_effect_rounds_and_overdispersion() -> None:
    runs, _ = _simulate(run=0.2, overdispersion=1e-3)
    survival = np.cumprod(HAZARD)
    a, b = token_noise(survival)
    for place, rounds in enumerate((300, 3000)):
        expected = (0.2 * token_slope(survival)) ** 2 + a / rounds + 1e-3 * b
        assert runs.log_tokens[:, place].var() == pytest.approx(expected, rel=0.05)


def test_one_run_effect_moves_all_positions_and_all_round_counts_of_a_run() -> None:
    runs, _ = _simulate(run=0.3, rounds=(200_000, 400_000))
    hazard = runs.survival / np.concatenate([np.ones((*runs.survival.shape[:3], 1)), runs.survival[..., :-1]], axis=-1)
    logit = np.log(hazard / (1 - hazard))
    flat = logit.reshape(SIZE, 2, RUNS, 3)
    assert np.corrcoef(flat[:, 0, :, 0].ravel(), flat[:, 0, :, 2].ravel())[0, 1] > 0.99
    assert np.corrcoef(flat[:, 0, :, 0].ravel(), flat[:, 1, :, 0].ravel())[0, 1] > 0.99


def test_times_spread_by_run_and_median_request_and_starts_stand_apart() -> None:
    runs, _ = _simulate(run=0.1)
    assert runs.log_step.mean() == pytest.approx(np.log(70.0), abs=0.001)
    assert runs.log_step.var() == pytest.approx(0.02**2 + median_variance(3) * 0.01**2, rel=0.05)
    assert runs.start.std() == pytest.approx(0.03, rel=0.05)
    assert runs.period.shape == (SIZE,)


def test_a_new_arm_changes_no_other_arms_runs(tmp_path: Path) -> None:
    first = example_worlds(tmp_path / "1", simulations=100)
    second = example_worlds(tmp_path / "2", simulations=100, hostile="another name")
    np.testing.assert_array_equal(first.runs["now"].survival, second.runs["now"].survival)
    np.testing.assert_array_equal(first.runs["fixed three"].log_step, second.runs["fixed three"].log_step)
    assert not np.array_equal(first.runs["remote 0"].survival, second.runs["another name"].survival)
