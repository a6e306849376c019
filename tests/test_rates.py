"""Rates and decisions from made-up posteriors: a certain one gives the screen, and the rule does what it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.comparison import compare_cell, labels_of, rests_on
from draftdepth.analysis.decision import Rule, decide
from draftdepth.analysis.rates import CENTRE, FIXED_DEPTH, INTEGRATED, PROXY, rate_draws, scenario_names
from draftdepth.analysis.screen import screen
from draftdepth.data.errors import InputError
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import Study, load_study

from .builders import record, write_study
from .test_screen import by_hand, screened


def certain(study: Study, cells: xr.Dataset, draws: int = 3) -> xr.Dataset:
    """A posterior without any doubt: pooled survival, the screen's T, every position verified up to the cap."""
    survival = cells["survival"].values
    depth = study.max_depth + 1
    verified = np.zeros((len(survival), depth))
    verified[np.arange(len(survival)), cells["cap"].values] = 1.0

    def repeat(values: np.ndarray, *dims: str) -> tuple[tuple[str, ...], np.ndarray]:
        return ("chain", "draw", *dims), np.broadcast_to(values, (1, draws, *values.shape)).copy()

    fixed = np.repeat(survival[:, None, :], depth, axis=1)
    return xr.Dataset(
        {
            "survival": repeat(survival, "cell", "position"),
            "fixed_survival": repeat(fixed, "cell", "depth", "position"),
            "p_verified": repeat(verified, "cell", "verified_depth"),
            "step_ms": repeat(cells["step_ms"].values, "cell"),
            "row_slope": repeat(np.full(len(survival), study.row_slope.central), "cell"),
            "overlap": repeat(np.array(study.overlap.central)),
            "overhead_ms": repeat(np.array(study.overhead_ms.central)),
        },
        coords={
            "cell": cells["cell"].values,
            "position": cells["position"].values,
            "depth": cells["depth"].values,
            "verified_depth": np.arange(depth),
        },
    )


@pytest.mark.parametrize("scenario", [CENTRE, INTEGRATED])
@pytest.mark.parametrize("estimand", [PROXY, FIXED_DEPTH])
def test_a_certain_posterior_at_central_assumptions_is_the_screen(tmp_path: Path, scenario: str, estimand: str) -> None:
    rows = [record(), record(run="r2", request_rounds=1700, requests=[{"step_p50_ms": 75.0}])]
    study, _, cells = screened(tmp_path, rows)
    found = rate_draws(study, cells, certain(study, cells), taught=False).sel(scenario=scenario, estimand=estimand)
    theirs = by_hand(rows, 3, 4, (0.5, 0.0, 1.0))
    for name, key in (("rate", "rate"), ("gain_cap", "gain")):
        ours = found[name].isel(cell=0, chain=0, draw=1).sel(depth=range(6)).values
        np.testing.assert_allclose(ours, theirs[key], rtol=1e-9, atol=1e-9)
    at_cap = found["gain_current"].sel(depth=4).values
    np.testing.assert_allclose(at_cap, 0.0, atol=1e-12)


def test_every_corner_is_one_of_the_screen_s_combinations(tmp_path: Path) -> None:
    study, _, cells = screened(tmp_path, [record()])
    found = rate_draws(study, cells, certain(study, cells), taught=False)
    rates = found["rate"].sel(estimand=PROXY).isel(cell=0, chain=0, draw=0)
    corners = rates.sel(scenario=[name for name in scenario_names() if name.startswith("corner")])
    np.testing.assert_allclose(corners.min("scenario").values, cells["rate_low"].isel(cell=0).values, rtol=1e-12)
    np.testing.assert_allclose(corners.max("scenario").values, cells["rate_high"].isel(cell=0).values, rtol=1e-12)


def test_the_same_policy_shows_no_gain_over_itself_in_any_scenario(tmp_path: Path) -> None:
    study, _, cells = screened(tmp_path, [record()])
    found = rate_draws(study, cells, certain(study, cells), taught=False)
    np.testing.assert_allclose(found["gain_current"].sel(depth=4).values, 0.0, atol=1e-12)


def test_a_heavily_masked_policy_saves_less_by_going_shallower(tmp_path: Path) -> None:
    study, _, cells = screened(tmp_path, [record()])
    posterior = certain(study, cells)
    masked = posterior.copy(deep=True)
    masked["p_verified"][:] = 0.0
    masked["p_verified"][..., 1] = 1.0
    rates = [
        rate_draws(study, cells, draws, taught=False)["rate"].sel(estimand=FIXED_DEPTH, scenario=CENTRE, depth=4)
        for draws in (posterior, masked)
    ]
    assert float(rates[1].mean()) < float(rates[0].mean())


def _draws(rates: dict[str, list[float]], current: list[float]) -> xr.Dataset:
    """Made-up rate draws: depth to draws, the same in all scenarios."""
    names = scenario_names()
    values = np.array([[0.0] * len(current), *rates.values()])
    depth = np.arange(len(values))
    shape = (2, len(names), 1, len(values), 1, len(current))
    rate = xr.DataArray(
        np.broadcast_to(values[None, None, None, :, None, :], shape),
        dims=("estimand", "scenario", "cell", "depth", "chain", "draw"),
        coords={"estimand": [PROXY, FIXED_DEPTH], "scenario": names, "cell": ["c"], "depth": depth},
    )
    now = xr.DataArray(
        np.broadcast_to(np.array(current)[None, None, None, :], (len(names), 1, 1, len(current))),
        dims=("scenario", "cell", "chain", "draw"),
        coords={"scenario": names, "cell": ["c"]},
    )
    return xr.Dataset({"rate": rate, "current": now, "gain_current": rate / now - 1})


