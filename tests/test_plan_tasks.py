"""Tasks behind one call: a pool and a Dask cluster give the same numbers, and a killed worker changes none."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from draftdepth.analysis.plan_spread import median_variance
from draftdepth.analysis.plan_tasks import run_tasks
from draftdepth.data.errors import InputError

TASKS = [1 + place % 12 for place in range(60)]
"""Each a simulation of 200,000 medians with a seed of its own: slow enough that a worker dies in the middle."""


def by_hand() -> list[float]:
    median_variance.cache_clear()
    return [median_variance(task) for task in TASKS]


@dataclass
class Cluster:
    address: str
    workers: list[subprocess.Popen[bytes]]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler and two workers on loopback."""
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    plain = [sys.executable, "-W", "ignore", "-m", "dask"]
    here: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    here["env"] = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "10"}
    started = [
        subprocess.Popen([*plain, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **here)
    ]
    alone = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    started += [subprocess.Popen([*plain, "worker", address, *alone], **here) for _ in range(2)]
    yield Cluster(address, started[1:])
    for process in reversed(started):
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_pool_and_one_process_give_the_same_numbers_in_order() -> None:
    alone = by_hand()[:3]
    assert run_tasks(median_variance, TASKS[:3], processes=2) == alone
    assert run_tasks(median_variance, TASKS[:3], processes=1) == alone


@pytest.mark.slow
def test_a_cluster_gives_the_same_numbers_though_a_worker_is_killed(cluster: Cluster) -> None:
    found: list[list[float]] = []
    asking = threading.Thread(target=lambda: found.append(run_tasks(median_variance, TASKS, cluster.address)))
    asking.start()
    _wait_for_workers(cluster)
    time.sleep(0.5)
    assert asking.is_alive(), "the tasks were done before a worker could be killed"
    cluster.workers[0].kill()
    asking.join(60.0)
    assert found == [by_hand()]
    assert cluster.workers[0].wait() != 0
    assert cluster.workers[1].poll() is None


def _wait_for_workers(cluster: Cluster) -> None:
    import distributed

    connect: Any = distributed.Client
    with connect(cluster.address, timeout=30, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)


def test_no_scheduler_is_one_line() -> None:
    with pytest.raises(InputError, match=r"--scheduler: found no Dask scheduler at that address; .* would do"):
        run_tasks(median_variance, [1], "nonsense://")


@pytest.mark.slow
def test_a_silent_address_is_one_line() -> None:
    with pytest.raises(InputError, match="found no Dask scheduler"):
        run_tasks(median_variance, [1], f"tcp://127.0.0.1:{_free_port()}")
