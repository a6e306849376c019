"""Can the fit be trusted: what it repeats of the recorded runs, and how far the counts moved each position."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ..data.words import CELL, CHAIN, DEPTH, DRAW, POSITION, RUN
from .comparison import QUANTILE, QUANTILES
from .explain_regression import Floats
from .result import group_path
from .screen import run_medians

PREDICTIVE_ENDS = (0.05, 0.95)
DRAWS = (CHAIN, DRAW)


def place_among(observed: Floats, repeated: Floats) -> Floats:
    """Share of repetitions below what was observed, ties by half: near 0 or 1 the model did not expect it.

    Parameters
    ----------
    observed
        Shape (...).
    repeated
        Shape (draw, ...).
    """
    return np.asarray((repeated < observed).mean(axis=0) + 0.5 * (repeated == observed).mean(axis=0))


def _recorded(runs: xr.Dataset, names: list[str]) -> list[int]:
    """Places in `runs` of the fitted runs, by their names; equal names in their order."""
    keys = [f"{cell}/{run}" for cell, run in zip(runs[CELL].values, runs["run_id"].values, strict=True)]
    where: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        if runs["request_rounds"].values[place] > 0:
            where.setdefault(key, []).append(place)
    return [where[name].pop(0) for name in names]


def _flat(values: xr.DataArray) -> Floats:
    front = values.transpose(*DRAWS, ...).values
    return np.asarray(front.reshape(-1, *front.shape[2:]))


def repetition_checks(runs: xr.Dataset, predictive: xr.Dataset, worker: str) -> xr.Dataset:
    """Each fitted run beside its repetitions.

    Parameters
    ----------
    runs
        All runs of the study.
    predictive
        `accepted` (run, position) and, where times were fitted, `step_ms` (run), over draws; coordinate `run_id`.
    worker
        The group's name.

    Returns
    -------
    xarray.Dataset
        Over run: `accepted_place` (position; NaN beyond the policy), `length` (accepted positions a round) with
        `length_low`, `length_high` and `length_place`; `step`, `step_low`, `step_high`, `step_place` in ms.
    """
    names = [str(name) for name in predictive["run_id"].values]
    mine = runs.isel({RUN: np.flatnonzero(runs["worker"].values.astype(str) == worker)})
    kept = mine.isel({RUN: _recorded(mine, names)})
    accepted = kept["accepted"].transpose(RUN, POSITION).values
    again = _flat(predictive["accepted"].transpose(..., RUN, POSITION))
    inside = kept[POSITION].values <= kept["policy_depth"].values[:, None]
    rounds = kept["request_rounds"].values
    length, lengths = accepted.sum(axis=1) / rounds, again.sum(axis=2) / rounds
    low, high = np.quantile(lengths, PREDICTIVE_ENDS, axis=0)
    out = {
        "accepted_place": ((RUN, POSITION), np.where(inside, place_among(accepted, again), np.nan)),
        "length": (RUN, length),
        "length_low": (RUN, low),
        "length_high": (RUN, high),
        "length_place": (RUN, place_among(length, lengths)),
    }
    missing = np.full(len(names), np.nan)
    steps = {name: missing.copy() for name in ("step", "step_low", "step_high", "step_place")}
    if "step_ms" in predictive:
        observed, repeated = run_medians(kept["step_ms"]), _flat(predictive["step_ms"])
        timed = np.isfinite(observed) & np.isfinite(repeated).all(axis=0)
        steps["step"][timed] = observed[timed]
        steps["step_low"][timed], steps["step_high"][timed] = np.quantile(repeated[:, timed], PREDICTIVE_ENDS, axis=0)
        steps["step_place"][timed] = place_among(observed[timed], repeated[:, timed])
    return xr.Dataset(
        out | {name: (RUN, values) for name, values in steps.items()},
        coords={
            POSITION: kept[POSITION].values,
            "run_name": (RUN, np.array(names)),
            "run_cell": (RUN, kept[CELL].values.astype(str)),
            "policy": (RUN, kept["policy"].values.astype(str)),
            "policy_depth": (RUN, kept["policy_depth"].values),
        },
    )


def _without_copies(members: list[int], counters: Floats) -> list[int]:
    """Members whose counters repeat an earlier one's left out: greedy copies tell nothing of the spread."""
    seen: dict[tuple[float, ...], int] = {}
    for place in members:
        seen.setdefault(tuple(counters[place].tolist()), place)
    return sorted(seen.values())


