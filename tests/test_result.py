"""A stored result from made-up draws: what is written agrees with what was computed, and what is handed on with both."""

import csv
import io
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.comparison import compare
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.described import described
from draftdepth.analysis.groups import fit_groups
from draftdepth.analysis.result import assemble, content_hash
from draftdepth.reports.comparison_json import comparison_document
from draftdepth.reports.comparison_md import comparison_page
from draftdepth.reports.numbers import as_json
from draftdepth.reports.recommendation import disagreements, why_not

from .builders import record
from .called import run
from .test_rates import certain
from .test_screen import screened

DRAWS = 40


def _tree(folder: Path) -> tuple[xr.DataTree, dict[str, Any]]:
    """A result of one cell whose draws are the screen's figures with noise of known spread."""
    study, inputs, cells = screened(folder, [record(), record(run="r2", request_rounds=1700)])
    rng = np.random.default_rng(20260902)
    sure = certain(study, cells, DRAWS)
    noise = xr.DataArray(1 + 0.02 * rng.standard_normal((1, DRAWS)), dims=("chain", "draw"))
    posterior = sure.assign(
        survival=sure["survival"] * noise, fixed_survival=sure["fixed_survival"] * noise,
        s_run=(("chain", "draw"), np.full((1, DRAWS), 0.25)),
    )  # fmt: skip
    wide = xr.DataArray(1 + 0.1 * rng.standard_normal((1, DRAWS)), dims=("chain", "draw"))
    prior = sure.assign(survival=sure["survival"] * wide, fixed_survival=sure["fixed_survival"] * wide)
    fitted = xr.DataTree.from_dict({"posterior": posterior, "prior": prior})
    fitted.attrs["slope_taught"] = 0
    rates, comparison, decision = compare(study, cells, inputs.runs, {"w": fitted}, Rule())
    told = {"diagnostics": {"w": {"survival_rhat": 1.0}}, "priors": {"run_scale": 0.3}}
    document = comparison_document(study, cells, comparison, decision, Rule(), told)
    groups = {"rates": rates, "comparison": comparison, "decision": decision, "posterior/w": posterior}
    tree = assemble(groups, {"study": "made-up", "settings": {"seed": 1}})
    tree.attrs["comparison"] = as_json(document)
    return tree, document


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("result")
    tree, document = _tree(folder)
    tree.to_netcdf(folder / "posterior.nc", engine="h5netcdf")
    return folder / "posterior.nc", document


def test_the_content_hash_is_of_values_and_not_of_bytes(tmp_path: Path) -> None:
    first, second = _tree(tmp_path / "1")[0], _tree(tmp_path / "2")[0]
    assert content_hash(first) == content_hash(second) == first.attrs["content_sha256"]
    changed = second.copy(deep=True)
    moved = changed["posterior/w"].to_dataset()
    moved["survival"][0, 0, 0, 0] += 1e-12
    changed["posterior/w"].dataset = moved
    assert content_hash(changed) != content_hash(first)


def test_show_reopens_what_was_stored(stored: tuple[Path, dict[str, Any]]) -> None:
    path, document = stored
    assert json.loads(run("show", path, "--json").stdout) == json.loads(as_json(document))
    assert document["cells"][0]["sentence"] in run("show", path).stdout


def test_the_page_holds_the_document_s_numbers(stored: tuple[Path, dict[str, Any]]) -> None:
    _, document = stored
    page = comparison_page(document)
    (cell,) = document["cells"]
    assert "SYNTHETIC" in page
    for row in cell["depths"]:
        found = row["fixed_depth"]["scenarios"]["assumption_priors"]["rate"]
        assert (
            f"| {found['p50']:.1f} [{found['p25']:.1f} to {found['p75']:.1f}] ({found['p05']:.1f} to {found['p95']:.1f}) |"
            in page
        )
        ruled = row.get("decision")
        if ruled:
            shown = " | ".join(
                f"{100 * ruled[name]:.0f} %" for name in ("p_best", "p_gain", "p_gain_claimed", "p_gain_claimed_high")
            )
            assert f"| {shown} | {ruled['expected_loss']:.2f} |" in page
    assert page.count("| UNSUPPORTED: ") == 2
    assert cell["depths"][5]["label"] == "EXTRAPOLATED"


