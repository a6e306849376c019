"""Reductions of run values to cells, in time linear in runs and without a loop over them."""

import numpy as np
import numpy.typing as npt

type Floats = npt.NDArray[np.float64]
type Ints = npt.NDArray[np.int64]


def grouped(reduce: np.ufunc, values: npt.NDArray[np.generic], group: Ints, groups: int, empty: float) -> Floats:
    """Reduce the rows of each group by a ufunc (`np.add`, `np.minimum`, ...).

    Parameters
    ----------
    reduce
        A binary ufunc with `reduceat`.
    values
        Shape (rows, ...).
    group
        Each row's group, 0..groups - 1.
    groups
        How many groups there are.
    empty
        The value of a group without rows.

    Returns
    -------
    numpy.ndarray
        Shape (groups, ...).
    """
    out = np.full((groups, *values.shape[1:]), empty)
    if len(values):
        order = np.argsort(group, kind="stable")
        present, starts = np.unique(group[order], return_index=True)
        out[present] = reduce.reduceat(values[order], starts, axis=0)
    return out


def grouped_median(values: Floats, group: Ints, groups: int) -> Floats:
    """Median of each group's values, NaN left out; NaN for a group without any."""
    known = ~np.isnan(values)
    values, group = values[known], group[known]
    out = np.full(groups, np.nan)
    if len(values):
        order = np.lexsort((values, group))
        present, starts, sizes = np.unique(group[order], return_index=True, return_counts=True)
        ranked = values[order]
        out[present] = 0.5 * (ranked[starts + (sizes - 1) // 2] + ranked[starts + sizes // 2])
    return out
