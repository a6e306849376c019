"""Worst-case bounds of fixed-depth survival and tokens on the recorded rounds, by level of evidence.

A position that was not verified is not a rejection: between "all that was masked would have failed" and "all would have
passed" lies everything that the counters allow. Sampling error and transport to another depth stand outside.
"""

import numpy as np
import xarray as xr

from ..data.words import CELL, DEPTH, END, HIGH, LOW, POSITION, Level
from .grouping import Floats, Ints, grouped


def _greedy(gain: Floats, cost: Floats, limit: Floats, budget: Floats) -> Floats:
    """Exact optimum of the fractional knapsack, for all runs at once.

    Maximises sum_a gain_a x_a with 0 <= x_a <= limit_a and sum_a cost_a x_a <= budget: best gain per cost first
    (Dantzig 1957). `gain` has shape (lengths,), the others (runs, lengths) or (runs,).
    """
    ratio = gain / np.where(cost > 0, cost, np.nan)
    ratio = np.where(cost > 0, ratio, np.where(gain > 0, np.inf, 0.0))
    order = np.argsort(-ratio, axis=1, kind="stable")
    left = budget.copy()
    total = np.zeros(len(budget))
    rows = np.arange(len(budget))
    for place in range(order.shape[1]):
        length = order[:, place]
        price = cost[rows, length]
        affordable = np.divide(left, price, out=np.full(len(left), np.inf), where=price > 0)
        x = np.where(gain[length] > 0, np.minimum(limit[rows, length], affordable), 0.0)
        total += gain[length] * x
        left = np.maximum(left - price * x, 0.0)
    return total


def _shares(runs: xr.Dataset) -> tuple[Floats, Floats, Floats]:
    """S_0..S_K, exact-length shares P(A = 0..K), and rounds, for runs that have rounds."""
    rounds = runs["request_rounds"].values.astype(float)
    survival = np.column_stack([np.ones(len(rounds)), runs["accepted"].values / rounds[:, None]])
    ends = survival - np.column_stack([survival[:, 1:], np.zeros(len(rounds))])
    return survival, ends, rounds


def _weights(deepest: int) -> Floats:
    """Gain per masked round of length a: rows are the positions 1..K, then the token sums of the depths 1..K."""
    length = np.arange(deepest + 1)
    at = np.arange(1, deepest + 1)[:, None]
    return np.concatenate([np.where(length < at, 1.0, 0.0), np.maximum(at - length, 0.0)])


def _masked_shares(runs: xr.Dataset, ends: Floats, rounds: Floats) -> Floats:
    """The largest share of rounds that may be cut at each length a = 0..K: P(A = a = V) at most.

    Exact at L2 and L3 and jointly attainable over lengths there; at L0 no count limits it but P(A = a); a fixed run
    cuts at its depth alone. At L1 the budget binds besides.
    """
    level = runs["level"].values
    out = ends.copy()
    seen = np.column_stack([np.ones(len(rounds)), runs["verified"].values / rounds[:, None]])
    stopped = seen - np.column_stack([seen[:, 1:], np.zeros(len(rounds))])
    known = level == Level.L2
    out[known] = np.minimum(stopped, ends)[known]
    table = np.diagonal(runs["accepted_by_verified"].values, axis1=1, axis2=2) / rounds[:, None]
    known = level == Level.L3
    out[known] = table[known]
    fixed = level == Level.L4
    length = np.arange(ends.shape[1])
    out[fixed] = np.where(length == runs["policy_depth"].values[:, None], ends, 0.0)[fixed]
    return out


def run_bounds(runs: xr.Dataset) -> tuple[Floats, Floats]:
    """Bounds of S*_1..S*_K and of S*_1 + ... + S*_d, d = 1..K, run by run.

    Parameters
    ----------
    runs
        Runs with at least one round each.

    Returns
    -------
    low, high
        Shape (runs, 2 K): the positions first, then the sums, shares of the run's rounds. At L0 the upper bound of a
        position is 1: a round may be cut at any length that it accepted.
    """
    survival, ends, rounds = _shares(runs)
    deepest = survival.shape[1] - 1
    weights = _weights(deepest)
    low = np.concatenate([survival[:, 1:], np.cumsum(survival[:, 1:], axis=1)], axis=1)
    masked = _masked_shares(runs, ends, rounds)
    high = low + masked @ weights.T
    budgeted = (runs["level"] == Level.L1).values
    if budgeted.any():
        cap = runs["policy_depth"].values[budgeted].astype(float)
        budget = cap - runs["verified_tokens"].values[budgeted] / rounds[budgeted]
        cost = np.maximum(cap[:, None] - np.arange(deepest + 1), 0.0)
        for column, weight in enumerate(weights):
            high[budgeted, column] = low[budgeted, column] + _greedy(weight, cost, ends[budgeted], budget)
    return low, high


def cell_bounds(runs: xr.Dataset, group: Ints, cells: list[str]) -> xr.Dataset:
    """Bounds of each cell: those of its runs, averaged with rounds as weights, never intersected.

    Parameters
    ----------
    runs
        Runs with at least one round each.
    group
        Each run's place in `cells`.
    cells
        Names of the cells.

    Returns
    -------
    xarray.Dataset
        `survival_bound` (cell, position, end) and `survival_sum_bound` (cell, depth, end; depths 0..K).
    """
    rounds = runs["request_rounds"].values.astype(float)
    total = grouped(np.add, rounds, group, len(cells), np.nan)
    ends = [
        grouped(np.add, bound * rounds[:, None], group, len(cells), np.nan) / total[:, None]
        for bound in run_bounds(runs)
    ]
    both = np.stack(ends, axis=-1)
    deepest = both.shape[1] // 2
    sums = np.concatenate([np.zeros((len(cells), 1, 2)), both[:, deepest:]], axis=1)
    return xr.Dataset(
        {
            "survival_bound": ((CELL, POSITION, END), both[:, :deepest]),
            "survival_sum_bound": ((CELL, DEPTH, END), sums),
        },
        coords={CELL: cells, POSITION: np.arange(1, deepest + 1), DEPTH: np.arange(deepest + 1), END: [LOW, HIGH]},
    )
