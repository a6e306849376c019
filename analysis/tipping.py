"""Tipping points: the delta, and the row slope, at which the depth of the highest expected rate changes."""

import numpy as np
import xarray as xr

from ..data.words import CHAIN, DEPTH, DRAW
from . import equations
from .explain_regression import Floats, standard_error, terms
from .explain_sources import flat
from .rates import effective_anchor, fixed_depth_tokens
from .screen import round_at

QUANTITY, TIP, VALUE = "quantity", "tip", "value"
DELTA, ROW_SLOPE = QUANTITIES = ("delta", "row_slope")
GRID = 41
TIPS = 4
"""Changes that are kept of each quantity; the first ones."""


def changes(grid: Floats, curves: Floats, errors: Floats) -> list[tuple[float, int, int, float]]:
    """Where the highest of several curves changes.

    Parameters
    ----------
    grid
        Rising values: shape (grid,).
    curves
        Shape (grid, candidate).
    errors
        Standard error of each difference of two curves: shape (grid, candidate, candidate).

    Returns
    -------
    list
        (value, candidate before, candidate after, standard error of the value): the error of the difference over the
        slope of the difference there.
    """
    found = []
    best = curves.argmax(axis=1)
    for left in np.flatnonzero(best[1:] != best[:-1]):
        before, after = int(best[left]), int(best[left + 1])
        gap = curves[[left, left + 1], after] - curves[[left, left + 1], before]
        slope = (gap[1] - gap[0]) / (grid[left + 1] - grid[left])
        value = float(grid[left] - gap[0] / slope)
        found.append((value, before, after, float(errors[left, before, after] / abs(slope))))
    return found


def _pair_errors(values: Floats) -> Floats:
    """Monte-Carlo error of the difference of each two columns' means: (draw, candidate) to (candidate, candidate)."""
    return standard_error(values[:, :, None] - values[:, None, :])


def slope_curves(cell: xr.Dataset, posterior: xr.Dataset, grid: Floats) -> tuple[Floats, Floats]:
    """Expected fixed-depth rate at each row slope of a grid, everything else as drawn.

    Parameters
    ----------
    cell
        The screen of one cell, without the dim `cell`.
    posterior
        Draws of the same cell.
    grid
        Row slopes.

    Returns
    -------
    tuple of numpy.ndarray
        Means (grid, depth from 1 on) in tok/s, and errors of their differences (grid, depth, depth).
    """
    effective = cell.assign(anchor_ms=effective_anchor(posterior["p_verified"], cell["config_ms"]))
    tokens = fixed_depth_tokens(cell["batch"], posterior["fixed_survival"])
    slopes = xr.DataArray(grid, dims=VALUE)
    rounds = round_at(effective, posterior[["step_ms", "overlap", "overhead_ms"]].assign(row_slope=slopes))
    rate = flat(equations.rate(tokens, rounds), VALUE, DEPTH)[..., 1:]
    return rate.mean(axis=0), np.array([_pair_errors(rate[:, place]) for place in range(len(grid))])


def _slope_top(cell: xr.Dataset, posterior: xr.Dataset) -> float:
    """Twice what the posterior holds likely, and never so far that some round would last no time."""
    anchor = effective_anchor(posterior["p_verified"], cell["config_ms"])
    saved = cell["batch"] * (anchor - cell["config_ms"].isel({DEPTH: slice(1, None)}).min())
    most = (posterior["step_ms"] - cell["reference_ms"]) / saved.where(saved > 0)
    wanted = 2.0 * float(posterior["row_slope"].quantile(0.99, (CHAIN, DRAW)))
    limit = float(most.min()) if bool(most.notnull().any()) else np.inf
    return min(wanted, 0.9 * limit)


def delta_curves(delta: Floats, rate: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """E[rate | delta] on a grid by polynomial regression, and errors of the differences.

    Parameters
    ----------
    delta
        Draws: shape (draw,).
    rate
        Shape (draw, depth).
    grid
        Values inside the draws' range.
    """
    both = terms(np.concatenate([delta, grid])[:, None])
    design, at = both[: len(delta)], both[len(delta) :]
    inverse = np.linalg.pinv(design.T @ design)
    weights = inverse @ design.T
    curves = at @ (weights @ rate)
    left = rate - design @ (weights @ rate)
    noise = ((left[:, :, None] - left[:, None, :]) ** 2).mean(axis=0)
    leverage = np.einsum("gi,ij,gj->g", at, inverse, at)
    return curves, np.sqrt(leverage[:, None, None] * noise)


def tipping(cell: xr.Dataset, rates: xr.Dataset, posterior: xr.Dataset) -> xr.Dataset:
    """Both quantities of one cell.

    Parameters
    ----------
    cell
        The screen of one cell, without the dim `cell`.
    rates
        Draws of its `rate` (depth) under the assumption priors.
    posterior
        Its draws.

    Returns
    -------
    xarray.Dataset
        Over (quantity, tip): `tip_value` (NaN where there is no more), `tip_error`, `tip_from`, `tip_to` (depths, 0
        where there is no more), `tip_below` (posterior chance that the quantity is smaller); over quantity:
        `tip_low`, `tip_high` (what was looked through), `tip_depth_low` (the favoured depth at its lower end).
    """
    rate = flat(rates["rate"].sel({DEPTH: rates[DEPTH] > 0}), DEPTH)
    draws = {DELTA: flat(posterior["delta"]), ROW_SLOPE: flat(posterior["row_slope"])}
    ends: dict[str, tuple[float, float]] = {
        DELTA: (float(np.quantile(draws[DELTA], 0.01)), float(np.quantile(draws[DELTA], 0.99))),
        ROW_SLOPE: (0.0, _slope_top(cell, posterior)),
    }
    shape = (len(QUANTITIES), TIPS)
    values, errors, below = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    came, went, first = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int), np.zeros(len(QUANTITIES), dtype=int)
    for row, name in enumerate(QUANTITIES):
        grid = np.linspace(*ends[name], GRID)
        if not np.isfinite(rate).all() or ends[name][1] <= ends[name][0]:
            continue
        made = delta_curves(draws[name], rate, grid) if name == DELTA else slope_curves(cell, posterior, grid)
        first[row] = int(made[0][0].argmax()) + 1
        for place, (value, before, after, error) in enumerate(changes(grid, *made)[:TIPS]):
            values[row, place], errors[row, place] = value, error
            came[row, place], went[row, place] = before + 1, after + 1
            below[row, place] = (draws[name] < value).mean()
    return xr.Dataset(
        {
            "tip_value": ((QUANTITY, TIP), values),
            "tip_error": ((QUANTITY, TIP), errors),
            "tip_from": ((QUANTITY, TIP), came),
            "tip_to": ((QUANTITY, TIP), went),
            "tip_below": ((QUANTITY, TIP), below),
            "tip_low": (QUANTITY, np.array([ends[name][0] for name in QUANTITIES])),
            "tip_high": (QUANTITY, np.array([ends[name][1] for name in QUANTITIES])),
            "tip_depth_low": (QUANTITY, first),
        },
        coords={QUANTITY: list(QUANTITIES)},
    )
