"""The order in which a coordinator runs the arms: blocks of all arms, their order drawn, every run with its start."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data.plan_arm import Arm
from ..models.sampling import named_seed
from . import equations
from .plan_choice import Chosen
from .plan_experiment import Arrangement
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
    """What is run together: the arms of one stage and cell, one design."""

    stage: int
    cell: str
    arms: tuple[Arm, ...]
    arrangement: Arrangement
    runs: int
    rounds: int
    rounds_place: int
    turns: tuple[Turn, ...]


def _turns(
    key: str, arms: tuple[Arm, ...], arrangement: Arrangement, runs: int, rng: np.random.Generator
) -> list[Turn]:
    blocks, per_start = arrangement.shape(runs)
    turns: list[Turn] = []
    for block in range(blocks):
        order = [arms[place] for place in rng.permutation(len(arms))]
        shared = arrangement.layout == SHARED_START
        for place, arm in enumerate(order):
            number = arms.index(arm) + 1
            start = f"{key}-b{block + 1}" if shared else f"{key}-b{block + 1}-a{number}"
            for run in range(per_start):
                fresh = run == 0 and (place == 0 or not shared)
                turns.append(Turn(block + 1, arm.name, f"{key}-a{number}-r{block * per_start + run + 1}", start, fresh))
    return turns


def sessions(worlds: Worlds, chosen: tuple[Chosen, ...], seed: int) -> tuple[Session, ...]:
    """Put comparisons that share stage and cell into one session, as long and as deep as the most demanding of them.

    Parameters
    ----------
    worlds
        The plan and its worlds.
    chosen
        The design of each comparison; those without one are left out.
    seed
        Of the order, drawn anew in every block, so that no arm always comes first.
    """
    layouts, allowed = arrangements(worlds.plan), worlds.plan.allowed
    groups: dict[tuple[int, str], list[Chosen]] = {}
    for entry in chosen:
        if entry.place is not None:
            groups.setdefault((entry.arm.stage, entry.arm.cell), []).append(entry)
    out = []
    for number, ((stage, cell), members) in enumerate(sorted(groups.items()), 1):
        places = np.array([entry.place for entry in members])
        layout, runs, rounds = (int(v) for v in (places[:, 0].min(), places[:, 1].max(), places[:, 2].max()))
        names = {arm.name for entry in members for arm in (entry.arm, entry.other)}
        arms = tuple(arm for arm in worlds.plan.arms if arm.name in names)
        rng = np.random.default_rng(named_seed(seed, "plan", "order", str(stage), cell))
        turns = _turns(f"s{number}", arms, layouts[layout], allowed.runs[runs], rng)
        out.append(
            Session(
                stage, cell, arms, layouts[layout], allowed.runs[runs], allowed.rounds[rounds], rounds, tuple(turns)
            )
        )
    return tuple(out)


def predicted(worlds: Worlds, session: Session, arm: Arm) -> dict[str, Floats]:
    """Quantiles (.05, .5, .95) of what this arm's runs will measure: the statistics of `analysis.arms`.

    Tokens a round of the batch pooled over runs, step time as median over runs in ms, and their rate in tok/s.
    """
    runs, draws = worlds.runs[arm.name], worlds.arms[arm.name]
    blocks, per_start = session.arrangement.shape(session.runs)
    pooled = runs.survival[:, session.rounds_place, : session.runs].mean(axis=1).sum(axis=-1)
    tokens = equations.tokens_per_round(draws.batch, pooled)
    time = runs.log_step[:, : session.runs] + np.repeat(runs.start[:, :blocks], per_start, axis=1)
    if session.arrangement.layout == ONE_START:
        time = time + runs.period[:, None]
    step = np.exp(np.median(time, axis=1))
    measured = {"tokens": tokens, "step_ms": step, "rate": equations.rate(tokens, step)}
    return {name: np.quantile(values, QUANTILES) for name, values in measured.items()}
