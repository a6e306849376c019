"""Run records and studies that tests make up."""

import json
from pathlib import Path
from typing import Any


def record(**changes: Any) -> dict[str, Any]:
    """A good record; a change to None removes nothing, `...` removes the field."""
    row: dict[str, Any] = {
        "schema": 1, "suite": "S", "cell": "c", "run": "r1", "worker": "w", "batch": 3, "context_tokens": 32000,
        "phase": "decode", "policy": {"kind": "dynamic", "cap": 4}, "request_rounds": 1480,
        "accepted_position": [1110, 814, 560, 330, 0],
        "requests": [{"step_p50_ms": 73.1, "steps": 494}, {"step_p50_ms": 72.8}, {"step_p50_ms": 73.3}],
    }  # fmt: skip
    row |= changes
    return {key: value for key, value in row.items() if value is not ...}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write records as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


STUDY = """
schema = 1
name = "made-up"
title = "a test"
synthetic = true
max_depth = 5
unsupported_depths = [6, 7]
seed = 1

[roots]
results = "runs"

[cost.config_ms]
values = {config}

[cost.remote_ms]
values = {remote}

[ranges]
overlap = {{ central = 0.75, low = 0.0, high = 1.0 }}
overhead_ms = {{ central = 0.3, low = 0.0, high = 0.6 }}
row_slope = {{ central = {slope}, low = {slope_low}, high = {slope_high} }}

[scheduler]
kind = "unknown"

"""

FAMILY = """
[[family]]
suite = "{suite}"
worker = "w"
role = "{role}"
screened_policy = {{ kind = "dynamic" }}
input = [{inputs}]
"""

CONFIG = [28.79, 31.86, 34.44, 37.76, 41.56, 43.68]
REMOTE = {1: 2.0275, 2: 2.5122, 3: 2.8961, 4: 3.7219}


def write_study(
    folder: Path,
    cells: dict[str, int],
    rows: list[dict[str, Any]],
    suite: str = "S",
    role: str = "primary",
    slope: tuple[float, float, float] = (0.5, 0.0, 1.0),
) -> Path:
    """A study of one suite, its cells (with their batches) all in `runs/all.jsonl`."""
    remote = "{ " + ", ".join(f'"{batch}" = {time}' for batch, time in REMOTE.items()) + " }"
    head = STUDY.format(config=CONFIG, remote=remote, slope=slope[0], slope_low=slope[1], slope_high=slope[2])
    inputs = ", ".join(f'{{ file = "all.jsonl", cell = "{cell}", batch = {batch} }}' for cell, batch in cells.items())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(head + FAMILY.format(suite=suite, role=role, inputs=inputs), encoding="utf-8")
    write_lines(folder / "runs" / "all.jsonl", rows)
    return folder
