"""Transport of the dynamic policy: none at its own cap, the walk alone under another cap, in every quantity on draws."""

from dataclasses import replace

import numpy as np
import pytest
from draftdepth.models.derive import derived
from draftdepth.models.model import build_model
from draftdepth.models.prediction import Arm, Fitted
from draftdepth.models.repetition import recorded
from scipy import special, stats

from .test_leave_out import PRIORS, one_draw
from .test_models_coordinates import compiled, log_change
from .test_models_density import CONFIG_MS, LEVELS, evidence, point


def test_a_capped_policy_is_walked_to_and_a_fixed_arm_has_one_step_more() -> None:
    held = evidence(LEVELS["caps"])
    _, _, draws, complete = one_draw(held, 3)
    first, walked = draws["s_transport"].values[0, 0] * draws["transport_step"].values[0, 0]
    found, _ = derived(draws, held, PRIORS, CONFIG_MS, 3)
    np.testing.assert_allclose(found["omega_cap"].values[0, 0, 0, [3, 2]], [0.0, walked], atol=1e-12)
    np.testing.assert_allclose(found["omega"].values[0, 0, 0, [3, 2]], [first, first + walked])
    logit = complete.logit_in_sample[0, 0, held.cell] + complete.run_shift[0, 0, :, None]
    chance = recorded(complete, held, PRIORS, CONFIG_MS).chance[0, 0]
    np.testing.assert_allclose(chance[:2], special.expit(logit[:2] + np.array([[0.0], [walked]])))


def test_a_dynamic_arm_is_predicted_without_the_step_to_a_fixed_one() -> None:
    held = evidence(LEVELS["caps"])
    _, _, draws, complete = one_draw(held, 3)
    farther = replace(complete, omega=complete.omega + 3.0)
    tokens = {}
    for dynamic in (True, False):
        arm = Arm(held.cells[0], 3, [10_000], [0], [0], dynamic)
        tokens[dynamic] = [
            Fitted(held, PRIORS, CONFIG_MS, draws, one).predicted(arm, np.random.default_rng(1))[0].item()
            for one in (complete, farther)
        ]
    assert tokens[True][0] == tokens[True][1]
    assert tokens[False][0] < tokens[False][1]


@pytest.mark.parametrize("level", ["L4", "mixed", "caps"])
def test_steps_are_standard_normal_in_the_directions_of_the_arms(level: str) -> None:
    model = build_model(evidence(LEVELS[level]), PRIORS, CONFIG_MS)
    values, density = compiled(model, ["transport_step"], ["transport_turned"])
    for seed in range(3):
        at = point(model, seed)
        page = stats.norm().logpdf(values(at)[0]).sum()
        assert density(at) == pytest.approx(page + log_change(model, values, at, ["transport_turned"]), rel=1e-8)
