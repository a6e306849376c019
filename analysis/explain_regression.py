"""What is expected of targets once some quantities are known: cross-fitted polynomial regression on draws.

The conditional mean E[Y | X] is fitted on all folds but one and read on that one, so that a fit never praises itself
(Strong, Oakley and Brennan 2014 for the regression; Chernozhukov et al. 2018 for the cross-fitting). Folds are runs of
successive draws, since neighbours in a chain resemble each other; Monte-Carlo errors come from means of such batches.
"""

import itertools

import numpy as np
import numpy.typing as npt

type Floats = npt.NDArray[np.float64]

FOLDS = 8
BATCH = 25
"""Successive draws that make one batch of the Monte-Carlo error."""

CLIP = 4.0
RIDGE = 1e-8


def terms(columns: Floats) -> Floats:
    """Polynomial terms of standardised columns: all of degree two, pure powers to four where there are few columns.

    Parameters
    ----------
    columns
        Shape (draws, columns); a column without spread is left out.

    Returns
    -------
    numpy.ndarray
        Shape (draws, terms), the first a one.
    """
    spread = columns.std(axis=0)
    scale = np.maximum(np.abs(columns).max(axis=0, initial=0.0), 1.0)
    kept = columns[:, spread > 1e-9 * scale]
    z = np.clip((kept - kept.mean(axis=0)) / kept.std(axis=0), -CLIP, CLIP) if kept.size else kept
    z = np.ascontiguousarray(z.T)
    square, cube = z * z, z * z * z
    powers = [z, square, cube] if len(z) > 2 else [z, square, cube, square * square]
    products = [z[i] * z[j] for i, j in itertools.combinations(range(len(z)), 2)]
    rows = [np.ones((1, len(columns))), *powers, *([np.stack(products)] if products else [])]
    return np.concatenate(rows).T


def expected(columns: Floats, targets: Floats, folds: int = FOLDS) -> Floats:
    """E[targets | columns] on each draw, fitted without the draw's own fold.

    Parameters
    ----------
    columns
        What is known: shape (draws, columns).
    targets
        Shape (draws, targets).
    folds
        Runs of successive draws.

    Returns
    -------
    numpy.ndarray
        Shape (draws, targets).
    """
    design = terms(columns)
    edges = np.linspace(0, len(design), folds + 1).astype(int)
    parts = [slice(low, high) for low, high in itertools.pairwise(edges)]
    grams = [design[part].T @ design[part] for part in parts]
    moments = [design[part].T @ targets[part] for part in parts]
    gram, moment = np.sum(grams, axis=0), np.sum(moments, axis=0)
    ridge = RIDGE * np.diag(np.diag(gram))
    out = np.empty_like(targets)
    for part, own, told in zip(parts, grams, moments, strict=True):
        out[part] = design[part] @ np.linalg.solve(gram - own + ridge, moment - told)
    return out


def standard_error(influence: Floats, batch: int = BATCH) -> Floats:
    """Monte-Carlo error of the mean over draws, by batch means: shape (draws, ...) to (...)."""
    batches = len(influence) // batch
    if batches < 2:
        return np.asarray(influence.std(axis=0, ddof=1) / np.sqrt(len(influence)))
    means = influence[: batches * batch].reshape(batches, batch, *influence.shape[1:]).mean(axis=1)
    return np.asarray(means.std(axis=0, ddof=1) / np.sqrt(batches))


def share_explained(targets: Floats, fitted: Floats) -> tuple[Floats, Floats]:
    """First-order share Var(E[Y | X]) / Var(Y) of each target, and its Monte-Carlo error.

    Estimated as 1 - mean (Y - E[Y | X])^2 / Var(Y) with cross-fitted expectations: a fit that says nothing gives 0 or a
    little less. A target without spread gives NaN.
    """
    total = (targets - targets.mean(axis=0)) ** 2
    left = (targets - fitted) ** 2
    variance = total.mean(axis=0)
    known = variance > 1e-18 * np.maximum((targets**2).mean(axis=0), 1e-300)
    scale = np.where(known, variance, np.nan)
    share = 1.0 - left.mean(axis=0) / scale
    return share, standard_error((total - left - share * total) / scale)


def value_of_knowing(targets: Floats, fitted: Floats) -> tuple[float, float]:
    """EVPPI, and its Monte-Carlo error: what choosing by E[target | X] earns over choosing the best mean once.

    The choice of each draw is made by the cross-fitted expectations and paid by the draw's own targets, so that the
    estimate is of a choice that could be made: it may fall a little below 0, and does not flatter itself.
    """
    best = int(targets.mean(axis=0).argmax())
    chosen = np.take_along_axis(targets, fitted.argmax(axis=1)[:, None], axis=1)[:, 0]
    earned = chosen - targets[:, best]
    return float(earned.mean()), float(standard_error(earned))
