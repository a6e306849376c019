"""The goals of a design against boundary laws and closed forms."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.plan_choice import Chosen, choose, reached, with_rule_value
from draftdepth.analysis.plan_experiment import Arrangement, experiment
from draftdepth.analysis.plan_posterior import GainPrior, decided
from draftdepth.analysis.plan_prior import JointPrior
from draftdepth.analysis.plan_schedule import sessions
from draftdepth.analysis.plan_sequential import looking
from draftdepth.analysis.plan_spread import INTERLEAVED, ONE_START, SHARED_START
from draftdepth.analysis.plan_worlds import Worlds, arrangements, restarts
from draftdepth.analysis.planning import plan_grid, share_of, value_of_deciding
from scipy.stats import norm

from .plan_examples import example_worlds

SHARED = Arrangement(INTERLEAVED, 1)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return example_worlds(tmp_path_factory.mktemp("worlds"), simulations=1000)


@pytest.fixture(scope="module")
def grid(worlds: Worlds) -> xr.Dataset:
    return plan_grid(worlds)


def _moved(worlds: Worlds, moved: float, runs: int) -> tuple[float, float]:
    """Shares of change and of keep with the true log gain set to `moved`."""
    allowed = worlds.plan.allowed
    pair = ("fixed three", "now")
    done = experiment(worlds.runs[pair[0]], worlds.runs[pair[1]], SHARED, runs, allowed.rounds, worlds.analysis(*pair))
    moving = moved - worlds.log_gain(*pair)[:, None]
    verdict = decided(done.posterior(moving, worlds.share_of_tokens(*pair)), worlds.rule)
    return float(verdict.change[:, -1].mean()), float(verdict.keep[:, -1].mean())


def test_a_huge_effect_is_decided_rightly_every_time(worlds: Worlds) -> None:
    assert _moved(worlds, 0.5, 16) == (1.0, 0.0)
    assert _moved(worlds, -0.5, 16) == (0.0, 1.0)


@pytest.mark.parametrize("runs", [2, 4, 8, 16])
def test_a_zero_effect_is_decided_wrongly_no_more_often_than_the_rule_says(worlds: Worlds, runs: int) -> None:
    error = sqrt(0.1 * 0.9 / 1000)
    for share in _moved(worlds, 0.0, runs):
        assert share <= 0.1 + 3 * error


def test_more_runs_never_lower_assurance_beyond_monte_carlo_error(grid: xr.Dataset) -> None:
    for layout in grid["layout"].values:
        at = grid.sel(layout=layout)
        steps = at["assurance"].diff("runs").transpose("comparison", "runs", "rounds").values
        errors = at["assurance_error"].transpose("comparison", "runs", "rounds").values
        assert (steps >= -3 * np.sqrt(errors[:, 1:] ** 2 + errors[:, :-1] ** 2)).all()
    shares = grid["assurance"] + grid["wrong"] + grid["undecided"]
    np.testing.assert_allclose(shares.values, 1.0)
    widths = grid["half_width"].sel(layout=INTERLEAVED).transpose("comparison", "runs", "rounds").values
    assert (np.diff(widths, axis=1) < 0).all()


def test_with_no_spread_but_rounds_the_simulated_half_width_is_the_binomial_law(tmp_path: Path) -> None:
    quiet = dict.fromkeys(("s_run", "overdispersion", "s_start", "s_run_time", "s_request_time"), 1e-9)
    worlds = example_worlds(tmp_path, quiet, vary=0.0, drift=0.0, gain_sd=5.0, simulations=100, runs=[2, 16])
    survival = {name: np.cumprod(1 / (1 + np.exp(-worlds.arms[name].logit[0]))) for name in ("fixed three", "now")}
    grid = plan_grid(worlds).sel(comparison="fixed three")
    for runs in (2, 16):
        for rounds in (500, 4000):
            variance = 0.0
            for s in survival.values():
                ends = -np.diff([1.0, *s, 0.0])
                length = np.arange(len(ends))
                variance += (
                    ((ends * length**2).sum() - (ends * length).sum() ** 2) / (1 + s.sum()) ** 2 / (runs * rounds)
                )
            gain = np.exp(worlds.log_gain("fixed three", "now")[0])
            found = float(grid["half_width"].sel(layout=INTERLEAVED, runs=runs, rounds=rounds))
            assert found == pytest.approx(gain * 1.6448536 * sqrt(variance), rel=0.02)


def test_with_endless_rounds_the_floor_of_the_run_spread_stays(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, vary=0.0, rounds=[10**5, 10**8], gain_sd=5.0, runs=[16])
    at = plan_grid(worlds).sel(comparison="fixed three", layout=INTERLEAVED)
    floor = {name: worlds.central(name) for name in ("fixed three", "now")}
    variance = sum(float(spread.floor) + float(spread.start) for spread in floor.values()) / 16
    gain = np.exp(worlds.log_gain("fixed three", "now")[0])
    for rounds in (10**5, 10**8):
        found = float(at["half_width"].sel(runs=16, rounds=rounds))
        assert found == pytest.approx(gain * 1.6448536 * sqrt(variance), rel=0.05)


def test_pairing_helps_where_starts_or_drift_are_shared(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, {"s_start": 0.05}, switches="true", drift=0.02, simulations=100, runs=[16])
    at = plan_grid(worlds)["half_width"].sel(comparison="fixed three", runs=16, rounds=4000)
    assert [entry.layout for entry in arrangements(worlds.plan)] == [SHARED_START, INTERLEAVED, ONE_START]
    assert float(at.sel(layout=SHARED_START)) < float(at.sel(layout=INTERLEAVED)) < float(at.sel(layout=ONE_START))


def test_value_of_deciding_is_the_closed_form_of_two_normal_arms() -> None:
    """Prior gain N(m, t^2), known noise s: EVSI = d phi(m / d) + m Phi(m / d) - max(0, m), d = t^2 / sqrt(t^2 + s^2)."""
    rng = np.random.default_rng(20260926)
    m, t, s, size = 0.01, 0.03, 0.02, 40_000
    gain = m + t * rng.standard_normal(size)
    found = value_of_deciding(gain, (gain + s * rng.standard_normal(size))[:, None])
    d = t**2 / sqrt(t**2 + s**2)
    exact = d * norm.pdf(m / d) + m * norm.cdf(m / d) - m
    assert abs(found.value[0] - exact) < 4 * found.error[0]
    blind = value_of_deciding(gain, rng.standard_normal((size, 1)))
    assert abs(blind.value[0]) < 4 * blind.error[0] + 1e-4


def test_no_share_is_called_certain() -> None:
    never = share_of(np.zeros((200, 1), dtype=bool))
    assert never.value[0] == 0.0
    assert 0.001 < never.error[0] < 0.01


def test_minutes_are_runs_restarts_and_decoding(worlds: Worlds, grid: xr.Dataset) -> None:
    at = grid.sel(comparison="fixed three", runs=8, rounds=4000)
    decoding = sum(
        4000 / 3 * float(np.exp(np.median(worlds.arms[name].log_step))) / 60_000 for name in ("fixed three", "now")
    )
    assert float(at["minutes"].sel(layout=INTERLEAVED)) == pytest.approx(8 * (decoding + 4.0) + 16 * 4.0)
    assert float(at["minutes"].sel(layout=ONE_START)) == pytest.approx(8 * (decoding + 4.0) + 2 * 4.0)
    assert restarts(Arrangement(SHARED_START, 2), 8, 3) == 4


def test_looking_often_costs_false_changes_and_a_stricter_look_buys_them_back(worlds: Worlds, grid: xr.Dataset) -> None:
    plain, *stricter = looking(worlds, *worlds.plan.comparisons[0], SHARED, 1)
    final = grid.sel(comparison="fixed three", layout=INTERLEAVED, runs=16, rounds=4000)
    assert float(plain.false_change.value) > float(final["false_change"])
    assert float(plain.runs.value) < 16
    assert sum(plain.stopped) == pytest.approx(1.0 - float(plain.undecided.value))
    assert stricter
    assert float(stricter[0].false_change.value) <= 0.1
    assert stricter[0].probability > plain.probability
    assert float(stricter[0].wrong.value) <= float(plain.wrong.value)


def test_the_cheapest_design_that_reaches_the_goal_is_chosen(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, target=0.5, simulations=200)
    grid = with_rule_value(plan_grid(worlds), worlds)
    chosen = choose(grid, worlds)[0]
    at = grid.sel(comparison="fixed three")
    good = at["minutes"].where(at["assurance"] - at["assurance_error"] >= 0.5)  # not by luck of the simulation
    assert chosen.why == "goal reached"
    assert chosen.place is not None
    layout, runs, rounds = chosen.place
    assert float(at["minutes"].isel(layout=layout, runs=runs, rounds=rounds)) == float(good.min())


def test_a_goal_is_reached_by_more_than_the_error_of_its_simulation(tmp_path: Path) -> None:
    plan = example_worlds(tmp_path, target=0.8, simulations=100).plan
    at = xr.Dataset({"assurance": ("x", [0.79, 0.81, 0.83]), "assurance_error": ("x", [0.0, 0.02, 0.02])})
    assert reached(plan, at, 1.0).tolist() == [False, False, True]


def test_no_new_run_is_worth_it_is_an_answer(tmp_path: Path) -> None:
    worlds = example_worlds(tmp_path, target=0.9999, hours=0.0, simulations=100)
    for chosen in choose(with_rule_value(plan_grid(worlds), worlds), worlds):
        assert (chosen.why, chosen.place, chosen.worth) == ("no new run is worth it", None, False)


def test_over_many_blocks_no_arm_always_comes_first(worlds: Worlds) -> None:
    pairs = worlds.plan.comparisons
    chosen = tuple(Chosen(arm, other, "", (0, 3, 1), True, False, 0.0, (0, 3, 1), (0, 3, 1)) for arm, other in pairs)
    (session,) = sessions(worlds, chosen, 7)
    blocks: dict[int, list[str]] = {}
    for turn in session.turns:
        blocks.setdefault(turn.block, []).append(turn.arm)
    assert session.runs == {"now": 16, "fixed three": 16, "remote 0": 16}
    assert len(blocks) == 16
    assert {order[0] for order in blocks.values()} == {"now", "fixed three", "remote 0"}
    assert all(sorted(order) == ["fixed three", "now", "remote 0"] for order in blocks.values())
    assert sessions(worlds, chosen, 7) == (session,)
    assert sessions(worlds, chosen, 8) != (session,)


def test_with_the_stored_prior_decisions_err_no_more_often_than_the_rule_says(tmp_path: Path) -> None:
    """Design and analysis agree, so that of the decisions for a change at most a tenth may be wrong, and far fewer are."""
    worlds = example_worlds(tmp_path, simulations=1000, prior="stored")
    pair = ("fixed three", "now")
    assert isinstance(worlds.analysis(*pair).prior, JointPrior)
    assert worlds.analysis("remote 0", "now").prior == GainPrior.weak(0.1)  # a scalar that no record speaks of
    for runs in (2, 16):
        done = experiment(worlds.runs[pair[0]], worlds.runs[pair[1]], SHARED, runs, (500, 4000), worlds.analysis(*pair))
        verdict, better = decided(done.posterior(), worlds.rule), worlds.log_gain(*pair)[:, None] > 0
        wrong = (verdict.change & ~better).sum() / verdict.change.sum()
        assert wrong <= 0.1
    inside = np.abs(done.posterior().centre() - worlds.log_gain(*pair)[:, None]) <= done.posterior().half_width()
    assert abs(inside.mean() - 0.9) < 0.05  # the prior's draws are not normal


@pytest.mark.parametrize(
    ("kind", "of", "target"), [("precision", "rate", 0.03), ("precision", "gain", 0.05), ("loss", "gain", 0.02)]
)
def test_other_goals_take_the_cheapest_design_that_reaches_them(
    tmp_path: Path, kind: str, of: str, target: float
) -> None:
    worlds = example_worlds(tmp_path, kind=kind, of=of, target=target, simulations=200)
    found = with_rule_value(plan_grid(worlds), worlds)
    chosen, at = choose(found, worlds)[0], found.sel(comparison="fixed three")
    limit = target * float(worlds.rates["now"].mean()) if kind == "loss" else target
    name = "loss_after" if kind == "loss" else "half_width"
    good = at["minutes"].where(at[name] + at[f"{name}_error"] <= limit)
    assert chosen.place is not None
    layout, runs, rounds = chosen.place
    assert float(at["minutes"].isel(layout=layout, runs=runs, rounds=rounds)) == float(good.min())


def test_the_half_width_of_a_rate_is_that_of_its_runs(tmp_path: Path) -> None:
    """Known spreads: 1.645 sqrt(starts and runs over n); nothing cancels as between two arms."""
    worlds = example_worlds(
        tmp_path, vary=0.0, kind="precision", of="rate", target=0.03, drift=0.0, rounds=[10**8], runs=[16]
    )
    spread = worlds.central("fixed three")
    exact = 1.6448536 * sqrt((float(spread.floor) + float(spread.start)) / 16)
    found = plan_grid(worlds)["half_width"].sel(comparison="fixed three", layout=INTERLEAVED, runs=16, rounds=10**8)
    assert float(found) == pytest.approx(exact, rel=0.03)
