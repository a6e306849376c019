"""Long logs: marked lines are found wherever pieces end, in memory that does not grow."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from draftdepth.data.readers import FORMATS, Source, recognised

from .reader_examples import window


def _log(path: Path, megabytes: int) -> None:
    """A log of other lines with one window of 100 rounds a MB."""
    noise = b"INFO 07-18 20:26:54 [loggers.py:273] a line on something else, as long as those of a server often are..\n"
    with path.open("wb") as stream:
        for number in range(megabytes):
            stream.write(noise * (1_000_000 // len(noise)) + b"INFO Engine 000: Running: 4 reqs, Waiting: 0 reqs\n")
            stream.write(window(100, [60, 30], when=f"07-18 20:{number // 60:02}:{number % 60:02}").encode())


def _memory_of_a_log(path: Path) -> tuple[int, int]:
    """Peak memory in KiB of a process that reads a log, and the rounds that it found."""
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom draftdepth.data.readers import *\n"
        "done = FORMATS['vllm-log'].convert([Source.of_path(Path(sys.argv[1]))], ReaderOptions('s', 'w', batch=1, "
        "policy_kind='fixed'))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, done.records[0]['request_rounds'])"
    )
    words = [sys.executable, "-c", code, str(path)]
    peak, found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return int(peak), int(found)


def test_marked_lines_are_those_of_a_plain_search(tmp_path: Path) -> None:
    draw = random.Random(3)
    pieces = [b"x" * 700, b"mark", b"\n", b"\n", b"\r", b"other " * 90_000, b"m", b"ark\n"]
    text = b"\xef\xbb\xbf" + b"".join(draw.choice(pieces) for _ in range(80)) + b"mark at the end"
    assert len(text) > 3 << 20
    wanted = [(number, line) for number, line in enumerate(text[3:].split(b"\n"), 1) if b"mark" in line]
    assert list(Source.of_text(text).marked(b"mark", b"no such")) == wanted
    assert len(wanted) > 5
    assert not Source.of_text(text).holds(b"no such")


@pytest.mark.slow
def test_a_log_of_500_mb_is_read_in_constant_memory(tmp_path: Path) -> None:
    _log(tmp_path / "small", 2)
    _log(tmp_path / "large", 500)
    small, few = _memory_of_a_log(tmp_path / "small")
    large, many = _memory_of_a_log(tmp_path / "large")
    assert recognised(Source.of_path(tmp_path / "large"), FORMATS).name == "vllm-log"
    (tmp_path / "large").unlink()
    assert (few, many) == (200, 50_000)
    assert large < small + 10_000
