"""The analysis that starts from the stored runs: a conjugate case, derivatives, an edge, and its coverage."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from draftdepth.analysis.plan_arms import ArmDraws
from draftdepth.analysis.plan_experiment import Arrangement, experiment
from draftdepth.analysis.plan_informed import Informed, observed_logits, state_noise
from draftdepth.analysis.plan_prior import JointPrior, parts_of
from draftdepth.analysis.plan_spread import INTERLEAVED, Spreads, half_width
from draftdepth.data.plan_arm import Arm
from draftdepth.data.words import Label
from scipy.stats import multivariate_normal

from .plan_examples import example_worlds

MEAN = np.array([1.5, 1.2, 1.4, 1.1, 0.8, -4.2, -4.25])
DEPTHS = (2, 3)


def _prior(seed: int = 1, scale: float = 0.05) -> JointPrior:
    root = scale * np.random.default_rng(seed).standard_normal((7, 7))
    return JointPrior(np.ones(1), MEAN[None], (root @ root.T + 1e-4 * np.eye(7))[None], DEPTHS)


def _along(prior: JointPrior, seen: np.ndarray, state: np.ndarray) -> float:
    """Log gain of a state along the slope at what was seen."""
    return float(prior.gain(seen) + prior.slope(seen) @ (state - seen))


def test_the_slope_of_the_gain_is_its_derivative() -> None:
    prior = _prior()
    steps = 1e-6 * np.eye(7)
    numeric = (prior.gain(MEAN + steps) - prior.gain(MEAN - steps)) / 2e-6
    np.testing.assert_allclose(prior.slope(MEAN), numeric, rtol=1e-6, atol=1e-9)


def test_one_part_is_the_normal_given_a_normal() -> None:
    prior, noise = _prior(), 0.03**2 * np.eye(7)
    seen = MEAN + 0.02
    found = Informed(seen[None, None], noise[None, None, None], (), prior).posterior()
    precision = np.linalg.inv(prior.cov[0]) + np.linalg.inv(noise)
    mean = np.linalg.solve(precision, np.linalg.solve(prior.cov[0], MEAN) + np.linalg.solve(noise, seen))
    slope = prior.slope(seen)
    assert found.mean[0, 0, 0] == pytest.approx(_along(prior, seen, mean))
    assert found.mean[0, 0, 0] == pytest.approx(float(prior.gain(mean)), abs=1e-3)
    assert found.sd[0, 0, 0] == pytest.approx(sqrt(slope @ np.linalg.inv(precision) @ slope))


def test_draws_of_the_spreads_and_parts_are_weighed_by_their_likelihood() -> None:
    one, other = _prior(), _prior(seed=2)
    prior = JointPrior(np.array([0.3, 0.7]), np.stack([MEAN, MEAN + 0.1]), np.stack([one.cov[0], other.cov[0]]), DEPTHS)
    noise = np.stack([0.05**2 * np.eye(7), 0.2**2 * np.eye(7)])
    seen = MEAN + 0.15
    found = Informed(seen[None, None], np.stack([noise, noise])[:, None], (), prior).posterior()
    slope = prior.slope(seen)
    chances, means, variances = np.empty((2, 2)), np.empty((2, 2)), np.empty((2, 2))
    for part, (centre, cov) in enumerate(zip(prior.mean, prior.cov, strict=True)):
        for draw, v in enumerate(noise):
            left = np.linalg.inv(np.linalg.inv(cov) + np.linalg.inv(v))
            state = left @ (np.linalg.solve(cov, centre) + np.linalg.solve(v, seen))
            chances[part, draw] = prior.weight[part] * multivariate_normal(centre, cov + v).pdf(seen)
            means[part, draw], variances[part, draw] = _along(prior, seen, state), slope @ left @ slope
    of_part = chances.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.weight[0, 0], of_part[:, 0] / of_part.sum())
    mean = (chances / of_part * means).sum(axis=1)
    np.testing.assert_allclose(found.mean[0, 0], mean)
    variance = (chances / of_part * (variances + (means - mean[:, None]) ** 2)).sum(axis=1)
    np.testing.assert_allclose(found.sd[0, 0], np.sqrt(variance))


def test_parts_hold_every_draw_once_and_split_the_gap_that_differs_most() -> None:
    gaps = np.column_stack([np.linspace(0.0, 0.02, 64), np.geomspace(0.01, 2.0, 64)[::-1]])
    parts = parts_of(gaps, 2)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(64))
    assert [len(part) for part in parts] == [16] * 4
    assert [gaps[part, 1].max() for part in parts] == sorted(gaps[part, 1].max() for part in parts)
    assert len(parts_of(np.empty((64, 0)), 5)) == 1


def _edged(size: int, seed: int) -> tuple[ArmDraws, ArmDraws]:
    """A dynamic policy and a fixed depth 2 whose gaps are nothing in half of the draws, and exponential in the others."""
    rng = np.random.default_rng(seed)
    dynamic = MEAN[2:5] + 0.1 * rng.standard_normal((size, 3))
    gaps = np.where(rng.random((size, 2)) < 0.5, 0.002, 0.4) * rng.exponential(size=(size, 2))
    fixed = Arm("f", "S/c", "fixed", 2, None, "d", 1, "S-planned/c")
    policy = Arm("d", "S/c", "dynamic", 3, None, None, 1, "S-planned/c")
    none = np.zeros(size)
    times = 4.2 + 0.02 * rng.standard_normal((2, size))
    return (
        ArmDraws(fixed, 1.0, dynamic[:, :2] + gaps, times[0], none, Label.ESTIMATED),
        ArmDraws(policy, 1.0, dynamic, times[1], none, Label.ESTIMATED),
    )


@pytest.mark.parametrize("seen_gaps", [(0.0, 0.02), (-0.06, 0.25), (0.15, 0.3)])
def test_where_nothing_is_masked_both_arms_are_one_as_weighing_draws_says(seen_gaps: tuple[float, float]) -> None:
    """Runs that are shared by positions: where a gap is pinned to nothing they are known, and the other gap is too."""
    sides = _edged(4000, 20260928)
    prior = JointPrior.of(*((side, side.logit) for side in sides))
    shared = [np.zeros(7), np.zeros(7)]
    shared[0][:2], shared[1][2:5] = 0.06, 0.06
    noise = sum(np.outer(v, v) for v in shared) + np.diag([0.03**2] * 5 + [0.01**2] * 2)
    seen = np.concatenate([MEAN[2:4] + seen_gaps, MEAN[2:5], [-4.2, -4.2]])
    every = np.broadcast_to(noise, (len(prior.weight), 1, 1, 7, 7))
    found = Informed(seen[None, None], every, (), prior).posterior()
    many = [side.logit for side in _edged(400_000, 20260929)]
    states = np.column_stack([*many, *(-side.log_step for side in _edged(400_000, 20260929))])
    log_weight = multivariate_normal(seen, noise).logpdf(states)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    gain = prior.gain(states)
    mean = weight @ gain
    sd = sqrt(weight @ (gain - mean) ** 2)
    assert 1 / (weight**2).sum() > 300
    assert found.centre()[0, 0] == pytest.approx(mean, abs=0.25 * sd)
    assert found.half_width()[0, 0] == pytest.approx(1.645 * sd, rel=0.15)


def test_noise_shares_the_run_effect_and_adds_rounds() -> None:
    one = np.ones(1)
    spreads = Spreads(0.2 * one, 0.0 * one, 0.03 * one, 0.01 * one, 0.0 * one)
    prior = _prior()
    noise = state_noise(prior, spreads, 1, 4, np.array([1000.0]), np.array([0.03**2]), 4)[0, 0, 0]
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
    assert len(analysis.prior.weight) == 128
    assert arm.kind == "fixed"
    for runs in (2, 16):
        sides = (worlds.runs[pair[0]], worlds.runs[pair[1]])
        posterior = experiment(*sides, Arrangement(INTERLEAVED, 1), runs, (500, 4000), analysis).posterior()
        inside = np.abs(worlds.log_gain(*pair)[:, None] - posterior.centre()) <= posterior.half_width()
        assert abs(inside.mean() - 0.9) < 0.06  # draws of the prior are no normal
    known = half_width(worlds.central(pair[0]), worlds.central(pair[1]), INTERLEAVED, 16, 4000, 1)
    assert posterior.half_width()[:, 1].mean() < known  # what is known before helps
