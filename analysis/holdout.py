"""Measured fixed arms that a fit has not seen: predicted intervals beside what was measured, two naive forecasts, gates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from ..data.study import Study
from ..data.words import CELL, DEPTH, FIXED, RUN
from ..models.evidence import Flags, Floats, evidence_of
from ..models.fit import fit
from ..models.prediction import Arm, Fitted
from ..models.priors import Priors
from ..models.sampling import Settings, named_seed
from . import equations
from .arms import measured_arms
from .groups import fit_groups
from .screen import screen
from .thresholds import stated_shares

QUANTITIES = ("tokens", "step_ms", "rate")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Gates:
    """What a held-out prediction has to reach; a study may state its own under `[gates]`."""

    tokens_error: float = 0.03  # largest root mean square relative error of the median tokens a round
    step_error: float = 0.05
    rate_error: float = 0.06
    coverage: float = 0.8  # least share of measured values inside 90 % intervals, of tokens, step and rate each

    @classmethod
    def stated(cls, entries: Mapping[str, float]) -> "Gates":
        """The default gates with a study's own numbers.

        Raises
        ------
        InputError
            An entry that is no gate, or no share from 0 to 1.
        """
        return cls(**stated_shares(cls, "gates", entries))


def training(runs: xr.Dataset, held: Flags, keep_times: Flags) -> xr.Dataset:
    """All other runs, and of held ones whose times are kept the times alone (`times_only`).

    A cell whose screened policy is held out is screened at its deepest fixed arm that is not.
    """
    times_only = held & keep_times
    kept = runs.assign_coords(times_only=(RUN, times_only), screened=(RUN, _screened_still(runs, ~held)))
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
    return {
        "measured": measured, "p05": low, "p25": inner, "p50": middle, "p75": outer, "p95": high,
        "inside_50": bool(inner <= measured <= outer), "inside_90": bool(low <= measured <= high),
        "log_score": float(stats.gaussian_kde(draws).logpdf([measured])[0]), **naive,
    }  # fmt: skip


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
        A row for each measured fixed arm that was left out: `cell`, `depth`, `batch`, `runs`, `rounds`, and for `tokens` (a
        round of the batch), `step_ms` and `rate` the measured value, predicted quantiles, whether it lies inside, the log
        score, and the naive forecasts `truncated` (the screen) and `nearest` (the nearest arm that was kept). And the arms
        that no kept run of their cell lets anyone predict.

    Raises
    ------
    NotConvergedError
        A fit that must not be used.
    """
    kept, left = training(runs, held, keep_times), runs.isel({RUN: np.flatnonzero(held)})
    counted = kept.isel({RUN: np.flatnonzero(~kept["times_only"].values)})
    screened = screen(study, counted)
    measured, naive = measured_arms(left, screened), measured_arms(counted, screened)
    priors, config_ms = Priors.stated(study.scheduler, study.priors), np.asarray(study.cost.config_ms, dtype=float)
    fitted: dict[str, Fitted] = {}
    for group, some in fit_groups(kept):
        tree = fit(some, config_ms, priors, settings, group, with_prior=False)
        made = Fitted.of(
            tree["sampled"].to_dataset(),
            evidence_of(some),
            priors,
            config_ms,
            named_seed(settings.seed, group, "held out"),
        )
        fitted |= dict.fromkeys(made.evidence.cells, made)
    rows, missed = [], []
    rng = np.random.default_rng(named_seed(settings.seed, "predicted arms"))
    for cell, depth, some in _arms(left):
        if cell not in fitted:
            missed.append(f"{cell} at depth {depth}")
            continue
        batch = int(some["batch"].values[0])
        tokens, step = fitted[cell].predicted(_planned(cell, depth, some), rng)
        draws = {"tokens": batch * tokens, "step_ms": step, "rate": equations.rate(batch * tokens, step)}
        truth, cut, near = _at(measured, cell, depth), _truncated(screened, cell, depth), _nearest(naive, cell, depth)
        rounds = int(some["request_rounds"].sum())
        row: dict[str, Any] = {CELL: cell, DEPTH: depth, "batch": batch, "runs": some.sizes[RUN], "rounds": rounds}
        for name in QUANTITIES:
            if np.isfinite(truth[name]) and np.isfinite(draws[name]).all():
                others = {"truncated": cut[name] if cut else None, "nearest": near[name] if near else None}
                row[name] = _row(draws[name], truth[name], others)
        rows.append(row)
    return rows, missed


def _relative(rows: Sequence[Mapping[str, float]], name: str) -> Floats:
    return np.array([row[name] / row["measured"] - 1.0 for row in rows if row.get(name) is not None])


def _naive_score(rows: Sequence[Mapping[str, float]], name: str) -> float:
    """Mean log score of a naive point with a normal about it whose spread is its own error over all arms: generous."""
    known = [row for row in rows if row.get(name) is not None]
    if not known:
        return float("nan")
    spread = float(np.sqrt((_relative(known, name) ** 2).mean()))
    law = (stats.norm(row[name], max(spread, 1e-9) * row[name]) for row in known)
    return float(np.mean([one.logpdf(row["measured"]) for one, row in zip(law, known, strict=True)]))


def summary(rows: Sequence[Mapping[str, Any]], gates: Gates) -> tuple[dict[str, Any], list[str]]:
    """Errors, coverage and scores over all arms, and the gates that fail.

    Returns
    -------
    tuple
        For each quantity `arms`, `error` (root mean square of median / measured - 1), `bias` (its mean), `cover_50`,
        `cover_90`, mean log scores, errors of the naive forecasts; and a line for each gate that fails.
    """
    out: dict[str, Any] = {}
    failed = []
    limits = {"tokens": gates.tokens_error, "step_ms": gates.step_error, "rate": gates.rate_error}
    for name in QUANTITIES:
        known = [row[name] for row in rows if name in row]
        if not known:
            failed.append(f"{name}: no arm could be compared")
            continue
        apart = _relative(known, "p50")
        error = {key: float(np.sqrt((_relative(known, key) ** 2).mean())) for key in ("p50", "truncated", "nearest")}
        out[name] = {
            "arms": len(known), "error": error["p50"], "bias": float(apart.mean()),
            "cover_50": float(np.mean([row["inside_50"] for row in known])),
            "cover_90": float(np.mean([row["inside_90"] for row in known])),
            "log_score": float(np.mean([row["log_score"] for row in known])),
            "truncated_error": error["truncated"], "truncated_log_score": _naive_score(known, "truncated"),
            "nearest_error": error["nearest"], "nearest_log_score": _naive_score(known, "nearest"),
        }  # fmt: skip
        if error["p50"] > limits[name]:
            failed.append(f"{name}: error {100 * error['p50']:.1f} %, at most {100 * limits[name]:g} % would pass")
        if out[name]["cover_90"] < gates.coverage:
            failed.append(
                f"{name}: 90 % intervals hold {100 * out[name]['cover_90']:.0f} % of the arms, {100 * gates.coverage:g} % would pass"
            )
    return out, failed