def spread_checks(runs: xr.Dataset, predictive: xr.Dataset, worker: str) -> xr.Dataset:
    """Spread of accepted length between runs of one cell and policy, beside repetitions of it.

    Returns
    -------
    xarray.Dataset
        Over `arm`: `spread` (standard deviation over runs, copies of counters left out), `spread_low`, `spread_high`, `spread_place`, `spread_runs`;
        empty where no cell and policy has two runs.
    """
    names = [str(name) for name in predictive["run_id"].values]
    mine = runs.isel({RUN: np.flatnonzero(runs["worker"].values.astype(str) == worker)})
    kept = mine.isel({RUN: _recorded(mine, names)})
    rounds = kept["request_rounds"].values
    length = kept["accepted"].transpose(RUN, POSITION).values.sum(axis=1) / rounds
    lengths = _flat(predictive["accepted"].transpose(..., RUN, POSITION)).sum(axis=2) / rounds
    keys = list(zip(kept[CELL].values.astype(str), kept["policy"].values.astype(str),
                    kept["policy_depth"].values.tolist(), strict=True))  # fmt: skip
    counters = np.column_stack([rounds, kept["accepted"].transpose(RUN, POSITION).values])
    members_of = {
        arm: _without_copies([place for place, key in enumerate(keys) if key == arm], counters) for arm in keys
    }
    arms = [arm for arm in sorted(members_of) if len(members_of[arm]) > 1]
    rows = []
    for arm in arms:
        members = members_of[arm]
        observed, repeated = length[members].std(ddof=1), lengths[:, members].std(axis=1, ddof=1)
        low, high = np.quantile(repeated, PREDICTIVE_ENDS)
        rows.append((observed, low, high, float(place_among(observed, repeated)), len(members)))
    columns = np.array(rows, dtype=float).reshape(len(arms), 5).T
    fields = ("spread", "spread_low", "spread_high", "spread_place", "spread_runs")
    return xr.Dataset(
        {name: ("arm", values) for name, values in zip(fields, columns, strict=True)},
        coords={
            "arm_cell": ("arm", np.array([arm[0] for arm in arms], dtype=str)),
            "arm_policy": ("arm", np.array([f"{arm[1]} {arm[2]}" for arm in arms], dtype=str)),
        },
    )


def outside_counts(repetitions: xr.Dataset) -> xr.Dataset:
    """How many runs lie outside their 90 % of repetitions: at each position, in accepted length, and in step time.

    Returns
    -------
    xarray.Dataset
        `position_runs` and `position_outside` over position; `length_runs`, `length_outside`, `step_runs` and
        `step_outside`: a tenth of the runs is expected outside.
    """

    def outside(place: xr.DataArray) -> xr.DataArray:
        return ((place < PREDICTIVE_ENDS[0]) | (place > PREDICTIVE_ENDS[1])).sum(RUN)

    found = {}
    for name, key in (("position", "accepted_place"), ("length", "length_place"), ("step", "step_place")):
        found[f"{name}_runs"] = repetitions[key].notnull().sum(RUN)
        found[f"{name}_outside"] = outside(repetitions[key])
    return xr.Dataset(found)


def moved_positions(posterior: xr.Dataset, prior: xr.Dataset) -> xr.Dataset:
    """Survival and exposure of each position before and after the counts.

    Parameters
    ----------
    posterior, prior
        Draws of `fixed_survival` (cell, depth, position) and `exposure` (cell, position).

    Returns
    -------
    xarray.Dataset
        Over (cell, position): quantiles of `fixed_survival` of the policy that verifies every position, of `exposure`,
        both also as `prior_...`; and `survival_contraction`, 1 - variance after / variance before.
    """
    out = {}
    spread = {}
    for prefix, draws in (("", posterior), ("prior_", prior)):
        full = draws["fixed_survival"].isel({DEPTH: -1}, drop=True)
        for name, values in (("fixed_survival", full), ("exposure", draws["exposure"])):
            out[prefix + name] = values.quantile(list(QUANTILES), DRAWS).transpose(CELL, POSITION, QUANTILE)
        spread[prefix] = full.var(DRAWS)
    out["survival_contraction"] = 1.0 - spread[""] / spread["prior_"].where(spread["prior_"] > 0)
    return xr.Dataset(out).drop_vars(DEPTH, errors="ignore")


def checks(
    runs: xr.Dataset,
    posteriors: Mapping[str, xr.Dataset],
    priors: Mapping[str, xr.Dataset],
    predictives: Mapping[str, xr.Dataset],
) -> dict[str, xr.Dataset]:
    """Every check of every group, as groups of the stored tree.

    Returns
    -------
    dict
        `positions` over (cell, position); `repetitions/...`, `spread/...` and `outside/...` by worker.
    """
    out = {
        "positions": xr.concat([moved_positions(posteriors[name], priors[name]) for name in posteriors], dim=CELL),
    }
    for name, predictive in predictives.items():
        repetitions = repetition_checks(runs, predictive, name)
        out[group_path("repetitions", name)] = repetitions
        out[group_path("spread", name)] = spread_checks(runs, predictive, name)
        out[group_path("outside", name)] = outside_counts(repetitions)
    return out
