"""The embedded gx10 study, held against figures that others worked out from the originals."""

import hashlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
from click.testing import CliRunner
from draftdepth.data.faults import faults_alone
from draftdepth.data.inputs import read_inputs
from draftdepth.data.jsonl import NAMED_FIELDS, read_record_file
from draftdepth.data.readers.provenance import build, read_sources
from draftdepth.data.study import load_study
from draftdepth.reports.command import main as command
from draftdepth.reports.provenance_files import main

STUDY = Path(__file__).parents[1] / "data" / "studies" / "gx10"
CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "gx10"
FILES = sorted((STUDY / "runs").glob("*.jsonl"))


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STUDY / "runs" / f"{name}.jsonl").read_text().splitlines()]


def accepted_length(runs: list[dict[str, Any]], depth: int) -> float:
    accepted = float(sum(sum(run["accepted_position"][:depth]) for run in runs))
    return 1 + accepted / float(sum(run["request_rounds"] for run in runs))


def fixed(batch: int, depth: int) -> list[dict[str, Any]]:
    return [run for run in rows("agentic-nvfp4") if run["batch"] == batch and run["policy"]["depth"] == depth]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_row_is_a_good_record(path: Path) -> None:
    read = read_record_file(path, max_depth=5)
    assert faults_alone(read.faults) == []
    assert read.rows == len(read.runs) > 0


def test_the_study_finds_all_its_inputs() -> None:
    inputs = read_inputs(load_study(str(STUDY)))
    assert [str(fault) for fault in faults_alone(inputs.faults)] == []
    assert inputs.absent == ()
    assert {account.name for account in inputs.files} == {f"results/{path.name}" for path in FILES}
    assert inputs.runs.sizes["run"] == sum(len(rows(path.stem)) for path in FILES)


def test_the_grid_has_every_arm_and_two_trials_of_each() -> None:
    arms: dict[tuple[int, int], int] = defaultdict(int)
    for run in rows("agentic-nvfp4"):
        assert run["policy"]["kind"] == "fixed"
        arms[run["batch"], run["policy"]["depth"]] += 1
    assert arms == {(batch, depth): 2 for batch in (1, 2, 4, 8) for depth in (1, 2, 3, 4, 5)}
    assert len({run["start"] for run in rows("agentic-nvfp4")}) == 5


@pytest.mark.parametrize(("depth", "short"), [(1, 0.018), (2, 0.041), (3, 0.082), (4, 0.152)])
def test_truncation_falls_short_as_was_published_of_concurrency_8(depth: int, short: float) -> None:
    gap = accepted_length(fixed(8, depth), depth) - accepted_length(fixed(8, 5), depth)
    assert gap == pytest.approx(short, abs=0.0006)


@pytest.mark.parametrize(("batch", "slope"), [(1, 4.6), (2, 3.8), (4, 2.7), (8, 1.7)])
def test_a_row_costs_what_was_published(batch: int, slope: float) -> None:
    times = {}
    for depth in (1, 2, 3, 4, 5):
        steps = [[request["step_mean_ms"] for request in run["requests"]] for run in fixed(batch, depth)]
        times[depth] = median(median(each) for each in steps if each)
    centre = mean(times.values())
    least_squares = sum((depth - 3) * (time - centre) for depth, time in times.items()) / 10
    assert least_squares / batch == pytest.approx(slope, abs=0.05)


def test_thresholds_are_dynamic_and_only_truncated_totals_are_verified_totals() -> None:
    for threshold in ("030", "040", "050"):
        for run in rows(f"canonical-threshold-{threshold}"):
            assert run["policy"] == {"kind": "dynamic", "cap": 5}
            assert "verified_tokens" not in run
    scheduled = [run for run in rows("tool-agentic-abliterated") if run["policy"]["kind"] == "dynamic"]
    mean_lengths = [f"{run['verified_tokens'] / run['request_rounds']:.2f}" for run in scheduled]
    assert mean_lengths == ["4.97", "4.96", "4.93"]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("agentic-nvfp4", {("c1", 4), ("c2", 4)}),
        ("canonical-fp8", {("c1", 5)}),
        ("canonical-production", {("c1", 5)}),
        ("canonical-confidence-off", {("c1", 5)}),
        ("canonical-threshold-030", {("c1", 5)}),
        ("canonical-nvfp4", set()),
    ],
)
def test_copies_are_where_the_originals_have_them(name: str, cells: set[tuple[str, int]]) -> None:
    seen: set[str] = set()
    copied = set()
    for run in rows(name):
        depth = run["policy"].get("depth", run["policy"].get("cap"))
        key = json.dumps([run["cell"], depth, run["request_rounds"], run["accepted_position"]])
        if key in seen:
            copied.add((run["cell"], depth))
        seen.add(key)
    assert copied == cells


def strings(value: object, field: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            assert key in NAMED_FIELDS
            yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, field)
    elif isinstance(value, str):
        yield field, value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_prompt_output_or_hash_came_along(path: Path) -> None:
    for row in rows(path.stem):
        for field, value in strings(row):
            assert field in {"suite", "cell", "run", "worker", "phase", "kind", "start"}
            assert len(value) <= 40
            assert not re.search(r"\s|[0-9a-f]{16}", value)


def test_the_card_tells_of_every_file_and_every_original() -> None:
    card = (STUDY / "CARD.md").read_text(encoding="utf-8")
    told: dict[str, int] = {}
    for name, count, digest in re.findall(r"## runs/(\S+)\n.*?\n(\d+) rows, SHA-256 ([0-9a-f]{64})", card, re.DOTALL):
        told[name] = int(count)
        assert digest == hashlib.sha256((STUDY / "runs" / name).read_bytes()).hexdigest()
    assert told == {path.name: len(rows(path.stem)) for path in FILES}
    sources = [source for output in read_sources(STUDY).outputs for source in output.sources]
    for source in sources:
        assert f"### {source.name}" in card
        assert f"SHA-256 of the original: {source.sha256}" in card
    lost = sum(int(found) for found in re.findall(r"streams without step time: (\d+) of", card))
    timed = sum(len(run["requests"]) for path in FILES for run in rows(path.stem))
    streams = sum(run["batch"] for path in FILES for run in rows(path.stem))
    assert timed == streams - lost


def test_another_original_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(STUDY), str(tmp_path)]) == 2
    assert "is not among the originals" in capsys.readouterr().err
    for output in read_sources(STUDY).outputs:
        for source in output.sources:
            (tmp_path / source.name).write_text('{"trials": []}')
    assert main([str(STUDY), str(tmp_path)]) == 2
    assert "another SHA-256" in capsys.readouterr().err
    assert main([str(tmp_path), str(tmp_path)]) == 2
    assert "SOURCES.toml is not there" in capsys.readouterr().err


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the originals are not part of the project")
def test_the_originals_give_the_same_bytes() -> None:
    for name, text in build(read_sources(STUDY), CORPUS).items():
        assert (STUDY / name).read_text(encoding="utf-8") == text


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the originals are not part of the project")
def test_the_commands_of_the_card_write_the_same_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CORPUS)
    sources = read_sources(STUDY)
    for output in sources.outputs:
        joined = ""
        for source, part in zip(output.sources, output.parts(), strict=True):
            words = shlex.split(source.command(sources.form, str(tmp_path / part)))
            result = CliRunner().invoke(command, words[1:])
            assert result.exit_code == 0, result.output
            joined += (tmp_path / part).read_text(encoding="utf-8")
        assert joined == (STUDY / "runs" / output.file).read_text(encoding="utf-8")
