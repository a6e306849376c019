"""The records of `sp2` written anew: all of them whole, or the old ones as they were."""

import os
from pathlib import Path

import pytest
from draftdepth.reports.reconstruction_files import main

from .test_reconstruction import STUDY


def _files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_is_written_is_what_the_study_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new")]) == 0
    made = _files(tmp_path / "new")
    assert capsys.readouterr().out.splitlines() == sorted(made)
    assert made == {name: text for name, text in _files(STUDY).items() if name.endswith(".jsonl")}


def test_a_full_disk_leaves_the_old_ones_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "results" / "W5-E1p" / "W5-E1p-short.jsonl"
    old.parent.mkdir(parents=True)
    old.write_text("old\n")
    calls = iter([None, None, OSError(28, "No space left on device")])

    def full(_: int) -> None:
        if (error := next(calls)) is not None:
            raise error

    monkeypatch.setattr(os, "fsync", full)
    assert main([str(tmp_path)]) == 2
    assert "No space left on device; a disk with room would do" in capsys.readouterr().err
    assert _files(tmp_path) == {"results/W5-E1p/W5-E1p-short.jsonl": "old\n"}


def test_another_number_of_words_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: ")
