"""The deterministic screen: per cell the central rate and gain at each depth, and their assumption envelopes."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..data.errors import InputError
from ..data.study import Study
from ..data.words import CELL, COMBINATION, DEPTH, POSITION, REFERENCE, RUN
from . import equations
from .bounds import cell_bounds
from .grouping import Floats, Ints, grouped, grouped_median


@dataclass(frozen=True, slots=True)
class _Runs:
    """The screened runs that have rounds, and the cells that they make."""

    runs: xr.Dataset
    cells: list[str]
    group: Ints
    first: Ints


def _screened(runs: xr.Dataset) -> _Runs:
    chosen = runs.isel({RUN: (runs["screened"].values & (runs["request_rounds"].values > 0)).nonzero()[0]})
    cells, first, group = np.unique(chosen[CELL].values, return_index=True, return_inverse=True)
    return _Runs(chosen, [str(cell) for cell in cells], group.astype(np.int64), first.astype(np.int64))


def run_medians(step_ms: xr.DataArray) -> Floats:
    """Median over each run's requests of their step time, ms; NaN for a run without any."""
    runs, width = step_ms.shape
    return grouped_median(step_ms.values.ravel(), np.repeat(np.arange(runs), width), runs)


def _cell_times(kept: _Runs) -> xr.Dataset:
    """T and the smallest and largest run median of each cell, ms."""
    medians = run_medians(kept.runs["step_ms"])
    size = len(kept.cells)
    lowest = grouped(np.fmin, medians, kept.group, size, np.nan)
    highest = grouped(np.fmax, medians, kept.group, size, np.nan)
    return xr.Dataset(
        {
            "step_ms": (CELL, grouped_median(medians, kept.group, size)),
            "step_low_ms": (CELL, lowest),
            "step_high_ms": (CELL, highest),
        }
    )


def pooled_survival(runs: xr.Dataset, group: Ints, groups: int) -> Floats:
    """S_i = sum of accepted / sum of rounds over the runs of each group; shape (groups, positions)."""
    rounds = grouped(np.add, runs["request_rounds"].values.astype(float), group, groups, np.nan)
    return grouped(np.add, runs["accepted"].values.astype(float), group, groups, np.nan) / rounds[:, None]


def _token_extremes(kept: _Runs, cap: xr.DataArray) -> xr.Dataset:
    """Smallest and largest, over each cell's runs, of 1 + S_1 + ... + S_d and of its ratio to the nominal cap's.

    The envelope takes each run's own vector with every combination of the rest. Rates are tokens / round with both
    positive and the round free of the run's vector, so the extremes of the two factors are the extremes of the whole.
    """
    survival = kept.runs["accepted"] / kept.runs["request_rounds"]
    tokens = equations.tokens_per_round(1.0, equations.survival_sums(survival, POSITION, DEPTH)).transpose(RUN, DEPTH)
    at_cap = np.take_along_axis(tokens.values, cap.values[kept.group][:, None], axis=1)
    size = len(kept.cells)
    extremes = {
        f"{name}_{end}": ((CELL, DEPTH), grouped(reduce, values, kept.group, size, np.nan))
        for name, values in (("tokens", tokens.values), ("ratio", tokens.values / at_cap))
        for end, reduce in (("low", np.minimum), ("high", np.maximum))
    }
    return xr.Dataset(extremes)


def combinations(study: Study, times: xr.Dataset) -> xr.Dataset:
    """The screen's grid: {smallest, largest run median} x overlap x overhead x row slope, 16 combinations.

    Returns
    -------
    xarray.Dataset
        `step_ms` (cell, combination) and the three assumptions (combination).
    """
    overlap, overhead, slope = study.overlap, study.overhead_ms, study.row_slope
    grid = np.meshgrid(
        [0, 1], [overlap.low, overlap.high], [overhead.low, overhead.high], [slope.low, slope.high], indexing="ij"
    )
    slow, *assumed = (axis.ravel() for axis in grid)
    step = np.where(slow == 1, times["step_high_ms"].values[:, None], times["step_low_ms"].values[:, None])
    names = ("overlap", "overhead_ms", "row_slope")
    return xr.Dataset(
        {"step_ms": ((CELL, COMBINATION), step)}
        | {name: (COMBINATION, values) for name, values in zip(names, assumed, strict=True)}
    )


