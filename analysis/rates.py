"""Posterior rates: the screen's equations given draws, for each estimand, depth and scenario."""

import itertools

import xarray as xr

from ..data.study import Study
from ..data.words import CHAIN, DEPTH, DRAW, ESTIMAND, POSITION, SCENARIO, VERIFIED_DEPTH
from . import equations
from .screen import at_cap, round_at

PROXY, FIXED_DEPTH = "proxy", "fixed_depth"
CENTRE, INTEGRATED = "centre", "assumption_priors"
CORNER = "corner"
SLOPE_QUANTILES = (0.05, 0.95)


def scenario_names() -> list[str]:
    """The scenarios in their order: the centre, the eight corners, and the assumption priors integrated over."""
    ends = itertools.product(("low", "high"), repeat=3)
    return [CENTRE, *(f"{CORNER}: overlap {o}, overhead {h}, row slope {m}" for o, h, m in ends), INTEGRATED]


def _slopes(study: Study, posterior: xr.Dataset, taught: bool) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Row slope of each cell: at the centre, and at the low and the high corner.

    Where fixed arms taught the slope, the corners are its posterior quantiles and the centre its median.
    """
    if taught:
        low, high = (posterior["row_slope"].quantile(q, (CHAIN, DRAW)).drop_vars("quantile") for q in SLOPE_QUANTILES)
        return posterior["row_slope"].median((CHAIN, DRAW)), low, high
    none = xr.zeros_like(posterior["row_slope"].isel({CHAIN: 0, DRAW: 0}, drop=True))
    entry = study.row_slope
    return none + entry.central, none + entry.low, none + entry.high


def assumptions(study: Study, posterior: xr.Dataset, taught: bool) -> xr.Dataset:
    """Overlap, overhead and row slope of every scenario.

    Parameters
    ----------
    study
        For the central values and the ends of the ranges.
    posterior
        Draws of `overlap`, `overhead_ms` and `row_slope` (cell).
    taught
        Whether measured fixed arms taught the row slope.

    Returns
    -------
    xarray.Dataset
        Each over (scenario, cell, chain, draw) as far as it varies.
    """
    centre, low, high = _slopes(study, posterior, taught)
    overlap, overhead = study.overlap, study.overhead_ms
    like = xr.zeros_like(posterior["overlap"])
    corners = [
        (like + o, like + h, like + m)
        for o in (overlap.low, overlap.high)
        for h in (overhead.low, overhead.high)
        for m in (low, high)
    ]
    grid = [
        (like + overlap.central, like + overhead.central, like + centre),
        *corners,
        (posterior["overlap"], posterior["overhead_ms"], posterior["row_slope"]),
    ]
    names = xr.DataArray(scenario_names(), dims=SCENARIO, name=SCENARIO)
    columns = (xr.concat(column, dim=names) for column in zip(*grid, strict=True))
    return xr.Dataset(dict(zip(("overlap", "overhead_ms", "row_slope"), columns, strict=True)))


def effective_anchor(p_verified: xr.DataArray, config_ms: xr.DataArray) -> xr.DataArray:
    """Hbar = sum_k P(V = k) H[k], in ms: the config time of the depth that was really verified."""
    anchor: xr.DataArray = (p_verified * config_ms.rename({DEPTH: VERIFIED_DEPTH})).sum(VERIFIED_DEPTH)
    return anchor


def fixed_depth_tokens(batch: xr.DataArray, fixed_survival: xr.DataArray) -> xr.DataArray:
    """E(d) of a policy that verifies all d positions: B (1 + S*_{d,1} + ... + S*_{d,d})."""
    inside = fixed_survival.where(fixed_survival[POSITION] <= fixed_survival[DEPTH], 0.0)
    tokens: xr.DataArray = equations.tokens_per_round(batch, inside.sum(POSITION))
    return tokens


def rate_draws(study: Study, cells: xr.Dataset, posterior: xr.Dataset, taught: bool) -> xr.Dataset:
    """Carry draws of survival, exposure and step time to rates.

    Parameters
    ----------
    study
        The study, for its scenarios.
    cells
        The screen's cells: `batch`, `cap`, `remote_ms`, `reference_ms`, `anchor_ms` (cell), `config_ms` (depth).
    posterior
        Draws of `survival` (cell, position), `fixed_survival` (cell, depth, position), `p_verified` (cell,
        verified_depth), `step_ms` (cell), `row_slope` (cell), `overlap`, `overhead_ms`.
    taught
        Whether fixed arms taught the row slope.

    Returns
    -------
    xarray.Dataset
        `rate`, `gain_cap`, `gain_current` (estimand, scenario, cell, depth, chain, draw), `current` (scenario, cell,
        chain, draw), `current_measured` and `tokens` likewise; tok/s, shares, tokens a round.
    """
    assumed = assumptions(study, posterior, taught).assign(step_ms=posterior["step_ms"])
    batch = cells["batch"]
    sums = equations.survival_sums(posterior["survival"], POSITION, DEPTH)
    tokens = {
        PROXY: equations.tokens_per_round(batch, sums),
        FIXED_DEPTH: fixed_depth_tokens(batch, posterior["fixed_survival"]),
    }
    effective = cells.assign(anchor_ms=effective_anchor(posterior["p_verified"], cells["config_ms"]))
    rounds = {PROXY: round_at(cells, assumed), FIXED_DEPTH: round_at(effective, assumed)}
    names = xr.DataArray([PROXY, FIXED_DEPTH], dims=ESTIMAND, name=ESTIMAND)
    all_tokens = xr.concat([tokens[PROXY], tokens[FIXED_DEPTH]], dim=names)
    rate = equations.rate(all_tokens, xr.concat([rounds[PROXY], rounds[FIXED_DEPTH]], dim=names))
    now = at_cap(tokens[PROXY], cells["cap"])
    exposed = equations.exposed_ms(cells["remote_ms"], assumed["overlap"], assumed["overhead_ms"])
    current = equations.rate(now, equations.round_ms(posterior["step_ms"] - cells["reference_ms"], exposed))
    return xr.Dataset(
        {
            "tokens": all_tokens,
            "rate": rate,
            "gain_cap": equations.gain(rate, at_cap(rate, cells["cap"])),
            "gain_current": equations.gain(rate, current),
            "current": current,
            "current_measured": equations.rate(now, posterior["step_ms"]),
        }
    )
