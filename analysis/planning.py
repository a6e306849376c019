"""What each design of a plan buys: precision, assurance, expected loss and value, each with its Monte-Carlo error."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.plan_arm import Arm
from ..data.plan_file import RATE
from .plan_experiment import Arrangement, experiment, rate_half_width
from .plan_posterior import Verdict, decided
from .plan_worlds import Worlds, arrangements, restarts

type Floats = npt.NDArray[np.float64]

COMPARISON, LAYOUT, RUNS, ROUNDS = "comparison", "layout", "runs", "rounds"
SHARES = ("assurance", "wrong", "undecided", "false_change", "reaches")
MINUTE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A Monte-Carlo mean over simulations and its standard error, both (rounds)."""

    value: Floats
    error: Floats


def mean_of(values: Floats) -> Estimate:
    """Mean over the first axis and its standard error."""
    return Estimate(np.asarray(values.mean(axis=0)), np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values))))


def share_of(flags: npt.NDArray[np.bool_]) -> Estimate:
    """A share of simulations; its error is the posterior's under Jeffreys' prior, so that 0 of n is not called certain."""
    n = len(flags)
    p = (flags.sum(axis=0) + 0.5) / (n + 1.0)
    return Estimate(np.asarray(flags.mean(axis=0)), np.asarray(np.sqrt(p * (1.0 - p) / (n + 2.0))))


def value_of_deciding(difference: Floats, estimate: Floats) -> Estimate:
    """EVSI in tok/s: what acting on the best expected rate after the experiment gains over acting on it today.

    E max(0, E[difference | data]) - max(0, E[difference]). The inner mean is a cubic regression on the estimated log gain,
    fitted on one half of the worlds and applied to the other, so that the choice never sees its own outcome.

    Parameters
    ----------
    difference
        True rate of the arm less that of the other, tok/s, (simulation).
    estimate
        Estimated log gains, (simulation, rounds).
    """
    even = np.arange(len(difference)) % 2 == 0
    today = max(0.0, float(difference.mean()))
    chosen = np.empty_like(estimate)
    for column in range(estimate.shape[1]):
        x = estimate[:, column]
        scaled = (x - x.mean()) / (x.std() + 1e-12)
        basis = np.vander(scaled, 4)
        for fitted, applied in ((even, ~even), (~even, even)):
            weights, *_ = np.linalg.lstsq(basis[fitted], difference[fitted], rcond=None)
            chosen[applied, column] = difference[applied] * (basis[applied] @ weights > 0)
    kept = chosen - (difference[:, None] if today > 0 else 0.0)
    return mean_of(kept)


def _outcomes(verdict: Verdict, log_gain: Floats) -> dict[str, npt.NDArray[np.bool_]]:
    better = (log_gain > 0)[:, None]
    return {
        "assurance": (verdict.change & better) | (verdict.keep & ~better),
        "wrong": (verdict.change & ~better) | (verdict.keep & better),
        "undecided": ~(verdict.change | verdict.keep),
    }


def _loss(difference: Floats, change: npt.NDArray[np.bool_]) -> Floats:
    """Rate lost against the better arm by what was decided, tok/s."""
    d = difference[:, None]
    return np.asarray(np.where(change, np.maximum(-d, 0.0), np.maximum(d, 0.0)))


def evaluate(worlds: Worlds, arm: Arm, other: Arm, arrangement: Arrangement, runs: int) -> dict[str, Estimate]:
    """One layout and run count of one comparison, all round counts at once.

    Returns
    -------
    dict of Estimate
        `half_width` (share of the rate ratio, or of the arm's rate where the goal is a rate), `reaches` (P that it is at
        most the target), `assurance`, `wrong`, `undecided`, `false_change` (the rule asks for the change though the true
        gain is zero), `loss_after` and `evsi` (tok/s).
    """
    plan, allowed = worlds.plan, worlds.plan.allowed
    a, b = worlds.runs[arm.name], worlds.runs[other.name]
    analysis = worlds.analysis(arm.name, other.name)
    log_gain = worlds.log_gain(arm.name, other.name)
    done = experiment(a, b, arrangement, runs, allowed.rounds, analysis)
    posterior = done.posterior()
    verdict = decided(posterior, worlds.rule)
    at_zero = decided(done.posterior(-log_gain[:, None], worlds.share_of_tokens(arm.name, other.name)), worlds.rule)
    if plan.goal.of == RATE:
        width = np.expm1(rate_half_width(a, arrangement, runs, allowed.rounds, analysis))
    else:
        width = np.sinh(posterior.half_width()) * np.exp(posterior.centre())
    difference = worlds.rates[arm.name] - worlds.rates[other.name]
    out = {name: share_of(flags) for name, flags in _outcomes(verdict, log_gain).items()}
    return out | {
        "false_change": share_of(at_zero.change),
        "half_width": mean_of(width),
        "reaches": share_of(width <= plan.goal.target),
        "loss_after": mean_of(_loss(difference, verdict.change)),
        "evsi": value_of_deciding(difference, done.estimate),
    }


def minutes_of(worlds: Worlds, arms: tuple[str, ...], arrangement: Arrangement, runs: int) -> Floats:
    """Minutes of so many runs of each of some arms, (rounds)."""
    plan = worlds.plan
    decoding = [sum(worlds.run_minutes(name, rounds) for name in arms) for rounds in plan.allowed.rounds]
    return np.asarray(runs * np.array(decoding) + plan.minutes.restart * restarts(arrangement, runs, len(arms)))


def plan_grid(worlds: Worlds) -> xr.Dataset:
    """Every comparison, layout, run count and round count.

    Returns
    -------
    xarray.Dataset
        Over (comparison, layout, runs, rounds): the entries of `evaluate`, each with `<name>_error`; `minutes` of both
        arms; `net_tokens` = evsi x horizon - tokens not served while both arms are measured, with its error.
    """
    plan = worlds.plan
    layouts = arrangements(plan)
    found: dict[str, list[Floats]] = {}
    for arm, other in plan.comparisons:
        serving = float(worlds.rates[other.name].mean())
        for arrangement in layouts:
            for runs in plan.allowed.runs:
                cell = evaluate(worlds, arm, other, arrangement, runs)
                minutes = minutes_of(worlds, (arm.name, other.name), arrangement, runs)
                seconds = 3600.0 * plan.goal.horizon_hours
                row = {name: estimate.value for name, estimate in cell.items()}
                row |= {f"{name}_error": estimate.error for name, estimate in cell.items()}
                row |= {
                    "minutes": minutes,
                    "net_tokens": cell["evsi"].value * seconds - serving * MINUTE_SECONDS * minutes,
                    "net_tokens_error": cell["evsi"].error * seconds,
                }
                for name, values in row.items():
                    found.setdefault(name, []).append(values)
    shape = (len(plan.comparisons), len(layouts), len(plan.allowed.runs), len(plan.allowed.rounds))
    dims = (COMPARISON, LAYOUT, RUNS, ROUNDS)
    return xr.Dataset(
        {name: (dims, np.array(values).reshape(shape)) for name, values in found.items()},
        coords={
            COMPARISON: [arm.name for arm, _ in plan.comparisons],
            LAYOUT: [entry.layout for entry in layouts],
            RUNS: list(plan.allowed.runs),
            ROUNDS: list(plan.allowed.rounds),
        },
    )
