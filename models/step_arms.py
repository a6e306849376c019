"""Step times of policies: what a cell's arms take beyond its base, by the config table and the row slope."""

from typing import Any

import numpy as np

from .evidence import Evidence, Flags, Floats, Ints
from .starts import own_starts

LEAST_SHARE_OF_BASE = 0.05  # no arm's step takes less than this share of the base: T(0) stays positive


def _timed_arms(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and depth of each timed policy."""
    key = np.stack([evidence.cell, evidence.fixed, evidence.depth])[:, evidence.timed]
    cell, _, depth = np.unique(key, axis=1)
    return cell, depth


def single_arm(evidence: Evidence) -> Flags:
    """Cells with one timed policy: its step is the cell's base, whatever it verified."""
    return np.asarray(np.bincount(_timed_arms(evidence)[0], minlength=len(evidence.cells)) == 1)


def reference_ms(evidence: Evidence, config_ms: Floats) -> Floats:
    """Config time at which a cell's base stands: the mean over its timed arms, where base and slope do not pull together."""
    cell, depth = _timed_arms(evidence)
    count = np.bincount(cell, minlength=len(evidence.cells))
    total = np.bincount(cell, config_ms[depth], minlength=len(evidence.cells))
    return np.where(count > 0, total / np.maximum(count, 1), config_ms[evidence.origin])


def rows_ms(slope: Any, gamma: Any, batch: Any, config_ms: Any, reference_ms: Any) -> Any:
    """m B^-gamma B (H - reference), in ms: what an arm's step takes beyond its cell's base."""
    return slope * batch ** (1.0 - gamma) * (config_ms - reference_ms)


def arm_ms(base_ms: Any, rows: Any, xp: Any) -> Any:
    """Step time of an arm, in ms, kept positive."""
    return xp.maximum(base_ms + rows, LEAST_SHARE_OF_BASE * base_ms)


def run_anchor(evidence: Evidence, runs: Ints, exposed: Any, config_ms: Floats, xp: Any) -> Any:
    """Config time of some runs in ms: H at a fixed depth, sum_k P(V = k) H[k] under a dynamic policy.

    `exposed` is P(V >= i) of those runs: shape (..., len(runs), position).
    """
    mean = config_ms[0] + (exposed * evidence.inside[runs] * np.diff(config_ms)).sum(axis=-1)
    return xp.where(evidence.fixed[runs], config_ms[evidence.depth[runs]], mean)


def usual_batch(evidence: Evidence) -> float:
    """Geometric mean of the batches of cells with several timed arms."""
    cell, _ = _timed_arms(evidence)
    several = np.bincount(cell, minlength=len(evidence.cells)) > 1
    return float(np.exp(np.log(evidence.batch[several]).mean()))


def rows_of_runs(evidence: Evidence, config_ms: Floats, anchor: Any, slope: Any, gamma: Any) -> Any:
    """What each timed run's step takes beyond its cell's base, ms; nothing where the cell has one policy."""
    timed = evidence.timed
    cell = evidence.cell[timed]
    apart = ~single_arm(evidence)[cell] * (anchor[..., timed] - reference_ms(evidence, config_ms)[cell])
    return rows_ms(slope, gamma, evidence.batch[cell], apart, 0.0)


def expected_log_ms(
    evidence: Evidence, config_ms: Floats, log_base: Any, anchor: Any, slope: Any, gamma: Any, start: Any, xp: Any
) -> Any:
    """Log step time of each timed run's arm under its start, in log ms.

    Parameters
    ----------
    evidence, config_ms
        The runs of one worker group; H[0..K] in ms.
    log_base
        Of each cell, at `reference_ms` and over its own starts: shape (..., cell).
    anchor
        Config time of each run, ms: shape (..., run).
    slope, gamma
        The row slope and how it falls with the batch: shape (..., 1).
    start
        Effect of each start: shape (..., start).
    xp
        numpy or pytensor.tensor.
    """
    mean = log_base[..., evidence.cell[evidence.timed]]
    if evidence.slope_matters:
        mean = xp.log(arm_ms(xp.exp(mean), rows_of_runs(evidence, config_ms, anchor, slope, gamma), xp))
    return mean + xp.dot(start, own_starts(evidence).T)
