"""Checks of a fit: places among repetitions, spread between runs, and sensitivity to priors, against laws from outside."""

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.checks import moved_positions, outside_counts, place_among, spread_checks
from draftdepth.analysis.checks_sensitivity import log_priors, sensitivity
from draftdepth.models.priors import Priors
from scipy import stats

from .page.made_up import shared_tree


def test_the_place_of_a_value_is_the_share_of_repetitions_below_it_and_half_of_the_ties() -> None:
    repeated = np.array([[1.0], [2.0], [2.0], [5.0]])
    assert place_among(np.array([2.0]), repeated)[0] == pytest.approx(0.25 + 0.25)
    assert place_among(np.array([6.0]), repeated)[0] == 1.0


def test_repetitions_of_a_true_model_leave_a_tenth_outside() -> None:
    rng = np.random.default_rng(1)
    observed, repeated = rng.standard_normal(400), rng.standard_normal((2000, 400))
    places = xr.Dataset(
        {"accepted_place": (("run", "position"), place_among(observed, repeated)[:, None]),
         "length_place": ("run", np.full(400, np.nan)), "step_place": ("run", np.full(400, 0.99))}
    )  # fmt: skip
    found = outside_counts(places)
    assert 400 * 0.1 - 3 * 6 <= int(found["position_outside"][0]) <= 400 * 0.1 + 3 * 6
    assert (int(found["length_runs"]), int(found["length_outside"])) == (0, 0)
    assert (int(found["step_runs"]), int(found["step_outside"])) == (400, 400)


def _runs(accepted: list[list[int]], rounds: list[int]) -> tuple[xr.Dataset, xr.Dataset]:
    names = [f"r{place}" for place in range(len(rounds))]
    runs = xr.Dataset(
        {"accepted": (("run", "position"), np.array(accepted)), "request_rounds": ("run", np.array(rounds))},
        coords={
            "cell": ("run", ["c"] * len(rounds)), "run_id": ("run", names), "worker": ("run", ["w"] * len(rounds)),
            "policy": ("run", ["dynamic"] * len(rounds)), "policy_depth": ("run", [2] * len(rounds)),
            "position": [1, 2],
        },
    )  # fmt: skip
    again = np.broadcast_to(np.array(accepted), (1, 50, len(rounds), 2)).copy()
    predictive = xr.Dataset(
        {"accepted": (("chain", "draw", "run", "position"), again)},
        coords={"run_id": ("run", [f"c/{name}" for name in names]), "position": [1, 2]},
    )
    return runs, predictive


def test_spread_between_runs_is_of_accepted_length_and_copies_do_not_narrow_it() -> None:
    runs, predictive = _runs([[80, 40], [60, 40], [60, 40]], [100, 100, 100])
    found = spread_checks(runs, predictive, "w")
    assert found["spread_runs"].values.tolist() == [2.0]
    assert found["spread"].values[0] == pytest.approx(np.std([1.2, 1.0], ddof=1))
    assert found["spread_place"].values[0] == pytest.approx(0.5)
    runs, predictive = _runs([[80, 40], [80, 40]], [100, 100])
    assert spread_checks(runs, predictive, "w").sizes["arm"] == 0


def test_contraction_is_one_minus_the_ratio_of_variances() -> None:
    rng = np.random.default_rng(2)

    def draws(sd: float) -> xr.Dataset:
        values = 0.5 + sd * rng.standard_normal((1, 20_000, 1, 2, 1))
        return xr.Dataset(
            {"fixed_survival": (("chain", "draw", "cell", "depth", "position"), values),
             "exposure": (("chain", "draw", "cell", "position"), values[..., 0, :])},
            coords={"cell": ["c"], "position": [1], "depth": [0, 1]},
        )  # fmt: skip

    found = moved_positions(draws(0.05), draws(0.1))
    assert float(found["survival_contraction"][0, 0]) == pytest.approx(0.75, abs=0.02)
    q95 = float(found["prior_fixed_survival"].sel(quantile=0.95)[0, 0])
    assert q95 == pytest.approx(0.5 + 0.1 * 1.645, abs=0.005)


def test_log_priors_are_the_stated_densities() -> None:
    values = np.array([[0.1, 0.4]])
    draws = xr.Dataset({"s_run": (("chain", "draw"), values), "slope": (("chain", "draw"), values)})
    priors = Priors(run_scale=0.2)
    found = log_priors(draws, priors, taught=False)
    half_normal = np.log(2) + stats.norm.logpdf(values, 0, 0.2)
    np.testing.assert_allclose(found["s_run"].values, half_normal)
    np.testing.assert_allclose(found["slope"].values, np.log(6 * values * (1 - values)))
    taught = log_priors(draws, priors, taught=True)["slope"].values
    np.testing.assert_allclose(taught, np.log(2) + stats.norm.logpdf(values, 0, 5.0))
    assert set(found.data_vars) == {"s_run", "slope"}


def test_a_gain_that_hangs_on_delta_is_sensitive_to_its_prior_and_to_no_other() -> None:
    """Draws of delta from its prior alone, and a gain that is delta: scaling that prior moves it, another does not."""
    rng = np.random.default_rng(3)
    front, shape = ("chain", "draw"), (4, 1000)
    delta = np.abs(2 * rng.standard_normal(shape))
    other = np.abs(0.3 * rng.standard_normal(shape))
    posterior = xr.Dataset(
        {"delta": ((*front, "cell"), delta[..., None]), "s_run": (front, other)}, coords={"cell": ["c"]}
    )
    rate = np.stack([np.full(shape, 1.0), 50.0 * (1 + 0.1 * delta)], axis=-1)
    rates = xr.Dataset(
        {
            "rate": (("scenario", "estimand", *front, "cell", "depth"), rate[None, None, :, :, None, :]),
            "current": (("scenario", *front, "cell"), np.full((1, *shape, 1), 50.0)),
        },
        coords={"scenario": ["assumption_priors"], "estimand": ["fixed_depth"], "cell": ["c"], "depth": [0, 1]},
    )
    decision = xr.Dataset({"p_best": (("cell", "candidate"), [[1.0]])}, coords={"cell": ["c"], "candidate": ["1"]})
    found = sensitivity(rates, decision, {"w": posterior}, Priors(), {"w": False})["power_scaling"].sel(cell="c")
    assert float(found.sel(prior="delta")) > 0.1
    assert float(found.sel(prior="s_run")) < 0.03


def test_every_group_of_the_result_holds_its_checks() -> None:
    tree = shared_tree()
    assert {"explain", "sensitivity", "positions", "repetitions", "spread", "outside"} <= set(tree.children)
    runs = tree["repetitions/w"].to_dataset()
    assert runs.sizes["run"] == 4
    beyond = runs["accepted_place"].transpose("run", "position").values[:, -1]
    assert np.isnan(beyond).all()  # no run may verify position 5
    assert np.isfinite(runs["step_place"].values).all()
