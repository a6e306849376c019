"""Transport of the dynamic policy: none at its own cap, the walk alone under another cap, in every quantity on draws."""

from dataclasses import replace

import numpy as np
from draftdepth.models.derive import derived
from draftdepth.models.prediction import Arm, Fitted
from draftdepth.models.repetition import recorded
from scipy import special

from .test_leave_out import PRIORS, one_draw
from .test_models_density import CONFIG_MS, LEVELS, evidence


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
