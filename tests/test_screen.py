"""The screen against a plain nested-loop evaluation that shares no line with it."""

import itertools
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.screen import screen
from draftdepth.data.errors import InputError
from draftdepth.data.inputs import Inputs, usable_inputs
from draftdepth.data.study import Study, load_study
from hypothesis import given, settings
from hypothesis import strategies as st

from .builders import CONFIG, REMOTE, record, write_study


def by_hand(rows: list[dict[str, Any]], batch: int, cap: int, slope: tuple[float, float, float]) -> dict[str, Any]:
    """The screen of one cell, in loops."""
    rows = [row for row in rows if row["request_rounds"]]
    remote, reference = REMOTE[batch], 0.25 * REMOTE[batch] + 0.30
    medians = [statistics.median(q["step_p50_ms"] for q in row["requests"]) for row in rows if row["requests"]]
    rounds = sum(row["request_rounds"] for row in rows)

    def survival(row: dict[str, Any], i: int) -> float:
        return row["accepted_position"][i] / row["request_rounds"] if i < len(row["accepted_position"]) else 0.0

    def rate(d: int, vector: list[float], t: float, overlap: float, overhead: float, m: float) -> float:
        verify = t - reference + m * batch * (CONFIG[d] - CONFIG[cap])
        return 1000 * batch * (1 + sum(vector[:d])) / (verify + (1 - overlap) * remote + overhead)

    pooled = [sum(survival(row, i) * row["request_rounds"] for row in rows) / rounds for i in range(5)]
    central = [rate(d, pooled, statistics.median(medians), 0.75, 0.3, slope[0]) for d in range(6)]
    grid = list(itertools.product({min(medians), max(medians)}, [0, 1], [0, 0.6], slope[1:]))
    vectors = [[survival(row, i) for i in range(5)] for row in rows]
    rates = [[rate(d, v, *at) for v in vectors for at in grid] for d in range(6)]
    gains = [[rate(d, v, *at) / rate(cap, v, *at) - 1 for v in vectors for at in grid] for d in range(6)]
    return {
        "rate": central,
        "gain": [value / central[cap] - 1 for value in central],
        "rate_low": [min(row) for row in rates],
        "rate_high": [max(row) for row in rates],
        "gain_low": [min(row) for row in gains],
        "gain_high": [max(row) for row in gains],
        "favoured_depth": max(range(1, 6), key=lambda d: central[d]),
        "step_ms": statistics.median(medians),
        "survival": pooled,
    }


