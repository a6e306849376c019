"""What is worth logging: the regression on a case with a closed form, and the ladder's order."""

from pathlib import Path

import numpy as np
import pytest
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.plan_logging import explained, worth_logging
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.plan_arm import Arm
from draftdepth.data.study import load_study

from .plan_examples import SPREADS, draws, example_study


def test_what_remains_is_the_residual_of_a_quadratic_law() -> None:
    rng = np.random.default_rng(20260927)
    x = rng.standard_normal((20_000, 2))
    noise = rng.standard_normal(20_000)
    fitted, sd = explained(0.5 * x[:, 0] - 0.2 * x[:, 0] * x[:, 1] + 0.3 * noise, x)
    assert sd == pytest.approx(0.3, rel=0.03)
    assert fitted.std() == pytest.approx(np.sqrt(0.25 + 0.04), rel=0.03)
    unknown = rng.standard_normal((20_000, 2))
    assert explained(x[:, 0], unknown)[1] == pytest.approx(x[:, 0].std(), rel=0.01)


def test_each_level_of_evidence_leaves_no_more_than_the_one_below(tmp_path: Path) -> None:
    study = load_study(str(example_study(tmp_path)))
    inputs = usable_inputs(study)
    cell = screen(study, inputs.runs).sel(cell="S/c")
    fixed = Arm("fixed three", "S/c", "fixed", 3, None, "now", 1, "S-planned/c")
    now = Arm("now", "S/c", "dynamic", 4, None, None, 1, "S-planned/c")
    rows = worth_logging(draws(4000, SPREADS), cell, fixed, now, Rule(), 5)
    assert [row.level for row in rows] == ["L0", "L1", "L2", "L3"]
    widths = [row.bound_width for row in rows]
    assert widths == sorted(widths, reverse=True)
    left = [row.half_width for row in rows]
    assert left[0] > left[1] > 0.98 * left[2] > 0.95 * left[3]
    assert left[3] > 0.01  # the masked tail stays unknown
    assert rows[0].assurance.value == 0.0
