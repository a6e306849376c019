"""What must not matter does not: runs of no rounds, the order of what is read, the unit of time, a deeper fixed arm."""

import itertools
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.arms import measured_arms
from draftdepth.analysis.bounds import run_bounds
from draftdepth.analysis.groups import fit_groups
from draftdepth.analysis.screen import screen
from draftdepth.data.errors import InputError
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from draftdepth.data.study import Study, load_study
from draftdepth.data.study_cost import Range
from draftdepth.models.evidence import Evidence, evidence_of
from hypothesis import given, settings
from hypothesis import strategies as st

from .builders import record, write_lines, write_study
from .test_screen import run_rows

BATCHES = {"b": 1, "a": 3, "c": 2}
FILES = ("one.jsonl", "two.jsonl")

type Row = dict[str, Any]
type Placed = list[tuple[str, Row]]  # a file's name beside each row


def written(folder: Path, placed: Placed) -> Study:
    """A study that lists each cell in the file of its first row, in the order of the rows."""
    batches: dict[str, int] = {}
    files: dict[str, str] = {}
    for name, row in placed:
        batches[row["cell"]] = row["batch"]
        files.setdefault(row["cell"], name)
    write_study(folder, batches, [])
    stated = (folder / "study.toml").read_text()
    for cell, name in files.items():
        stated = stated.replace(f'"all.jsonl", cell = "{cell}"', f'"{name}", cell = "{cell}"')
    (folder / "study.toml").write_text(stated)
    for name in {name for name, _ in placed}:
        write_lines(folder / "runs" / name, [row for other, row in placed if other == name])
    return load_study(str(folder))


def told(study: Study) -> tuple[xr.Dataset, xr.Dataset, Evidence]:
    """All that is computed of a study's records before a fit."""
    runs = usable_inputs(study).runs
    screened = screen(study, runs)
    ((_, fitted),) = fit_groups(runs)
    return screened, measured_arms(runs, screened), evidence_of(fitted)


def assert_same(one: Evidence, other: Evidence) -> None:
    """The same arrays in the same order, so that the same draws come of them."""
    for field in fields(Evidence):
        a, b = (np.asarray(getattr(held, field.name)) for held in (one, other))
        np.testing.assert_array_equal(a, b, err_msg=field.name)


@st.composite
def placed_rows(draw: st.DrawFn) -> Placed:
    """Runs of three cells, of dynamic and fixed arms, over two files."""
    out: Placed = []
    for cell, batch in BATCHES.items():
        file = draw(st.sampled_from(FILES))
        for number in range(draw(st.integers(1, 3))):
            depth = draw(st.integers(2, 5)) if number == 2 else 4
            counts = sorted(draw(st.lists(st.integers(0, 900), min_size=depth, max_size=depth)), reverse=True)
            policy = {"kind": "fixed", "depth": depth} if number == 2 else {"kind": "dynamic", "cap": depth}
            times = draw(st.lists(st.floats(60, 120), max_size=3))
            row = record(
                cell=cell, batch=batch, run=f"r{number}", policy=policy, request_rounds=draw(st.integers(901, 2000)),
                accepted_position=counts, requests=[{"step_p50_ms": time} for time in times],
            )  # fmt: skip
            out.append((file, row))
    return out


@given(rows=placed_rows(), at=st.integers(0, 9), cell=st.sampled_from([*BATCHES]), fixed=st.booleans())
@settings(max_examples=10, deadline=None)
def test_a_run_of_no_rounds_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: Placed, at: int, cell: str, fixed: bool
) -> None:
    policy = {"kind": "fixed", "depth": 5} if fixed else {"kind": "dynamic", "cap": 4}
    empty = record(
        cell=cell, batch=BATCHES[cell], run="empty", policy=policy, request_rounds=0, accepted_position=[0] * 5,
        requests=[{"step_p50_ms": 1.0}] * 4, start="another",
    )  # fmt: skip
    without = told(written(tmp_path_factory.mktemp("without"), rows))
    file = next(name for name, row in rows if row["cell"] == cell)
    beside = told(written(tmp_path_factory.mktemp("beside"), [*rows[:at], (file, empty), *rows[at:]]))
    xr.testing.assert_identical(without[0], beside[0])
    xr.testing.assert_identical(without[1], beside[1])
    assert_same(without[2], beside[2])


