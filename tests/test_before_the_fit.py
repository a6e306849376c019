"""What must be told before minutes are spent on a fit; and what a second attempt changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import xarray as xr
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.rates import FIXED_DEPTH
from draftdepth.data.errors import NotConvergedError
from draftdepth.data.inputs import input_warnings, usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models import fit as fitting
from draftdepth.models.fit import SECOND_ACCEPT
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings
from draftdepth.reports.recommendation import sentence

from .builders import record, write_study
from .called import run
from .test_models_density import CONFIG_MS, DYNAMIC, runs_of


@pytest.fixture
def no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a fit began")

    for room in ("run_reanalyze", "run_validate"):
        __import__(f"draftdepth.reports.{room}")
    monkeypatch.setattr("draftdepth.reports.run_reanalyze.fit", refuse)
    monkeypatch.setattr("draftdepth.analysis.holdout.fit", refuse)


@pytest.mark.usefixtures("no_fit")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hold-out", ""), "found no words"),
        (("--hold-out", "worker=gx10x2"), "leave no run to fit"),
        (("--hold-out", "depth=1.."), "found no number"),
        (("--hold-out", "depth=1", "--keep-times", "nothing"), "--keep-times ...: found a word"),
        (("--hold-out", "depth=1", "--hold-out", "colour=red"), "--hold-out ...: found a word"),
    ],
)
def test_words_that_choose_badly(words: tuple[str, ...], said: str) -> None:
    done = run("validate", "gx10", "--quiet", *words)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("no_fit")
@pytest.mark.parametrize("command", [("reanalyze", "sp2"), ("validate", "gx10", "--hold-out", "depth=1")])
def test_a_folder_that_cannot_be_written(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(*command, "--quiet", "--out-dir", tmp_path / "file" / "out")
    assert done.exit_code == 2, done.output
    assert "a folder that can be written would do" in done.stderr


@dataclass
class Built:
    """Stands for a compiled model."""

    @classmethod
    def of(cls, *_: Any) -> "Built":
        return cls()


def test_a_second_attempt_has_twice_the_draws_and_smaller_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []

    def attempt(_: Any, settings: Settings, __: str) -> tuple[xr.DataTree, list[str]]:
        asked.append(settings)
        return xr.DataTree(), ["3 divergences, none allowed"]

    monkeypatch.setattr(fitting, "Stated", Built)
    monkeypatch.setattr(fitting, "_attempt", attempt)
    with pytest.raises(NotConvergedError, match="group w has not converged: 3 divergences"):
        fitting.fit(runs_of([DYNAMIC]), CONFIG_MS, Priors(), Settings(1, draws=100, tune=150), "w")
    first, second = asked
    assert (second.draws, second.tune) == (2 * first.draws, 2 * first.tune) == (200, 300)
    assert second.target_accept == SECOND_ACCEPT > first.target_accept


@pytest.mark.usefixtures("no_fit")
@pytest.mark.parametrize(
    "change",
    [
        {"policy": {"kind": "fixed", "depth": 3}, "accepted_position": [1000, 700, 400]},
        {"request_rounds": 0, "accepted_position": [0] * 5},
    ],
)
def test_a_study_without_a_run_of_the_current_policy(change: dict[str, Any], tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", {"c": 3}, [record(**change)])
    for command in ("reanalyze", "sensitivity"):
        done = run(command, study, "--quiet", "--out-dir", tmp_path / "out")
        assert done.exit_code == 2, done.output
        assert "nothing to fit" in done.stderr
        assert done.stderr.count("\n") == 1


def test_counts_that_never_reject_are_told(tmp_path: Path) -> None:
    rows = [
        record(verified_position=record()["accepted_position"]),
        record(run="r2", verified_tokens=sum(record()["accepted_position"])),
        record(run="r3", verified_tokens=sum(record()["accepted_position"]) + 1),
        record(run="r4", request_rounds=9, accepted_position=[9, 9, 9, 9, 0], verified_tokens=36),  # nothing was masked
    ]
    study = load_study(str(write_study(tmp_path, {"c": 3}, rows)))
    said = [line for line in input_warnings(study, usable_inputs(study)) if "ever rejected" in line]
    assert [line.partition(":")[0] for line in said] == ["S/c/r1", "S/c/r2"]


def test_advice_that_the_counts_hardly_moved_is_told() -> None:
    at = {"p_gain": 0.95, "p_gain_claimed": 0.9, "expected_loss": 0.1}
    row = {"decision": at, FIXED_DEPTH: {"contraction": 0.2}}
    cell = {
        "cell": "c", "worker": "w", "batch": 1, "hypothetical": False, "recommended": 1, "current": {"p_best": 0.1},
        "depths": [row, row],
    }  # fmt: skip
    assert "took away 20 % of its variance" in sentence(cell, Rule())
    row[FIXED_DEPTH]["contraction"] = 0.8
    assert "WARNING" not in sentence(cell, Rule())
