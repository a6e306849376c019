"""Commands that are killed while they write: each file is the old one whole or the new one whole."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .builders import record, write_study
from .kills import Report, Spec, killed
from .plan_examples import ready
from .reader_examples import bench

MOMENTS = 20261001  # seed of the moments at which children are killed
DECLARED = ["--suite", "kettle", "--worker", "w", "--batch", "4", "--policy-kind", "fixed"]


def study(folder: Path, rounds: int) -> str:
    """A cell of two runs."""
    return str(write_study(folder, {"c": 3}, [record(request_rounds=rounds), record(run="r2", request_rounds=1700)]))


def reanalyze(folder: Path, kills: int | None) -> Spec:
    """Other records in the same folder of results."""
    old, new = (
        ["reanalyze", study(folder / str(n), n), "--out-dir", str(folder / "out"), "--quiet"] for n in (1480, 1600)
    )
    return Spec("run_reanalyze", old, new, str(folder / "out"), "posterior.nc", kills, MOMENTS)


def plan(folder: Path, kills: int | None) -> Spec:
    """Another seed of the same plan."""
    planned, posterior = ready(folder)
    words = ["plan", str(planned), "--posterior", str(posterior), "--out-dir", str(folder / "out"), "--quiet", "--seed"]
    return Spec("run_plan", [*words, "1"], [*words, "2"], str(folder / "out"), "plan.json", kills, MOMENTS)


def convert(folder: Path, kills: int | None) -> Spec:
    """Another source to the same file of records."""
    words = ["-o", str(folder / "out" / "runs.jsonl"), *DECLARED]
    for rounds in (100, 200):
        (folder / f"{rounds}.json").write_text(json.dumps(bench(rounds, [60, 30])))
    old, new = (["convert", "auto", str(folder / f"{rounds}.json"), *words] for rounds in (100, 200))
    return Spec("run_convert", old, new, str(folder / "out"), "runs.jsonl", kills, MOMENTS)


def calibrate(folder: Path, kills: int | None) -> Spec:
    """More simulations in the same folder; the ranks are there already when the table is written."""
    words = [
        "calibrate",
        study(folder / "study", 1480),
        "--out-dir",
        str(folder / "out"),
        "--level",
        "L4",
        "--quiet",
        "--sims",
    ]
    return Spec(
        "run_calibrate", [*words, "20"], [*words, "30"], str(folder / "out"), "calibration.json", kills, MOMENTS
    )


type Command = Callable[[Path, int | None], Spec]


def whole(report: Report) -> None:
    """Nothing torn, nothing out of order, and all is new once a writing is done."""
    assert report.faults == []
    assert report.old + report.mixed + report.new == report.unfinished


@pytest.mark.parametrize("command", [pytest.param(reanalyze, marks=pytest.mark.slow), plan, convert, calibrate])
def test_a_kill_before_each_step_of_writing_leaves_whole_files(tmp_path: Path, command: Command) -> None:
    report = killed(command(tmp_path, None))
    whole(report)
    assert report.unfinished == report.kills - 1
    assert report.unfinished >= 3 * report.files  # each is opened, its mode set, and renamed
    assert report.mixed == report.files - 1  # between two renames
    assert report.leftovers > 0


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kills"), [(reanalyze, 200), (plan, 50), (convert, 50), (calibrate, 50)])
def test_a_kill_at_any_moment_of_writing_leaves_whole_files(tmp_path: Path, command: Command, kills: int) -> None:
    report = killed(command(tmp_path, kills))
    print(report)  # shown by -s
    whole(report)
    assert report.unfinished == kills, f"of {report.kills} kills, too few fell into the writing"
