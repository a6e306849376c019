"""Exposure, masked tail and the exposure prior, held against sums over every path of a round."""

import itertools

import numpy as np
import pytest
from draftdepth.models.recursion import (
    exposure,
    fixed_hazard,
    log_share_density,
    lower_odds,
    shifted,
    verified_chance,
    verified_from_share,
    verified_uniform,
)
from scipy import integrate, special, stats

DEPTH = 4
RNG = np.random.default_rng(20261201)


def chances() -> tuple[np.ndarray, np.ndarray, float, float]:
    h = RNG.uniform(0.2, 0.9, DEPTH)
    v = h + (1 - h) * RNG.uniform(0.05, 0.95, DEPTH)
    return h, v, RNG.exponential(1.0), RNG.exponential(1.5)


def joint(h: np.ndarray, v: np.ndarray, kappa: float) -> np.ndarray:
    """P(V = k, A = a), path by path: verified on or not, accepted or not, at each position in turn."""
    table = np.zeros((DEPTH + 1, DEPTH + 1))
    w = special.expit(special.logit(v) - kappa)
    for k in range(DEPTH + 1):
        for a in range(k + 1):
            chance = 1.0
            for i in range(1, k + 1):
                rejected = i - 1 > a
                chance *= w[i - 1] if rejected else v[i - 1]
                if not rejected:
                    passing = h[i - 1] / v[i - 1]
                    chance *= passing if i <= a else 1.0 - passing
            if k < DEPTH:
                chance *= 1.0 - (w[k] if a < k else v[k])
            table[k, a] = chance
    return table


@pytest.mark.parametrize("case", range(20))
def test_exposure_is_the_margin_of_the_joint_table(case: int) -> None:
    h, v, kappa, _ = chances()
    table = joint(h, v, kappa)
    assert table.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose([table[:, i:].sum() for i in range(1, DEPTH + 1)], np.cumprod(h), atol=1e-12)
    expected = [table[i:].sum() for i in range(1, DEPTH + 1)]
    np.testing.assert_allclose(exposure(h, v, kappa, np), expected, atol=1e-12)


@pytest.mark.parametrize("case", range(20))
def test_fixed_survival_sums_over_where_the_mask_fell(case: int) -> None:
    h, v, _, delta = chances()
    b = special.expit(special.logit(h / v) - delta)
    accepted = np.concatenate([[1.0], np.cumprod(h)])
    expected = [
        accepted[i] + sum(accepted[j] * (1 - v[j]) * np.prod(b[j:i]) for j in range(i)) for i in range(1, DEPTH + 1)
    ]
    np.testing.assert_allclose(np.cumprod(fixed_hazard(h, v, delta, np)), expected, atol=1e-7)


def test_without_a_mask_fixed_survival_is_the_proxy() -> None:
    h, _, _, delta = chances()
    np.testing.assert_allclose(fixed_hazard(h, np.ones(DEPTH), delta, np), h, atol=1e-8)


def test_ignorable_censoring_is_the_at_risk_product() -> None:
    h, v, _, _ = chances()
    np.testing.assert_allclose(fixed_hazard(h, v, 0.0, np), h / v, atol=1e-7)


def test_odds_are_moved_as_logits_are() -> None:
    p = RNG.uniform(0.01, 0.99, 50)
    np.testing.assert_allclose(lower_odds(p, 1.3, np), special.expit(special.logit(p) - 1.3))
    np.testing.assert_allclose(shifted(p, 0.4, np), special.expit(special.logit(p) + 0.4))


@pytest.mark.parametrize(("power", "shape"), list(itertools.product([0.7, 1.0, 2.0], [0.15, 1.0, 2.0])))
def test_uniforms_and_chances_are_inverse(power: float, shape: float) -> None:
    h, uniform = 0.6, np.linspace(0.01, 0.9, 40)
    v = verified_chance(h, uniform, power, shape)
    assert (v > h).all()
    assert (v < 1).all()
    np.testing.assert_allclose(verified_uniform(h, v, power, shape), uniform, atol=1e-9)


@pytest.mark.parametrize(
    ("power", "shape", "delta"), list(itertools.product([1.0, 2.0], [0.8, 1.0, 2.0], [0.0, 0.7, 3.0]))
)
def test_the_accepted_share_leaves_the_exposure_prior_as_it_is(power: float, shape: float, delta: float) -> None:
    h = 0.6

    def density(share: float) -> float:
        return float(np.exp(log_share_density(h, share, delta, power, shape, np)))

    assert integrate.quad(density, 0, 1)[0] == pytest.approx(1.0, abs=1e-6)
    for share in (0.1, 0.4, 0.9):  # v falls as the share grows: P(share' > share) = P(v' < v) = the uniform at v
        v = verified_from_share(h, share, delta, np)
        below = stats.beta(1, shape).cdf((v**power - h**power) / (1 - h**power))
        assert integrate.quad(density, share, 1)[0] == pytest.approx(below, abs=1e-6)


def test_the_share_is_what_a_fixed_run_adds_at_the_first_position() -> None:
    h, share, delta = 0.55, 0.37, 1.1
    v = verified_from_share(h, share, delta, np)
    added = fixed_hazard(np.array([h]), np.array([v]), delta, np)[0] - h
    assert added == pytest.approx((1 - h) * share, abs=1e-9)