def round_at(cells: xr.Dataset, assumptions: xr.Dataset) -> xr.DataArray:
    """round(d) of each cell under assumptions (`step_ms`, `overlap`, `overhead_ms`, `row_slope`), ms.

    Parameters
    ----------
    cells
        `batch`, `remote_ms`, `reference_ms`, `anchor_ms` (cell) and `config_ms` (depth).
    assumptions
        Numbers or arrays over any further dims.
    """
    verify = equations.verify_ms(
        assumptions["step_ms"], cells["reference_ms"], assumptions["row_slope"],
        cells["batch"], cells["config_ms"], cells["anchor_ms"],
    )  # fmt: skip
    exposed = equations.exposed_ms(cells["remote_ms"], assumptions["overlap"], assumptions["overhead_ms"])
    duration: xr.DataArray = equations.round_ms(verify, exposed)
    return duration


def _refuse_non_positive(rounds: xr.DataArray, grid: xr.Dataset) -> None:
    bad = (rounds <= 0).transpose(CELL, COMBINATION, DEPTH).values
    if bad.any():
        cell, combination, depth = (int(place[0]) for place in bad.nonzero())
        at = grid.isel({COMBINATION: combination, CELL: cell})
        raise InputError(
            f"cell {rounds[CELL].values[cell]}: a round of depth {depth} would last "
            f"{float(rounds.transpose(CELL, COMBINATION, DEPTH).values[cell, combination, depth]):.6g} ms at step time "
            f"{float(at['step_ms']):.6g} ms, overlap {float(at['overlap']):g}, overhead {float(at['overhead_ms']):g} ms "
            f"and row slope {float(at['row_slope']):g}; a narrower range or a smaller cost table would do"
        )


def _remote(study: Study, batches: Floats) -> Floats:
    remote = study.cost.remote_ms
    missing = sorted({int(batch) for batch in batches} - set(remote)) if remote else []
    if missing:
        raise InputError(
            f"{study.name}: cost.remote_ms has no time for batch {missing[0]}; one for every batch, or none at all "
            "where there is no remote worker, would do"
        )
    return np.array([remote.get(int(batch), 0.0) for batch in batches])


def _cells(study: Study, kept: _Runs) -> xr.Dataset:
    """What is fixed of each cell: batch, cap, remote time, e_ref and anchor."""
    at = kept.runs.isel({RUN: kept.first})
    cap = at["policy_depth"].values
    remote = _remote(study, at["batch"].values)
    config = np.array(study.cost.config_ms)
    reference = equations.exposed_ms(remote, study.cost.reference_overlap, study.cost.reference_overhead_ms)
    names = ("suite", "worker", "role", "context_tokens", "batch", "policy", "step_kind")
    return xr.Dataset(
        {
            "cap": (CELL, cap),
            "remote_ms": (CELL, remote),
            "reference_ms": (CELL, reference),
            "anchor_ms": (CELL, config[cap]),
            "config_ms": (DEPTH, config),
        }
        | {name: (CELL, at[name].values) for name in names},
        coords={CELL: kept.cells, DEPTH: np.arange(study.max_depth + 1), POSITION: kept.runs[POSITION]},
    )


def _kinds(kept: _Runs) -> list[str]:
    """The kind of step time of each cell: the one that its runs have, empty where none has any."""
    kinds = kept.runs["step_kind"].values
    known = {int(group): str(kind) for group, kind in zip(kept.group, kinds, strict=True) if kind}
    return [known.get(cell, "") for cell in range(len(kept.cells))]


def _central(study: Study, cells: xr.Dataset, times: xr.Dataset) -> xr.DataArray:
    central = xr.Dataset(
        {
            "step_ms": times["step_ms"],
            "overlap": study.overlap.central,
            "overhead_ms": study.overhead_ms.central,
            "row_slope": study.row_slope.central,
        }
    )
    return round_at(cells, central).transpose(CELL, DEPTH)


def at_cap(values: xr.DataArray, cap: xr.DataArray) -> xr.DataArray:
    """Each cell's value at its nominal cap."""
    return values.sel({DEPTH: cap}).drop_vars(DEPTH)


