"""What must be told before minutes are spent on a fit; and what a second attempt changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import xarray as xr
from click.testing import CliRunner, Result
from draftdepth.data.errors import NotConvergedError
from draftdepth.models import fit as fitting
from draftdepth.models.fit import SECOND_ACCEPT
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings
from draftdepth.reports.command import main

from .test_models_density import CONFIG_MS, DYNAMIC, runs_of


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


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
