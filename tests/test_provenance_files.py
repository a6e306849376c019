"""Records and card of a study made anew from originals: all of them whole, or the old ones as they were."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from draftdepth.reports.provenance_files import main

SOURCES = """
title = "Kettles"
about = "Invented."
format = "dspark-bench"
repository = "none"
commit = "none"
licence = "MIT"

[[output]]
file = "kettles.jsonl"
about = "All of them."

[[output.source]]
name = "kettles.json"
sha256 = "{sha256}"
about = "One trial."
options = {{ suite = "kettle", worker = "w", policy_kind = "fixed" }}
"""


def _study(folder: Path, rounds: int) -> list[str]:
    """The words for a study whose one original has one trial."""
    counters = {
        "num_drafts": rounds,
        "draft_tokens": 2 * rounds,
        "accepted_tokens": 12,
        "accepted_tokens_per_position": [8, 4],
    }
    text = json.dumps({"trials": [{"concurrency": 1, "streams": [], "spec_decode": counters}]})
    study, originals = folder / "study", folder / "originals"
    for path in (study, originals):
        path.mkdir(exist_ok=True)
    (originals / "kettles.json").write_text(text)
    (study / "SOURCES.toml").write_text(SOURCES.format(sha256=hashlib.sha256(text.encode()).hexdigest()))
    return [str(study), str(originals)]


def _made(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "study").rglob("*") if path.is_file()} | {
        "SOURCES.toml": b""
    }


def test_records_and_card_are_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_study(tmp_path, 10)) == 0
    assert capsys.readouterr().out == "2 files written\n"
    (row,) = (tmp_path / "study" / "runs" / "kettles.jsonl").read_text().splitlines()
    assert json.loads(row)["request_rounds"] == 10
    assert "1 rows, SHA-256" in (tmp_path / "study" / "CARD.md").read_text()


def test_a_full_disk_leaves_the_old_ones_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(_study(tmp_path, 10))
    before = _made(tmp_path)
    calls = iter([None, OSError(28, "No space left on device")])

    def full(_: int) -> None:
        if (error := next(calls)) is not None:
            raise error

    monkeypatch.setattr(os, "fsync", full)
    assert main(_study(tmp_path, 11)) == 2
    assert capsys.readouterr().err.endswith("CARD.md: No space left on device; a disk with room would do\n")
    assert _made(tmp_path) == before


def test_an_original_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = _study(tmp_path, 10)
    (tmp_path / "study" / "runs").symlink_to(tmp_path / "originals")
    (tmp_path / "originals" / "kettles.jsonl").write_text("mine")
    assert main(words) == 2
    assert "the file that is read" in capsys.readouterr().err
    assert (tmp_path / "originals" / "kettles.jsonl").read_text() == "mine"