@given(rows=placed_rows(), data=st.data())
@settings(max_examples=10, deadline=None)
def test_the_order_of_runs_files_and_cells_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: Placed, data: st.DataObject
) -> None:
    first = told(written(tmp_path_factory.mktemp("first"), rows))
    other = told(written(tmp_path_factory.mktemp("other"), data.draw(st.permutations(rows))))
    xr.testing.assert_allclose(first[0], other[0], rtol=1e-12, atol=0.0)
    xr.testing.assert_identical(first[1], other[1])
    assert_same(first[2], other[2])


@given(row=run_rows().map(lambda rows: rows[0]), data=st.data(), apart=st.booleans())
@settings(max_examples=10, deadline=None)
def test_counts_split_over_two_records_of_one_run_are_refused(
    tmp_path_factory: pytest.TempPathFactory, row: Row, data: st.DataObject, apart: bool
) -> None:
    ends = [row["request_rounds"], *row["accepted_position"], 0]
    lengths = [one - more for one, more in itertools.pairwise(ends)]  # rounds by their accepted length
    part = [data.draw(st.integers(0, count)) for count in lengths]
    halves = []
    for counts in (part, [count - taken for count, taken in zip(lengths, part, strict=True)]):
        rounds, *accepted = np.cumsum(counts[::-1])[::-1].tolist()
        halves.append(row | {"request_rounds": rounds, "accepted_position": accepted})
    placed = [
        ("one.jsonl", halves[0]),
        ("two.jsonl", record(cell="d")),
        ("two.jsonl" if apart else "one.jsonl", halves[1]),
    ]
    said = "two.jsonl:2: cell: found another value" if apart else "one.jsonl:2: run: found the same run"
    with pytest.raises(InputError, match=said):
        usable_inputs(written(tmp_path_factory.mktemp("split"), placed))


@given(rows=placed_rows(), k=st.floats(0.01, 100.0))
@settings(max_examples=10, deadline=None)
def test_times_in_another_unit_scale_rates_and_no_gain(
    tmp_path_factory: pytest.TempPathFactory, rows: Placed, k: float
) -> None:
    study = written(tmp_path_factory.mktemp("study"), rows)
    runs, cost, overhead = usable_inputs(study).runs, study.cost, study.overhead_ms
    scaled = replace(
        study,
        overhead_ms=Range(k * overhead.central, k * overhead.low, k * overhead.high),
        cost=replace(
            cost,
            config_ms=tuple(k * time for time in cost.config_ms),
            remote_ms={batch: k * time for batch, time in cost.remote_ms.items()},
            reference_overhead_ms=k * cost.reference_overhead_ms,
        ),
    )
    plain, other = screen(study, runs), screen(scaled, runs.assign(step_ms=k * runs["step_ms"]))
    powers = {"rate": -1, "rate_low": -1, "rate_high": -1, "rate_bound": -1, "round_ms": 1, "gain": 0, "gain_low": 0,
              "gain_high": 0, "tokens": 0, "survival": 0}  # fmt: skip
    for name, power in powers.items():
        np.testing.assert_allclose(other[name], k**power * plain[name], rtol=1e-9, atol=1e-9, err_msg=name)


@given(lengths=st.lists(st.integers(0, 500), min_size=6, max_size=6).filter(any))
@settings(max_examples=40, deadline=None)
def test_a_deeper_fixed_arm_never_widens_a_bound(lengths: list[int]) -> None:
    survivors = np.cumsum(lengths[::-1])[::-1].tolist()  # rounds that accept 0.. when all is verified
    truth = np.array(survivors[1:]) / survivors[0]
    low, high = np.zeros(10), np.full(10, np.inf)
    for depth in range(1, 6):
        row = record(
            policy={"kind": "fixed", "depth": depth}, request_rounds=survivors[0],
            accepted_position=survivors[1 : depth + 1],
        )  # fmt: skip
        run, faults = parse_run(row, "f", 1, 5)
        assert run is not None, faults
        lower, upper = (ends[0] for ends in run_bounds(runs_dataset([run], 5)))
        assert (lower >= low - 1e-12).all()
        assert (upper <= high + 1e-12).all()
        low, high = lower, upper
    np.testing.assert_allclose(low, high)
    np.testing.assert_allclose(low, [*truth, *np.cumsum(truth)])