def _labels(*extrapolated: int, depths: int = 3) -> xr.DataArray:
    names = ["EXTRAPOLATED" if d in extrapolated else "ESTIMATED" for d in range(depths)]
    return xr.DataArray([names], dims=("cell", "depth"), coords={"cell": ["c"], "depth": range(depths)})


def _decided(rates: dict[str, list[float]], current: list[float], labels: xr.DataArray | None = None) -> xr.Dataset:
    return decide(_draws(rates, current), _labels() if labels is None else labels, Rule()).isel(cell=0)


def test_masses_and_losses_are_counted_by_hand() -> None:
    found = _decided({"1": [10.0, 12.0], "2": [11.0, 8.0]}, [10.5, 9.0])
    assert found["p_best"].values.tolist() == [0.5, 0.5, 0.0]
    np.testing.assert_allclose(found["expected_loss"].values, [0.5, 2.0, 1.75])
    assert found["p_gain"].values.tolist() == [0.5, 0.5]


def test_a_sure_gain_is_recommended_and_an_unsure_one_is_not() -> None:
    assert int(_decided({"1": [11.0, 11.0], "2": [9.0, 9.0]}, [10.0, 10.0])["recommended"]) == 1
    assert int(_decided({"1": [11.0, 9.9], "2": [9.0, 9.0]}, [10.0, 10.0])["recommended"]) == 0


def test_ties_go_to_the_shallower_and_extrapolated_depths_are_never_recommended() -> None:
    rates = {"1": [10.999, 10.999], "2": [11.0, 11.0]}
    assert int(_decided(rates, [10.0, 10.0])["recommended"]) == 1
    assert int(_decided({"1": [9.0, 9.0], "2": [11.0, 11.0]}, [10.0, 10.0], _labels(2))["recommended"]) == 0


def test_a_gain_that_changes_sign_in_a_corner_is_not_recommended() -> None:
    draws = _draws({"1": [11.0, 11.0], "2": [9.0, 9.0]}, [10.0, 10.0]).copy(deep=True)
    corner = next(name for name in scenario_names() if name.startswith("corner"))
    gain = draws["gain_current"].copy(deep=True)
    gain.loc[{"scenario": corner, "depth": 1}] = -0.01
    found = decide(draws.assign(gain_current=gain), _labels(), Rule()).isel(cell=0)
    assert not bool(found["one_sign"].sel(depth=1))
    assert int(found["recommended"]) == 0


@pytest.mark.parametrize("entries", [{"probabilty": 0.9}, {"probability": 1.5}, {"probability": "x"}])
def test_a_rule_that_cannot_be_is_refused(entries: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"decision\.prob"):
        Rule.stated(entries)


def test_depths_that_no_run_could_verify_are_extrapolated(tmp_path: Path) -> None:
    study, inputs, cells = screened(tmp_path, [record()])
    assert labels_of(inputs.runs, cells).isel(cell=0).values.tolist() == ["ESTIMATED"] * 5 + ["EXTRAPOLATED"]
    draws = certain(study, cells)
    noise = xr.DataArray([[0.9, 1.0, 1.1]], dims=("chain", "draw"))
    wide = draws.assign(step_ms=draws["step_ms"] * noise, survival=draws["survival"] * noise / 1.1)
    labels = labels_of(inputs.runs, cells)
    _, comparison, _ = compare_cell(study, cells, wide, wide, False, labels, Rule())
    assert float(comparison["contraction"].sel(estimand=PROXY, depth=3).isel(cell=0)) == pytest.approx(0.0)
    inside = comparison["inside_envelope"].sel(estimand=FIXED_DEPTH, scenario=CENTRE, depth=4).isel(cell=0)
    assert float(inside) == pytest.approx(1 / 3)


def test_both_studies_have_a_rule_and_priors() -> None:
    for name in ("sp2", "gx10"):
        study = load_study(name)
        assert Rule.stated(study.decision).probability == 0.9
        assert usable_inputs(study).runs.sizes["run"] > 10


def test_what_nothing_measured_speaks_of_is_assumed(tmp_path: Path) -> None:
    rows = [
        record(),
        record(cell="d", verified_position=[1400, 1200, 900, 500, 0]),
        record(cell="d", run="f", policy={"kind": "fixed", "depth": 3}, accepted_position=[1200, 900, 600]),
    ]
    inputs = usable_inputs(load_study(str(write_study(tmp_path, {"c": 3, "d": 3}, rows))))
    cells = screen(load_study(str(tmp_path)), inputs.runs)
    found = rests_on(inputs.runs, cells)
    assert found["exposure_label"].sel(cell="S/c").values.tolist() == ["ASSUMED"] * 6
    assert found["exposure_label"].sel(cell="S/d").values.tolist() == ["ESTIMATED"] * 6
    assert found["tail_label"].sel(cell="S/c").values.tolist() == ["ESTIMATED"] + ["ASSUMED"] * 5
    assert found["tail_label"].sel(cell="S/d").values.tolist() == ["ESTIMATED"] * 4 + ["ASSUMED"] * 2
