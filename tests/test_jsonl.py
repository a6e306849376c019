"""Record files of every kind of damage are read without an exception and told line by line."""

import gzip
import json
import os
from pathlib import Path

import pytest
from draftdepth.data.faults import faults_alone, warnings_alone
from draftdepth.data.jsonl import LONGEST_LINE, RecordFile, read_record_file

from .builders import record, write_lines

GOOD = json.dumps(record())


def _read(folder: Path, content: bytes) -> RecordFile:
    path = folder / "runs.jsonl"
    path.write_bytes(content)
    return read_record_file(path, max_depth=5)


def _second(folder: Path, line: str) -> RecordFile:
    return _read(folder, f"{GOOD}\n{line}\n".encode())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("not json", "something that is not JSON"),
        ("[1, 2]", "JSON that is no object"),
        (GOOD.replace("73.1", "NaN"), "a bare NaN"),
        (GOOD.replace("73.1", "-Infinity"), "a bare -Infinity"),
        (GOOD.replace('"batch": 3', '"batch": 3, "batch": 4'), "the field batch twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"batch": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_damaged_line_is_told_with_its_number(tmp_path: Path, line: str, found: str) -> None:
    read = _second(tmp_path, line)
    assert len(read.runs) == 1
    assert [(fault.line, found in fault.found) for fault in read.faults] == [(2, True)]


def test_a_huge_float_is_no_step_time(tmp_path: Path) -> None:
    (fault,) = _second(tmp_path, GOOD.replace("73.1", "1e999")).faults
    assert (fault.line, fault.field) == (2, "requests[1].step_p50_ms")


def test_a_truncated_last_line_is_called_that(tmp_path: Path) -> None:
    (fault,) = _read(tmp_path, f"{GOOD}\n{GOOD[:80]}".encode()).faults
    assert (fault.line, fault.found) == (2, "a truncated last line")


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (fault,) = _read(tmp_path, GOOD.encode() + b'\n{"suite": "\xff"}\n').faults
    assert (fault.line, "UTF-8" in fault.found) == (2, True)


def test_bom_crlf_and_blank_lines_are_no_faults(tmp_path: Path) -> None:
    other = json.dumps(record(run="r2", accepted_position=[1, 0, 0, 0]))
    read = _read(tmp_path, b"\xef\xbb\xbf" + f"{GOOD}\r\n\r\n{other}\r\n".encode())
    assert read.faults == []
    assert [line for line, _ in read.runs] == [1, 3]


def test_a_line_beyond_all_bounds_is_skipped_whole(tmp_path: Path) -> None:
    long = json.dumps(record(run="r2") | {"prompt": "x" * (3 * LONGEST_LINE)})
    read = _read(tmp_path, f"{GOOD}\n{long}\n{json.dumps(record(run='r3', request_rounds=1481))}\n".encode())
    assert [run.run for _, run in read.runs] == ["r1", "r3"]
    assert [(fault.line, f"{LONGEST_LINE} bytes" in fault.found) for fault in read.faults] == [(2, True)]


def test_gzip_is_read_and_damaged_gzip_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(f"{GOOD}\n".encode())
    assert len(_read(tmp_path, packed).runs) == 1
    (fault,) = _read(tmp_path, packed[:-9]).faults
    assert fault.found == "a damaged gzip stream"


def test_an_unusable_path_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert [fault.found for fault in read_record_file(tmp_path / "folder").faults] == ["a directory"]
    assert [fault.found for fault in read_record_file(tmp_path / "none").faults] == ["nothing"]
    assert [fault.found for fault in _read(tmp_path, b"").faults] == ["no row"]


def test_a_pipe_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert [fault.found for fault in read_record_file(tmp_path / "pipe").faults] == ["a pipe or device"]


def test_other_phases_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [record(), record(run="r2", phase="prefill"), record(run="r3", phase="mixed")]
    read = read_record_file(write_lines(tmp_path / "a.jsonl", rows))
    assert (read.rows, len(read.runs), read.other_phase, read.faults) == (3, 1, 2, [])


def test_the_same_run_twice_is_refused_even_with_other_counts(tmp_path: Path) -> None:
    rows = [record(), record(request_rounds=1500)]
    (fault,) = faults_alone(read_record_file(write_lines(tmp_path / "a.jsonl", rows)).faults)
    assert (fault.line, fault.field) == (2, "run")


def test_identical_copies_are_a_warning(tmp_path: Path) -> None:
    read = read_record_file(write_lines(tmp_path / "a.jsonl", [record(), record(run="r2")]))
    assert faults_alone(read.faults) == []
    assert [fault.line for fault in warnings_alone(read.faults)] == [2]


@pytest.mark.parametrize("change", [{"batch": 4}, {"worker": "other"}, {"requests": [{"step_mean_ms": 3.0}]}])
def test_a_cell_at_odds_with_itself_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    rows = [record(), record(run="r2", request_rounds=1490, **change)]
    faults = faults_alone(read_record_file(write_lines(tmp_path / "a.jsonl", rows)).faults)
    assert [(fault.line, fault.field) for fault in faults] == [(2, next(iter(change)))]
