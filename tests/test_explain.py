"""Shares, values and tipping points against closed forms and independent loops."""

import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.explain import explain_cell
from draftdepth.analysis.explain_regression import expected, share_explained, standard_error, value_of_knowing
from draftdepth.analysis.explain_sources import SOURCES, floor_of_runs
from draftdepth.analysis.tipping import changes, delta_curves, slope_curves, tipping
from scipy import stats

from .page.made_up import shared_tree

DRAWS = 4000


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_shares_of_a_linear_gaussian_are_its_squared_weights() -> None:
    x = _normal(20261201, DRAWS, 3)
    weights = np.array([3.0, 2.0, 1.0])
    y = (x @ weights)[:, None]
    for place, weight in enumerate(weights):
        share, error = share_explained(y, expected(x[:, [place]], y))
        assert 0 < error[0] < 0.03
        assert abs(share[0] - weight**2 / 14.0) < 4 * error[0]
    both, _ = share_explained(y, expected(x[:, :2], y))
    assert both[0] == pytest.approx(13 / 14, abs=0.01)


def test_what_says_nothing_has_no_share_and_a_constant_is_no_source() -> None:
    y = _normal(1, DRAWS, 1)
    share, error = share_explained(y, expected(_normal(2, DRAWS, 6), y))
    assert -0.03 < share[0] < 4 * error[0]
    share, _ = share_explained(y, expected(np.full((DRAWS, 2), 7.0), y))
    assert abs(share[0]) < 0.005


def test_a_fit_does_not_praise_itself() -> None:
    """A hundred draws and six columns: in-sample such a regression explains a third of pure noise."""
    share, _ = share_explained(y := _normal(3, 100, 1), expected(_normal(4, 100, 6), y))
    assert share[0] < 0.05


def test_products_of_two_sources_are_nobody_s_first_order_share() -> None:
    x = _normal(5, DRAWS, 2)
    y = (x[:, 0] * x[:, 1])[:, None]
    for place in range(2):
        share, error = share_explained(y, expected(x[:, [place]], y))
        assert abs(share[0]) < 4 * error[0] + 0.01
    assert share_explained(y, expected(x, y))[0][0] > 0.99


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (-1.0, 2.0), (0.7, 0.5)])
def test_the_value_of_knowing_a_gaussian_is_the_unit_normal_loss(mean: float, sd: float) -> None:
    """Two candidates whose difference is Normal(mean, sd) given X, with noise beside it that X says nothing of."""
    x, noise = _normal(6, DRAWS, 1), _normal(7, DRAWS, 2)
    y = np.stack([50.0 + noise[:, 0], 50.0 + mean + sd * x[:, 0] + noise[:, 1]], axis=1)
    worth, error = value_of_knowing(y, expected(x, y))
    gained = mean * stats.norm.cdf(mean / sd) + sd * stats.norm.pdf(mean / sd) - max(mean, 0.0)
    assert 0 < error < 0.05
    assert abs(worth - gained) < 4 * error


def test_knowing_what_changes_no_choice_is_worth_nothing() -> None:
    x = _normal(8, DRAWS, 1)
    y = np.stack([x[:, 0], x[:, 0] + 9.0], axis=1)
    assert value_of_knowing(y, expected(x, y)) == (0.0, 0.0)


def test_the_error_of_a_mean_knows_that_neighbours_resemble_each_other() -> None:
    rho, size = 0.8, 40_000
    shocks, chain = _normal(9, size), np.empty(size)
    chain[0] = shocks[0]
    for place in range(1, size):
        chain[place] = rho * chain[place - 1] + math.sqrt(1 - rho**2) * shocks[place]
    truth = math.sqrt((1 + rho) / (1 - rho) / size)
    assert float(standard_error(chain)) == pytest.approx(truth, rel=0.2)
    assert float(standard_error(shocks)) == pytest.approx(1 / math.sqrt(size), rel=0.1)


def test_where_lines_cross_the_favoured_one_changes() -> None:
    grid = np.linspace(0.0, 4.0, 41)
    curves = np.stack([4.0 - grid, np.full_like(grid, 2.6), 0.3 + grid], axis=1)
    errors = np.full((41, 3, 3), 0.05)
    found = changes(grid, curves, errors)
    assert [(row[1], row[2]) for row in found] == [(0, 1), (1, 2)]
    assert [row[0] for row in found] == pytest.approx([1.4, 2.3])
    assert [row[3] for row in found] == pytest.approx([0.05, 0.05])
    assert changes(grid, curves[:, :1], errors) == []


def test_expected_rates_given_delta_are_a_known_curve_and_its_crossing_within_its_error() -> None:
    delta = np.abs(2.0 * _normal(10, DRAWS))
    noise = _normal(11, DRAWS, 2)
    rate = np.stack([50 + noise[:, 0], 53 - 2 * delta + 3 * noise[:, 1]], axis=1)
    grid = np.linspace(0.05, 4.5, 41)
    found = changes(grid, *delta_curves(delta, rate, grid))
    assert len(found) == 1
    value, before, after, error = found[0]
    assert (before, after) == (1, 0)
    assert 0 < error < 0.2
    assert abs(value - 1.5) < 4 * error


