"""Run-record files: JSON Lines, plain or gzip, read line by line in bounded memory."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from .faults import WARNING, Fault, faults_alone
from .records import DEEPEST_RECORD, parse_run
from .run_record import Run
from .words import DECODE

LONGEST_LINE = 1 << 20  # bytes; a record of 64 positions and 1,000 requests takes a tenth of it
LARGEST_TEXT = 1 << 31  # bytes after decompression; more is a bomb, not a study
MOST_FAULTS = 1000  # of one file; who meets more wants to see the first, and memory stays bounded
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
NAMED_FIELDS = frozenset(
    "schema suite cell run worker batch context_tokens occupied_tokens phase policy kind cap depth "
    "request_rounds accepted_position verified_tokens verified_position accepted_by_verified requests "
    "step_p50_ms step_mean_ms steps start".split()
)


@dataclass(slots=True)
class RecordFile:
    """What one file held: its runs with their lines, its faults, and the rows that were left out."""

    file: str
    sha256: str = ""
    rows: int = 0
    other_phase: int = 0
    runs: list[tuple[int, Run]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


class _Refused(ValueError):
    """Strict JSON's complaint, in words that repeat nothing of the line."""


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"a bare {name}")


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1} & NAMED_FIELDS)
        if twice:
            raise _Refused(f"the field {twice[0]} twice")
    return read


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines without their ends; None stands for a line that is too long to keep."""
    number = total = 0
    while piece := stream.readline(LONGEST_LINE + 1):
        number += 1
        total += len(piece)
        long = len(piece) > LONGEST_LINE and not piece.endswith(b"\n")
        if long:
            while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                total += len(rest)
                if total > LARGEST_TEXT:
                    break
        if total > LARGEST_TEXT:
            raise _Refused(f"more than {LARGEST_TEXT >> 30} GiB of text")
        yield number, None if long else piece


def _row(text: bytes) -> Any:
    return json.loads(text.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_field_twice)


def _read_line(read: RecordFile, number: int, text: bytes | None, max_depth: int) -> None:
    def amiss(found: str, wanted: str = "one JSON object a line would do") -> None:
        read.faults.append(Fault(read.file, number, "line", found, wanted))

    if text is None:
        amiss(f"more than {LONGEST_LINE} bytes", "a run record is shorter than that")
        return
    if number == 1 and text.startswith(BOM):
        text = text[len(BOM) :]
    cut = not text.endswith(b"\n")
    text = text.strip()
    if not text:
        return
    read.rows += 1
    try:
        row = _row(text)
    except _Refused as error:
        amiss(str(error))
    except RecursionError:
        amiss("objects nested too deeply")
    except UnicodeDecodeError:
        amiss("bytes that are not UTF-8")
    except ValueError:
        amiss("a truncated last line" if cut else "something that is not JSON")
    else:
        if not isinstance(row, dict):
            amiss("JSON that is no object")
        elif isinstance(row.get("phase"), str) and row["phase"] != DECODE:
            read.other_phase += 1
        else:
            run, faults = parse_run(row, read.file, number, max_depth)
            read.faults += faults
            if run is not None:
                read.runs.append((number, run))


def read_record_file(path: Path, name: str | None = None, max_depth: int = DEEPEST_RECORD) -> RecordFile:
    """Read and check every row of a run-record file.

    Parameters
    ----------
    path
        The file, plain or gzip (told by its first bytes).
    name
        How messages and results call it; the path where none is given.
    max_depth
        The deepest position of the trained block.

    Returns
    -------
    RecordFile
        Runs, faults and counts. A file that cannot be read at all is one fault, never an exception.
    """
    read = RecordFile(name or str(path))

    def whole(found: str, wanted: str) -> RecordFile:
        read.faults.append(Fault(read.file, 0, "file", found, wanted))
        return read

    if path.exists() and not (path.is_file() or path.is_dir()):
        return whole("a pipe or device", "a regular file of JSON Lines would do")
    try:
        with path.open("rb") as raw:
            read.sha256 = hashlib.file_digest(raw, "sha256").hexdigest()
            raw.seek(0)
            zipped = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if zipped else raw
            for number, text in _lines(stream):
                _read_line(read, number, text, max_depth)
                if len(read.faults) > MOST_FAULTS:
                    return whole(f"more than {MOST_FAULTS} faults", "a file of run records would do")
    except IsADirectoryError:
        return whole("a directory", "a file of JSON Lines would do")
    except FileNotFoundError:
        return whole("nothing", "a file that is there would do")
    except _Refused as error:
        return whole(str(error), "a smaller file would do")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return whole("a damaged gzip stream", "a whole gzip file or plain JSON Lines would do")
    except OSError as error:
        return whole(error.strerror or "an unreadable file", "a file that this user may read would do")
    if not read.rows and not read.faults:
        return whole("no row", "at least one run record would do")
    read.faults += faults_across([(read.file, line, run) for line, run in read.runs])
    return read


def faults_across(placed: list[tuple[str, int, Run]]) -> list[Fault]:
    """What only shows when rows are held against each other: twins, copies, cells at odds with themselves.

    Parameters
    ----------
    placed
        Each run with the file and line that it came from.
    """
    faults: list[Fault] = []
    runs: dict[object, str] = {}
    copies: dict[object, str] = {}
    cells: dict[object, tuple[str, Run]] = {}
    kinds: dict[object, tuple[str, str]] = {}
    for file, line, run in placed:
        place = f"{file}:{line}"
        identity = (run.suite, run.cell, run.worker, run.policy, run.run)
        if identity in runs:
            faults.append(Fault(file, line, "run", f"the same run as {runs[identity]}", "each run once would do"))
            continue
        runs[identity] = place
        counters = (run.suite, run.cell, run.worker, run.policy, run.request_rounds, run.accepted, run.verified)
        if run.request_rounds and counters in copies:
            faults.append(
                Fault(file, line, "accepted_position", f"the same counters as {copies[counters]}",
                      "a copy is not new evidence", WARNING)
            )  # fmt: skip
        copies.setdefault(counters, place)
        first_place, first = cells.setdefault((run.suite, run.cell), (place, run))
        for name in ("worker", "batch", "context_tokens"):
            if getattr(run, name) != getattr(first, name):
                faults.append(
                    Fault(file, line, name, f"another one than {first_place} has for this cell",
                          "a cell has one worker, batch and context; another cell name would do")
                )  # fmt: skip
        if run.step_kind:
            kind_place, kind = kinds.setdefault((run.suite, run.cell), (place, run.step_kind))
            if kind != run.step_kind:
                faults.append(
                    Fault(file, line, "requests", f"step times of another kind than {kind_place}",
                          "p50 alone or means alone in a cell would do")
                )  # fmt: skip
    return faults


def usable(read: RecordFile) -> bool:
    """Whether the file holds no fault beyond warnings."""
    return not faults_alone(read.faults)
