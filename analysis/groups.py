"""Which runs are fitted together: the primary suites of one worker."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from ..data.words import CELL, PRIMARY, RUN

NOTHING_TO_FIT = "found no cell of a primary suite whose current policy has runs with rounds, so there is nothing to fit; such runs would do"


def fit_groups(runs: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """Name and runs of each group that is fitted, in the order of their names.

    Runs stand in the order of their cells and ids, so that the order of rows and files moves no draw.
    Workers are never pooled with each other. A suite with role `reference` is screened and not fitted: its candidate
    columns are hypothetical already. Cells without a screened run that has rounds are left out: their policy of today is
    unknown.
    """
    useful = runs["screened"].values & (runs["request_rounds"].values > 0)
    known = np.isin(runs[CELL].values, runs[CELL].values[useful]) & (runs["role"].values == PRIMARY)
    names = runs["worker"].values
    for name in sorted(set(names[known].tolist())):
        of_group = np.flatnonzero(known & (names == name))
        order = np.lexsort((runs["run_id"].values[of_group], runs[CELL].values[of_group]))
        yield str(name), runs.isel({RUN: of_group[order]})
