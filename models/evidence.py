"""The runs of one worker group as the arrays that the likelihood takes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.words import CELL, DYNAMIC, FIXED, RUN, Level

type Ints = npt.NDArray[np.int64]
type Floats = npt.NDArray[np.float64]
type Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Indices and counts; `dynamic_cell` marks cells whose hazards are those of a dynamic policy.

    `origin` is where transport starts from (`models.transport`): the screened depth of a cell, or the deepest cap of its
    dynamic policy where a fixed depth was screened beside one.
    """

    cells: tuple[str, ...]
    suite: npt.NDArray[np.str_]  # of each cell
    run_ids: tuple[str, ...]
    deepest: int
    batch: Floats
    cell: Ints  # of each run
    fixed: Flags  # of each run
    depth: Ints  # of each run: cap or depth
    rounds: Ints
    accepted: Ints  # run, position
    counted: Flags  # runs whose counters are new evidence (no copy of another run's, and not kept from the fit)
    level: npt.NDArray[np.str_]
    verified: Floats  # run, position
    verified_tokens: Floats
    table: Floats  # run, verified depth, accepted length
    dynamic_cell: Flags
    screened_fixed: Flags  # of each cell
    screened_depth: Ints  # of each cell
    cap: Ints  # of each cell: deepest position that any run may have exposed
    origin: Ints
    start: Ints  # of each run: starts of the server, over all cells
    times: Floats  # of each request
    time_run: Ints  # of each request

    @property
    def positions(self) -> Ints:
        """Positions 1..K."""
        return np.arange(1, self.deepest + 1)

    @property
    def inside(self) -> Flags:
        """Positions that a run's policy may verify: shape (run, position)."""
        return np.asarray(self.positions <= self.depth[:, None])

    @property
    def timed(self) -> Ints:
        """Runs with a step time."""
        return np.unique(self.time_run)

    def _arms(self, fixed_only: bool) -> list[tuple[int, bool, int]]:
        """Timed arms: cell, whether fixed, depth."""
        places = [int(r) for r in self.timed if self.fixed[r] or not fixed_only]
        return sorted({(int(self.cell[r]), bool(self.fixed[r]), int(self.depth[r])) for r in places})

    @property
    def teaches_slope(self) -> bool:
        """Whether some cell has timed fixed arms at two depths."""
        cells = [arm[0] for arm in self._arms(fixed_only=True)]
        return len(cells) > len(set(cells))

    @property
    def slope_matters(self) -> bool:
        """Whether some cell has two timed arms of any kind: then the slope stands between their times."""
        cells = [arm[0] for arm in self._arms(fixed_only=False)]
        return len(cells) > len(set(cells))

    def _cells_with(self, chosen: Flags) -> Flags:
        return np.bincount(self.cell[chosen], minlength=len(self.cells)) > 0

    @property
    def mixed(self) -> Flags:
        """Cells with a dynamic policy and fixed runs beside it: these teach delta."""
        return np.asarray(self.dynamic_cell & self._cells_with(self.counted & self.fixed & (self.depth > 0)))

    @property
    def exposure_matters(self) -> Flags:
        """Cells whose exposure stands in the likelihood: mixed ones, and dynamic ones with more than L0 evidence."""
        return np.asarray(self.mixed | self._cells_with(self.counted & ~self.fixed & (self.level != Level.L0)))


def _copies(runs: xr.Dataset) -> Flags:
    """Runs whose counters repeat an earlier run's of the same cell and policy: greedy copies are not new evidence."""
    seen: set[tuple[object, ...]] = set()
    out = np.zeros(runs.sizes[RUN], dtype=bool)
    told = [runs[name].values.tolist() for name in (CELL, "policy", "policy_depth", "request_rounds", "accepted")]
    for place, (*plain, accepted) in enumerate(zip(*told, strict=True)):
        key = (*plain, tuple(accepted))
        out[place] = key in seen
        seen.add(key)
    return out


def _times_only(runs: xr.Dataset) -> Flags:
    """Runs whose counters are kept from the fit, as a held-out validation asks."""
    return np.asarray(
        runs["times_only"].values if "times_only" in runs.coords else np.zeros(runs.sizes[RUN], dtype=bool)
    )


def evidence_of(runs: xr.Dataset) -> Evidence:
    """Arrange the runs of one worker group.

    Parameters
    ----------
    runs
        Runs of `data.inputs` (with coordinate `screened`) that share a worker; cells without a screened run are left
        out, and so are runs of no rounds. With a coordinate `times_only`, runs that it marks give their times alone.
    """
    screened = np.isin(
        runs[CELL].values,
        runs[CELL].values[runs["screened"].values & (runs["request_rounds"] > 0).values],
    )
    runs = runs.isel({RUN: np.flatnonzero((runs["request_rounds"].values > 0) & screened)})
    names, cell = np.unique(runs[CELL].values.astype(str), return_inverse=True)
    fixed = np.asarray(runs["policy"].values == FIXED)
    dynamic = np.asarray(runs["policy"].values == DYNAMIC)
    depth = runs["policy_depth"].values.astype(np.int64)

    def deepest(chosen: Flags) -> Ints:
        out = np.zeros(len(names), dtype=np.int64)
        np.maximum.at(out, cell[chosen], depth[chosen])
        return out

    first = [int(np.flatnonzero((cell == k) & runs["screened"].values)[0]) for k in range(len(names))]
    deepest_fixed, deepest_dynamic = deepest(fixed), deepest(dynamic)
    _, start = np.unique(runs["start"].values.astype(str), return_inverse=True)
    known = ~np.isnan(runs["step_ms"].values)
    return Evidence(
        cells=tuple(str(name) for name in names),
        suite=runs["suite"].values.astype(str)[first],
        run_ids=tuple(f"{c}/{r}" for c, r in zip(runs[CELL].values, runs["run_id"].values, strict=True)),
        deepest=runs.sizes["position"],
        batch=runs["batch"].values[first].astype(float),
        cell=cell.astype(np.int64),
        fixed=fixed,
        depth=depth,
        rounds=runs["request_rounds"].values.astype(np.int64),
        accepted=runs["accepted"].values.astype(np.int64),
        counted=~_copies(runs) & ~_times_only(runs),
        level=runs["level"].values.astype(str),
        verified=runs["verified"].values,
        verified_tokens=runs["verified_tokens"].values,
        table=runs["accepted_by_verified"].values,
        dynamic_cell=deepest_dynamic > 0,
        screened_fixed=fixed[first],
        screened_depth=depth[first],
        cap=np.maximum(deepest_fixed, deepest_dynamic),
        origin=np.where(fixed[first] & (deepest_dynamic > 0), deepest_dynamic, depth[first]),
        start=start.astype(np.int64),
        times=runs["step_ms"].values[known],
        time_run=np.nonzero(known)[0].astype(np.int64),
    )
