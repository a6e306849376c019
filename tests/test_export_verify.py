"""The verify cost stands behind the gates: figures by hand, and everything that must keep it back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from draftdepth.analysis.verify_table import verify_rows
from draftdepth.reports.command import main

from .page.made_up import shared_tree
from .stored_examples import write_netcdf

CONFIG = [10.0, 11.0, 13.0, 14.0]


def arm(depth: int, step: float | None, kind: str = "fixed", cell: str = "S/c") -> dict[str, Any]:
    return {"cell": cell, "policy": {"kind": kind, "depth": depth}, "step": {"value": step}}


def draws() -> xr.Dataset:
    each = ("chain", "draw", "cell")
    base = np.array([[50.0, 52.0, 54.0]])[..., None]
    return xr.Dataset(
        {"step_base_ms": (each, base), "row_slope": (each, np.full((1, 3, 1), 0.5)), "origin_ms": ("cell", [12.0])},
        {"cell": ["S/c"]},
    )


def test_rows_lie_between_the_timed_arms_and_say_what_they_are() -> None:
    arms = [arm(1, 49.0), arm(3, 60.0), arm(2, None), arm(3, 70.0, kind="dynamic")]
    rows = list(verify_rows(draws(), arms, {"S/c": 4}, CONFIG))
    assert [(row["depth"], row["label"], row["measured_ms"]) for row in rows] == [
        (1, "MEASURED", 49.0), (2, "ESTIMATED", None), (3, "MEASURED", 60.0),
    ]  # fmt: skip
    assert [row["ms"]["p50"] for row in rows] == pytest.approx([52.0 + 2.0 * (h - 12.0) for h in CONFIG[1:]])
    assert list(verify_rows(draws(), arms[:1], {"S/c": 4}, CONFIG)) == []


def _stored(folder: Path) -> tuple[Path, dict[str, Any]]:
    tree = shared_tree().copy(deep=True)
    screen = json.loads(tree.attrs["screen"])
    cell = next(row["cell"] for row in screen["arms"] if row["policy"]["kind"] == "fixed")
    screen["arms"] += [arm(1, 60.0, cell=cell)]
    tree.attrs["screen"] = json.dumps(screen)
    tree["posterior/w"] = xr.DataTree(draws().assign_coords(cell=np.array([cell], dtype=object)))
    provenance = json.loads(tree.attrs["provenance"]) | {"inputs": {"runs/all.jsonl": "ab"}}
    tree.attrs["provenance"] = json.dumps(provenance)
    good = {
        "study_sha256": provenance["study_sha256"], "inputs": provenance["inputs"],
        "parts": [{"name": "all", "failed": [], "arms": [{}]}],
    }  # fmt: skip
    return write_netcdf(tree, folder / "posterior.nc"), good


def test_only_gates_that_pass_open_it(tmp_path: Path) -> None:
    path, good = _stored(tmp_path)
    told = tmp_path / "validation.json"

    def run(validation: dict[str, Any] | None) -> Any:
        words = ["export", "verify-table", str(path)]
        if validation is not None:
            told.write_text(json.dumps(validation), encoding="utf-8")
            words += ["--validation", str(told)]
        return CliRunner().invoke(main, words)

    done = run(good)
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert {row["label"] for row in table["rows"]} == {"MEASURED", "ESTIMATED"}
    assert [row["depth"] for row in table["rows"]] == [1, 2, 3]
    failed = good | {"parts": [{"name": "all", "failed": ["step_ms: error 9 %"], "arms": [{}]}]}
    for validation, said in (
        (None, "no --validation"),
        (failed, "open gate (all: step_ms: error 9 %)"),
        (good | {"parts": []}, "open gate (no arm was predicted)"),
        (good | {"inputs": {"runs/all.jsonl": "0"}}, "another study or of other records"),
        ({"parts": 3}, "found no validation"),
    ):
        done = run(validation)
        assert done.exit_code == 2, done.output
        assert done.stdout == ""
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
