"""Step times: a base of each cell, starts of the server, the row slope between arms, runs and their requests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pymc as pm
import pytensor.tensor as pt

from .evidence import Evidence, Flags, Floats, Ints, contrast_matrix
from .priors import Priors

LEAST_SHARE_OF_BASE = 0.05  # no arm's step takes less than this share of the base: T(0) stays positive


@dataclass(frozen=True, slots=True)
class TimedArms:
    """Arms with a step time: runs of one cell, policy, depth and start. `alone` marks the only arm of a cell."""

    of_run: Ints  # arm of each timed run
    first: Ints  # a run of each arm
    cell: Ints
    runs: Floats
    alone: Flags

    @classmethod
    def of(cls, evidence: Evidence) -> "TimedArms":
        """Collect the arms of a worker group."""
        timed = evidence.timed
        key = np.stack([evidence.cell, evidence.fixed, evidence.depth, evidence.start])[:, timed]
        _, first, of_run = np.unique(key, axis=1, return_index=True, return_inverse=True)
        cell = evidence.cell[timed[first]]
        arms_of_cell = np.bincount(cell, minlength=len(evidence.cells))
        runs = np.bincount(of_run.ravel()).astype(float)
        return cls(of_run.ravel(), timed[first], cell, runs, arms_of_cell[cell] == 1)

    def in_base(self, cells: int) -> Floats:
        """Runs whose mean effect a cell's `log_base` holds: those of its only arm; infinite where there are several."""
        out = np.full(cells, np.inf)
        out[self.cell[self.alone]] = self.runs[self.alone]
        return out


def start_shares(evidence: Evidence) -> Floats:
    """Share of each start among a cell's timed starts: shape (cell, start), rows add to 1 (or 0 without a time)."""
    out = np.zeros((len(evidence.cells), int(evidence.start.max(initial=-1)) + 1))
    out[evidence.cell[evidence.timed], evidence.start[evidence.timed]] = 1.0
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1.0)


def single_arm(evidence: Evidence) -> Flags:
    """Cells with one timed arm."""
    arms = TimedArms.of(evidence)
    return np.asarray(np.bincount(arms.cell, minlength=len(evidence.cells)) == 1)


def reference_ms(evidence: Evidence, config_ms: Floats) -> Floats:
    """Config time at which a cell's base stands: the mean over its timed arms, where base and slope do not pull together."""
    arms = TimedArms.of(evidence)
    count = np.bincount(arms.cell, minlength=len(evidence.cells))
    total = np.bincount(arms.cell, config_ms[evidence.depth[arms.first]], minlength=len(evidence.cells))
    return np.where(count > 0, total / np.maximum(count, 1), config_ms[evidence.origin])


def rows_ms(slope: Any, gamma: Any, batch: Any, config_ms: Any, reference_ms: Any) -> Any:
    """m B^-gamma B (H - reference), in ms: what an arm's step takes beyond its cell's base."""
    return slope * batch ** (1.0 - gamma) * (config_ms - reference_ms)


def arm_ms(base_ms: Any, rows: Any, xp: Any) -> Any:
    """Step time of an arm, in ms, kept positive."""
    return xp.maximum(base_ms + rows, LEAST_SHARE_OF_BASE * base_ms)


def state_times(
    evidence: Evidence,
    priors: Priors,
    config_ms: npt.NDArray[np.float64],
    anchor: Any,
    log_times: Any,
) -> None:
    """Add step times to the model on the context stack.

    tau_r ~ Normal(log arm + start, s_run_time), log request ~ StudentT(4, tau_r, s_request_time). A cell's `log_base` is
    in-sample: it holds the mean effect of the cell's starts and, where the cell has one arm, of its runs, so that what
    only one cell had is no ridge; where it has several, each arm's in-sample mean is sampled itself.

    Parameters
    ----------
    evidence
        The runs of one worker group; at least one has a time.
    priors
        What is believed before.
    config_ms
        The cost table H[0..K], ms.
    anchor
        Config time of each run, ms: H at a fixed depth, the effective anchor of a dynamic policy.
    log_times
        Log of each request's step in ms.
    """
    shares, arms, cells = (
        start_shares(evidence),
        TimedArms.of(evidence),
        len(evidence.cells),
    )
    s_start = pm.HalfNormal("s_start", priors.start_time_scale)
    s_run = pm.LogNormal("s_run_time", np.log(priors.run_time_centre), priors.run_time_log_sd)
    s_request = pm.LogNormal("s_request_time", np.log(priors.request_time_centre), priors.request_time_log_sd)
    start = s_start * pm.Normal("start_score", 0.0, 1.0, shape=shares.shape[1])
    centre = np.log(priors.time_centre_ms) + pt.dot(shares, start)
    spread = pt.sqrt(priors.time_centre_sd**2 + s_run**2 / arms.in_base(cells))
    log_base = pm.Normal("log_base", centre, spread, shape=cells)
    mean = log_base[arms.cell]
    several = np.flatnonzero(~arms.alone)
    if len(several):
        cell = arms.cell[several]
        own = np.eye(shares.shape[1])[evidence.start[arms.first[several]]] - shares[cell]
        duration = pt.exp(log_base[cell])
        if evidence.slope_matters:
            slope, gamma = _slope(evidence, priors)
            here = pt.as_tensor(anchor)[arms.first[several]]
            rows = rows_ms(
                slope,
                gamma,
                evidence.batch[cell],
                here,
                reference_ms(evidence, config_ms)[cell],
            )
            duration = arm_ms(duration, rows, pt)
        expected = pt.log(duration) + pt.dot(own, start)
        log_arm = pm.Normal("log_arm", expected, s_run / np.sqrt(arms.runs[several]), shape=len(several))
        where = np.where(arms.alone, arms.cell, cells + np.cumsum(~arms.alone) - 1)
        mean = pt.concatenate([log_base, log_arm])[where]
    contrasts = contrast_matrix(arms.of_run, len(arms.cell))
    tau = mean[arms.of_run]
    if contrasts.shape[1]:
        tau += pt.dot(
            contrasts,
            pm.Normal("run_time_contrast", 0.0, s_run, shape=contrasts.shape[1]),
        )
    place = np.searchsorted(evidence.timed, evidence.time_run)
    pm.StudentT("log_step", nu=4, mu=tau[place], sigma=s_request, observed=log_times)


def _slope(evidence: Evidence, priors: Priors) -> tuple[Any, Any]:
    """The row slope m and how fast it falls with the batch, gamma."""
    if evidence.teaches_slope:
        gamma = pm.HalfNormal("slope_batch", priors.row_slope_batch_scale)
        return pm.HalfNormal("slope", priors.row_slope_scale), gamma
    return pm.Beta("slope", priors.row_slope_alpha, priors.row_slope_beta), 0.0
