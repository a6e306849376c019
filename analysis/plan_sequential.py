"""Looking again and again: stop as soon as the rule decides, or go on; its error rates by simulation."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data.plan_arm import Arm
from .plan_experiment import Arrangement, experiment
from .plan_posterior import Posterior, decided
from .plan_worlds import Worlds, restarts
from .planning import Estimate, mean_of, share_of

type Flags = npt.NDArray[np.bool_]

STRICTER = (0.925, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999)
"""Probabilities that are tried in place of the rule's until looking often costs no more false changes than one look."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What stopping at a threshold does: rates over simulations, and what it costs."""

    probability: float
    looks: tuple[int, ...]
    assurance: Estimate
    wrong: Estimate
    undecided: Estimate
    false_change: Estimate
    runs: Estimate
    minutes: Estimate
    stopped: tuple[float, ...]


def _first(decisions: Flags) -> npt.NDArray[np.int64]:
    """Place of the first look that decides, the number of looks where none does."""
    return np.where(decisions.any(axis=0), decisions.argmax(axis=0), len(decisions))


def _stopping(
    posteriors: list[Posterior], zeros: list[Posterior], worlds: Worlds, better: Flags, probability: float
) -> tuple[dict[str, Flags], npt.NDArray[np.int64]]:
    verdicts = [decided(posterior, worlds.rule, probability) for posterior in posteriors]
    at_zero = [decided(posterior, worlds.rule, probability) for posterior in zeros]
    change = np.array([verdict.change[:, 0] for verdict in verdicts])
    keep = np.array([verdict.keep[:, 0] for verdict in verdicts])
    first = _first(change | keep)
    last = np.minimum(first, len(change) - 1)
    here = np.arange(change.shape[1])
    changed, kept = change[last, here], keep[last, here]
    zero_change = np.array([verdict.change[:, 0] for verdict in at_zero])
    zero_keep = np.array([verdict.keep[:, 0] for verdict in at_zero])
    return {
        "assurance": (changed & better) | (kept & ~better),
        "wrong": (changed & ~better) | (kept & better),
        "undecided": ~(changed | kept),
        "false_change": _first(zero_change) < _first(zero_keep),
    }, first


def looking(worlds: Worlds, arm: Arm, other: Arm, arrangement: Arrangement, rounds_place: int) -> tuple[Looks, ...]:
    """Look after each allowed number of runs.

    Returns
    -------
    tuple of Looks
        At the rule's own probability; and at the least stricter one whose false changes under a true gain of zero stay
        within 1 - the rule's probability, where the first exceeds that and one does.
    """
    allowed = worlds.plan.allowed
    log_gain = worlds.log_gain(arm.name, other.name)
    share = worlds.share_of_tokens(arm.name, other.name)
    posteriors, zeros = [], []
    for runs in allowed.runs:
        done = experiment(
            worlds.runs[arm.name].only(rounds_place), worlds.runs[other.name].only(rounds_place), arrangement, runs,
            (allowed.rounds[rounds_place],), worlds.analysis(arm.name, other.name),
        )  # fmt: skip
        posteriors.append(done.posterior())
        zeros.append(done.posterior(-log_gain[:, None], share))
    out: list[Looks] = []
    for probability in (worlds.rule.probability, *STRICTER):
        if out and probability <= worlds.rule.probability:
            continue
        flags, first = _stopping(posteriors, zeros, worlds, log_gain > 0, probability)
        looks = _looks(worlds, arm, other, arrangement, rounds_place, probability, flags, first)
        within = float(looks.false_change.value) <= 1.0 - worlds.rule.probability
        if not out or within:
            out.append(looks)
        if within:
            break
    return tuple(out)


def _looks(
    worlds: Worlds,
    arm: Arm,
    other: Arm,
    arrangement: Arrangement,
    rounds_place: int,
    probability: float,
    flags: dict[str, Flags],
    first: npt.NDArray[np.int64],
) -> Looks:
    allowed = worlds.plan.allowed
    taken = np.array(allowed.runs)[np.minimum(first, len(allowed.runs) - 1)]
    one = sum(worlds.run_minutes(name, allowed.rounds[rounds_place]) for name in (arm.name, other.name))
    starts = np.array([restarts(arrangement, int(runs), 2) for runs in taken])
    shares = {name: share_of(entry) for name, entry in flags.items()}
    return Looks(
        probability=probability,
        looks=allowed.runs,
        runs=mean_of(taken.astype(float)),
        minutes=mean_of(taken * one + starts * worlds.plan.minutes.restart),
        stopped=tuple(float((first == place).mean()) for place in range(len(allowed.runs))),
        **shares,
    )