def test_the_page_gives_what_runs_now_its_chance_once(stored: tuple[Path, dict[str, Any]]) -> None:
    document = json.loads(as_json(stored[1]))
    (cell,) = document["cells"]
    assert f"P(best) {100 * cell['current']['p_best']:.0f} %, expected loss" in comparison_page(document)
    cell["policy"] = {"kind": "fixed", "cap": 4}
    page = comparison_page(document)
    assert "P(best) " not in page[page.index("Current policy") : page.index("| depth | screen")]
    assert "| 4 (runs now) |" in page


def test_a_depth_that_runs_today_is_not_called_a_failed_gain(stored: tuple[Path, dict[str, Any]]) -> None:
    depths = stored[1]["cells"][0]["depths"]
    best = max(depths[1:], key=lambda row: row["decision"]["p_best"])["depth"]
    assert f"Depth {best} is what runs today" in why_not(depths, Rule(), best)
    assert f"Of the depths, {best} is the likeliest best, but " in why_not(depths, Rule(), 0)


def test_a_value_that_misses_its_limit_is_never_written_like_it(stored: tuple[Path, dict[str, Any]]) -> None:
    depths = json.loads(as_json(stored[1]["cells"][0]["depths"]))
    best = max(depths[1:], key=lambda row: row["decision"]["p_best"])
    best["decision"] |= {"p_gain": 0.8975, "expected_loss": 1.0004, "expected_rate": 100.0, "one_sign": True}
    said = why_not(depths, Rule(), 0)
    assert "its chance of a gain over the current policy is 89.8 %, not 90 %" in said
    assert "its expected loss is 1.00 tok/s (1.0004 %), above 1 %" in said
    best["decision"] |= {"p_gain": 0.75, "expected_loss": 2.2}
    said = why_not(depths, Rule(), 0)
    assert "is 75 %, not 90 %; its expected loss is 2.20 tok/s (2.2 %), above 1 %" in said


def test_contraction_is_what_the_two_spreads_say(stored: tuple[Path, dict[str, Any]]) -> None:
    _, document = stored
    row = document["cells"][0]["depths"][3]
    assert row["proxy"]["contraction"] == pytest.approx(1 - (0.02 / 0.1) ** 2, abs=0.03)


