"""The sentence above each figure holds the numbers of the document for the depth in question, and nothing of another depth."""

import json
from typing import Any

import pytest
from draftdepth.reports.page_figures import pictures
from draftdepth.reports.page_stored import Stored
from draftdepth.reports.page_view import page_view

from .page.made_up import shared_tree


def _view(changes: dict[str, Any]) -> tuple[list[dict[str, str]], list[Any]]:
    """Messages by kind of every cell, and the document that they are of."""
    tree = shared_tree().copy()
    document = json.loads(tree.attrs["comparison"])
    for cell in document["cells"]:
        cell.update(changes)
    tree.attrs["comparison"] = json.dumps(document)
    cells = page_view(Stored(tree))["cells"]
    return [{made.kind: "".join(map(str, made.message)) for made in pictures(cell)} for cell in cells], document[
        "cells"
    ]


def _rate(interval: dict[str, float]) -> str:
    return f"{interval['p50']:.1f} tok/s ({interval['p05']:.1f} to {interval['p95']:.1f})"


@pytest.mark.parametrize("advised", [0, 3])
def test_a_depth_that_does_not_run_is_told_beside_what_does(advised: int) -> None:
    made, told = _view({"recommended": advised})
    screen = json.loads(shared_tree().attrs["screen"])
    for said, cell in zip(made, told, strict=True):
        likeliest = max(cell["depths"][1:], key=lambda row: float(row["decision"]["p_best"]))
        row = cell["depths"][advised] if advised else likeliest
        who = f"Depth {row['depth']}, {'advised' if advised else 'the likeliest best'}: "
        under = row["fixed_depth"]["scenarios"]["assumption_priors"]
        rate = f"{who}{_rate(under['rate'])}. Current policy: {_rate(cell['current']['measured_time'])}."
        policy = {"kind": "fixed", "depth": row["depth"]}
        arms = [arm for arm in screen["arms"] if (arm["cell"], arm["policy"]) == (cell["cell"], policy)]
        measured = [f" Measured at that depth: {arm['rate']['value']:.1f} tok/s." for arm in arms]
        assert said["rate"] == rate + "".join(measured)
        gain, ruled = under["gain_current"], row["decision"]
        assert said["gain"] == (
            f"{who}faster with a chance of {100 * ruled['p_gain']:.0f} %, by {100 * gain['p50']:+.1f} % "
            f"({100 * gain['p05']:+.1f} % to {100 * gain['p95']:+.1f} %). Expected loss {ruled['expected_loss']:.2f} tok/s; of keeping "
            f"{cell['current']['expected_loss']:.2f} tok/s."
        )


def test_what_runs_now_is_told_alone() -> None:
    _, told = _view({})
    cell = told[0]
    likeliest = max(cell["depths"][1:], key=lambda row: float(row["decision"]["p_best"]))
    made, _ = _view({"recommended": 0, "policy": {"kind": "fixed", "cap": likeliest["depth"]}})
    who, ruled = f"Depth {likeliest['depth']}, which runs now: ", likeliest["decision"]
    rate = likeliest["fixed_depth"]["scenarios"]["assumption_priors"]["rate"]
    assert made[0]["rate"] == f"{who}{_rate(rate)}."
    assert made[0]["gain"] == (
        f"{who}the best with a chance of {100 * ruled['p_best']:.0f} %; expected loss of keeping it "
        f"{ruled['expected_loss']:.2f} tok/s."
    )


def test_survival_is_told_as_counted_and_as_if_all_were_verified() -> None:
    made, told = _view({"recommended": 3})
    held = shared_tree()
    for said, cell in zip(made, told, strict=True):
        counted = float(held["screen"]["survival"].sel(cell=cell["cell"], position=3))
        fixed = held["positions"]["fixed_survival"].sel(cell=cell["cell"], position=3)
        middle, low, high = (float(fixed.sel(quantile=q)) for q in (0.5, 0.05, 0.95))
        assert said["survival"] == (
            f"Positions 1 to 3 all accepted: in {counted:.3f} of rounds as counted, in {middle:.3f} ({low:.3f} to {high:.3f}) if all "
            "were verified."
        )
