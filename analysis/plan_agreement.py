"""The fast analysis beside full refits: the same simulated experiments, decided twice by the written rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.plan_arm import Arm
from ..data.words import CELL
from ..models.priors import Priors
from ..models.sampling import named_seed
from .decision import Rule
from .plan_experiment import Arrangement, experiment
from .plan_posterior import Posterior, decided
from .plan_refit import Refit, Task, experiment_runs, refit
from .plan_tasks import run_tasks
from .plan_worlds import Worlds, arrangements

type Floats = npt.NDArray[np.float64]
type Flags = npt.NDArray[np.bool_]

EXPERIMENTS = 100
MOST_RUNS = 8
"""Designs that are refitted have at most so many runs of each arm: a refit's time grows with them, what it shows does not."""


@dataclass(frozen=True, slots=True)
class Design:
    """One design that is refitted over some worlds."""

    arm: Arm
    other: Arm
    arrangement: Arrangement
    runs: int
    rounds: int
    rounds_place: int
    worlds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Fast and full analyses of the same experiments of one design, both in every array: shape (2, experiment).

    `covered`: whether the world's own gain lies in the 90 % interval.
    """

    design: Design
    right: Flags
    wrong: Flags
    p_gain: Floats
    half_width: Floats
    covered: Flags
    divergent: int

    @classmethod
    def over(cls, found: "tuple[Agreement, ...]") -> "Agreement":
        """All experiments of several designs, named by the first."""

        def joint(name: str) -> npt.NDArray[Any]:
            return np.concatenate([getattr(entry, name) for entry in found], axis=1)

        sides = joint("right"), joint("wrong"), joint("p_gain"), joint("half_width"), joint("covered")
        return cls(found[0].design, *sides, sum(entry.divergent for entry in found))

    @property
    def difference(self) -> tuple[float, float]:
        """Full less fast assurance and its Monte-Carlo error: the same experiments stand on both sides."""
        gap = self.right[1].astype(float) - self.right[0].astype(float)
        size = len(gap)
        unlike = (np.count_nonzero(gap) + 0.5) / (size + 1.0)  # no disagreement seen is not none
        return float(gap.mean()), float(np.sqrt(max(unlike - gap.mean() ** 2, unlike / size) / size))


def refit_designs(worlds: Worlds, experiments: int = EXPERIMENTS) -> tuple[Design, ...]:
    """Designs to be refitted: of every comparison that the full model knows, two run counts and two round counts.

    A remote scalar's effect is ASSUMED and no part of the model, so that its arms are left out.
    """
    known = [
        (arm, other) for arm, other in worlds.plan.comparisons if arm.scalar_ms is None and other.scalar_ms is None
    ]
    allowed = worlds.plan.allowed
    runs = [n for n in allowed.runs if n <= MOST_RUNS][-3::2] or [allowed.runs[0]]
    rounds = sorted({0, len(allowed.rounds) // 2})
    count = max(1, experiments // max(1, len(known) * len(runs) * len(rounds)))
    size = worlds.plan.design.simulations
    designs = []
    for number, (arm, other, n, place) in enumerate(
        (arm, other, n, place) for arm, other in known for n in runs for place in rounds
    ):
        chosen = tuple(int(v) for v in (np.arange(count) * size // count + 7 * number) % size)  # worlds of its own
        designs.append(Design(arm, other, arrangements(worlds.plan)[0], n, allowed.rounds[place], place, chosen))
    return tuple(designs)


def _tasks(
    worlds: Worlds, design: Design, stored: xr.Dataset, cell: xr.Dataset, config_ms: Floats, priors: Priors, seed: int
) -> list[Task]:
    sides = [(side, worlds.runs[side.name]) for side in (design.arm, design.other)]
    shape = f"{design.arm.cell}\0{design.arm.name}\0{design.other.name}\0{design.arrangement.layout}\0{design.runs}"
    out = []
    for world in design.worlds:
        runs = experiment_runs(
            stored, sides, world, design.arrangement, design.runs, design.rounds, design.rounds_place
        )
        own = named_seed(seed, "plan", "refit", shape, str(design.rounds), str(world))
        out.append(Task(runs, cell, design.arm, design.other, config_ms, priors, own, shape))
    return out


def verdict_of(full: Refit, rule: Rule) -> tuple[bool, bool]:
    """Whether the written rule asks for the change, and whether its mirror asks to keep, from a full posterior."""
    change = full.p_gain >= rule.probability and full.loss_changing <= rule.expected_loss_share
    keep = 1.0 - full.p_gain >= rule.probability and full.loss_keeping <= rule.expected_loss_share
    return change, keep


def _fast(worlds: Worlds, design: Design) -> Posterior:
    """The fast analysis with the prior that a refit has: what the stored runs say."""
    names = design.arm.name, design.other.name
    beliefs = worlds.analysis(*names, prior=worlds.stored_prior(*names))
    a, b = (worlds.runs[name].only(design.rounds_place) for name in names)
    return experiment(a, b, design.arrangement, design.runs, (design.rounds,), beliefs).posterior()


def _agreement(worlds: Worlds, design: Design, full: list[Refit]) -> Agreement:
    chosen = list(design.worlds)
    truth = worlds.log_gain(design.arm.name, design.other.name)[chosen]
    better, posterior = truth > 0, _fast(worlds, design)
    fast = decided(posterior, worlds.rule)
    verdicts = np.array([verdict_of(entry, worlds.rule) for entry in full])
    change = np.stack([fast.change[chosen, 0], verdicts[:, 0]])
    keep = np.stack([fast.keep[chosen, 0], verdicts[:, 1]])
    centre = np.stack([posterior.centre()[chosen, 0], np.array([entry.centre for entry in full])])
    width = np.stack([posterior.half_width()[chosen, 0], np.array([entry.half_width for entry in full])])
    return Agreement(
        design,
        (change & better) | (keep & ~better),
        (change & ~better) | (keep & better),
        np.stack([posterior.p_gain()[chosen, 0], np.array([entry.p_gain for entry in full])]),
        width,
        np.abs(truth - centre) <= width,
        sum(entry.divergences > 0 for entry in full),
    )


def agreements(
    worlds: Worlds,
    stored: Callable[[str], xr.Dataset],
    screened: xr.Dataset,
    config_ms: Floats,
    priors: Priors,
    seed: int,
    scheduler: str | None = None,
    experiments: int = EXPERIMENTS,
) -> tuple[Agreement, ...]:
    """Refit simulated experiments in full and hold the fast analysis against them.

    Parameters
    ----------
    worlds
        The plan and its simulated runs.
    stored
        The runs of the worker group that a cell belongs to.
    screened
        The screen of the study.
    config_ms, priors
        What the model is built from.
    seed
        Of all refits; each has its own.
    scheduler
        Address of a Dask scheduler, None for the local pool.
    experiments
        Designs by simulations, about.
    """
    designs = refit_designs(worlds, experiments)
    tasks: list[Task] = []
    for design in designs:
        cell = screened.sel({CELL: design.arm.cell})
        tasks += _tasks(worlds, design, stored(design.arm.cell), cell, config_ms, priors, seed)
    results = run_tasks(refit, tasks, scheduler)
    out, begin = [], 0
    for design in designs:
        end = begin + len(design.worlds)
        out.append(_agreement(worlds, design, results[begin:end]))
        begin = end
    return tuple(out)
