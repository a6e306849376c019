"""Measured arms: the rate of every policy that a cell was run with, beside what the screen says of its depth."""

import numpy as np
import xarray as xr

from ..data.words import CELL, DEPTH, FIXED, RUN
from . import equations
from .grouping import grouped, grouped_median
from .screen import pooled_survival, run_medians

ARM = "arm"


def measured_arms(runs: xr.Dataset, screened: xr.Dataset) -> xr.Dataset:
    """What each arm (cell and policy) accepted and how long its steps took.

    Parameters
    ----------
    runs
        All runs of the study.
    screened
        The screen of the same study.

    Returns
    -------
    xarray.Dataset
        Dim `arm`: `tokens` a round, `step_ms` (median over runs of request medians), `rate` = 1000 tokens / step_ms in
        tok/s (ESTIMATED: a typical time stands for a mean), and `screen_tokens`, `screen_rate`, what the screen of the
        cell says of that depth (NaN for dynamic arms and cells that are not screened).
    """
    kept = runs.isel({RUN: (runs["request_rounds"].values > 0).nonzero()[0]})
    keys = list(zip(kept[CELL].values, kept["policy"].values, kept["policy_depth"].values, strict=True))
    arms = sorted(set(keys))
    place = {arm: number for number, arm in enumerate(arms)}
    group = np.array([place[key] for key in keys], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    size = len(arms)
    batch = kept["batch"].values[first] if size else np.array([], dtype=int)
    tokens = equations.tokens_per_round(batch, pooled_survival(kept, group, size).sum(axis=1))
    step = grouped_median(run_medians(kept["step_ms"]), group, size)
    said = [_said(screened, str(cell), kind, int(depth)) for cell, kind, depth in arms]
    return xr.Dataset(
        {
            "tokens": (ARM, tokens),
            "step_ms": (ARM, step),
            "rate": (ARM, equations.rate(tokens, step)),
            "screen_tokens": (ARM, np.array([row[0] for row in said], dtype=float)),
            "screen_rate": (ARM, np.array([row[1] for row in said], dtype=float)),
            "runs": (ARM, np.bincount(group, minlength=size)),
            "rounds": (ARM, grouped(np.add, kept["request_rounds"].values, group, size, 0).astype(int)),
        },
        coords={
            CELL: (ARM, np.array([arm[0] for arm in arms], dtype=str)),
            "policy": (ARM, np.array([arm[1] for arm in arms], dtype=str)),
            "policy_depth": (ARM, np.array([arm[2] for arm in arms], dtype=int)),
            "screened": (ARM, kept["screened"].values[first] if size else np.array([], dtype=bool)),
        },
    )


def _said(screened: xr.Dataset, cell: str, kind: str, depth: int) -> tuple[float, float]:
    if kind != FIXED or cell not in screened[CELL].values:
        return float("nan"), float("nan")
    at = screened.sel({CELL: cell, DEPTH: depth})
    return float(at["tokens"]), float(at["rate"])
