"""Scrapes a running server around the user's own load: each interval with rounds in it becomes one run record."""

import io
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data.errors import InputError
from ..data.faults import faults_alone, first_of
from ..data.jsonl import read_record_file
from ..data.readers import Conversion, ReaderOptions
from ..data.readers.counters import batch_of, policy_of
from ..data.readers.prometheus import Scrape, scrape_of
from ..data.readers.scrape_pair import RestartError
from ..data.readers.vllm_metrics import add_run
from .output import write_whole
from .run_convert import as_lines, checked
from .scrape_http import UnansweredError, address, fetched

MOST_FAILURES = 10  # scrapes in a row that fail before we give up


@dataclass(frozen=True, slots=True)
class Plan:
    """When to scrape what: the address, seconds between scrapes, runs to make, seconds to wait for an answer."""

    url: str
    every_s: float
    runs: int
    timeout_s: float


class _Book:
    """The run-record file: it is written anew, whole, whenever a run is finished."""

    def __init__(self, target: Path) -> None:
        self.target, self.finished = target, 0
        self.rows: list[dict[str, Any]] = []
        if target.exists():
            faults = faults_alone(read_record_file(target).faults)
            if faults:
                raise InputError(first_of(faults))
            try:
                text = target.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{target}: found no plain text; a file that is not compressed would do") from error
            self.rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{target.parent}: found {error.strerror}; a folder would do") from error
        if not os.access(target.parent, os.W_OK):
            raise InputError(f"{target.parent}: cannot be written; a folder that can be written would do")

    def free_name(self, prefix: str) -> str:
        """A run's name that no row of the file has, without the prefix."""
        taken = {row["run"] for row in self.rows}
        return next(name for name in (f"run{n}" for n in range(1, len(taken) + 2)) if f"{prefix}{name}" not in taken)

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the file with these rows at its end; an interruption does not lose them."""
        checked([*self.rows, *rows])
        self.rows += rows
        self.finished += len(rows)
        try:
            self._write()
        except KeyboardInterrupt:
            self._write()
            raise

    def _write(self) -> None:
        write_whole(self.target.parent, {self.target.name: as_lines(self.rows)})


class _Session:
    """What is known between two scrapes: the one before, restarts so far, failures in a row."""

    def __init__(self, plan: Plan, options: ReaderOptions, book: _Book, say: Callable[[str], None]) -> None:
        self.plan, self.options, self.book, self.say = plan, options, book, say
        self.before: Scrape | None = None
        self.restarts = self.failures = 0

    def look(self) -> None:
        """Scrape once; with a scrape before it and rounds in between, that is a run."""
        told: list[str] = []
        try:
            scrape = scrape_of(io.BytesIO(fetched(self.plan.url, self.plan.timeout_s)), self.options.select, told)
        except (UnansweredError, InputError) as error:
            if self.before is None:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"URL: found {error}; a running server would do") from error
            self.failures += 1
            self.say(f"{error}: the run goes on until the next scrape that is answered")
            if self.failures >= MOST_FAILURES:
                raise InputError(
                    f"URL: found {self.failures} scrapes in a row without an answer; a running server would do"
                ) from error
            return
        self.failures = 0
        before, self.before = self.before, scrape
        if before is None:
            self.say("the first scrape is taken: load may run now")
        else:
            self._run(before, scrape)

    def _run(self, before: Scrape, after: Scrape) -> None:
        done = Conversion()
        options = replace(self.options, start=self._start(after))
        try:
            add_run(before, after, options, self.book.free_name(options.run_prefix), "", done)
        except RestartError:
            self.restarts += 1
            self.say("the server was started anew: this run is left out, and the next one is of a new start")
            return
        if not done.records[0]["request_rounds"]:
            self.say("no rounds since the last scrape: no run")
            return
        self.book.add(done.records)
        for warning in done.warnings:
            self.say(f"warning: {warning}")
        self.say(f"{done.records[0]['run']}: {done.records[0]['request_rounds']} rounds")

    def _start(self, scrape: Scrape) -> str | None:
        """The start that is declared, with a number after a restart; else the process's own start time."""
        if self.options.start is not None:
            return f"{self.options.start}-{self.restarts + 1}" if self.restarts else self.options.start
        if (born := scrape.born()) is not None:
            return f"start-{born:.0f}"
        return f"restart-{self.restarts}" if self.restarts else None


def scrape_runs(plan: Plan, options: ReaderOptions, target: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Scrape until enough runs are made, each written as soon as it is finished.

    Parameters
    ----------
    plan
        What to scrape, how often.
    options
        What the metrics do not say: suite, worker, batch, policy.
    target
        The run-record file; runs that are in it stay.
    say
        Takes a line of progress or warning.

    Returns
    -------
    said, whole
        What goes to stdout, and whether it ended by itself and not by an interruption.

    Raises
    ------
    InputError
        An option is missing, the address has no counters, or the server no longer answers. Finished runs are kept.
    """
    plan = replace(plan, url=address(plan.url))
    batch_of(options, "batch")  # what is missing is said before anybody waits for a run
    policy_of(options, options.policy_depth or 1, 1, "policy")
    book = _Book(target)
    session = _Session(plan, options, book, say)
    whole, due = True, time.monotonic()
    try:
        while book.finished < plan.runs:
            session.look()
            if book.finished < plan.runs:
                due = max(due + plan.every_s, time.monotonic())
                time.sleep(max(due - time.monotonic(), 0.0))
    except KeyboardInterrupt:
        whole = False
    except InputError as error:
        raise InputError(f"{error} ({book.finished} finished runs are in {target})") from error
    return f"{'' if whole else 'stopped: '}{book.finished} run records in {target}\n", whole
