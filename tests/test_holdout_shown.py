"""Whole cells left out: the forecasts beside a prediction, what counts as one, and what the page says was kept."""

from typing import Any, NoReturn

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from draftdepth.analysis import holdout
from draftdepth.analysis.holdout import hold_out
from draftdepth.analysis.holdout_cells import Place, nearest_batch, pooled, with_own_step
from draftdepth.analysis.holdout_scores import Gates, summary
from draftdepth.analysis.selection import chosen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import forward_draws
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings
from draftdepth.reports.command import main
from draftdepth.reports.validation_md import validation_page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch=each", "depth=1"], "asks for each value"),
        (["suite=each"], "mean no run"),
        (["worker=gx10x2 policy=each"], "mean no run"),
    ],
)
def test_words_in_turn_that_choose_badly(monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a fit began")

    monkeypatch.setattr(holdout, "fit", refuse)
    done = CliRunner().invoke(
        main, ["validate", "gx10", "--quiet", *(x for word in words for x in ("--hold-out", word))]
    )
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def arms_of(rows: list[tuple[str, int, float, float]]) -> xr.Dataset:
    cell, depth, tokens, step = zip(*rows, strict=True)
    return xr.Dataset(
        {"tokens": ("arm", list(tokens)), "step_ms": ("arm", list(step))},
        {"cell": ("arm", list(cell)), "policy": ("arm", ["fixed"] * len(rows)), "policy_depth": ("arm", list(depth))},
    )


def test_forecasts_without_a_model_by_hand() -> None:
    places = {f"{suite}/{batch}": Place(suite, "w", batch) for suite in "AB" for batch in (1, 2, 4, 8)}
    places["C/1"] = Place("A", "another", 8)
    arms = arms_of(
        [
            ("A/1", 3, 3.0, 50.0),
            ("A/4", 3, 10.0, 100.0),
            ("A/4", 2, 7.0, 90.0),
            ("B/4", 3, 14.0, 100.0),
            ("C/1", 3, 9.0, 9.0),
        ]
    )
    near = nearest_batch(arms, places, "A/2", 3)  # 1 and 4 are as far: the smaller
    assert near == pytest.approx({"tokens": 6.0, "step_ms": 50.0, "rate": 120.0})
    assert nearest_batch(arms, places, "A/8", 3) == pytest.approx({"tokens": 20.0, "step_ms": 100.0, "rate": 200.0})
    assert nearest_batch(arms, places, "B/8", 2) is None
    all_of_them = pooled(arms, places, "B/8", 3)  # step = 50 sqrt(batch) goes through the arms
    mean = 8 * np.mean([3.0, 2.5, 3.5])
    assert all_of_them == pytest.approx({"tokens": mean, "step_ms": 50 * np.sqrt(8), "rate": mean / 0.05 / np.sqrt(8)})
    alone = pooled(arms, places, "B/8", 2)
    assert alone is not None
    assert alone["step_ms"] == pytest.approx(90.0)
    own = with_own_step(near, {"tokens": 1.0, "step_ms": 60.0, "rate": 1.0})
    assert own == pytest.approx({"tokens": 6.0, "step_ms": 60.0, "rate": 100.0})


def test_steps_that_were_kept_are_no_predictions() -> None:
    def row(median: float, kept: bool, pooled: float | None) -> dict[str, Any]:
        one = {
            "measured": 100.0,
            "p50": median,
            "inside_50": True,
            "inside_90": True,
            "log_score": median / 100,
            "pooled": pooled,
        }
        return {"tokens": one, "step_ms": one, "rate": one, "step_kept": kept}

    found, _ = summary([row(110.0, False, None), row(100.0, True, 90.0)], Gates())
    assert (found["tokens"]["arms"], found["step_ms"]["arms"], found["rate"]["arms"]) == (2, 1, 1)
    assert found["step_ms"]["error"] == pytest.approx(0.1)
    assert (found["tokens"]["pooled_arms"], found["tokens"]["pooled_error"]) == (1, pytest.approx(0.1))
    assert found["tokens"]["pooled_model_log_score"] == pytest.approx(1.0)  # on the arm that the forecast speaks of
    assert "pooled_error" not in found["step_ms"]
    _, failed = summary([row(100.0, True, 90.0)], Gates())
    assert [line for line in failed if "no arm" in line] == [
        "step_ms: no arm could be compared",
        "rate: no arm could be compared",
    ]


def test_a_held_out_concurrency_is_predicted_labelled_and_shown_as_wide_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def prior(
        some: xr.Dataset, config: np.ndarray, priors: Priors, settings: Settings, group: str, **_: Any
    ) -> xr.DataTree:
        return xr.DataTree.from_dict({"sampled": forward_draws(evidence_of(some), priors, config, settings.seed, 60)})

    monkeypatch.setattr(holdout, "fit", prior)
    study = load_study("gx10")
    runs = usable_inputs(study, {}).runs
    runs = runs.isel(run=np.flatnonzero(np.isin(runs["suite"].values, ["agentic-nvfp4", "canonical-production"])))
    held, times = chosen(runs, "batch=4"), chosen(runs, "cell=agentic-nvfp4/c4 depth=5")
    rows, missed = hold_out(study, runs, held, times, Settings(1))
    assert missed == []
    assert [(row["cell"], row["depth"]) for row in rows] == [
        *(("agentic-nvfp4/c4", d) for d in range(1, 6)),
        ("canonical-production/c4", 5),
    ]
    assert [row["step_kept"] for row in rows] == [False] * 4 + [True, False]
    assert [row["own_times"] for row in rows] == [[5]] * 5 + [[]]
    assert not any(row["own_counts"] for row in rows)
    assert all("truncated" not in row["tokens"] for row in rows)
    one = (runs["cell"].values == "agentic-nvfp4/c2") & (
        runs["policy_depth"].values == 1
    )  # of 1, 2 and 8, batch 2 is nearest
    passed = runs["accepted"].values[one].sum() / runs["request_rounds"].values[one].sum()
    assert rows[0]["tokens"]["nearest"] == pytest.approx(4 * (1 + passed))
    assert (
        rows[0]["step_ms"]["nearest"] == rows[0]["step_ms"]["pooled"] == rows[4]["step_ms"]["measured"]
    )  # its own, as kept
    last = rows[-1]["step_ms"]
    assert last["p95"] / last["p05"] > 5.0  # nothing is known of its base, and it is not dropped
    found, failed = summary(rows, Gates())
    assert failed[-1].startswith("step_ms, rate: the step of 1 arms has no anchor but its prior")
    part = {"name": "b", "leave_out": "batch=each", "keep_times": "depth=5", "arms": rows, "failed": failed, "summary": {"cells": found},
            "folds": [{"leave_out": "batch=4", "held_runs": 12, "kept_runs": 36}] * 2, "not_predicted": [], "by_fold": []}  # fmt: skip
    gates = {"tokens_error": 0.1, "step_error": 0.1, "rate_error": 0.1, "coverage": 0.8}
    page = validation_page(study, {"gates": gates, "parts": [part]})
    lines = [line for line in page.splitlines() if line.startswith(("| agentic", "| canonical"))]
    assert ["step times at depth 5" in line for line in lines] == [True] * 5 + [False]
    assert ["| nothing |" in line for line in lines] == [False] * 5 + [True]
    assert [line.count("(its time was kept)") for line in lines] == [0, 0, 0, 0, 2, 0]
    assert "base is drawn from its prior" in page