def test_csv_and_parquet_hold_the_comparison(stored: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path, document = stored
    rows = list(csv.DictReader(io.StringIO(run("export", "csv", path).stdout)))
    assert len(rows) == 6 * 2 * 10
    at = next(r for r in rows if (r["depth"], r["estimand"], r["scenario"]) == ("3", "fixed_depth", "centre"))
    expected = document["cells"][0]["depths"][3]["fixed_depth"]["scenarios"]["centre"]["rate"]["p95"]
    assert float(at["rate_p95"]) == expected
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("export", "parquet", path, "-o", tmp_path / "c.parquet").exit_code == 0
    assert parquet.read_table(tmp_path / "c.parquet").num_rows == len(rows)
    assert run("export", "parquet", path).exit_code == 2


def test_synthetic_rates_never_increase_and_are_the_posterior_s(stored: tuple[Path, dict[str, Any]]) -> None:
    path, _ = stored
    exported = json.loads(run("export", "vllm-synthetic", path).stdout)
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        draws = np.asarray(tree["posterior/w"].to_dataset()["fixed_survival"].isel(cell=0).sel(depth=4).values)
    for depth in exported["cells"][0]["depths"]:
        assert len(depth["unconditional_acceptance_rates"]["mean"]) == depth["num_speculative_tokens"]
        for curve in depth["unconditional_acceptance_rates"].values():
            assert all(a >= b for a, b in itertools.pairwise(curve))
    mean = exported["cells"][0]["depths"][3]["unconditional_acceptance_rates"]["mean"]
    np.testing.assert_allclose(mean, draws.mean(axis=(0, 1))[:4], rtol=1e-12)


def test_exported_priors_are_read_by_the_next_study(stored: tuple[Path, dict[str, Any]]) -> None:
    import tomllib

    from draftdepth.models.priors import Priors

    path, _ = stored
    entries = tomllib.loads(run("export", "priors", path).stdout)["priors"]
    assert entries == {"run_scale": 0.25}
    assert Priors.stated("unknown", entries).run_scale == 0.25


def test_a_file_that_is_no_result_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.nc").write_text("not netCDF")
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("x.nc", "other.nc", "none.nc"):
        for words in (("show",), ("export", "csv")):
            result = run(*words, tmp_path / name)
            assert (result.exit_code, result.stderr.count("\n"), result.stdout) == (2, 1, "")


def test_workers_are_apart_and_references_are_not_fitted(tmp_path: Path) -> None:
    from draftdepth.data.inputs import usable_inputs
    from draftdepth.data.study import load_study

    groups = dict(fit_groups(usable_inputs(load_study("sp2")).runs))
    assert list(groups) == ["tp2"]
    assert set(groups["tp2"]["suite"].values.tolist()) == {"W5-E1p"}
    _, inputs, _ = screened(tmp_path, [record()])
    twice = xr.concat([inputs.runs, inputs.runs.assign_coords(worker=("run", ["v"]))], dim="run")
    assert [(name, group.sizes["run"]) for name, group in fit_groups(twice)] == [("v", 1), ("w", 1)]


def test_a_measured_arm_outside_the_interval_is_told_and_one_inside_is_not() -> None:
    def row(depth: int, measured: float | None) -> dict[str, Any]:
        rate = {"p05": 100.0, "p50": 105.0, "p95": 110.0}
        arm = None if measured is None else {"rate": measured, "runs": 2, "tokens": 3.0}
        return {"depth": depth, "measured": arm, "fixed_depth": {"scenarios": {"assumption_priors": {"rate": rate}}}}

    told = disagreements(
        {"depths": [row(0, None), row(1, 104.0), row(2, 140.3), row(3, 97.9), row(4, 98.5), row(5, 111.5)]},
        0.02 / 1.645 * 2**0.5,
    )
    assert [line.split(" was")[0] for line in told] == ["WARNING: depth 2", "WARNING: depth 3"]
    assert "140.3 tok/s (2 runs)" in told[0]


def test_stored_numbers_carry_their_unit_and_label(stored: tuple[Path, dict[str, Any]]) -> None:
    with xr.open_datatree(stored[0], engine="h5netcdf") as tree:
        comparison, decision = tree["comparison"].to_dataset(), tree["decision"].to_dataset()
        posterior = tree["posterior/w"].to_dataset()
        assert {name: comparison[name].attrs.get("units") for name in ("rate", "gain_current", "tokens")} == {
            "rate": "tok/s", "gain_current": "1", "tokens": "tokens",
        }  # fmt: skip
        assert decision["p_best"].attrs["units"] == "1"
        assert decision["expected_loss"].attrs == {"label": "ESTIMATED", "units": "tok/s"}
        assert posterior["step_ms"].attrs["units"] == "ms"
        assert posterior["overlap"].attrs["label"] == "ASSUMED"
        numbers = [
            v for part in (comparison, decision, posterior) for v in part.data_vars.values() if v.dtype.kind in "fi"
        ]
        assert all(variable.attrs["label"] for variable in numbers)


def test_a_cell_without_a_step_time_has_no_decision(tmp_path: Path) -> None:
    rows = [record(), record(run="r2", request_rounds=1700)]
    study, inputs, cells = screened(tmp_path, rows)
    sure = certain(study, cells, DRAWS)
    silent = sure.assign(step_ms=sure["step_ms"] * np.nan)
    fitted = xr.DataTree.from_dict({"posterior": silent, "prior": sure})
    fitted.attrs["slope_taught"] = 0
    _, comparison, decision = compare(study, cells, inputs.runs, {"w": fitted}, Rule())
    assert decision["p_best"].isnull().all()
    assert decision["p_gain"].isnull().all()
    assert decision["recommended"].values.tolist() == [0]
    document = comparison_document(study, cells, comparison, decision, Rule(), {"diagnostics": {}, "priors": {}})
    assert document["cells"][0]["sentence"].endswith("no step time was recorded, so no rate and no decision.")
    assert document["cells"][0]["recommended"] == 0


def test_an_export_does_not_replace_the_result_that_it_reads(stored: tuple[Path, dict[str, Any]]) -> None:
    before = stored[0].read_bytes()
    done = run("export", "csv", stored[0], "-o", stored[0])
    assert done.exit_code == 2
    assert "the file that is read" in done.stderr
    assert stored[0].read_bytes() == before


def test_a_unit_that_arithmetic_carried_along_is_dropped() -> None:
    carried = xr.Dataset({"rate": ((), 3.0, {"units": "ms"}), "of_no_unit": ((), 1.0, {"units": "ms"})})
    done = described("comparison", carried)
    assert done["rate"].attrs["units"] == "tok/s"
    assert "units" not in done["of_no_unit"].attrs
