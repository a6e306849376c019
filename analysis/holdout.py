"""Measured fixed arms that a fit has not seen: predicted intervals beside what was measured and two naive forecasts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from ..data.study import Study
from ..data.words import CELL, DEPTH, FIXED, RUN
from ..models.evidence import Evidence, Flags, Floats, evidence_of
from ..models.fit import fit
from ..models.new_cell import with_unseen
from ..models.prediction import Arm, Fitted
from ..models.priors import Priors
from ..models.sampling import Settings, named_seed
from . import equations
from .arms import measured_arms
from .groups import fit_groups
from .holdout_cells import Place, nearest_batch, pooled, times_kept, with_own_step, without_counts
from .holdout_scores import QUANTITIES
from .screen import screen

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def training(runs: xr.Dataset, held: Flags, keep_times: Flags) -> xr.Dataset:
    """All other runs, and of held ones whose times are kept the times alone (`times_only`).

    A cell whose screened policy is held out is screened at its deepest fixed arm that is not. Of a cell without a count only the
    times of fixed arms are kept: what a dynamic policy verified there is not known.
    """
    alone = without_counts(runs, held)
    times_only = held & keep_times & (~alone | (runs["policy"].values == FIXED))
    screened = _screened_still(runs, ~held) | _screened_still(runs, times_only & alone)
    kept = runs.assign_coords(times_only=(RUN, times_only), screened=(RUN, screened))
    return kept.isel({RUN: np.flatnonzero(~held | times_only)})


def _screened_still(runs: xr.Dataset, counted: Flags) -> Flags:
    """Screened runs of each cell that are counted; where none is left, those of its deepest fixed arm that is."""
    out = runs["screened"].values & counted
    cells, depth = runs[CELL].values, runs["policy_depth"].values
    fixed = counted & (runs["policy"].values == FIXED)
    for cell in set(cells[fixed].tolist()) - set(cells[out].tolist()):
        here = fixed & (cells == cell)
        out |= here & (depth == depth[here].max())
    return np.asarray(out)


def _arms(runs: xr.Dataset) -> list[tuple[str, int, xr.Dataset]]:
    """Cell, depth and runs of each fixed arm with rounds."""
    use = (runs["policy"].values == FIXED) & (runs["policy_depth"].values > 0) & (runs["request_rounds"].values > 0)
    some = runs.isel({RUN: np.flatnonzero(use)})
    keys = list(zip(some[CELL].values.astype(str), some["policy_depth"].values, strict=True))
    return [
        (cell, int(depth), some.isel({RUN: [place for place, key in enumerate(keys) if key == (cell, depth)]}))
        for cell, depth in sorted(set(keys))
    ]


def _planned(cell: str, depth: int, runs: xr.Dataset) -> Arm:
    _, start = np.unique(runs["start"].values.astype(str), return_inverse=True)
    requests = (~np.isnan(runs["step_ms"].values)).sum(axis=1)
    return Arm(cell, depth, runs["request_rounds"].values.tolist(), requests.tolist(), start.tolist())


def _at(arms: xr.Dataset, cell: str, depth: int) -> dict[str, float]:
    here = (arms[CELL].values == cell) & (arms["policy"].values == FIXED) & (arms["policy_depth"].values == depth)
    place = int(np.flatnonzero(here)[0])
    return {name: float(arms[name].values[place]) for name in QUANTITIES}


def _nearest(arms: xr.Dataset, cell: str, depth: int) -> dict[str, float] | None:
    """The measured arm of the same cell that is nearest in depth."""
    places = np.flatnonzero(arms[CELL].values == cell)
    if not len(places):
        return None
    best = min(places, key=lambda place: abs(int(arms["policy_depth"].values[place]) - depth))
    return {name: float(arms[name].values[best]) for name in QUANTITIES}


def _truncated(screened: xr.Dataset, cell: str, depth: int) -> dict[str, float] | None:
    """What the screen of the runs that were kept says, as a point."""
    if cell not in screened[CELL].values:
        return None
    at = screened.sel({CELL: cell, DEPTH: depth})
    return {
        "tokens": float(at["tokens"]), "rate": float(at["rate"]),
        "step_ms": equations.MS_PER_S * float(at["tokens"]) / float(at["rate"]),
    }  # fmt: skip


def _row(draws: Floats, measured: float, naive: Mapping[str, float | None]) -> dict[str, Any]:
    low, inner, middle, outer, high = (float(q) for q in np.quantile(draws, QUANTILES))
    density = stats.gaussian_kde(np.log(draws))  # of the log: a step without an anchor has a tail that no width fits
    return {
        "measured": measured, "p05": low, "p25": inner, "p50": middle, "p75": outer, "p95": high,
        "inside_50": bool(inner <= measured <= outer), "inside_90": bool(low <= measured <= high),
        "log_score": float(density.logpdf([np.log(measured)])[0] - np.log(measured)), **naive,
    }  # fmt: skip


def _fits(study: Study, kept: xr.Dataset, designs: Mapping[str, Evidence], settings: Settings) -> dict[str, Fitted]:
    """The fit that predicts each cell; `designs` are the cells of each worker of which no count was kept."""
    priors, config_ms = Priors.stated(study.scheduler, study.priors), np.asarray(study.cost.config_ms, dtype=float)
    fitted: dict[str, Fitted] = {}
    for group, some in fit_groups(kept):
        if some["times_only"].values.all():
            continue
        sampled = fit(some, config_ms, priors, settings, group, with_prior=False)["sampled"].to_dataset()
        seed = named_seed(settings.seed, group, "held out")
        made = Fitted.of(sampled, evidence_of(some), priors, config_ms, seed)
        if group in designs:
            made = with_unseen(made, designs[group], named_seed(settings.seed, group, "unseen cells"))
        fitted |= dict.fromkeys(made.evidence.cells, made)
    return fitted


def hold_out(
    study: Study, runs: xr.Dataset, held: Flags, keep_times: Flags, settings: Settings
) -> tuple[list[dict[str, Any]], list[str]]:
    """Fit without some runs and predict them.

    Parameters
    ----------
    study, runs
        The study and all its runs.
    held, keep_times
        Runs that are left out; and of which of them the step times are kept.
    settings
        Of the fits.

    Returns
    -------
    tuple
        A row for each measured fixed arm that was left out: `cell`, `depth`, `batch`, `runs`, `rounds`, `own_counts` (whether
        counts of its cell were kept), `own_times` (depths of its cell of which step times alone were), `step_kept` (whether its
        own is among them: then step and rate are no prediction), and for `tokens` (a round of the batch), `step_ms` and `rate`
        the measured value, predicted quantiles, whether it lies inside, the log score, and naive forecasts: `truncated` (the
        screen) and `nearest` (the nearest arm of the cell that was kept); for a cell without counts `pooled` and `nearest` of
        `analysis.holdout_cells`. And the arms that no fit predicts: of their worker no count was kept, or of their cell only
        counts of a dynamic policy, or their suite is a reference.

    Raises
    ------
    NotConvergedError
        A fit that must not be used.
    """
    kept, left = training(runs, held, keep_times), runs.isel({RUN: np.flatnonzero(held)})
    times_only = kept["times_only"].values
    counted, timed = (kept.isel({RUN: np.flatnonzero(some)}) for some in (~times_only, times_only))
    screened, places = screen(study, counted), Place.of(runs)
    measured, arms, own = (measured_arms(some, screened) for some in (left, counted, timed))
    lost = runs.isel({RUN: np.flatnonzero(without_counts(runs, held))})
    designs = {group: evidence_of(some) for group, some in fit_groups(lost)}
    unseen = set(lost[CELL].values.astype(str).tolist())
    fitted = _fits(study, kept, designs, settings)
    rows, missed = [], []
    rng = np.random.default_rng(named_seed(settings.seed, "predicted arms"))
    for cell, depth, some in _arms(left):
        if cell not in fitted:
            missed.append(f"{cell} at depth {depth}")
            continue
        batch, depths = int(some["batch"].values[0]), times_kept(kept, cell)
        tokens, step = fitted[cell].predicted(_planned(cell, depth, some), rng)
        draws = {"tokens": batch * tokens, "step_ms": step, "rate": equations.rate(batch * tokens, step)}
        truth = _at(measured, cell, depth)
        naive = {"truncated": _truncated(screened, cell, depth), "nearest": _nearest(arms, cell, depth)}
        if cell in unseen:
            anchor = _nearest(own, cell, depth)
            naive = {"pooled": with_own_step(pooled(arms, places, cell, depth), anchor),
                     "nearest": with_own_step(nearest_batch(arms, places, cell, depth), anchor)}  # fmt: skip
        rounds = int(some["request_rounds"].sum())
        row: dict[str, Any] = {CELL: cell, DEPTH: depth, "batch": batch, "runs": some.sizes[RUN], "rounds": rounds,
                               "own_counts": cell not in unseen, "own_times": depths, "step_kept": depth in depths}  # fmt: skip
        for name in QUANTITIES:
            if np.isfinite(truth[name]) and np.isfinite(draws[name]).all():
                others = {key: said[name] if said else None for key, said in naive.items()}
                row[name] = _row(draws[name], truth[name], others)
        rows.append(row)
    return rows, missed