@st.composite
def run_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One to five runs of one cell with cap 4 or 5, the last perhaps empty."""
    cap = draw(st.sampled_from([4, 5]))
    rows = []
    for number in range(draw(st.integers(1, 5))):
        counts = [draw(st.integers(1, 5000))]
        for _ in range(cap):
            counts.append(draw(st.integers(0, counts[-1])))
        times = draw(st.lists(st.floats(60, 120), min_size=1, max_size=4))
        rows.append(
            record(
                run=f"r{number}", policy={"kind": "dynamic", "cap": cap}, request_rounds=counts[0],
                accepted_position=counts[1:], requests=[{"step_p50_ms": time} for time in times],
            )
        )  # fmt: skip
    if draw(st.booleans()):
        rows.append(
            record(run="empty", policy={"kind": "dynamic", "cap": cap}, request_rounds=0, accepted_position=[0] * cap,
                   requests=[{"step_p50_ms": 1.0}])
        )  # fmt: skip
    return rows


def screened(folder: Path, rows: list[dict[str, Any]], **options: Any) -> tuple[Study, Inputs, xr.Dataset]:
    """Write a study, read it and screen it."""
    cells = {row["cell"]: row["batch"] for row in rows}
    study = load_study(str(write_study(folder, cells, rows, **options)))
    inputs = usable_inputs(study)
    return study, inputs, screen(study, inputs.runs)


@given(rows=run_rows(), slope=st.sampled_from([(0.5, 0.0, 1.0), (0.2, 0.1, 0.3), (0.0, 0.0, 0.0)]))
@settings(max_examples=40, deadline=None)
def test_every_figure_agrees_with_the_loops(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], slope: tuple[float, float, float]
) -> None:
    _, _, ours = screened(tmp_path_factory.mktemp("study"), rows, slope=slope)
    theirs = by_hand(rows, 3, rows[0]["policy"]["cap"], slope)
    at = ours.isel(cell=0)
    for name, values in theirs.items():
        np.testing.assert_allclose(at[name].values, values, rtol=1e-12, atol=1e-12, err_msg=name)


def test_at_the_cap_the_central_rate_is_tokens_over_the_measured_time(tmp_path: Path) -> None:
    _, _, ours = screened(tmp_path, [record()])
    at = ours.isel(cell=0)
    assert float(at["rate"].sel(depth=4)) == pytest.approx(
        1000 * 3 * (1 + (1110 + 814 + 560 + 330) / 1480) / 73.1, rel=1e-14
    )
    assert float(at["gain_low"].sel(depth=4)) == float(at["gain_high"].sel(depth=4)) == 0.0


def test_at_row_slope_zero_the_deepest_depth_that_accepts_wins(tmp_path: Path) -> None:
    rows = [record(accepted_position=[1110, 814, 560, 1, 0])]
    _, _, ours = screened(tmp_path, rows, slope=(0.0, 0.0, 0.0))
    assert int(ours["favoured_depth"].isel(cell=0)) == 4


def test_order_of_runs_and_cells_changes_nothing(tmp_path: Path) -> None:
    rows = [
        record(cell=cell, run=run, request_rounds=1480 + 7 * i + j, batch=batch)
        for i, (cell, batch) in enumerate([("b", 1), ("a", 3), ("c", 2)])
        for j, run in enumerate(["x", "y", "z"])
    ]
    first = screened(tmp_path / "1", rows)[2]
    second = screened(tmp_path / "2", rows[::-1])[2]
    xr.testing.assert_identical(first, second)


def test_times_scaled_by_two_halve_rates_where_only_time_counts(tmp_path: Path) -> None:
    slow = record(requests=[{"step_p50_ms": 146.2}])
    fast = record(requests=[{"step_p50_ms": 73.1}])
    at_cap = [
        float(screened(tmp_path / str(n), [row])[2]["rate"].isel(cell=0).sel(depth=4))
        for n, row in enumerate([slow, fast])
    ]
    assert at_cap[1] == pytest.approx(2 * at_cap[0], rel=1e-12)


def test_runs_without_times_count_for_acceptance_alone(tmp_path: Path) -> None:
    rows = [record(), record(run="r2", requests=[], request_rounds=2000)]
    _, _, ours = screened(tmp_path, rows)
    at = ours.isel(cell=0)
    assert float(at["step_ms"]) == 73.1
    assert float(at["survival"][0]) == pytest.approx(2220 / 3480)


def test_a_cell_without_any_time_has_survival_and_no_rate(tmp_path: Path) -> None:
    at = screened(tmp_path, [record(requests=[])])[2].isel(cell=0)
    assert float(at["survival"][0]) == 0.75
    assert math.isnan(float(at["rate"].sel(depth=3)))
    assert int(at["favoured_depth"]) == 0


def test_a_round_that_is_not_positive_is_refused_with_its_combination(tmp_path: Path) -> None:
    rows = [record(requests=[{"step_p50_ms": 20.0}])]
    with pytest.raises(InputError, match=r"cell S/c: a round of depth 0 .* row slope 1; "):
        screened(tmp_path, rows)


def test_a_batch_without_a_remote_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no time for batch 9"):
        screened(tmp_path, [record(batch=9)])


def test_caps_that_differ_within_a_cell_are_refused(tmp_path: Path) -> None:
    rows = [record(), record(run="r2", policy={"kind": "dynamic", "cap": 5}, request_rounds=1481)]
    with pytest.raises(InputError, match=r"all.jsonl:2: policy: found 5 where results/all.jsonl:1 has 4"):
        screened(tmp_path, rows)
