"""Validating a plan: measured arms against the intervals that it predicted, once its fingerprint has been checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy.stats import binom

from ..analysis.arms import ARM, measured_arms
from ..analysis.screen import screen
from ..data.errors import DraftdepthError, InputError, MissingInputError
from ..data.inputs import usable_inputs
from ..data.study import load_study
from ..data.words import CELL, Label
from .numbers import as_json, one_decimal, span
from .plan_json import DECISIVE, SCHEMA, fingerprint
from .visible import visible

type Document = Mapping[str, Any]

QUANTITIES = ("tokens", "step_ms", "rate")
COVERAGE, CHANCE = 0.9, 0.01
"""The intervals' own mass; and the chance below which so many misses are called too many."""


def read_plan_document(path: Path) -> dict[str, Any]:
    """Read a `plan.json` and refuse one that was altered.

    Raises
    ------
    DraftdepthError
        The file is not there, is no plan, or its fingerprint does not match its fields.
    """
    if not path.is_file():
        raise MissingInputError(f"{path}: found nothing; a plan.json that `draftdepth plan` wrote would do")
    wanted = f"{path}: found no plan; a plan.json that `draftdepth plan` wrote would do"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(wanted) from error
    known = {*DECISIVE, "fingerprint", "comparisons"}
    if not isinstance(document, dict) or not known <= set(document) or document["schema"] != SCHEMA:
        raise InputError(wanted)
    if fingerprint(document) != document["fingerprint"]:
        raise InputError(
            f"{path}: fingerprint: found fields that it does not match: the plan was altered after it was made; the "
            "plan.json as it was written would do"
        )
    return document


def _same_ground(document: Document, path: Path, name: str, hashes: Mapping[str, str]) -> None:
    """Refuse a plan of another study, or one whose records have changed since.

    Raises
    ------
    InputError
        Naming the first record file that differs.
    """
    if document["study"]["name"] != name:
        raise InputError(f"{path}: study: found a plan of another study; a plan of {name} would do")
    for file, sha256 in sorted(document["inputs"].items()):
        if hashes.get(file) != sha256:
            state = "other content than" if file in hashes else "nothing where there was a file"
            raise InputError(
                f"{path}: inputs: found {state} when the plan was made; measured arms in files of their own would do"
            )


def _row(predicted: Document, measured: Mapping[tuple[str, str, int], Mapping[str, float]]) -> dict[str, Any]:
    found = measured.get((predicted["recorded_as"], predicted["kind"], predicted["depth"]))
    row: dict[str, Any] = {key: predicted[key] for key in ("arm", "recorded_as", "kind", "depth")}
    row |= {"measured": found is not None, "planned_runs": predicted["runs"], "planned_rounds": predicted["rounds"]}
    if found is None:
        return row
    row |= {"runs": found["runs"], "rounds": found["rounds"] / max(found["runs"], 1.0)}
    for name in QUANTITIES:
        value, interval = found[name], predicted[name]
        row[name] = {
            "value": value,
            "label": str(Label.ESTIMATED if name == "rate" else Label.MEASURED),
            "predicted": interval,
            "predicted_label": predicted["label"],
            "inside": bool(interval["p05"] <= value <= interval["p95"]),
        }
    return row


def validate_plan(named: str, roots: Mapping[str, Path], path: Path, json_wanted: bool) -> tuple[str, bool]:
    """Hold measured arms against a plan: `_validated`, where a plan whose fields are of other kinds is bad input."""
    try:
        return _validated(named, roots, path, json_wanted)
    except DraftdepthError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:  # a fingerprint fits any fields
        raise InputError(f"{path}: found no plan; a plan.json that `draftdepth plan` wrote would do") from error


def _validated(named: str, roots: Mapping[str, Path], path: Path, json_wanted: bool) -> tuple[str, bool]:
    """Hold measured arms against a plan.

    Parameters
    ----------
    named
        The study with the measured arms among its inputs.
    roots
        Folders in place of its roots.
    path
        The `plan.json`.
    json_wanted
        Whether the text is JSON.

    Returns
    -------
    tuple
        The text, and whether no more rates lie outside than 90 % intervals allow (their chance at least 1 %; arms that
        share a start or a world move together, so that this is a rough guard).

    Raises
    ------
    DraftdepthError
        A plan that was altered, is another study's, or stands on other records; or no arm of it was measured.
    """
    document = read_plan_document(path)
    study = load_study(named)
    inputs = usable_inputs(study, roots)
    _same_ground(document, path, study.name, inputs.hashes)
    arms = measured_arms(inputs.runs, screen(study, inputs.runs))
    measured = {}
    for place in range(arms.sizes[ARM]):
        at = arms.isel({ARM: place})
        key = (str(at[CELL].values), str(at["policy"].values), int(at["policy_depth"]))
        measured[key] = {name: float(at[name]) for name in (*QUANTITIES, "runs", "rounds")}
    rows = [_row(predicted, measured) for predicted in document["predicted"]]
    done = [row for row in rows if row["measured"]]
    if not done:
        raise InputError(
            f"{study.name}: found no run of an arm that the plan names; runs recorded as it says (record as) would do"
        )
    outside = sum(not row["rate"]["inside"] for row in done)
    good = bool(binom.sf(outside - 1, len(done), 1.0 - COVERAGE) >= CHANCE)
    result = {
        "study": study.name, "fingerprint": document["fingerprint"], "arms": rows, "rates_outside": outside,
        "rates_measured": len(done), "passes": good,
    }  # fmt: skip
    return (as_json(result) if json_wanted else _words(result)), good


def _words(result: Document) -> str:
    lines = [
        f"{result['study']}: plan {result['fingerprint'][:12]}, predicted 90 % intervals against what was measured"
    ]
    for row in result["arms"]:
        if not row["measured"]:
            lines.append(f"  {row['arm']}: not measured yet")
            continue
        found = []
        for name, unit in zip(QUANTITIES, ("tokens a round of the whole batch", "ms", "tok/s"), strict=True):
            entry = row[name]
            inside = "inside" if entry["inside"] else "OUTSIDE"
            interval = span(entry["predicted"]["p05"], entry["predicted"]["p95"])
            found.append(f"{one_decimal(entry['value'])} {unit} [{entry['label']}] {inside} {interval}")
        short = row["runs"] < row["planned_runs"]
        note = (
            f" (only {row['runs']:.0f} of {row['planned_runs']} runs: its spread is wider than planned)"
            if short
            else ""
        )
        lines.append(f"  {row['arm']}: {'; '.join(found)}{note}")
    verdict = "within what the intervals allow" if result["passes"] else "more than the intervals allow"
    lines.append(f"rates outside: {result['rates_outside']} of {result['rates_measured']}, {verdict}")
    return "".join(visible(line) + "\n" for line in lines)
