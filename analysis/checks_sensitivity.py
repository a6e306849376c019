"""How far each prior of a spread or of the masked tail moves the answer: power scaling of the prior at the draws."""

from collections.abc import Mapping
from typing import Any

import arviz as az
import numpy as np
import xarray as xr
from scipy import stats

from ..data.words import CELL, CHAIN, DEPTH, DRAW, ESTIMAND, SCENARIO
from ..models.priors import Priors
from .rates import FIXED_DEPTH, INTEGRATED

PRIOR = "prior"
NOTABLE = 0.05
"""Above it, the prior informs the answer (Kallioinen et al. 2024)."""

STILL = 1e-6  # a gain of less spread is none


def log_priors(posterior: xr.Dataset, priors: Priors, taught: bool) -> xr.Dataset:
    """Log density of each stated prior at the draws, as far as its variable is among them.

    Parameters
    ----------
    posterior
        Draws of one group.
    priors
        As stated for the study.
    taught
        Whether fixed arms taught the row slope: its prior is another one then.

    Returns
    -------
    xarray.Dataset
        By name of the variable: over (chain, draw), and cell where it belongs to one.
    """

    def half_normal(scale: float) -> Any:
        return stats.halfnorm(scale=scale)

    laws = {
        "s_suite": half_normal(priors.suite_scale),
        "s_suite_position": half_normal(priors.suite_position_scale),
        "s_cell": half_normal(priors.cell_scale),
        "s_run": half_normal(priors.run_scale),
        "s_cell_position": half_normal(priors.cell_position_scale),
        "overdispersion": half_normal(priors.overdispersion_scale),
        "s_transport": half_normal(priors.transport_scale),
        "s_start": half_normal(priors.start_time_scale),
        "s_run_time": stats.lognorm(priors.run_time_log_sd, scale=priors.run_time_centre),
        "s_request_time": stats.lognorm(priors.request_time_log_sd, scale=priors.request_time_centre),
        "delta": half_normal(priors.masked_gap_scale),
        "kappa": half_normal(priors.rejected_gap_scale),
        "slope": half_normal(priors.row_slope_scale)
        if taught
        else stats.beta(priors.row_slope_alpha, priors.row_slope_beta),
        "overlap": stats.beta(priors.overlap_alpha, priors.overlap_beta),
        "overhead_ms": stats.beta(2.0, 2.0, scale=priors.overhead_top_ms),
    }
    found = {
        name: (posterior[name].dims, law.logpdf(posterior[name].values))
        for name, law in laws.items()
        if name in posterior
    }
    return xr.Dataset(found).transpose(CHAIN, DRAW, ...)


def _gain_of_likeliest(rates: xr.Dataset, decision: xr.Dataset) -> xr.DataArray:
    """Gain over current of the likeliest best depth of each cell, other than a depth that runs today and gains nothing."""
    depths = [depth for depth in rates[DEPTH].values if depth > 0]
    rate = (
        rates["rate"].sel({SCENARIO: INTEGRATED, ESTIMAND: FIXED_DEPTH, DEPTH: depths}).drop_vars((SCENARIO, ESTIMAND))
    )
    gain = (rate / rates["current"].sel({SCENARIO: INTEGRATED}, drop=True) - 1.0).astype(float)
    chance = decision["p_best"].sel(candidate=[str(depth) for depth in depths]).transpose(CELL, ...).values
    moves = (gain.std((CHAIN, DRAW)) > STILL).transpose(CELL, DEPTH).values
    best = np.where(moves, chance, -1.0).argmax(axis=1)
    chosen = gain.isel({DEPTH: xr.DataArray(best, dims=CELL)}).drop_vars(DEPTH)
    return chosen.transpose(CHAIN, DRAW, CELL)


def _sensitive(gain: xr.DataArray, log_prior: xr.DataArray) -> xr.DataArray:
    if not bool(np.isfinite(gain).all()):
        return xr.full_like(gain.isel({CHAIN: 0, DRAW: 0}, drop=True), np.nan)
    held = xr.DataTree.from_dict(
        {"posterior": gain.to_dataset(name="gain"), "log_prior": log_prior.to_dataset(name=PRIOR)}
    )
    found: xr.DataArray = az.psense(held, var_names=["gain"], group="prior", group_var_names=[PRIOR])["gain"]
    return found


def sensitivity(
    rates: xr.Dataset,
    decision: xr.Dataset,
    posteriors: Mapping[str, xr.Dataset],
    priors: Priors,
    taught: Mapping[str, bool],
) -> xr.Dataset:
    """Power-scaling sensitivity of the gain of each cell's likeliest depth to each prior.

    Returns
    -------
    xarray.Dataset
        `power_scaling` over (cell, prior): distance of the gain's distribution per doubling of the prior's power, with
        Pareto-smoothed weights; NaN where a prior has no variable in the group.
    """
    parts = []
    for name, posterior in posteriors.items():
        cells = posterior[CELL].values
        gain = _gain_of_likeliest(rates.sel({CELL: cells}), decision.sel({CELL: cells}))
        columns = {}
        for variable, log_prior in log_priors(posterior, priors, taught[name]).items():
            if CELL in log_prior.dims:
                each = [_sensitive(gain.isel({CELL: [k]}), log_prior.isel({CELL: k})) for k in range(len(cells))]
                columns[variable] = np.concatenate([np.atleast_1d(value.values) for value in each])
            else:
                columns[variable] = np.atleast_1d(_sensitive(gain, log_prior).values)
        parts.append(
            xr.Dataset(
                {"power_scaling": ((CELL, PRIOR), np.stack(list(columns.values()), axis=1))},
                coords={CELL: cells, PRIOR: [str(variable) for variable in columns]},
            )
        )
    return xr.concat(parts, dim=CELL, join="outer")
