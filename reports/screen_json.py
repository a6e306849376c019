"""`screen.json`: every figure of the screen unrounded and labelled, with the account of its inputs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import xarray as xr

from ..data.inputs import Inputs, input_warnings
from ..data.study import Study
from ..data.study_cost import Range
from ..data.words import CELL, DEPTH, END, HIGH, LOW, POSITION, Label
from .numbers import plain

SCHEMA = 1


def unsupported_reason(study: Study) -> str:
    """Why depths beyond the trained block have no number."""
    return f"the trained block ends at depth {study.max_depth}; nothing is known of deeper drafts"


def _figure(value: Any, label: Label, unit: str) -> dict[str, Any]:
    return {"value": plain(value), "label": label.value, "unit": unit}


def _ends(values: xr.DataArray) -> list[Any]:
    return [plain(values.sel({END: end}).values) for end in (LOW, HIGH)]


def _range(entry: Range) -> dict[str, Any]:
    return {**asdict(entry), "label": Label.ASSUMED.value}


def _depth(at: xr.Dataset, depth: int, cap: int) -> dict[str, Any]:
    row = at.sel({DEPTH: depth})
    estimated = Label.ESTIMATED
    figures = {
        "depth": depth,
        "beyond_cap": depth > cap,
        "tokens_per_round": _figure(row["tokens"].values, estimated, "tokens"),
        "tokens_per_round_bound": _figure(_ends(row["tokens_bound"]), estimated, "tokens"),
        "round": _figure(row["round_ms"].values, estimated, "ms"),
        "rate": _figure(row["rate"].values, estimated, "tok/s"),
        "rate_envelope": _figure([row["rate_low"].values, row["rate_high"].values], estimated, "tok/s"),
        "rate_bound": _figure(_ends(row["rate_bound"]), estimated, "tok/s"),
        "gain": _figure(row["gain"].values, estimated, "share"),
        "gain_envelope": _figure([row["gain_low"].values, row["gain_high"].values], estimated, "share"),
    }
    return figures


def _position(at: xr.Dataset, position: int) -> dict[str, Any]:
    row = at.sel({POSITION: position})
    exposed = position <= int(at["cap"])
    return {
        "position": position,
        "exposed_by_policy": exposed,
        "survival": _figure(row["survival"].values, Label.MEASURED, "share"),
        "fixed_depth_survival_bound": _figure(_ends(row["survival_bound"]), Label.ESTIMATED, "share"),
    }


def _cell(screened: xr.Dataset, cell: str) -> dict[str, Any]:
    at = screened.sel({CELL: cell})
    favoured = int(at["favoured_depth"])
    return {
        "cell": cell,
        **{name: str(at[name].values) for name in ("suite", "worker", "role", "level", "step_kind")},
        "batch": int(at["batch"]),
        "context_tokens": plain(at["context_tokens"].values),
        "policy": {"kind": str(at["policy"].values), "cap": int(at["cap"])},
        "hypothetical": bool(at["hypothetical"]),
        "runs": int(at["runs"]),
        "rounds": int(at["rounds"]),
        "step": _figure(at["step_ms"].values, Label.MEASURED, "ms"),
        "step_extremes": _figure([at["step_low_ms"].values, at["step_high_ms"].values], Label.MEASURED, "ms"),
        "reference_exposed": _figure(at["reference_ms"].values, Label.ESTIMATED, "ms"),
        "positions": [_position(at, int(position)) for position in at[POSITION].values],
        "depths": [_depth(at, int(depth), int(at["cap"])) for depth in at[DEPTH].values],
        "favoured_depth": {"value": favoured or None, "label": Label.ESTIMATED.value, "unit": "depth"},
        "no_rate_reason": None if favoured else "no run of this cell has a step time",
    }


def _arm(arms: xr.Dataset, place: int) -> dict[str, Any]:
    at = arms.isel({"arm": place})
    return {
        "cell": str(at[CELL].values),
        "policy": {"kind": str(at["policy"].values), "depth": int(at["policy_depth"])},
        "screened": bool(at["screened"]),
        "runs": int(at["runs"]),
        "rounds": int(at["rounds"]),
        "tokens_per_round": _figure(at["tokens"].values, Label.MEASURED, "tokens"),
        "step": _figure(at["step_ms"].values, Label.MEASURED, "ms"),
        "rate": _figure(at["rate"].values, Label.ESTIMATED, "tok/s"),
        "screen_tokens_per_round": _figure(at["screen_tokens"].values, Label.ESTIMATED, "tokens"),
        "screen_rate": _figure(at["screen_rate"].values, Label.ESTIMATED, "tok/s"),
    }


def screen_document(study: Study, inputs: Inputs, screened: xr.Dataset, arms: xr.Dataset) -> Mapping[str, Any]:
    """Everything that `screen.json` says, as plain values; no field that the record schema does not name is in it."""
    cost = study.cost
    return {
        "schema": SCHEMA,
        "study": {
            "name": study.name,
            "title": study.title,
            "synthetic": study.synthetic,
            "sha256": study.sha256,
            "max_depth": study.max_depth,
        },
        "files": [asdict(account) for account in inputs.files],
        "warnings": input_warnings(study, inputs),
        "assumptions": {
            "config": _figure(list(cost.config_ms), cost.config_label, "ms") | {"reason": cost.config_reason},
            "remote": _figure({str(batch): time for batch, time in cost.remote_ms.items()}, cost.remote_label, "ms")
            | {"reason": cost.remote_reason},
            "reference_overlap": _figure(cost.reference_overlap, Label.ASSUMED, "share"),
            "reference_overhead": _figure(cost.reference_overhead_ms, Label.ASSUMED, "ms"),
            "overlap": _range(study.overlap),
            "overhead_ms": _range(study.overhead_ms),
            "row_slope": _range(study.row_slope),
        },
        "cells": [_cell(screened, str(cell)) for cell in screened[CELL].values],
        "absent": [asdict(row) for row in inputs.absent],
        "arms": [_arm(arms, place) for place in range(arms.sizes["arm"])],
        "unsupported": [
            {"depth": depth, "label": Label.UNSUPPORTED.value, "reason": unsupported_reason(study)}
            for depth in study.unsupported_depths
        ],
    }