@pytest.fixture(scope="module")
def made_up() -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Screen, rates and draws of one cell of a made-up result; the draws are rebuilt from the same seed."""
    from .page.made_up import draws_of

    tree = shared_tree()
    cells, runs = tree["screen"].to_dataset(), tree["runs"].to_dataset()
    rates = tree["rates"].to_dataset().sel(scenario="assumption_priors", estimand="fixed_depth", cell="S/c", drop=True)
    names = [str(name) for name in runs["cell"].values]
    posterior = draws_of(cells, names, names, 1, 1.0).drop_dims("run", errors="ignore").sel(cell="S/c", drop=True)
    return cells.sel(cell="S/c", drop=True), rates, posterior


def test_rates_at_a_row_slope_are_the_screen_s_equation_in_loops(made_up: Any) -> None:
    cell, _, posterior = made_up
    config, batch = cell["config_ms"].values, float(cell["batch"])
    grid = np.array([0.0, 0.7])
    means, errors = slope_curves(cell, posterior, grid)
    assert errors.shape == (2, 5, 5)
    for place, slope in enumerate(grid):
        for depth in range(1, 6):
            rates = []
            for chain in range(posterior.sizes["chain"]):
                for draw in range(posterior.sizes["draw"]):
                    at = posterior.isel(chain=chain, draw=draw)
                    anchor = float((at["p_verified"].values * config).sum())
                    tokens = batch * (1 + at["fixed_survival"].values[depth, :depth].sum())
                    verify = float(at["step_ms"]) - float(cell["reference_ms"])
                    verify += slope * batch * (config[depth] - anchor)
                    exposed = (1 - float(at["overlap"])) * float(cell["remote_ms"]) + float(at["overhead_ms"])
                    rates.append(1000 * tokens / (verify + exposed))
            assert means[place, depth - 1] == pytest.approx(np.mean(rates), rel=1e-9)


def test_below_and_above_a_tipping_point_another_depth_is_favoured(made_up: Any) -> None:
    cell, rates, posterior = made_up
    found = tipping(cell, rates, posterior).sel(quantity="row_slope")
    values = [float(value) for value in found["tip_value"].values if not math.isnan(value)]
    assert values
    for place, value in enumerate(values):
        around, _ = slope_curves(cell, posterior, np.array([value - 0.02, value + 0.02]))
        before, after = (int(curve.argmax()) + 1 for curve in around)
        assert (before, after) == (int(found["tip_from"][place]), int(found["tip_to"][place]))
        share = float((posterior["row_slope"] < value).mean())
        assert float(found["tip_below"][place]) == pytest.approx(share)


def test_shares_of_a_cell_and_what_they_leave_make_one(made_up: Any) -> None:
    _, rates, posterior = made_up
    found = explain_cell(rates, posterior, runs=3)
    assert list(found["source"].values) == list(SOURCES)
    np.testing.assert_allclose(found["share"].sum("source") + found["interaction"], 1.0)
    acceptance = found["share"].sel(source="acceptance")
    np.testing.assert_allclose(found["runs_share"] + found["rounds_share"], acceptance, atol=1e-12)
    every = np.concatenate([rates["rate"].transpose("chain", "draw", "depth").values.reshape(-1, 6)[:, 1:],
                            rates["current"].transpose("chain", "draw").values.reshape(-1, 1)], axis=1)  # fmt: skip
    assert float(found["evpi"]) == pytest.approx(every.max(axis=1).mean() - every.mean(axis=0).max())
    assert float(found["evppi"].max()) <= float(found["evpi"]) + 1e-9


def test_the_floor_of_runs_is_what_a_simulation_of_run_effects_leaves() -> None:
    """One position, everything verified: E = 1 + h; the run mean shifts the logit with a known conditional spread."""
    draws, runs, s_run, s_cell, h = 50, 4, 0.3, 0.5, 0.8
    front = ("chain", "draw")

    def full(value: float, *dims: str, shape: tuple[int, ...] = ()) -> Any:
        return ((*front, *dims), np.full((1, draws, *shape), value))

    posterior = xr.Dataset(
        {
            "verified_chance": full(1.0, "position", shape=(1,)),
            "acceptance": full(h, "position", shape=(1,)),
            "survival": full(h, "position", shape=(1,)),
            "delta": full(0.0), "omega": full(0.0, "depth", shape=(2,)),
            "s_run": full(s_run), "s_cell": full(s_cell), "overdispersion": full(0.0),
        }
    )  # fmt: skip
    rate = np.full((draws, 1), 60.0)
    rng = np.random.default_rng(12)
    cell, effect = s_cell * rng.standard_normal(400_000), s_run / math.sqrt(runs) * rng.standard_normal(400_000)
    total = cell + effect
    left = effect - total * (s_run**2 / runs) / (s_run**2 / runs + s_cell**2)  # the mean effect, given their sum
    logit = math.log(h / (1 - h))
    simulated = 60.0 * (1 + 1 / (1 + np.exp(-(logit - left)))) / (1 + h)
    found = floor_of_runs(posterior, rate, runs)
    assert found[0] == pytest.approx(simulated.var(), rel=0.02)


def test_a_cell_without_a_step_time_has_no_share_no_value_and_no_tipping_point(made_up: Any) -> None:
    cell, rates, posterior = made_up
    untimed = posterior.assign(step_ms=posterior["step_ms"] * np.nan, step_base_ms=posterior["step_base_ms"] * np.nan)
    found = explain_cell(rates * np.nan, untimed, runs=3)
    for name in ("share", "evppi", "evpi", "interaction"):
        assert np.isnan(found[name].values).all(), name
    tips = tipping(cell.assign(step_ms=cell["step_ms"] * np.nan), rates * np.nan, untimed)
    assert np.isnan(tips["tip_value"].values).all()
