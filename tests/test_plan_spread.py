"""Run, round and start spread against laws from outside, and the circle of question and inverse."""

from math import inf, isclose, sqrt

import numpy as np
import pytest
from draftdepth.analysis.plan_spread import (
    INTERLEAVED,
    ONE_START,
    SHARED_START,
    RunSpread,
    Spreads,
    half_width,
    median_variance,
    rounds_worth,
    run_mean_survival,
    runs_needed,
    token_noise,
    token_slope,
)
from hypothesis import given
from hypothesis import strategies as st

SURVIVAL = np.array([0.8, 0.6, 0.42])
LAYOUTS = (INTERLEAVED, ONE_START, SHARED_START)


def _logit(p: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(p / (1 - p)))


def test_round_noise_without_overdispersion_is_the_variance_of_the_accepted_length() -> None:
    ends = -np.diff([1.0, *SURVIVAL, 0.0])
    length = np.arange(4)
    variance = (ends * length**2).sum() - (ends * length).sum() ** 2
    assert token_noise(SURVIVAL)[0] == pytest.approx(variance / (1 + SURVIVAL.sum()) ** 2)


def test_overdispersion_adds_its_own_part() -> None:
    rng = np.random.default_rng(20260922)
    rounds, concentration, size = 400, 60.0, 200_000
    hazard = SURVIVAL / np.array([1.0, *SURVIVAL[:-1]])
    before, total = np.full(size, rounds), np.zeros(size)
    for h in hazard:
        before = rng.binomial(before, rng.beta(h * concentration, (1 - h) * concentration, size))
        total += before / rounds
    a, b = token_noise(SURVIVAL)
    rho = 1 / (concentration + 1)
    expected = (1 - rho) * a / rounds + rho * b
    assert np.var(np.log1p(total)) == pytest.approx(expected, rel=0.03)  # the delta method's own error is within this


def test_the_run_effect_moves_log_tokens_as_the_derivative_says() -> None:
    logit = _logit(SURVIVAL / np.array([1.0, *SURVIVAL[:-1]]))

    def log_tokens(shift: float) -> float:
        return float(np.log1p(np.cumprod(1 / (1 + np.exp(-logit - shift))).sum()))

    numeric = (log_tokens(1e-5) - log_tokens(-1e-5)) / 2e-5
    assert token_slope(SURVIVAL) == pytest.approx(numeric, rel=1e-6)


def test_mean_survival_is_the_mean_over_the_run_effect() -> None:
    rng = np.random.default_rng(20260923)
    logit = _logit(SURVIVAL / np.array([1.0, *SURVIVAL[:-1]]))
    effect = 0.4 * rng.standard_normal((400_000, 1))
    sampled = np.cumprod(1 / (1 + np.exp(-logit - effect)), axis=1)
    found = run_mean_survival(logit[None], np.array([0.4]))[0]
    assert (np.abs(found - sampled.mean(axis=0)) < 4 * sampled.std(axis=0) / sqrt(len(sampled))).all()


def test_one_request_has_the_variance_of_its_law_and_more_have_less() -> None:
    assert median_variance(1) == pytest.approx(2.0, rel=0.05)  # nu / (nu - 2)
    assert median_variance(9) == pytest.approx(1 / (4 * 9 * 0.375**2), rel=0.1)  # 1 / (4 n f(0)^2)


def _spread(run: float = 0.1, start: float = 0.03, time: float = 0.01, drift: float = 0.0) -> RunSpread:
    one = np.array(1.0)
    return RunSpread.of(SURVIVAL, Spreads(run * one, 0.0 * one, start * one, time * one, 0.005 * one), 3, drift)


def test_with_no_run_spread_the_half_width_follows_the_binomial_law() -> None:
    alone = _spread(run=0.0, start=0.0, time=0.0)
    alone = RunSpread(0.0, alone.per_round, 0.0, 0.0)
    ends = -np.diff([1.0, *SURVIVAL, 0.0])
    variance = (ends * np.arange(4) ** 2).sum() - (ends * np.arange(4)).sum() ** 2
    for layout in LAYOUTS:
        found = half_width(alone, alone, layout, 7, 900, 1)
        assert found == pytest.approx(1.6448536 * sqrt(2 * variance / (7 * 900)) / (1 + SURVIVAL.sum()))
    assert rounds_worth(alone, alone, INTERLEAVED, 1) == inf


def test_with_endless_rounds_the_floor_of_the_run_spread_stays() -> None:
    a = _spread()
    floor = 1.6448536 * sqrt(2 * (float(a.floor) + 0.03**2) / 5)
    assert half_width(a, a, INTERLEAVED, 5, 1e15, 1) == pytest.approx(floor)
    assert half_width(a, a, INTERLEAVED, 5, 1e3, 1) > floor


def test_runs_in_one_start_do_not_average_the_start() -> None:
    a = _spread(drift=0.004)
    assert half_width(a, a, ONE_START, 10**9, 1e9, 1) == pytest.approx(
        1.6448536 * sqrt(2 * (0.03**2 + 0.004**2)), rel=1e-3
    )
    assert half_width(a, a, SHARED_START, 8, 1e4, 1) < half_width(a, a, INTERLEAVED, 8, 1e4, 1)


def test_beyond_the_rounds_that_help_endless_ones_narrow_by_the_stated_share() -> None:
    a, b = _spread(), _spread(run=0.2)
    for layout in LAYOUTS:
        rounds = rounds_worth(a, b, layout, 2, share=0.05)
        if layout == ONE_START:  # there the starts stay whatever is done, and the runs' part alone is meant
            a, b = (RunSpread(x.floor, x.per_round, 0.0, 0.0) for x in (a, b))
        ratio = half_width(a, b, layout, 6, inf, 2) / half_width(a, b, layout, 6, rounds, 2)
        assert ratio == pytest.approx(0.95)


positive = st.floats(1e-6, 0.05)


@given(
    positive,
    positive,
    st.floats(0.0, 0.01),
    st.floats(10, 1e6),
    st.integers(1, 4),
    st.sampled_from(LAYOUTS),
    st.integers(1, 60),
)
def test_question_and_inverse_close_the_circle(
    floor: float, per_round: float, start: float, rounds: float, per_start: int, layout: str, blocks: int
) -> None:
    a = RunSpread(floor, per_round, start, 0.1 * start)
    per_start = 1 if layout == ONE_START else per_start
    runs = blocks * per_start
    width = float(half_width(a, a, layout, runs, rounds, per_start))
    needed = runs_needed(a, a, layout, width, rounds, per_start)
    assert needed is not None
    fewer = needed - per_start
    assert half_width(a, a, layout, needed, rounds, per_start) <= width
    assert fewer < 1 or half_width(a, a, layout, fewer, rounds, per_start) > width
    assert needed == runs or isclose(half_width(a, a, layout, needed, rounds, per_start), width, rel_tol=1e-9)


def test_no_number_of_runs_in_one_start_goes_below_its_floor() -> None:
    a = _spread()
    floor = float(half_width(a, a, ONE_START, 10**12, 1e12, 1))
    assert runs_needed(a, a, ONE_START, 0.999 * floor, 1e4, 1) is None
    assert runs_needed(a, a, INTERLEAVED, 0.999 * floor, 1e4, 1) is not None
