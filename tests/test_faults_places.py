"""Full disks, places that cannot be written and inputs that vanish: one clear line, exit 2, old files whole, nothing left."""

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from draftdepth.models import fit as fitting

from .builders import record, write_study
from .called import run
from .kills import files_in
from .plan_examples import ready
from .reader_examples import bench
from .stand_ins import replace_sampling

DECLARED = ("--suite", "kettle", "--worker", "w", "--batch", "4", "--policy-kind", "fixed")


def refused(result: Result, said: str = "") -> None:
    """One line that says what was found and what would do, and exit 2."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    *told, last = result.stderr.splitlines()
    assert re.fullmatch(rf"draftdepth: .*{said}.* (would (do|say)|there are: ).*", last), result.stderr
    assert "Traceback" not in result.stderr
    assert told == [line for line in told if line.startswith("fitting ")]  # progress


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies, a plan with its stored result, a source and a whole result."""
    folder = tmp_path_factory.mktemp("inputs")
    ready(folder / "planned")
    for rounds in (1480, 1600):
        rows = [record(request_rounds=rounds), record(run="r2", request_rounds=1700)]
        write_study(folder / f"study-{rounds}", {"c": 3}, rows)
        (folder / f"{rounds}.json").write_text(json.dumps(bench(rounds, [60, 30])))
        with pytest.MonkeyPatch.context() as patch:
            replace_sampling(patch.setattr)
            done = run("reanalyze", folder / f"study-{rounds}", "--out-dir", folder / f"result-{rounds}", "--quiet")
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def no_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sampling(monkeypatch.setattr)


def words_of(command: str, inputs: Path, which: int = 1480) -> list[object]:
    """A command that ends in the place that it writes."""
    planned = inputs / "planned"
    study, result = inputs / f"study-{which}", inputs / f"result-{which}" / "posterior.nc"
    seed = ["--seed", which]
    return {
        "screen": ["screen", study, "--out-dir"],
        "reanalyze": ["reanalyze", study, *seed, "--quiet", "--out-dir"],
        "plan": ["plan", planned / "study", "--posterior", planned / "posterior.nc", *seed, "--quiet", "--out-dir"],
        "calibrate": ["calibrate", study, "--level", "L4", "--sims", which // 40, "--quiet", "--out-dir"],
        "validate": ["validate", study, "--hold-out", "run=r2", "--out-dir"],
        "sensitivity": ["sensitivity", study, "--quiet", "--out-dir"],
        "report": ["report", result, "--out-dir"],
        "export": ["export", "csv", result, "-o"],
        "convert": ["convert", "auto", inputs / f"{which}.json", *DECLARED, "-o"],
    }[command]


COMMANDS = ("screen", "reanalyze", "plan", "calibrate", "validate", "sensitivity", "report", "export", "convert")
FILES = ("export", "convert")
WRITERS = [name for name in COMMANDS if name not in ("validate", "sensitivity")]  # these have no stand-in


@pytest.mark.parametrize(
    ("command", "place"),
    [*((name, "file/below") for name in COMMANDS), ("reanalyze", "/proc/below"), ("convert", "/proc/below")],
)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_sampled(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, place: str
) -> None:
    """Not by its mode, which binds no root."""

    def sampled(*_: Any) -> None:
        raise AssertionError("minutes would have been spent")

    monkeypatch.setattr(fitting.Stated, "of", sampled)
    (tmp_path / "file").write_text("mine")
    words = words_of(command, inputs)
    refused(run(*words, tmp_path / place / "out"), re.escape(place))
    assert files_in(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("command", ["screen", "reanalyze", "plan", "calibrate", "validate", "sensitivity", "check"])
def test_a_folder_that_may_not_be_entered_is_one_line(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """As another user meets it; root enters every folder."""
    words = ["check", inputs / "study-1480"] if command == "check" else [*words_of(command, inputs), tmp_path / "out"]
    found = os.stat

    def forbidden(path: Any, *given: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(str(inputs)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return found(path, *given, **more)

    monkeypatch.setattr(os, "stat", forbidden)
    refused(run(*words), re.escape(str(inputs)))


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes: a write fails half-way, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("no_sampling")
@pytest.mark.parametrize(
    ("command", "share"), [*((name, 0.0) for name in WRITERS), ("reanalyze", 0.6), ("plan", 0.6), ("export", 0.6)]
)
def test_a_full_disk_is_one_line_and_the_old_files_stay(
    inputs: Path, tmp_path: Path, command: str, share: float
) -> None:
    out = tmp_path / "out"
    target = out / "file" if command in FILES else out
    done = run(*words_of(command, inputs), target)
    assert done.exit_code == 0, done.output
    before = files_in(out)
    with full_disk(int(share * max(map(len, before.values())))):
        refused(run(*words_of(command, inputs, 1600), target), "File too large")
    assert files_in(out) == before


@pytest.mark.usefixtures("no_sampling")
def test_a_full_disk_stops_a_calibration_that_loses_nothing_and_goes_on(inputs: Path, tmp_path: Path) -> None:
    calm, out = tmp_path / "calm", tmp_path / "out"
    words = words_of("calibrate", inputs)
    assert run(*words, calm).exit_code == 0
    ranks = "ranks_w_L4.jsonl"
    size = len((calm / ranks).read_bytes())
    with full_disk(size * 2 // 3):
        refused(run(*words, out), rf"{ranks}: File too large")
    torn = files_in(out)
    assert list(torn) == [ranks]
    assert 5 < torn[ranks].count(b"\n") < 37
    with full_disk(size // 3):
        refused(run(*words, out), rf"{ranks}: File too large")
    assert files_in(out) == torn
    assert run(*words, out).exit_code == 0
    assert files_in(out) == files_in(calm)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_stdout_is_one_line(inputs: Path) -> None:
    stored_result = inputs / "result-1480" / "posterior.nc"
    for words in (["show", stored_result], ["convert", "--list"], ["--help"], ["--version"], ["show", "--help"]):
        with Path("/dev/full").open("w") as full:
            told = subprocess.run(
                [sys.executable, "-m", "draftdepth", *map(str, words)],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert told.returncode == 2
        assert told.stderr == "draftdepth: output: No space left on device; a disk with room would do\n"


class Vanishing:
    """Removes a folder just before the nth file below it is opened, as if somebody else had; inert once it has."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.left = 0

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        folder = self.folder
        if event == "open" and folder is not None and str(given[0]).startswith(str(folder)):
            if not self.left:
                self.folder = None
                shutil.rmtree(folder)
            self.left -= 1


VANISHING = Vanishing()
sys.addaudithook(VANISHING)  # for good: hooks cannot be taken away


@pytest.mark.usefixtures("no_sampling")
@pytest.mark.parametrize("command", WRITERS)
def test_input_that_vanishes_before_any_file_is_opened_is_one_line(inputs: Path, tmp_path: Path, command: str) -> None:
    target = tmp_path / "out" / ("file" if command in FILES else "")
    opened = 0
    while True:
        shutil.copytree(inputs, tmp_path / "inputs")
        VANISHING.folder, VANISHING.left = tmp_path / "inputs", opened
        result = run(*words_of(command, tmp_path / "inputs"), target)
        if VANISHING.folder is not None:
            break
        refused(result)
        assert not (tmp_path / "out").exists()
        opened += 1
    VANISHING.folder = None
    assert result.exit_code == 0, result.output
    assert opened >= (0 if command in ("report", "export") else 2)  # HDF5 opens what they read
