"""The written rule: which depth to recommend, or to keep the current policy, from draws of the fixed-depth rate."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..data.words import CELL, CHAIN, DEPTH, DRAW, ESTIMAND, SCENARIO, Label
from .rates import CORNER, FIXED_DEPTH, INTEGRATED
from .thresholds import stated_shares

CANDIDATE = "candidate"
CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Rule:
    """Thresholds of the decision; a study may state its own under `[decision]`."""

    probability: float = 0.9  # least P(gain against current > 0)
    expected_loss_share: float = 0.01  # largest expected loss, as a share of the best expected rate
    tie_share: float = 0.001  # expected losses this close are a tie; the shallower depth wins
    within_share: float = 0.01  # "within 1 % of best"
    claimed_gain: float = 0.03
    claimed_gain_high: float = 0.05

    @classmethod
    def stated(cls, entries: Mapping[str, float]) -> "Rule":
        """The default rule with a study's own thresholds.

        Raises
        ------
        InputError
            An entry that no rule has, or that is no share from 0 to 1.
        """
        return cls(**stated_shares(cls, "decision", entries))


def _candidates(rates: xr.Dataset) -> xr.DataArray:
    """Rates of the depths from 1 on and of the current policy, under the assumption priors, tok/s."""
    at = rates.sel({SCENARIO: INTEGRATED}, drop=True)
    depths = at["rate"].sel({ESTIMAND: FIXED_DEPTH}, drop=True)
    depths = depths.sel({DEPTH: depths[DEPTH] > 0}).rename({DEPTH: CANDIDATE})
    depths = depths.assign_coords({CANDIDATE: [str(depth) for depth in depths[CANDIDATE].values]})
    return xr.concat([depths, at["current"].expand_dims({CANDIDATE: [CURRENT]})], dim=CANDIDATE)


def _one_sign(rates: xr.Dataset) -> xr.DataArray:
    """Whether the median gain against current is positive in every corner of what no measured arm has taught."""
    gain = rates["gain_current"].sel({ESTIMAND: FIXED_DEPTH}, drop=True)
    corners = gain.sel({SCENARIO: [str(name) for name in gain[SCENARIO].values if str(name).startswith(CORNER)]})
    return (corners.median((CHAIN, DRAW)) > 0).all(SCENARIO)


def decide(rates: xr.Dataset, labels: xr.DataArray, rule: Rule) -> xr.Dataset:
    """Apply the rule to every cell.

    Parameters
    ----------
    rates
        Draws of `analysis.rates`.
    labels
        Label of each (cell, depth).
    rule
        The thresholds.

    Returns
    -------
    xarray.Dataset
        Over (cell, candidate): `p_best`, `expected_loss` (tok/s against the best of each draw), `expected_rate`,
        `p_within`; over (cell, depth): `p_gain`, `p_gain_claimed`, `p_gain_claimed_high`, `one_sign`, `passes`; over
        cell: `recommended` (a depth, 0 for "keep the current policy").
    """
    dims = (CHAIN, DRAW)
    every = _candidates(rates)
    best = every.max(CANDIDATE)
    gain = rates["gain_current"].sel({ESTIMAND: FIXED_DEPTH, SCENARIO: INTEGRATED}, drop=True)
    gain = gain.sel({DEPTH: gain[DEPTH] > 0})
    timed = every.notnull().all((CANDIDATE, *dims))  # a cell without any step time has no rates and no decision
    winner = every.fillna(0.0).argmax(CANDIDATE)
    out = xr.Dataset(
        {
            "p_best": (winner == xr.DataArray(np.arange(every.sizes[CANDIDATE]), dims=CANDIDATE)).mean(dims),
            "expected_loss": (best - every).mean(dims),
            "expected_rate": every.mean(dims),
            "p_within": (every >= (1 - rule.within_share) * best).mean(dims),
            "p_gain": (gain > 0).mean(dims),
            "p_gain_claimed": (gain > rule.claimed_gain).mean(dims),
            "p_gain_claimed_high": (gain > rule.claimed_gain_high).mean(dims),
            "one_sign": _one_sign(rates).sel({DEPTH: gain[DEPTH]}),
        },
        coords={CANDIDATE: every[CANDIDATE], CELL: every[CELL]},
    )
    chances = [str(name) for name in out.data_vars if name != "one_sign"]
    out = out.assign({name: out[name].where(timed) for name in chances})
    scale = out["expected_rate"].max(CANDIDATE)
    loss = out["expected_loss"].sel({CANDIDATE: [str(depth) for depth in gain[DEPTH].values]})
    loss = loss.rename({CANDIDATE: DEPTH}).assign_coords({DEPTH: gain[DEPTH]}) / scale
    seen = labels.sel({DEPTH: gain[DEPTH]}) != Label.EXTRAPOLATED.value
    out["passes"] = (out["p_gain"] >= rule.probability) & (loss <= rule.expected_loss_share) & out["one_sign"] & seen
    out["recommended"] = _shallowest_of_the_best(loss.where(out["passes"]), rule.tie_share)
    return out


def _shallowest_of_the_best(loss: xr.DataArray, tie: float) -> xr.DataArray:
    """The first depth whose expected loss is within a tie of the least one; 0 where none passes."""
    close = loss <= loss.min(DEPTH) + tie
    chosen = loss[DEPTH].isel({DEPTH: close.argmax(DEPTH)}).drop_vars(DEPTH)
    return chosen.where(close.any(DEPTH), 0).astype(int)
