"""The law of logit hazards over suites, cells, positions and runs, with all means integrated out; and those means given hazards.

Per kind of hazard (of fixed or of dynamic policies, which share no mean), with mu_i the mean of position i over suites:

    beta_{s,i} = mu_i + b_s + y_{s,i}           b_s ~ Normal(0, s_suite),  y ~ Normal(0, s_suite_position)
    theta_{k,i} = beta_{s(k),i} + d_k + x_{k,i}  x ~ Normal(0, s_cell_position)
    d_k ~ Normal(0, a_k),  a_k^2 = s_cell^2 + s_run^2 / n_k     the cell's effect plus the mean effect of its n_k runs
    mu = centre + zero-sum normal                centre ~ Normal(hazard_centre, hazard_centre_sd)

theta is the in-sample logit hazard. A suite is a set of prompts: its cells are the same prompts at other batches and contexts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt

from .evidence import Floats
from .places import Places, indicator
from .priors import Priors
from .spreads import SMALLEST_SD, not_nothing

SPREADS = ("s_suite", "s_suite_position", "s_cell", "s_run", "s_cell_position")


@dataclass(frozen=True, slots=True)
class Variances:
    """Of each effect of the hierarchy, on the logit squared; draws in front, or expressions of a graph."""

    suite: Any
    suite_position: Any
    cell: Any  # (..., cell): of a cell's effect plus the mean effect of its runs
    white: Any  # of a cell's own deviation at a position

    @classmethod
    def of(cls, spreads: Any, runs: Any) -> "Variances":
        """From `SPREADS` by name, and the runs of each cell (`numpy.inf`: without any run's effect)."""
        own = spreads["s_cell"] ** 2 + SMALLEST_SD**2
        of_run = not_nothing(spreads["s_run"]) ** 2
        return cls(
            spreads["s_suite"] ** 2 + SMALLEST_SD**2,
            not_nothing(spreads["s_suite_position"]) ** 2,
            own[..., None] + of_run[..., None] / runs,
            not_nothing(spreads["s_cell_position"]) ** 2,
        )


def mean_covariance(deepest: int, priors: Priors) -> Floats:
    """Covariance of the position means mu: the centre's variance everywhere, and a zero-sum normal's."""
    ones = np.ones((deepest, deepest)) / deepest
    return np.asarray(priors.hazard_centre_sd**2 * deepest * ones + priors.position_sd**2 * (np.eye(deepest) - ones))


def _mean_precision(deepest: int, priors: Priors) -> Floats:
    ones = np.ones((deepest, deepest)) / deepest
    return np.asarray(ones / (deepest * priors.hazard_centre_sd**2) + (np.eye(deepest) - ones) / priors.position_sd**2)


def _suite_precision(deepest: int, variances: Variances) -> Any:
    """Inverse of a suite's own covariance suite 1 1' + suite_position I: shape (..., position, position)."""
    y, b = (x[..., None, None] for x in (variances.suite_position, variances.suite))
    return (np.eye(deepest) - b / (y + deepest * b)) / y


def _told(places: Places, left: Any, variances: Variances, xp: Any) -> tuple[Any, Any]:
    """What cells tell of their suite's mean, once d and x are integrated out; `xp` is numpy or pytensor.tensor.

    A cell's hazards have covariance white I + a^2 1 1' about their suite's mean (Sherman and Morrison).

    Parameters
    ----------
    left
        Hazards less the centre, 0 where a cell has no entry: shape (..., cell, position).

    Returns
    -------
    tuple
        Information on each suite's mean and, in a last column, it times that mean (..., suite, position, position + 1); and the
        share a^2 / (white + n a^2) of each cell (..., cell).
    """
    seen, of_suites, deepest = places.seen, indicator(places.suite), places.deepest
    white = variances.white[..., None]
    share = variances.cell / (white + variances.cell * seen.sum(axis=1))
    shared = xp.matmul(share[..., None, :] * of_suites, (seen[:, :, None] * seen[:, None, :]).reshape(len(seen), -1))
    front = tuple(shared.shape[axis] for axis in range(shared.ndim - 1))
    information = (of_suites @ seen)[:, :, None] * np.eye(deepest) - shared.reshape((*front, deepest, deepest))
    sums = xp.matmul(of_suites, left - (share * left.sum(axis=-1))[..., None] * seen)
    return xp.concatenate([information, sums[..., None]], axis=-1) / white[..., None, None], share


def _eliminated(matrix: Any, beside: Any, size: int) -> tuple[Any, Any]:
    """Log determinants of positive definite matrices P and B' P^-1 B, by elimination one row at a time, all matrices at once.

    Parameters
    ----------
    matrix, beside
        P and B: shapes (n, size, size) and (n, size, m).
    """
    log_size, product = 0.0, 0.0
    for _ in range(size):
        pivot, column, row = matrix[:, :1, :1], matrix[:, 1:, :1], beside[:, :1]
        log_size += pt.log(pivot[:, 0, 0])
        product += row.mT * row / pivot
        beside = beside[:, 1:] - column / pivot * row
        matrix = matrix[:, 1:, 1:] - column * column.mT / pivot
    return log_size, product


def log_density(places: Places, theta: Any, variances: Variances, priors: Priors) -> Any:
    """Log density of the hazards, in time linear in cells and suites (Woodbury at each level).

    Parameters
    ----------
    places
        What each entry of theta is.
    theta
        Logit hazards: shape (n,).
    variances, priors
        Of the effects, and what is believed of the position means.
    """
    deepest, seen, of_kinds = places.deepest, places.seen, indicator(places.kind)
    left = pt.set_subtensor(pt.zeros(seen.shape)[places.cell, places.place], theta - priors.hazard_centre)
    told, share = _told(places, left, variances, pt)
    before, y, b = _mean_precision(deepest, priors), variances.suite_position, variances.suite
    of_suites, taken = _eliminated(told[..., :-1] + _suite_precision(deepest, variances), told, deepest)
    means = pt.tensordot(of_kinds, told - taken[:, :-1], axes=1)  # what suites tell of mu
    of_means, square = _eliminated(before + means[..., :-1], means[..., -1:], deepest)
    log_size = len(places.cell) * pt.log(variances.white) - pt.log1p(-share * seen.sum(axis=1)).sum()
    log_size += (of_suites + (deepest - 1) * pt.log(y) + pt.log(y + deepest * b)).sum()
    log_size += (of_means - np.linalg.slogdet(before)[1]).sum()
    alone = ((left**2).sum() - (share * left.sum(axis=1) ** 2).sum()) / variances.white
    return -0.5 * (len(places.cell) * np.log(2.0 * np.pi) + log_size + alone - taken[:, -1, -1].sum() - square.sum())


def _normal(rng: np.random.Generator, precision: Floats, right: Floats) -> Floats:
    """Draws of Normal(precision^-1 right, precision^-1): shape (..., n)."""
    noise, factor = rng.standard_normal(right.shape)[..., None], np.linalg.cholesky(precision)
    drawn = np.linalg.solve(np.swapaxes(factor, -1, -2), noise + np.linalg.solve(factor, right[..., None]))
    return np.asarray(drawn[..., 0])


def draw_means(
    places: Places, theta: Floats, variances: Variances, priors: Priors, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Means and cell effects given the hazards: normal, exact.

    Parameters
    ----------
    places
        What each entry of theta is.
    theta
        Logit hazards: shape (..., n).
    variances, priors
        Of the effects, draws in front, and what is believed of the position means.
    rng
        For the draws.

    Returns
    -------
    tuple of numpy.ndarray
        mu (..., kind, position), beta (..., suite, position) and d (..., cell), logit scale.
    """
    seen, deepest, centre = places.seen, places.deepest, priors.hazard_centre
    left = np.zeros((*theta.shape[:-1], *seen.shape))
    left[..., places.cell, places.place] = theta - centre
    told, share = _told(places, left, variances, np)
    own = _suite_precision(deepest, variances)[..., None, :, :]
    precision = told[..., :-1] + own
    by_suite = told - told[..., :-1] @ np.linalg.solve(precision, told)
    means = np.stack(
        [by_suite[..., places.kind == kind, :, :].sum(axis=-3) for kind in np.unique(places.kind)], axis=-3
    )
    mu = _normal(rng, _mean_precision(deepest, priors) + means[..., :-1], means[..., -1])
    beta = _normal(rng, precision, told[..., -1] + (own @ mu[..., places.kind, :, None])[..., 0])
    apart = ((left - beta[..., places.suite, :]) * seen).sum(axis=-1)
    sd = np.sqrt(share * variances.white[..., None])
    return centre + mu, centre + beta, share * apart + sd * rng.standard_normal(apart.shape)
