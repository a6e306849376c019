"""The analysis that starts from the stored runs: a conjugate case, derivatives, a cut normal, and its coverage."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from draftdepth.analysis.plan_experiment import Arrangement, experiment
from draftdepth.analysis.plan_informed import Informed, JointPrior, observed_logits, state_noise
from draftdepth.analysis.plan_spread import INTERLEAVED, Spreads, half_width
from draftdepth.data.plan_arm import Arm
from scipy.stats import multivariate_normal

from .plan_examples import example_worlds

MEAN = np.array([1.5, 1.2, 1.4, 1.1, 0.8, -4.2, -4.25])
DEPTHS = (2, 3)


def _prior(bounded: bool, seed: int = 1, scale: float = 0.05) -> JointPrior:
    root = scale * np.random.default_rng(seed).standard_normal((7, 7))
    return JointPrior(MEAN, root @ root.T + 1e-4 * np.eye(7), DEPTHS, bounded)


def test_the_slope_of_the_gain_is_its_derivative() -> None:
    prior = _prior(False)
    steps = 1e-6 * np.eye(7)
    numeric = (prior.gain(MEAN + steps) - prior.gain(MEAN - steps)) / 2e-6
    np.testing.assert_allclose(prior.slope(MEAN), numeric, rtol=1e-6, atol=1e-9)
    room = (prior.room(MEAN + steps) - prior.room(MEAN - steps)) / 2e-6
    np.testing.assert_allclose(prior.room_slope(), room, rtol=1e-6, atol=1e-9)


def test_without_a_bound_it_is_the_normal_given_a_normal() -> None:
    prior, noise = _prior(False), 0.03**2 * np.eye(7)
    seen = MEAN + 0.02
    found = Informed(seen[None, None], noise[None, None], (), prior).posterior()
    precision = np.linalg.inv(prior.cov) + np.linalg.inv(noise)
    mean = np.linalg.solve(precision, np.linalg.solve(prior.cov, MEAN) + np.linalg.solve(noise, seen))
    slope = prior.slope(seen)
    assert found.mean[0, 0, 0] == pytest.approx(float(prior.gain(mean)))
    assert found.sd[0, 0, 0] == pytest.approx(sqrt(slope @ np.linalg.inv(precision) @ slope))


def test_draws_of_the_spreads_are_weighed_by_their_likelihood() -> None:
    prior = _prior(False)
    noise = np.stack([0.02**2 * np.eye(7), 0.2**2 * np.eye(7)])
    seen = MEAN + 0.15
    found = Informed(seen[None, None], noise[None], (), prior).posterior()
    each = np.array([multivariate_normal(MEAN, prior.cov + v).pdf(seen) for v in noise])
    np.testing.assert_allclose(found.weight[0, 0], each / each.sum())


def test_the_bound_cuts_as_sampling_does() -> None:
    """Moments of the gain given room >= 0, against draws of the normal posterior that are thrown away below it."""
    prior, noise = _prior(True, scale=0.1), 0.1**2 * np.eye(7)
    seen = MEAN - np.array([0.15, 0.1, 0, 0, 0, 0, 0])
    found = Informed(seen[None, None], noise[None, None], (), prior).posterior()
    precision = np.linalg.inv(prior.cov) + np.linalg.inv(noise)
    mean = np.linalg.solve(precision, np.linalg.solve(prior.cov, MEAN) + np.linalg.solve(noise, seen))
    states = np.random.default_rng(20260928).multivariate_normal(mean, np.linalg.inv(precision), 200_000)
    kept = prior.gain(states)[prior.room(states) >= 0]
    assert 0.2 < len(kept) / 200_000 < 0.9
    assert found.mean[0, 0, 0] == pytest.approx(kept.mean(), abs=0.1 * kept.std())
    assert found.sd[0, 0, 0] == pytest.approx(kept.std(), rel=0.1)


def test_noise_shares_the_run_effect_and_adds_rounds() -> None:
    one = np.ones(1)
    spreads = Spreads(0.2 * one, 0.0 * one, 0.03 * one, 0.01 * one, 0.0 * one)
    prior = _prior(False)
    noise = state_noise(prior, spreads, 1, 4, np.array([1000.0]), np.array([0.03**2]), 4)[0, 0]
    assert noise[0, 1] == pytest.approx(0.04 / 4)
    h = 1 / (1 + np.exp(-MEAN[:2]))
    assert noise[1, 1] == pytest.approx((0.04 + 1 / (1000 * h[0] * h[1] * (1 - h[1]))) / 4)
    assert noise[0, 2] == 0.0
    assert noise[-1, -1] == pytest.approx((0.03**2 + 0.01**2) / 4)


def test_observed_logits_are_those_of_pooled_hazards() -> None:
    survival = np.array([[[[0.8, 0.4], [0.6, 0.5]]]])
    found = observed_logits(survival, 2)[0, 0]
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), [0.7, 0.45 / 0.7])


def test_in_worlds_of_its_own_prior_its_intervals_hold_what_they_say(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, simulations=1000, prior="stored")
    pair = ("fixed three", "now")
    analysis = worlds.analysis(*pair)
    arm: Arm = worlds.arms[pair[0]].arm
    assert isinstance(analysis.prior, JointPrior)
    assert analysis.prior.bounded
    assert arm.kind == "fixed"
    for runs in (2, 16):
        sides = (worlds.runs[pair[0]], worlds.runs[pair[1]])
        posterior = experiment(*sides, Arrangement(INTERLEAVED, 1), runs, (500, 4000), analysis).posterior()
        inside = np.abs(worlds.log_gain(*pair)[:, None] - posterior.centre()) <= posterior.half_width()
        assert abs(inside.mean() - 0.9) < 0.06  # draws of the prior are no normal
    known = half_width(worlds.central(pair[0]), worlds.central(pair[1]), INTERLEAVED, 16, 4000, 1)
    assert posterior.half_width()[:, 1].mean() < known  # what is known before helps
