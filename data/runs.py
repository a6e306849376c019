"""Runs as one labelled dataset, the form in which every floor above takes them."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from . import words
from .run_record import Run
from .words import ACCEPTED_LENGTH, CELL, POSITION, REQUEST, RUN, VERIFIED_DEPTH


def cell_id(suite: str, cell: str) -> str:
    """How a cell is called where several suites stand together."""
    return f"{suite}/{cell}"


def _padded(rows: Sequence[Sequence[float] | None], width: int, fill: float) -> np.ndarray:
    """Rows side by side; a row that is None, and what a short row lacks, is `fill`."""
    out = np.full((len(rows), width), fill)
    for place, row in enumerate(rows):
        if row is not None:
            out[place, : len(row)] = row
    return out


def _tables(runs: Sequence[Run], max_depth: int) -> np.ndarray:
    out = np.full((len(runs), max_depth + 1, max_depth + 1), np.nan)
    for place, run in enumerate(runs):
        if run.accepted_by_verified is not None:
            out[place] = 0.0
            side = len(run.accepted_by_verified)
            out[place, :side, :side] = run.accepted_by_verified
    return out


def _start(run: Run) -> str:
    """The server start of a run; without one, runs of one suite, cell and policy share a start."""
    return run.start or f"{run.suite}/{run.cell}/{run.policy.kind}{run.policy.depth}"


def _seen(run: Run) -> list[float] | None:
    """Rounds verified to each position: as recorded, or as a joint table implies."""
    if run.verified is not None:
        return list(run.verified)
    if run.accepted_by_verified is not None:
        sums = np.array([sum(row) for row in run.accepted_by_verified], dtype=float)
        return list(np.cumsum(sums[::-1])[::-1][1:])
    return None


def _total(run: Run) -> float:
    """Verified draft tokens: as recorded, or the sum of the positions; NaN where neither is there."""
    if run.verified_tokens is not None:
        return float(run.verified_tokens)
    seen = _seen(run)
    return float("nan") if seen is None else float(sum(seen))


def runs_dataset(runs: Sequence[Run], max_depth: int, roles: Sequence[str] | None = None) -> xr.Dataset:
    """Lay runs out as one dataset.

    Parameters
    ----------
    runs
        Checked run records.
    max_depth
        The deepest position of the trained block, K.
    roles
        Role of each run's suite; `primary` for all where none is given.

    Returns
    -------
    xarray.Dataset
        Dims `run`, `position` (1..K), `request`, `verified_depth` and `accepted_length` (0..K). Counts are in
        rounds, times in ms; NaN stands for what was not recorded.
    """
    width = max((len(run.requests) for run in runs), default=0)

    def each(values: Sequence[object], dtype: type) -> tuple[str, np.ndarray]:
        return RUN, np.array(values, dtype=dtype)

    counts = {"units": "rounds", "label": words.Label.MEASURED.value}
    times = {"units": "ms", "label": words.Label.MEASURED.value}
    seen = [None if (row := _seen(run)) is None else row + [0.0] * (max_depth - len(row)) for run in runs]
    return xr.Dataset(
        {
            "request_rounds": (RUN, np.array([run.request_rounds for run in runs], dtype=np.int64), counts),
            "accepted": (
                (RUN, POSITION),
                _padded([run.accepted for run in runs], max_depth, 0).astype(np.int64),
                counts | {"long_name": "rounds in which positions 1..i were all accepted"},
            ),
            "verified": ((RUN, POSITION), _padded(seen, max_depth, np.nan), counts),
            "verified_tokens": (
                RUN,
                np.array([_total(run) for run in runs], dtype=float),
                counts | {"units": "tokens"},
            ),
            "accepted_by_verified": ((RUN, VERIFIED_DEPTH, ACCEPTED_LENGTH), _tables(runs, max_depth), counts),
            "step_ms": (
                (RUN, REQUEST),
                _padded([[request.step_ms for request in run.requests] for run in runs], width, np.nan),
                times,
            ),
            "steps": (
                (RUN, REQUEST),
                _padded(
                    [[np.nan if q.steps is None else q.steps for q in run.requests] for run in runs], width, np.nan
                ),
            ),
        },
        coords={
            POSITION: np.arange(1, max_depth + 1),
            VERIFIED_DEPTH: np.arange(max_depth + 1),
            ACCEPTED_LENGTH: np.arange(max_depth + 1),
            "suite": each([run.suite for run in runs], str),
            CELL: each([cell_id(run.suite, run.cell) for run in runs], str),
            "run_id": each([run.run for run in runs], str),
            "worker": each([run.worker for run in runs], str),
            "batch": each([run.batch for run in runs], int),
            "context_tokens": each(
                [np.nan if run.context_tokens is None else run.context_tokens for run in runs], float
            ),
            "policy": each([run.policy.kind for run in runs], str),
            "policy_depth": each([run.policy.depth for run in runs], int),
            "role": each(roles or [words.PRIMARY] * len(runs), str),
            "start": each([_start(run) for run in runs], str),
            "level": each([run.level.value for run in runs], str),
            "step_kind": each([run.step_kind for run in runs], str),
        },
    )
