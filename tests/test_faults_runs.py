"""Whole runs that are killed at random moments: nothing torn is left, and running again ends where no kill would have."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from draftdepth.reports.command import main

from .builders import record, write_study
from .kills import ROOT, files_in, is_leftover
from .locks import held
from .plan_examples import ready
from .reader_examples import bench

KILLS = 5
DECLARED = ["--suite", "kettle", "--worker", "w", "--batch", "4", "--policy-kind", "fixed"]
CONTENT = re.compile(r"^content ([0-9a-f]{64})$", re.MULTILINE)


class Command:
    """Words that end in where it writes; each process is a group of its own, so that none outlives a kill."""

    def __init__(self, folder: Path, *words: object, target: str = "") -> None:
        self.folder, self.words, self.target = folder, [sys.executable, "-m", "draftdepth", *map(str, words)], target

    def begun(self, out: str) -> "subprocess.Popen[str]":
        words = [*self.words, str(self.folder / out / self.target)]
        return subprocess.Popen(
            words, cwd=self.folder, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def done(self, out: str) -> str:
        said, warned = (process := self.begun(out)).communicate()
        assert process.returncode == 0, warned
        return said


def killed(process: "subprocess.Popen[str]") -> bool:
    """Kill a run with all its threads and processes; whether it still ran. One that ended by itself has to be good."""
    os.killpg(process.pid, signal.SIGKILL)  # nobody has waited for it, so that the group is there
    _, warned = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), warned
    return process.returncode != 0


def killed_at_random(command: Command, seed: int) -> None:
    """Kill runs at moments that are drawn over the time of an undisturbed one; a shorter one is learned from."""
    began = time.monotonic()
    command.done("calm")
    taken, fallen, rng = time.monotonic() - began, 0, np.random.default_rng(seed)
    whole = set(files_in(command.folder / "calm"))
    while fallen < KILLS:
        began, moment = time.monotonic(), rng.uniform(0.0, taken)
        process = command.begun("out")
        while ended(process) is False and time.monotonic() - began < moment:
            time.sleep(0.01)
        taken = min(taken, time.monotonic() - began) if ended(process) else taken
        fallen += killed(process)
        assert {name for name in files_in(command.folder / "out") if not is_leftover(name)} in (set(), whole)


def ended(process: "subprocess.Popen[str]") -> bool:
    """Whether a run has ended by itself, without taking note of it."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def assert_same(folder: Path) -> None:
    """The folder that met kills holds what the calm one holds, beside what killed runs left."""
    met = {name: text for name, text in files_in(folder / "out").items() if not is_leftover(name)}
    assert met == files_in(folder / "calm")


def study(folder: Path) -> Path:
    return write_study(folder / "study", {"c": 3}, [record(), record(run="r2", request_rounds=1700)])


@pytest.mark.slow
def test_reanalyze_that_was_killed_ends_in_the_same_content(tmp_path: Path) -> None:
    command = Command(tmp_path, "reanalyze", study(tmp_path), "--draws", 200, "--tune", 300, "--out-dir")
    killed_at_random(command, 1)
    command.done("out")
    shown = [main_shows(tmp_path / name / "posterior.nc") for name in ("calm", "out")]
    assert CONTENT.search(shown[0])
    assert shown[0] == shown[1]


def main_shows(path: Path) -> str:
    return CliRunner().invoke(main, ["show", str(path)], catch_exceptions=False).stdout


@pytest.mark.slow
def test_a_plan_that_was_killed_ends_in_the_same_bytes(tmp_path: Path) -> None:
    planned, posterior = ready(tmp_path, simulations=1000)
    killed_at_random(command := Command(tmp_path, "plan", planned, "--posterior", posterior, "--out-dir"), 2)
    command.done("out")
    assert_same(tmp_path)


@pytest.mark.slow
def test_a_conversion_that_was_killed_ends_in_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(json.dumps(bench(100, [60, 30])))
    command = Command(tmp_path, "convert", "auto", tmp_path / "bench.json", *DECLARED, "-o", target="runs.jsonl")
    killed_at_random(command, 3)
    command.done("out")
    assert_same(tmp_path)


@pytest.mark.slow
def test_a_calibration_that_was_killed_goes_on_and_ends_in_the_same_table(tmp_path: Path) -> None:
    command = Command(tmp_path, "calibrate", study(tmp_path), "--sims", 20, "--level", "L4", "--out-dir")
    command.done("calm")
    ranks, before, rng = tmp_path / "out" / "ranks_w_L4.jsonl", 0, np.random.default_rng(4)
    for wanted in sorted(rng.choice(np.arange(1, 20), KILLS, replace=False).tolist()):
        process = command.begun("out")
        while not ended(process) and finished(ranks) < wanted:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))  # into the next simulation, or into writing it down
        assert killed(process), "the calibration was done before it could be killed"
        assert finished(ranks) >= max(before, wanted), "simulations that were finished are lost"
        before = finished(ranks)
    command.done("out")
    assert_same(tmp_path)


def test_workers_of_a_pool_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    code = (
        "import sys\nfrom pathlib import Path\nfrom draftdepth.analysis.plan_tasks import run_tasks\n"
        "from tests.locks import hold\nrun_tasks(hold, [Path(name) for name in sys.argv[1:]], processes=2)"
    )
    asking = subprocess.Popen([sys.executable, "-c", code, *map(str, files)], cwd=ROOT)
    patience = time.monotonic() + 120.0  # only a failure takes so long
    while not all(map(held, files)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert all(map(held, files)), "the workers never began"
    asking.kill()
    asking.wait()
    while any(map(held, files)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(map(held, files)), "workers outlive the run that asked for them"


def finished(ranks: Path) -> int:
    """Simulations whose line is whole."""
    return max(ranks.read_bytes().count(b"\n") - 1, 0) if ranks.exists() else 0
