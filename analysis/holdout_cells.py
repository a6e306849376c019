"""Cells of which no count was kept: which they are, and two forecasts of their arms that need no model."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..data.words import CELL, FIXED
from ..models.evidence import Flags, Floats
from . import equations


def without_counts(runs: xr.Dataset, held: Flags) -> Flags:
    """Runs of cells all of whose runs with rounds are left out."""
    counted = ~held & (runs["request_rounds"].values > 0)
    return np.asarray(~np.isin(runs[CELL].values, runs[CELL].values[counted]))


@dataclass(frozen=True, slots=True)
class Place:
    """Where an arm stands among a study's cells."""

    suite: str
    worker: str
    batch: float

    @classmethod
    def of(cls, runs: xr.Dataset) -> dict[str, "Place"]:
        """Of each cell by name."""
        each = (runs[name].values for name in (CELL, "suite", "worker", "batch"))
        return {
            str(cell): cls(str(suite), str(worker), float(batch))
            for cell, suite, worker, batch in zip(*each, strict=True)
        }


def _fixed_at(arms: xr.Dataset, depth: int) -> list[int]:
    return np.flatnonzero((arms["policy"].values == FIXED) & (arms["policy_depth"].values == depth)).tolist()


def _forecast(tokens_of_one: float, batch: float, step_ms: float) -> dict[str, float]:
    """Of one request's tokens a round and a step."""
    tokens = batch * tokens_of_one
    return {"tokens": tokens, "step_ms": step_ms, "rate": float(equations.rate(tokens, step_ms))}


def nearest_batch(arms: xr.Dataset, places: dict[str, Place], cell: str, depth: int) -> dict[str, float] | None:
    """The arm of the same suite and depth whose batch is nearest by ratio (of two, the smaller), its step as it is.

    Parameters
    ----------
    arms
        `measured_arms` of the runs that were kept with their counts.
    places
        Of each cell.
    cell, depth
        The arm to be forecast.
    """
    here = places[cell]
    found = [
        (abs(np.log(there.batch / here.batch)), there.batch, place)
        for place in _fixed_at(arms, depth)
        if (there := places[str(arms[CELL].values[place])]).suite == here.suite and there.worker == here.worker
    ]
    if not found:
        return None
    _, batch, place = min(found)
    return _forecast(float(arms["tokens"].values[place]) / batch, here.batch, float(arms["step_ms"].values[place]))


def _line(batch: Floats, step_ms: Floats, at: float) -> float:
    """A line of log step over log batch, at one batch; without two batches their geometric mean."""
    known = np.isfinite(step_ms)
    if not known.any():
        return float("nan")
    x, y = np.log(batch[known]), np.log(step_ms[known])
    apart = x - x.mean()
    slope = float(apart @ y / (apart @ apart)) if np.ptp(x) > 0.0 else 0.0
    return float(np.exp(y.mean() + slope * (np.log(at) - x.mean())))


def pooled(arms: xr.Dataset, places: dict[str, Place], cell: str, depth: int) -> dict[str, float] | None:
    """All arms of the same worker and depth: the mean of one request's tokens, and a line of log step over log batch."""
    here = places[cell]
    found = [place for place in _fixed_at(arms, depth) if places[str(arms[CELL].values[place])].worker == here.worker]
    if not found:
        return None
    batch = np.array([places[str(arms[CELL].values[place])].batch for place in found])
    tokens = float((arms["tokens"].values[found] / batch).mean())
    return _forecast(tokens, here.batch, _line(batch, arms["step_ms"].values[found], here.batch))


def with_own_step(forecast: dict[str, float] | None, own: dict[str, float] | None) -> dict[str, float] | None:
    """A forecast with the step that was kept of the cell itself, as it is, where one was."""
    if forecast is None or own is None or not np.isfinite(own["step_ms"]):
        return forecast
    return forecast | {"step_ms": own["step_ms"], "rate": float(equations.rate(forecast["tokens"], own["step_ms"]))}


def times_kept(kept: xr.Dataset, cell: str) -> list[int]:
    """Fixed depths of a cell of which the fit holds step times alone."""
    here = kept["times_only"].values & (kept[CELL].values == cell) & (kept["policy"].values == FIXED)
    return sorted(set(kept["policy_depth"].values[here].tolist()))
