"""The fast analysis against closed forms, a root found by brute force, and its own coverage by simulation."""

from math import sqrt

import numpy as np
import pytest
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.plan_posterior import GainPrior, Posterior, SumOfSquares, decided
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

TOKENS, TIME = np.array([0.05]), np.array([-0.02])


def test_known_spread_is_the_conjugate_normal() -> None:
    prior = np.array([[0.04**2, -0.0004], [-0.0004, 0.02**2]])
    noise, centre, x = np.diag([0.02**2, 0.03**2]), np.array([0.03, -0.01]), np.array([0.05, -0.02])
    stored = GainPrior(0.03, -0.01, 0.04**2, 0.02**2, -0.0004)
    found = Posterior.of((TOKENS, TIME), (np.array([[0.02**2]]), np.array([[0.03**2]])), (), stored)
    covariance = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(noise))
    mean = covariance @ (np.linalg.inv(prior) @ centre + np.linalg.inv(noise) @ x)
    exact = norm(mean.sum(), sqrt(covariance.sum()))
    assert found.p_gain()[0] == pytest.approx(exact.sf(0))
    assert found.half_width()[0] == pytest.approx(1.6448536 * sqrt(covariance.sum()))
    changing, keeping = found.losses()
    assert changing[0] == pytest.approx(quad(lambda g: -g * exact.pdf(g), -1, 0)[0], abs=1e-9)
    assert keeping[0] == pytest.approx(quad(lambda g: g * exact.pdf(g), 0, 1)[0], abs=1e-9)


def test_spreads_are_weighed_by_the_marginal_likelihood() -> None:
    prior, noises = GainPrior.weak(0.05), (0.01**2, 0.05**2)
    variances = np.array([list(noises)])
    found = Posterior.of((TOKENS, TIME), (variances, variances), (), prior)
    each = [multivariate_normal(np.zeros(2), np.eye(2) * (0.5 * 0.05**2 + v)).pdf([0.05, -0.02]) for v in noises]
    np.testing.assert_allclose(found.weight[0], np.array(each) / sum(each))


def test_the_half_width_of_a_mixture_holds_90_percent() -> None:
    weight, mean, sd = np.array([[0.2, 0.5, 0.3]]), np.array([[0.01, 0.0, -0.02]]), np.array([[0.005, 0.03, 0.2]])
    found = Posterior(weight, mean, sd)
    centre = float((weight * mean).sum())

    def missing(width: float) -> float:
        inside = norm.cdf(centre + width, mean, sd) - norm.cdf(centre - width, mean, sd)
        return float((weight * inside).sum()) - 0.9

    assert found.half_width()[0] == pytest.approx(brentq(missing, 1e-6, 2.0), rel=1e-4)


def test_squares_weigh_the_spreads_as_bayes_does() -> None:
    """Three spreads, one sum of squares: weights are chi-square densities (up to what all share)."""
    expected = np.array([[0.5, 1.0, 2.0]])
    part = SumOfSquares(np.array([9.0]), 6.0, expected)
    weight = np.exp(part.log_weight()[0])
    by_hand = np.array([np.prod(norm.pdf(np.sqrt(9.0 / 6.0) * np.ones(6), 0, np.sqrt(v))) for v in expected[0]])
    np.testing.assert_allclose(weight / weight.sum(), by_hand / by_hand.sum())
    assert SumOfSquares(np.array([9.0]), 0.0, expected).log_weight() == 0.0


def test_intervals_cover_and_decisions_err_as_they_say_when_the_world_is_the_prior() -> None:
    """Spreads from the set, gains from the prior, normal data: 90 % intervals hold 90 %, and P(gain > 0) is calibrated."""
    rng = np.random.default_rng(20260924)
    size, blocks, prior = 20_000, 5, GainPrior.weak(0.05)
    spreads = np.array([0.01, 0.02, 0.04, 0.08]) ** 2
    parts = sqrt(0.5) * 0.05 * rng.standard_normal((2, size))
    gain = parts.sum(axis=0)
    true = spreads[rng.integers(0, 4, size)]
    expected = np.broadcast_to(spreads, (size, 4))
    means, squares = [], []
    for part in parts:
        y = part[:, None] + np.sqrt(true)[:, None] * rng.standard_normal((size, blocks))
        means.append(y.mean(axis=1))
        squares.append(SumOfSquares(((y - y.mean(axis=1, keepdims=True)) ** 2).sum(axis=1), blocks - 1.0, expected))
    found = Posterior.of((means[0], means[1]), (expected / blocks, expected / blocks), squares, prior)
    inside = np.abs(gain - found.centre()) <= found.half_width()
    assert abs(inside.mean() - 0.9) < 4 * sqrt(0.09 / size)
    p = found.p_gain()
    for low, high in ((0.05, 0.2), (0.4, 0.6), (0.8, 0.95)):
        chosen = (p > low) & (p < high)
        expected_share = p[chosen].mean()
        assert abs((gain[chosen] > 0).mean() - expected_share) < 4 * sqrt(0.25 / chosen.sum())


def test_the_rule_needs_both_probability_and_loss() -> None:
    sure, lossy = (
        Posterior(*(np.array([[v]]) for v in (1.0, 0.2, 0.05))),
        Posterior(*(np.array([[v]]) for v in (1.0, 0.2, 0.15))),
    )
    assert decided(sure, Rule()).change[0]
    assert not decided(sure, Rule()).keep[0]
    assert lossy.p_gain()[0] > 0.9
    assert lossy.losses()[0][0] < 0.01 < 0.02
    assert not decided(lossy, Rule(expected_loss_share=0.001)).change[0]
    assert not decided(lossy, Rule(), probability=0.95).change[0]
    against = Posterior(np.array([[1.0]]), np.array([[-0.2]]), np.array([[0.05]]))
    assert decided(against, Rule()).keep[0]
