"""What a stored result hands on: acceptance rates to replay, tables, and priors for the next study."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.rates import FIXED_DEPTH, PROXY
from ..data.errors import InputError
from ..data.words import CELL, CHAIN, DEPTH, DRAW
from .export_verify import verify_table
from .numbers import as_json
from .page_opened import stored
from .stored_shape import NoResultError
from .visible import spreadsheet_text, visible_json

ROUNDING = 1e-9  # of a survival that is a product of chances
HALF_NORMAL = {
    "s_suite": "suite_scale",
    "s_suite_position": "suite_position_scale",
    "s_cell": "cell_scale",
    "s_cell_position": "cell_position_scale",
    "s_run": "run_scale",
    "s_transport": "transport_scale",
    "s_start": "start_time_scale",
    "overdispersion": "overdispersion_scale",
}
"""Posterior scales and the priors that they become."""


def _posteriors(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    return {name: node.to_dataset() for name, node in tree["posterior"].children.items()}


def _sound(name: str, draws: np.ndarray, most: float = np.inf) -> np.ndarray:
    """Draws that may be handed on: finite, not negative, at most `most`."""
    if not (draws.size and np.isfinite(draws).all() and draws.min() >= 0.0 and draws.max() <= most + ROUNDING):
        raise NoResultError(f"draws of {name} that are not finite, or not between 0 and {most:g}")
    return draws


def vllm_synthetic(tree: xr.DataTree) -> str:
    """Fixed-depth survival as unconditional acceptance rates, never increasing: mean, 5 % and 95 % by position.

    A server that accepts drafts at these rates by lot replays the acceptance of a depth that was never run, so that its
    cost side can be measured. Depth by depth, since transport moves them; labels stand beside.
    """
    cells = []
    for posterior in _posteriors(tree).values():
        deepest = int(posterior[DEPTH].values[-1])
        for cell in posterior[CELL].values:
            at = posterior["fixed_survival"].sel({CELL: cell})
            depths = []
            for depth in range(1, deepest + 1):
                draws = at.sel({DEPTH: depth}).isel(position=slice(0, depth))
                _sound("fixed_survival", draws.values, 1.0)
                curves = {
                    "mean": draws.mean((CHAIN, DRAW)).values,
                    "p05": draws.quantile(0.05, (CHAIN, DRAW)).values,
                    "p95": draws.quantile(0.95, (CHAIN, DRAW)).values,
                }
                label = str(tree["comparison"]["label"].sel({CELL: cell, DEPTH: depth}).values)
                rates = {name: np.minimum.accumulate(curve) for name, curve in curves.items()}
                depths.append(
                    {"num_speculative_tokens": depth, "label": label, "unconditional_acceptance_rates": rates}
                )
            cells.append({"cell": str(cell), "depths": depths})
    return visible_json(as_json({"schema": 1, "cells": cells}))


def _rows(tree: xr.DataTree) -> list[dict[str, Any]]:
    """The comparison, one row a cell, depth, estimand and scenario; shares and tok/s, unrounded."""
    document = json.loads(tree.attrs["comparison"])
    rows = []
    for cell in document["cells"]:
        for depth in cell["depths"]:
            for estimand in (PROXY, FIXED_DEPTH):
                for scenario, found in depth[estimand]["scenarios"].items():
                    row = {
                        "cell": cell["cell"], "worker": cell["worker"], "batch": cell["batch"], "evidence": cell["level"],
                        "depth": depth["depth"], "label": depth["label"], "estimand": estimand, "scenario": scenario,
                        "screen_rate": depth["screen_rate"], "envelope_low": depth["screen_envelope"][0],
                        "envelope_high": depth["screen_envelope"][1], "bound_low": depth["worst_case_bound"][0],
                        "bound_high": depth["worst_case_bound"][1], "inside_envelope": found["inside_envelope"],
                    }  # fmt: skip
                    for name in ("rate", "gain_cap", "gain_current"):
                        row |= {f"{name}_{key}": value for key, value in found[name].items()}
                    rows.append(row)
    return rows


def csv_text(tree: xr.DataTree) -> str:
    """The comparison as CSV; names that a spreadsheet would run or hide are made harmless."""
    rows = _rows(tree)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(spreadsheet_text, rows[0]))
    for row in rows:
        if list(row) != list(rows[0]):
            raise NoResultError("cells of the comparison document with other keys than the first has")
        writer.writerow(map(spreadsheet_text, row.values()))
    return out.getvalue()


def parquet_writer(tree: xr.DataTree) -> Callable[[Path], object]:
    """What writes the comparison as parquet at a path."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError("parquet: found no pyarrow; `pip install draftdepth[parquet]` would do") from error
    table = pyarrow.Table.from_pylist(_rows(tree))
    return lambda path: parquet.write_table(table, path)


def priors_text(tree: xr.DataTree) -> str:
    """A `[priors]` table for the next study of the same kind of server.

    A half-normal takes the root mean square of the posterior draws; the hazard's centre takes mean and deviation. With
    several workers their draws are put side by side: the next study is on none of them. Every value is ASSUMED there.
    """
    posteriors = list(_posteriors(tree).values())
    lines = ["# from a stored posterior; in the next study these are ASSUMED", "[priors]"]
    for name, prior in HALF_NORMAL.items():
        draws = [_sound(name, posterior[name].values.ravel()) for posterior in posteriors if name in posterior]
        if draws:
            found = np.sqrt(np.mean(np.concatenate(draws) ** 2))
            lines.append(f"{prior} = {float(_sound(name, found)):.6g}")
    return "\n".join(lines) + "\n"


TEXTS: dict[str, Callable[[xr.DataTree], str]] = {
    "vllm-synthetic": vllm_synthetic,
    "csv": csv_text,
    "priors": priors_text,
}
KINDS = (*TEXTS, "parquet", "verify-table")


def export(kind: str, path: Path, validation: Path | None = None) -> str | Callable[[Path], object]:
    """Turn a stored result into what another program takes.

    Parameters
    ----------
    kind
        One of `KINDS`.
    path
        A posterior.nc or posterior.zarr.zip.
    validation
        The validation.json behind whose gates `verify-table` stands.

    Raises
    ------
    InputError
        The file holds no result of this program, parquet is asked for without pyarrow, or a gate is open.
    """
    with stored(path, whole=True) as tree:
        if kind == "verify-table":
            return verify_table(tree, validation)
        return parquet_writer(tree) if kind == "parquet" else TEXTS[kind](tree)