def favoured_depth(rates: xr.DataArray) -> xr.DataArray:
    """The depth from 1 on with the highest central rate, ties to the shallower; 0 where a cell has no rate."""
    candidates = rates.sel({DEPTH: rates[DEPTH] > 0}).fillna(-np.inf)
    best = candidates[DEPTH].isel({DEPTH: candidates.argmax(DEPTH)}).drop_vars(DEPTH)
    return best.where(np.isfinite(candidates.max(DEPTH)), 0).astype(int)


def screen(study: Study, runs: xr.Dataset) -> xr.Dataset:
    """Screen every cell of a study.

    Parameters
    ----------
    study
        The study, for its cost table and ranges.
    runs
        The runs of `data.inputs`, with coordinate `screened`.

    Returns
    -------
    xarray.Dataset
        Dims `cell`, `depth` (0..K), `position` (1..K), `end`. Central `rate` and envelope `rate_low`, `rate_high`
        in tok/s; `gain`, `gain_low`, `gain_high` against the nominal cap, shares; pooled `survival`; `tokens` a round;
        `step_ms` and its extremes; worst-case `survival_bound` and `rate_bound`; `favoured_depth` (0: no rate). All
        times and rates of a cell without any step time are NaN.

    Raises
    ------
    InputError
        A batch without a remote time, or a round that would not be positive; the combination is named.
    """
    kept = _screened(runs)
    times = _cell_times(kept)
    cells = _cells(study, kept).merge(times)
    cells["step_kind"] = (CELL, _kinds(kept))
    grid = combinations(study, times).assign_coords({CELL: kept.cells})
    rounds = round_at(cells, grid)
    central = _central(study, cells, times)
    _refuse_non_positive(rounds, grid)
    survival = xr.DataArray(
        pooled_survival(kept.runs, kept.group, len(kept.cells)),
        dims=(CELL, POSITION),
        coords={POSITION: cells[POSITION]},
    )
    sums = equations.survival_sums(survival, POSITION, DEPTH)
    tokens = equations.tokens_per_round(cells["batch"], sums).transpose(CELL, DEPTH)
    rates = equations.rate(tokens, central)
    extreme = _token_extremes(kept, cells["cap"])
    batch, cap = cells["batch"], cells["cap"]
    relative = at_cap(rounds, cap) / rounds
    bounds = cell_bounds(kept.runs, kept.group, kept.cells)
    token_bound = equations.tokens_per_round(batch, bounds["survival_sum_bound"])
    figures = {
        "survival": survival,
        "tokens": tokens,
        "round_ms": central,
        "rate": rates,
        "rate_low": equations.rate(batch * extreme["tokens_low"], rounds.max(COMBINATION)),
        "rate_high": equations.rate(batch * extreme["tokens_high"], rounds.min(COMBINATION)),
        "gain": equations.gain(rates, at_cap(rates, cap)),
        "gain_low": equations.gain(extreme["ratio_low"] * relative.min(COMBINATION), 1.0),
        "gain_high": equations.gain(extreme["ratio_high"] * relative.max(COMBINATION), 1.0),
        "favoured_depth": favoured_depth(rates),
        "survival_bound": bounds["survival_bound"],
        "tokens_bound": token_bound,
        "rate_bound": equations.rate(token_bound, central),
    }
    counts = {
        "runs": (CELL, np.bincount(kept.group, minlength=len(kept.cells))),
        "rounds": (
            CELL,
            grouped(np.add, kept.runs["request_rounds"].values, kept.group, len(kept.cells), 0).astype(int),
        ),
        "level": (CELL, _levels(kept)),
        "hypothetical": (CELL, cells["role"].values == REFERENCE),
    }
    return cells.assign(figures).assign(counts)


def _levels(kept: _Runs) -> list[str]:
    """The levels of evidence in each cell, lowest first, joined by a plus where runs differ."""
    present: list[set[str]] = [set() for _ in kept.cells]
    pairs = np.unique(np.stack([kept.group.astype(str), kept.runs["level"].values]), axis=1)
    for group, level in pairs.T:
        present[int(group)].add(str(level))
    return ["+".join(sorted(levels)) for levels in present]
