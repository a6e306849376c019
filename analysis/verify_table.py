"""What a step costs by batch and verified depth, from fixed-depth arms alone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..data.words import CELL, DEPTH, FIXED, Label
from ..models.step_arms import arm_ms, rows_ms

QUANTILES = {"p05": 0.05, "p50": 0.5, "p95": 0.95}


def _timed_depths(arms: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, float]]:
    """Measured step of each timed fixed arm, ms, by cell and depth."""
    out: dict[str, dict[int, float]] = defaultdict(dict)
    for arm in arms:
        if arm["policy"]["kind"] == FIXED and arm["step"]["value"] is not None:
            out[arm[CELL]][int(arm["policy"]["depth"])] = float(arm["step"]["value"])
    return out


def verify_rows(
    posterior: xr.Dataset, arms: Sequence[Mapping[str, Any]], batches: Mapping[str, int], config_ms: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Rows of cells in which at least two fixed depths were timed, between the shallowest and the deepest of them.

    Parameters
    ----------
    posterior
        Draws of one worker group: `step_base_ms`, `origin_ms` and `row_slope` by cell, as `models.derive.derived` says.
    arms
        `arms` of the screen's document.
    batches
        Of each cell.
    config_ms
        The cost table H[0..K], ms.

    Yields
    ------
    dict
        `cell`, `batch`, `depth`, `ms` (`p05`, `p50`, `p95` of the posterior, ESTIMATED), `label` (MEASURED where that arm was timed,
        ESTIMATED between such arms) and `measured_ms`.
    """
    timed = _timed_depths(arms)
    for name in posterior[CELL].values:
        depths, at = timed.get(str(name), {}), posterior.sel({CELL: name})
        if len(depths) < 2:
            continue
        base, slope, batch = at["step_base_ms"].values, at["row_slope"].values, batches[str(name)]
        for depth in range(min(depths), max(depths) + 1):
            rows = rows_ms(slope, 0.0, batch, config_ms[depth], float(at["origin_ms"]))
            drawn = arm_ms(base, rows, np)
            yield {
                CELL: str(name), "batch": batch, DEPTH: depth,
                "ms": {"label": str(Label.ESTIMATED), **{key: float(np.quantile(drawn, share)) for key, share in QUANTILES.items()}},
                "label": str(Label.MEASURED if depth in depths else Label.ESTIMATED), "measured_ms": depths.get(depth),
            }  # fmt: skip
