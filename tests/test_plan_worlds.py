"""Worlds of a plan against what the stored result says of the same arms, and against the runs that are simulated in them."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from draftdepth.analysis.decision import Rule, decide
from draftdepth.analysis.plan_arms import centre_logit
from draftdepth.analysis.plan_spread import run_mean_survival, survival_of
from draftdepth.analysis.plan_worlds import worlds_of
from draftdepth.analysis.rates import rate_draws
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.recursion import expit

from .plan_examples import PAGE_P_GAIN, SPREADS, draws, example_plan, example_study, example_worlds, stored_tree

WIDE = {"s_run": 0.6}  # so wide that averaging over it twice shows
PAIR = ("fixed three", "now")


def test_the_chance_of_a_gain_is_the_stored_results_own(tmp_path: Path) -> None:
    """`decide`, with the remote cost at the screen's reference, so that its step is the measured one."""
    study = load_study(str(example_study(tmp_path)))
    cells = screen(study, usable_inputs(study).runs)
    posterior = draws(500, SPREADS | WIDE)
    assumed = {"overlap": study.overlap.central, "overhead_ms": study.overhead_ms.central}
    like = posterior["kappa"]
    posterior = posterior.assign({name: 0.0 * like + value for name, value in assumed.items()})
    rates = rate_draws(study, cells, posterior, taught=False)
    labels = (0.0 * posterior["omega"].isel(chain=0, draw=0, drop=True)).astype(str)
    page = decide(rates, labels, Rule())["p_gain"].sel(cell="S/c", depth=3)
    worlds = worlds_of(example_plan(tmp_path, study, simulations=100), Rule(), stored_tree(study, posterior), 5)
    before = worlds.before(*PAIR)
    assert len(before) == 500
    assert float((before > 0).mean()) == float(page)
    gain = rates["gain_current"].sel(estimand="fixed_depth", scenario="assumption_priors", cell="S/c", depth=3)
    np.testing.assert_allclose(np.expm1(before), gain.values.ravel(), atol=1e-5)


def test_the_chance_on_the_page_is_that_of_a_fixed_depth_against_the_current_policy(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, simulations=100)
    assert worlds.page_p_gain(*PAIR) == PAGE_P_GAIN
    assert worlds.page_p_gain("remote 0", "now") is None
    assert worlds.page_p_gain("now", "fixed three") is None


def test_simulated_runs_have_the_mean_that_is_stored(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, WIDE, vary=0.0, simulations=500, runs=[16])
    posterior = draws(500, SPREADS | WIDE, vary=0.0)
    stored = {
        "now": posterior["survival"].values[0, 0, 0],
        "fixed three": posterior["fixed_survival"].values[0, 0, 0, 3],
    }
    for name, survival in stored.items():
        runs = worlds.runs[name].survival[:, 1].sum(axis=-1).ravel()
        assert abs(runs.mean() - survival.sum()) < 4 * runs.std() / sqrt(runs.size)


def test_the_centre_is_the_inverse_of_the_mean_over_runs() -> None:
    mean = np.tile([1.6, 1.2, 0.8, 0.3, -0.5], (3, 1))
    spread = np.array([0.0, 0.4, 1.0])
    centre = centre_logit(mean, spread)
    np.testing.assert_allclose(run_mean_survival(centre, spread), survival_of(expit(mean, np)), atol=1e-5)
    np.testing.assert_allclose(centre[0], mean[0])
    assert abs(centre[2] - mean[2]).max() > 0.1


def test_the_prior_of_the_fast_analysis_holds_the_transport_that_worlds_have(tmp_path: Path) -> None:
    study = load_study(str(example_study(tmp_path)))
    posterior = draws(500, SPREADS)
    posterior["omega_cap"] = posterior["omega_cap"] + 0.2
    tree = stored_tree(study, posterior)
    moved, still = (
        worlds_of(example_plan(tmp_path, study, simulations=100), Rule(), held, 5)
        for held in (tree, stored_tree(study, draws(500, SPREADS)))
    )
    np.testing.assert_allclose(moved.stored["now"].mean_logit, still.stored["now"].mean_logit + 0.2, atol=1e-4)
    np.testing.assert_allclose(moved.stored["fixed three"].mean_logit, still.stored["fixed three"].mean_logit)
    assert moved.stored_prior(*PAIR).mean.shape == (128, 9)


def test_worlds_are_some_of_the_stored_draws(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, simulations=100)
    known = worlds.before(*PAIR)
    assert np.isin(np.round(worlds.log_gain(*PAIR), 12), np.round(known, 12)).all()
    assert worlds.log_gain(*PAIR).mean() == pytest.approx(known.mean(), abs=4 * known.std() / sqrt(100))
