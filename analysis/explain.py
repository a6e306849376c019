"""Why the rate is not known: shares of its variance by source, and what knowing each source exactly is worth."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ..data.words import CELL, DEPTH, ESTIMAND, SCENARIO
from .explain_regression import expected, share_explained, standard_error, value_of_knowing
from .explain_sources import ACCEPTANCE, SOURCES, columns_of, flat, floor_of_runs, of_cell, runs_of
from .rates import FIXED_DEPTH, INTEGRATED
from .tipping import tipping

SOURCE = "source"


def explain_cell(rates: xr.Dataset, posterior: xr.Dataset, runs: int) -> xr.Dataset:
    """Shares and values of one cell.

    Parameters
    ----------
    rates
        Draws of `rate` (depth) and `current` under the assumption priors, tok/s.
    posterior
        Draws of the same cell.
    runs
        Runs of the cell, for the split of acceptance.

    Returns
    -------
    xarray.Dataset
        Over (source, depth): `share`, `share_error`; over depth: `interaction`, `runs_share` and `rounds_share` (of
        acceptance); over source: `evppi`, `evppi_error` (tok/s); `evpi`, `evpi_error`.

    Notes
    -----
    Shares are first-order, Var(E[rate | source]) / Var(rate). What they leave, `interaction`, also holds what sources
    share because the counts tied them; it may then be negative.
    """
    rate = flat(rates["rate"].sel({DEPTH: rates[DEPTH] > 0}), DEPTH)
    targets = np.concatenate([rate, flat(rates["current"])[:, None]], axis=1)
    depths = rate.shape[1]
    share, error = np.zeros((len(SOURCES), depths)), np.zeros((len(SOURCES), depths))
    worth, worth_error = np.zeros(len(SOURCES)), np.zeros(len(SOURCES))
    for place, columns in enumerate(columns_of(posterior).values()):
        fitted = expected(columns, targets)
        share[place], error[place] = share_explained(rate, fitted[:, :depths])
        worth[place], worth_error[place] = value_of_knowing(targets, fitted)
    acceptance = share[SOURCES.index(ACCEPTANCE)]
    with np.errstate(invalid="ignore", divide="ignore"):
        of_runs = np.clip(floor_of_runs(posterior, rate, runs) / rate.var(axis=0), 0.0, np.maximum(acceptance, 0.0))
    perfect = targets.max(axis=1) - targets[:, targets.mean(axis=0).argmax()]
    return xr.Dataset(
        {
            "share": ((SOURCE, DEPTH), share),
            "share_error": ((SOURCE, DEPTH), error),
            "interaction": (DEPTH, 1.0 - share.sum(axis=0)),
            "runs_share": (DEPTH, of_runs),
            "rounds_share": (DEPTH, acceptance - of_runs),
            "evppi": (SOURCE, worth, {"units": "tok/s"}),
            "evppi_error": (SOURCE, worth_error, {"units": "tok/s"}),
            "evpi": ((), perfect.mean(), {"units": "tok/s"}),
            "evpi_error": ((), float(standard_error(perfect)), {"units": "tok/s"}),
        },
        coords={SOURCE: list(SOURCES), DEPTH: rates[DEPTH].values[rates[DEPTH].values > 0]},
    )


def explain(screened: xr.Dataset, rates: xr.Dataset, posteriors: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Explain every fitted cell.

    Parameters
    ----------
    screened
        The screen, for the equations of the row slope's tipping point.
    rates
        Draws of the kept scenarios, of `analysis.comparison.compare`.
    posteriors
        Draws of each group.

    Returns
    -------
    xarray.Dataset
        What `explain_cell` and `tipping` say, over cell.
    """
    under = rates.sel({SCENARIO: INTEGRATED, ESTIMAND: FIXED_DEPTH}, drop=True)
    parts = []
    for posterior in posteriors.values():
        for name in posterior[CELL].values:
            cell = str(name)
            here, own = under.sel({CELL: cell}, drop=True), of_cell(posterior, cell)
            told = explain_cell(here, own, runs_of(posterior, cell))
            tips = tipping(screened.sel({CELL: cell}, drop=True), here, own)
            parts.append(told.merge(tips).expand_dims({CELL: [cell]}))
    return xr.concat(parts, dim=CELL)
