"""The order in which a coordinator runs the arms: blocks of all arms, their order drawn, every run with its start."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data.plan_arm import Arm
from ..models.sampling import named_seed
from . import equations
from .plan_choice import Chosen
from .plan_experiment import Arrangement
from .plan_sharing import runs_of_arms, sharing
from .plan_spread import ONE_START, SHARED_START
from .plan_worlds import QUANTILES, Worlds, arrangements

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of one arm; `start` names the server start, `restart` says whether it begins here."""

    block: int
    arm: str
    run: str
    start: str
    restart: bool


@dataclass(frozen=True, slots=True)
class Session:
    """What is run together: comparisons of one stage and cell that share arms, one layout and round count.

    `runs` of each arm, as many as the most demanding comparison that it stands in; `seed` draws the order.
    """

    stage: int
    cell: str
    arms: tuple[Arm, ...]
    arrangement: Arrangement
    layout: int
    runs: dict[str, int]
    rounds: int
    rounds_place: int
    seed: int
    turns: tuple[Turn, ...]


def _turns(
    key: str, arms: tuple[Arm, ...], arrangement: Arrangement, runs: dict[str, int], rng: np.random.Generator
) -> list[Turn]:
    """Blocks of every arm that has runs left, so that an arm always has its baseline beside it."""
    shapes = {name: arrangement.shape(count) for name, count in runs.items()}
    shared = arrangement.layout == SHARED_START
    turns: list[Turn] = []
    for block in range(max(blocks for blocks, _ in shapes.values())):
        drawn = [arms[place] for place in rng.permutation(len(arms))]
        order = [arm for arm in drawn if block < shapes[arm.name][0]]
        for place, arm in enumerate(order):
            number = arms.index(arm) + 1
            start = f"{key}-b{block + 1}" if shared else f"{key}-b{block + 1}-a{number}"
            per_start = shapes[arm.name][1]
            for run in range(per_start):
                fresh = run == 0 and (place == 0 or not shared)
                turns.append(Turn(block + 1, arm.name, f"{key}-a{number}-r{block * per_start + run + 1}", start, fresh))
    return turns


def sessions(worlds: Worlds, chosen: tuple[Chosen, ...], seed: int) -> tuple[Session, ...]:
    """Write out the advised designs: every comparison in one session, with its own layout, round count and runs.

    Comparisons of one stage and cell that share an arm and agree in layout and round count (`plan_sharing.share` lets
    them) stand in one session, where the shared arm is measured once; all others have a session of their own.

    Parameters
    ----------
    worlds
        The plan and its worlds.
    chosen
        The design of each comparison, as it is advised; those without one are left out.
    seed
        Of the order, drawn anew in every block, so that no arm always comes first.
    """
    layouts, allowed = arrangements(worlds.plan), worlds.plan.allowed
    out = []
    for number, members in enumerate(_sessions_of(chosen), 1):
        first = members[0]
        assert first.place is not None
        layout, _, rounds = first.place
        runs = runs_of_arms([(entry, allowed.runs[entry.place[1]]) for entry in members if entry.place is not None])
        arms = tuple(arm for arm in worlds.plan.arms if arm.name in runs)
        own = named_seed(seed, "plan", "order", str(first.arm.stage), first.arm.cell, *(arm.name for arm in arms))
        turns = _turns(f"s{number}", arms, layouts[layout], runs, np.random.default_rng(own))
        out.append(
            Session(
                first.arm.stage, first.arm.cell, arms, layouts[layout], layout, runs, allowed.rounds[rounds], rounds, own,
                tuple(turns),
            )
        )  # fmt: skip
    return tuple(out)


def _sessions_of(chosen: tuple[Chosen, ...]) -> list[list[Chosen]]:
    """Groups that share arms, apart where their layouts or round counts differ."""
    out: list[list[Chosen]] = []
    for group in sharing(chosen):
        alike: dict[tuple[int, int], list[Chosen]] = {}
        for entry in group:
            if entry.place is not None:
                alike.setdefault((entry.place[0], entry.place[2]), []).append(entry)
        for members in alike.values():
            out += sharing(tuple(members))
    return out


def predicted(worlds: Worlds, session: Session, arm: Arm) -> dict[str, Floats]:
    """Quantiles (.05, .5, .95) of what this arm's runs will measure: the statistics of `analysis.arms`.

    Tokens a round of the batch pooled over runs, step time as median over runs in ms, and their rate in tok/s.
    """
    runs, draws = worlds.runs[arm.name], worlds.arms[arm.name]
    count = session.runs[arm.name]
    blocks, per_start = session.arrangement.shape(count)
    pooled = runs.survival[:, session.rounds_place, :count].mean(axis=1).sum(axis=-1)
    tokens = equations.tokens_per_round(draws.batch, pooled)
    time = runs.log_step[:, :count] + np.repeat(runs.start[:, :blocks], per_start, axis=1)
    if session.arrangement.layout == ONE_START:
        time = time + runs.period[:, None]
    step = np.exp(np.median(time, axis=1))
    measured = {"tokens": tokens, "step_ms": step, "rate": equations.rate(tokens, step)}
    return {name: np.quantile(values, QUANTILES) for name, values in measured.items()}
