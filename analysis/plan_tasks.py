"""Many independent tasks behind one call: a local pool, or a Dask cluster; every task carries its own seed."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any

from ..data.errors import InputError

CONNECT_SECONDS = 5
RETRIES = 3  # of a task whose worker died, besides what the cluster does by itself


def run_tasks[Task, Result](
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    scheduler: str | None = None,
    processes: int | None = None,
) -> list[Result]:
    """Do every task and give the results in their order.

    A task is a pure function of what it holds, its seed included: where it runs, how often it was begun and which worker
    died meanwhile change no number.

    Parameters
    ----------
    function
        Of one task; importable by name, so that other processes find it.
    tasks
        What it is called with.
    scheduler
        Address of a `dask.distributed` scheduler; None is the local pool.
    processes
        Of the local pool; None gives each two cores. One process is this one.

    Raises
    ------
    InputError
        No scheduler answers at the address, or `dask.distributed` is not installed.
    """
    if scheduler is not None:
        return _on_cluster(function, tasks, scheduler)
    count = processes or max(1, (os.cpu_count() or 2) // 2)
    if count == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        return list(pool.map(function, tasks))


def _end_with_parent() -> None:
    """Let a worker end when the process that asked was killed: by itself it would wait for its next task for good."""

    def wait() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _on_cluster[Task, Result](function: Callable[[Task], Result], tasks: Sequence[Task], address: str) -> list[Result]:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            "--scheduler: found no dask.distributed; installing draftdepth[cluster] here and on the workers would do"
        ) from error
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            "--scheduler: found no Dask scheduler at that address; one such as tcp://127.0.0.1:8786 would do"
        ) from error
    with client:
        futures = [client.submit(function, task, pure=False, retries=RETRIES) for task in tasks]
        results: list[Result] = client.gather(futures)
        return results
