"""Files are written whole, never over what was read, never over what is no file; long work is refused before it begins."""

import os
import time
from pathlib import Path

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.jsonl import MOST_FAULTS, read_record_file
from draftdepth.reports.output import STALE_S, ready, write_whole


def test_an_output_may_not_be_an_input(tmp_path: Path) -> None:
    source = tmp_path / "a.nc"
    source.write_text("whole")
    (tmp_path / "link").symlink_to(source)
    for name in ("a.nc", "link"):
        with pytest.raises(InputError, match="file that is read"):
            write_whole(tmp_path, {name: "other"}, [source])
    assert source.read_text() == "whole"


def test_a_pipe_or_folder_is_not_replaced_and_nothing_else_is_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "one").write_text("old")
    for name in ("pipe", "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="no regular file"):
            write_whole(tmp_path, {"one": "new", name: "new"})
        assert (tmp_path / "one").read_text() == "old"
    assert (tmp_path / "pipe").is_fifo()


def test_links_are_followed_and_modes_kept(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o600)
    (tmp_path / "link").symlink_to(real)
    write_whole(tmp_path, {"link": "new"})
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="leads nowhere"):
        write_whole(tmp_path, {"loop": "new"})


def test_what_killed_runs_left_is_cleared_away_when_it_is_old(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".one.abc.part", tmp_path / ".one.def.part"
    for path in (old, fresh):
        path.write_text("half")
    os.utime(old, (time.time() - 2 * STALE_S,) * 2)
    write_whole(tmp_path, {"one": "new"})
    assert not old.exists()
    assert fresh.exists()


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="would do"):
        ready(tmp_path / "file" / "out")
    ready(tmp_path / "new" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_faults_of_one_file_are_capped(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("x\n" * 50_000)
    read = read_record_file(path)
    assert len(read.faults) == MOST_FAULTS + 2
    assert f"more than {MOST_FAULTS} faults" in str(read.faults[-1])
