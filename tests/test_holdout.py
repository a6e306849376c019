"""Words that choose runs, predictions of arms that were not seen, and the figures of a validation, by hand."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.holdout import training
from draftdepth.analysis.holdout_scores import Gates, summary
from draftdepth.analysis.selection import chosen
from draftdepth.data.errors import InputError
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import forward_draws
from draftdepth.models.prediction import Arm, Fitted
from draftdepth.models.priors import Priors

from .test_models_density import CONFIG_MS, FIXED, SHALLOW, evidence, runs_of

ROWS: list[dict[str, Any]] = [FIXED, FIXED | {"request_rounds": 190}, SHALLOW, FIXED | {"cell": "d"}]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("policy=fixed depth=3", [True, True, False, True]),
        ("depth=1..2", [False, False, True, False]),
        ("cell=S/d", [False, False, False, True]),
        ("", [False] * 4),
    ],
)
def test_words_choose_runs(words: str, expected: list[bool]) -> None:
    assert chosen(runs_of(ROWS), words).tolist() == expected


@pytest.mark.parametrize("words", ["depth", "depth=x", "nothing=3", "depth=5", "policy=fixed depth=2 cell=S/d"])
def test_words_that_mean_nothing_are_refused_without_repeating_them(words: str) -> None:
    with pytest.raises(InputError, match="--hold-out") as caught:
        chosen(runs_of(ROWS), words)
    assert "nothing=" not in str(caught.value)


def test_runs_that_keep_their_times_give_no_counts() -> None:
    runs = runs_of(ROWS)
    held = chosen(runs, "depth=2")
    assert training(runs, held, np.zeros(4, dtype=bool)).sizes["run"] == 3
    kept = evidence_of(training(runs, held, held))
    assert kept.counted.tolist() == [True, True, False, True]
    assert len(kept.timed) == 4


def test_a_cell_without_its_screened_arm_is_screened_at_its_deepest_other() -> None:
    runs = runs_of([FIXED, SHALLOW, SHALLOW | {"policy": {"kind": "fixed", "depth": 1}, "accepted_position": [140]}])
    assert runs["screened"].values.tolist() == [True, True, True]
    one = runs.assign_coords(screened=("run", [True, False, False]))
    kept = training(one, chosen(one, "depth=3"), np.zeros(3, dtype=bool))
    assert kept["policy_depth"].values.tolist() == [2, 1]
    assert kept["screened"].values.tolist() == [True, False]
    assert evidence_of(kept).screened_depth.tolist() == [2]


def test_a_certain_fit_predicts_its_own_survival_and_step() -> None:
    held = evidence(ROWS)
    sure = dict.fromkeys(("run_scale", "overdispersion_scale", "start_time_scale", "run_time_centre", "request_time_centre", "transport_scale"), 1e-09)  # fmt: skip
    priors = Priors.stated("unknown", sure)
    drawn: xr.Dataset = forward_draws(held, priors, CONFIG_MS, 2, 4)
    fitted = Fitted.of(drawn, held, priors, CONFIG_MS, 3)
    tokens, step = fitted.predicted(Arm("S/c", 2, [10**7], [1], [0]), np.random.default_rng(1))
    h = 1 / (1 + np.exp(-fitted.held.logit[0, :, 0]))
    np.testing.assert_allclose(tokens, 1 + h[:, 0] + h[:, 0] * h[:, 1], rtol=2e-3)
    gamma, slope = drawn["slope_batch"].values[0], drawn["slope"].values[0]
    base = np.exp(drawn["log_base"].values[0, :, 0])
    expected = np.maximum(base + slope * 3 ** (1 - gamma) * (CONFIG_MS[2] - 13.5), 0.05 * base)  # batch 3
    np.testing.assert_allclose(step, expected, rtol=1e-6)
    _, none = fitted.predicted(Arm("S/c", 2, [100], [0], [0]), np.random.default_rng(1))
    assert np.isnan(none).all()


def row(measured: float, median: float, inside: bool) -> dict[str, Any]:
    one = {"measured": measured, "p50": median, "inside_50": inside, "inside_90": inside, "log_score": -1.0,
           "truncated": measured * 1.1, "nearest": measured * 0.8}  # fmt: skip
    return {"tokens": one, "step_ms": one, "rate": one}


def test_summary_counts_and_gates() -> None:
    found, failed = summary([row(100.0, 103.0, True), row(50.0, 48.0, False)], Gates(tokens_error=0.036, coverage=0.5))
    assert found["tokens"]["error"] == pytest.approx(np.sqrt((0.03**2 + 0.04**2) / 2))
    assert found["tokens"]["bias"] == pytest.approx(-0.005)
    assert found["tokens"]["cover_90"] == 0.5
    assert found["rate"]["truncated_error"] == pytest.approx(0.1)
    assert found["rate"]["nearest_error"] == pytest.approx(0.2)
    assert failed == []
    assert any("tokens: error" in line for line in summary([row(100.0, 110.0, True)], Gates())[1])
    assert any("hold 0 %" in line for line in summary([row(100.0, 100.0, False)], Gates())[1])
    assert summary([], Gates())[1]


@pytest.mark.parametrize("entries", [{"nothing": 0.1}, {"coverage": 2}, {"coverage": True}])
def test_gates_are_shares_that_exist(entries: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"gates\."):
        Gates.stated(entries)
