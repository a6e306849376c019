"""The full posterior of a simulated experiment: its runs beside the stored ones, one compiled model with exchanged data."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.plan_arm import Arm
from ..data.words import CELL, DYNAMIC, FIXED, REQUEST, RUN, Level
from ..models.derive import derived
from ..models.evidence import evidence_of
from ..models.fit import Stated
from ..models.priors import Priors
from ..models.sampling import Settings, divergences, named_seed, sample
from .plan_arms import arm_draws, chosen_draws
from .plan_experiment import Arrangement
from .plan_spread import ONE_START, SHARED_START
from .simulate import ArmRuns

type Floats = npt.NDArray[np.float64]

DRAWS, TUNE, CHAINS = 200, 400, 2
"""Of each refit: 400 kept draws hold P(gain > 0) to about 2.5 points."""


@dataclass(frozen=True, slots=True)
class Refit:
    """What the full posterior says of one simulated experiment; log gain."""

    p_gain: float
    centre: float
    half_width: float
    loss_changing: float
    loss_keeping: float
    divergences: int


@dataclass(frozen=True, slots=True)
class Task:
    """One experiment to be refitted: plain values, so that it can be sent to another process or machine.

    `shape` names what a compiled program hangs on: which runs there are, under which policies, in which starts.
    """

    runs: xr.Dataset
    cell: xr.Dataset
    arm: Arm
    other: Arm
    config_ms: Floats
    priors: Priors
    seed: int
    shape: str


def _rows(
    like: xr.Dataset,
    arm: Arm,
    simulated: ArmRuns,
    world: int,
    arrangement: Arrangement,
    runs: int,
    rounds: int,
    place: int,
) -> xr.Dataset:
    """Simulated runs as rows of the stored dataset."""
    blocks, per_start = arrangement.shape(runs)
    deepest = like["accepted"].shape[1]
    accepted = np.zeros((runs, deepest), dtype=np.int64)
    accepted[:, : arm.depth] = np.rint(simulated.survival[world, place, :runs] * rounds)
    time = simulated.log_request[world, :runs].copy()
    if arrangement.layout != SHARED_START:
        time += np.repeat(simulated.start[world, :blocks], per_start)[:, None]
    if arrangement.layout == ONE_START:
        time += simulated.period[world]
    width = like.sizes[REQUEST]
    step = np.full((runs, width), np.nan)
    step[:, : time.shape[1]] = np.exp(time)
    own = "" if arrangement.layout == SHARED_START else f"-{arm.kind}{arm.depth}"
    rows = like.isel({RUN: np.zeros(runs, dtype=int)}).copy(deep=True)
    rows["request_rounds"] = (RUN, np.full(runs, rounds, dtype=np.int64))
    rows["accepted"] = (rows["accepted"].dims, accepted)
    rows["step_ms"] = (rows["step_ms"].dims, step)
    for name in ("verified", "verified_tokens", "accepted_by_verified", "steps"):
        rows[name] = xr.full_like(rows[name], np.nan, dtype=float)
    texts = {
        "run_id": [f"planned-{arm.kind}{arm.depth}-{n}" for n in range(runs)],
        "policy": [arm.kind] * runs,
        "start": [f"planned-{n // per_start}{own}" for n in range(runs)],
        "level": [str(Level.L4 if arm.kind == FIXED else Level.L0)] * runs,
    }
    coords: dict[str, Any] = {name: (RUN, np.array(values)) for name, values in texts.items()}
    coords |= {"policy_depth": (RUN, np.full(runs, arm.depth)), "screened": (RUN, np.full(runs, arm.kind == DYNAMIC))}
    return rows.assign_coords(coords)


def experiment_runs(
    stored: xr.Dataset,
    sides: Sequence[tuple[Arm, ArmRuns]],
    world: int,
    arrangement: Arrangement,
    runs: int,
    rounds: int,
    place: int,
) -> xr.Dataset:
    """The group's stored runs and those of one simulated experiment.

    Parameters
    ----------
    stored
        Runs of the worker group.
    sides
        Both arms with their simulated runs.
    world
        Which simulation.
    arrangement, runs, rounds, place
        The design, and the place of its rounds among those simulated.
    """
    width = max(stored.sizes[REQUEST], *(simulated.log_request.shape[-1] for _, simulated in sides))
    wide = stored.pad({REQUEST: (0, width - stored.sizes[REQUEST])}, constant_values=np.nan)
    like = wide.isel({RUN: np.flatnonzero(wide[CELL].values == sides[0][0].cell)[:1]})
    new = [_rows(like, arm, simulated, world, arrangement, runs, rounds, place) for arm, simulated in sides]
    return xr.concat([wide, *new], dim=RUN)


_COMPILED: dict[str, Stated] = {}
"""One compiled program for each shape of experiment, in each process."""
_ONE_AT_A_TIME = Lock()


def refit(task: Task) -> Refit:
    """Fit the full model to one simulated experiment; compiled once for each shape in each process."""
    evidence = evidence_of(task.runs)
    with _ONE_AT_A_TIME:  # threads of one worker share the program
        if task.shape not in _COMPILED:
            _COMPILED[task.shape] = Stated.of(evidence, task.priors, task.config_ms)
    stated = _COMPILED[task.shape].given(evidence)
    settings = Settings(task.seed, draws=DRAWS, tune=TUNE, chains=CHAINS)
    raw = sample(stated.model, stated.program, settings, task.seed)
    free = raw["posterior"].to_dataset()
    free = free[[name for name in free.data_vars if not str(name).endswith("__")]]
    posterior, _ = derived(free, evidence, stated.priors, stated.config_ms, named_seed(task.seed, "conditional"))
    draws = chosen_draws(posterior.drop_dims(RUN).sel({CELL: task.arm.cell}), DRAWS * CHAINS)
    spread, deepest = draws["s_run"].values, draws["survival"].shape[-1]
    rates = [arm_draws(side, task.cell, draws, deepest, {}).rate(spread) for side in (task.arm, task.other)]
    gain = np.log(rates[0] / rates[1])
    low, high = np.quantile(gain, (0.05, 0.95))
    return Refit(
        p_gain=float((gain > 0).mean()),
        centre=float(gain.mean()),
        half_width=float(high - low) / 2.0,
        loss_changing=float(np.maximum(-gain, 0.0).mean()),
        loss_keeping=float(np.maximum(gain, 0.0).mean()),
        divergences=divergences(raw),
    )
