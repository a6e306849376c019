"""The learned verify cost, handed on only behind held-out gates that pass."""

import json
from pathlib import Path
from typing import Any

import xarray as xr

from ..analysis.result import PROVENANCE
from ..analysis.verify_table import verify_rows
from ..data.errors import InputError
from ..data.words import Label
from .numbers import as_json
from .stored_shape import SCREEN, document
from .visible import visible, visible_json

LARGEST_BYTES = 50_000_000
WOULD_DO = "the validation.json that `draftdepth validate` wrote for the same study and records would do"


def _validation(path: Path | None) -> dict[str, Any]:
    if path is None:
        raise InputError(f"verify-table: found no --validation; {WOULD_DO}")
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            raise InputError(f"{path}: found no validation; {WOULD_DO}")
        told = json.loads(path.read_text(encoding="utf-8"))
        parts = [
            (str(part["name"]), [str(line) for line in part["failed"]], len(part["arms"])) for part in told["parts"]
        ]
        return {"study_sha256": str(told["study_sha256"]), "inputs": dict(told["inputs"]), "parts": parts}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: found no validation; {WOULD_DO}") from error


def verify_table(tree: xr.DataTree, validation: Path | None) -> str:
    """Step cost by batch and depth as JSON.

    Raises
    ------
    InputError
        No validation of the same study and records, a gate of it that is open, or no cell with two timed fixed depths.
    """
    told = _validation(validation)
    provenance = document(tree.attrs, PROVENANCE)
    if (told["study_sha256"], told["inputs"]) != (provenance["study_sha256"], provenance["inputs"]):
        raise InputError(f"{validation}: found a validation of another study or of other records; {WOULD_DO}")
    open_gates = [f"{name}: {visible(line)}" for name, failed, _ in told["parts"] for line in failed]
    if open_gates or not any(arms for _, _, arms in told["parts"]):
        raise InputError(
            f"verify-table: found an open gate ({'; '.join(open_gates) or 'no arm was predicted'}); a model whose held-out "
            "gates pass would do"
        )
    screen = document(tree.attrs, SCREEN)
    batches = {str(cell["cell"]): int(cell["batch"]) for cell in screen["cells"]}
    config_ms = [float(value) for value in screen["assumptions"]["config"]["value"]]
    rows = [
        row | {"worker": str(group)}
        for group, node in tree["posterior"].children.items()
        for row in verify_rows(node.to_dataset(), screen["arms"], batches, config_ms)
    ]
    if not rows:
        raise InputError("verify-table: found no cell with two timed fixed depths; such arms would do")
    by_batch: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        by_batch.setdefault(str(row["batch"]), {}).setdefault(str(row["depth"]), []).append(row["ms"]["p50"])
    profile = {batch: {depth: sum(ms) / len(ms) for depth, ms in depths.items()} for batch, depths in by_batch.items()}
    return visible_json(
        as_json(
            {
                "schema": 1,
                "unit": "ms a step",
                "profile_label": str(Label.ESTIMATED),
                "profile_ms": profile,
                "rows": rows,
            }
        )
    )
