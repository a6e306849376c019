"""`scrape` against a server of our own on loopback: runs, idle times, restarts, timeouts and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from draftdepth.data.errors import InputError
from draftdepth.data.jsonl import read_record_file, usable
from draftdepth.reports.command import main
from draftdepth.reports.run_scrape import Plan, scrape_runs
from draftdepth.reports.scrape_http import address

from .reader_examples import options, scrape

type Answer = str | int | Callable[[], str]


class Cut(str):
    """An answer that ends before its announced length."""

    __slots__ = ()


class Server:
    """Gives its answers one after another, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = outer.answers[min(outer.asked, len(outer.answers) - 1)]
                outer.asked += 1
                if isinstance(answer, int):
                    self.send_error(answer)
                    return
                text = (answer if isinstance(answer, str) else answer()).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text) + 100 * isinstance(answer, Cut)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Stay silent."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*answers: Answer) -> Server:
        servers.append(Server(*answers))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def born(text: str, when: float) -> str:
    return text + f'vllm:spec_decode_num_drafts_created{{engine="0",model_name="m"}} {when}\n'


def scraped(
    server: Server, target: Path, runs: int, timeout_s: float = 2.0, **more: Any
) -> tuple[str, bool, list[str]]:
    told: list[str] = []
    said, whole = scrape_runs(Plan(server.url, 0.01, runs, timeout_s), options(**more), target, told.append)
    return said, whole, told


def rows(target: Path) -> list[dict[str, Any]]:
    assert usable(read_record_file(target))
    return [json.loads(line) for line in target.read_text().splitlines()]


PATIENCE = 120.0  # seconds: only to end a test that hangs
FIRST, SECOND, THIRD = scrape(10, [5, 1]), scrape(110, [65, 31]), scrape(310, [165, 81])


def test_intervals_with_rounds_are_runs(serve: Callable[..., Server], tmp_path: Path) -> None:
    target = tmp_path / "new" / "runs.jsonl"
    server = serve(FIRST, FIRST, SECOND, SECOND, THIRD)
    said, whole, told = scraped(server, target, 2, context_tokens=0)
    assert (said, whole) == (f"2 run records in {target}\n", True)
    assert [(row["run"], row["request_rounds"], row["accepted_position"]) for row in rows(target)] == [
        ("run1", 100, [60, 30]), ("run2", 200, [100, 50]),
    ]  # fmt: skip
    assert told.count("no rounds since the last scrape: no run") == 2
    assert {(row["batch"], row["policy"]["depth"], row["context_tokens"]) for row in rows(target)} == {(4, 2, 0)}
    scraped(serve(FIRST, SECOND), target, 1, cell="other")
    assert [row["run"] for row in rows(target)] == ["run1", "run2", "run3"]


def test_a_restart_costs_its_own_interval_alone(serve: Callable[..., Server], tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    answers = [
        born(FIRST, 1e9),
        born(SECOND, 1e9),
        born(scrape(400, [300, 100]), 2e9),
        503,
        born(scrape(450, [330, 110]), 2e9),
    ]
    _, _, told = scraped(serve(*answers), target, 2)
    assert [(row["request_rounds"], row["start"]) for row in rows(target)] == [
        (100, "start-1000000000"), (50, "start-2000000000"),
    ]  # fmt: skip
    assert any("started anew" in line for line in told)
    assert any("HTTP status 503" in line for line in told)
    target.unlink()
    scraped(serve(FIRST, SECOND, FIRST, SECOND), target, 2, start="monday")
    assert [row["start"] for row in rows(target)] == ["monday", "monday-2"]


def test_an_answer_that_is_late_or_cut_is_waited_out(serve: Callable[..., Server], tmp_path: Path) -> None:
    def late() -> str:
        time.sleep(0.4)
        return SECOND

    target = tmp_path / "runs.jsonl"
    _, _, told = scraped(serve(FIRST, late, "no metrics", Cut(SECOND), THIRD), target, 1, timeout_s=0.1)
    assert rows(target)[0]["request_rounds"] == 300
    assert told[1] == "no answer within 0.1 s: the run goes on until the next scrape that is answered"
    assert "no vllm:spec_decode counters" in told[2]
    assert "a cut answer" in told[3]


def test_a_server_that_goes_away_for_good_ends_it_and_finished_runs_stay(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    target = tmp_path / "runs.jsonl"
    with pytest.raises(InputError, match=r"10 scrapes in a row .*\(1 finished runs are in"):
        scraped(serve(FIRST, SECOND, 500), target, 2)
    assert len(rows(target)) == 1


def test_what_cannot_work_is_refused_at_once(serve: Callable[..., Server], tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    for answer, said in ((404, "HTTP status 404"), (302, "HTTP status 302"), ("hello", "no vllm:spec_decode counters")):
        with pytest.raises(InputError, match=said):
            scraped(serve(answer), target, 1)
    with pytest.raises(InputError, match="the option batch"):
        scraped(serve(FIRST), target, 1, batch=None)
    with pytest.raises(InputError, match="the option policy_kind"):
        scraped(serve(FIRST), target, 1, policy_kind=None)
    gone = serve(FIRST)
    gone.http.server_close()
    with pytest.raises(InputError, match="no answer; a running server"):
        scraped(gone, target, 1)
    target.write_text("{}\n")
    with pytest.raises(InputError, match="schema: found nothing"):
        scraped(serve(FIRST, SECOND), target, 1)
    assert target.read_text() == "{}\n"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "127.0.0.1:8000", "http://", "http://a:b", "ftp://a/", "http://a b"]
)
def test_an_address_is_of_a_server(url: str) -> None:
    with pytest.raises(InputError, match="found no address"):
        address(url)
    assert address("http://a:1") == address("http://a:1/") == "http://a:1/metrics"
    assert address("https://a/x/metrics?y=1") == "https://a/x/metrics?y=1"


def test_a_run_that_is_finished_is_written_though_it_is_interrupted(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, iter([KeyboardInterrupt(), None])

    def interrupted(descriptor: int) -> None:
        if (error := next(calls)) is not None:
            raise error
        real(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    target = tmp_path / "runs.jsonl"
    said, whole, _ = scraped(serve(FIRST, SECOND), target, 5)
    assert (said, whole) == (f"stopped: 1 run records in {target}\n", False)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"]
    assert len(rows(target)) == 1


@pytest.fixture
def heard_interrupts() -> Iterator[None]:
    """Children hear SIGINT, though a shell that put the tests in the background had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_interrupts")
def test_the_command_says_what_it_does_and_ctrl_c_keeps_runs(serve: Callable[..., Server], tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    words = ["scrape", serve(FIRST, SECOND).url, "-o", str(target), "--every", "0.01", "--runs", "1"]
    needed = ["--suite", "s", "--worker", "w", "--batch", "4", "--policy-kind", "fixed"]
    result = CliRunner().invoke(main, [*words, *needed])
    assert result.exit_code == 0, result.output
    assert "the first scrape is taken" in result.stderr
    words = ["scrape", serve(FIRST, SECOND, THIRD, THIRD).url, "-o", str(target), "--every", "0.05", "--runs", "9"]
    with subprocess.Popen(
        [sys.executable, "-m", "draftdepth", *words, *needed], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + PATIENCE
        while len(target.read_text().splitlines()) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (130, f"stopped: 2 run records in {target}\n")
    assert [row["request_rounds"] for row in rows(target)] == [100, 100, 200]
