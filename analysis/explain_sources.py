"""The sources of doubt of a cell, as columns of draws: what would be known if one of them were."""

import numpy as np
import xarray as xr

from ..data.words import CELL, CHAIN, DEPTH, DRAW, POSITION
from ..models.recursion import acceptance, fixed_hazard, shifted
from .explain_regression import Floats

ACCEPTANCE, TIMING, EXPOSURE, MASKED_TAIL, TRANSPORT, ROW_SLOPE, OVERLAP, OVERHEAD = SOURCES = (
    "acceptance", "timing", "exposure", "masked_tail", "transport", "row_slope", "overlap", "overhead",
)  # fmt: skip

DRAWS = (CHAIN, DRAW)
EDGE = 1e-9
STEP = 0.05  # of a logit, for the slope of tokens in hazards


def flat(values: xr.DataArray, *dims: str) -> Floats:
    """Draws in front as one axis, in the order of the chains, then the named dims."""
    ordered = values.transpose(*DRAWS, *dims).values.astype(float)
    return np.asarray(ordered.reshape(-1, *ordered.shape[2:]))


def _hazards(posterior: xr.Dataset) -> tuple[Floats, Floats]:
    """h = a v and the share of the way from h to 1 at which v lies, both (draw, position)."""
    v = flat(posterior["verified_chance"], POSITION)
    h = np.clip(flat(posterior["acceptance"], POSITION) * v, EDGE, 1 - EDGE)
    return h, np.clip((v - h) / (1 - h), 0.0, 1.0)


def columns_of(posterior: xr.Dataset) -> dict[str, Floats]:
    """Columns of each source.

    Parameters
    ----------
    posterior
        Draws of one cell, without the dim `cell`.

    Returns
    -------
    dict
        Shape (draws, columns) by source: logit hazards; log step base; where v lies between hazard and 1, and kappa;
        delta; omega of every depth; row slope; overlap; overhead.
    """
    h, between = _hazards(posterior)

    def one(name: str) -> Floats:
        return flat(posterior[name])[:, None]

    return {
        ACCEPTANCE: np.log(h / (1 - h)),
        TIMING: np.log(one("step_base_ms")),
        EXPOSURE: np.concatenate([between, one("kappa")], axis=1),
        MASKED_TAIL: one("delta"),
        TRANSPORT: flat(posterior["omega"], DEPTH),
        ROW_SLOPE: one("row_slope"),
        OVERLAP: one("overlap"),
        OVERHEAD: one("overhead_ms"),
    }


def _log_tokens(h: Floats, between: Floats, delta: Floats, omega: Floats) -> Floats:
    """log(1 + S*_1 + ... + S*_d) at each depth d from 1 on: shape (draw, depth).

    v moves with h so that its place between h and 1 stays: the uniform of its prior is held.
    """
    v = h + (1 - h) * between
    g = fixed_hazard(h, np.maximum(v, h), delta[:, None], np) if np.any(between < 1) else acceptance(h, 1.0, np)
    survival = np.cumprod(shifted(g[:, None, :], omega[:, 1:, None], np), axis=-1)
    depth = np.arange(1, omega.shape[1])
    inside = np.arange(1, h.shape[1] + 1) <= depth[:, None]
    return np.asarray(np.log1p((survival * inside).sum(axis=-1)))


def floor_of_runs(posterior: xr.Dataset, rate: Floats, runs: int) -> Floats:
    """Variance of the fixed-depth rate that infinitely long runs would leave, from the spread between runs.

    Given the recorded runs' own hazards, the mean run effect of n runs keeps the variance e^2 s_cell^2 / (e^2 +
    s_cell^2), e^2 = s_run^2 / n, on every logit alike, and overdispersion o / ((1 + o) h (1 - h) n) on each; both are
    carried to log tokens by its slope in the logits (first order; step times do not move with them here).

    Parameters
    ----------
    posterior
        Draws of one cell, without the dim `cell`, with the spreads `s_run`, `s_cell` and `overdispersion`.
    rate
        Fixed-depth rates at the depths from 1 on: shape (draw, depth).
    runs
        Runs of the cell.

    Returns
    -------
    numpy.ndarray
        Variance at each depth from 1 on.
    """
    h, between = _hazards(posterior)
    delta, omega = flat(posterior["delta"]), flat(posterior["omega"], DEPTH)
    slopes = np.empty((*rate.shape, h.shape[1]))
    for place in range(h.shape[1]):
        ends = []
        for step in (STEP, -STEP):
            logit = np.log(h / (1 - h))
            logit[:, place] += step
            ends.append(_log_tokens(1 / (1 + np.exp(-logit)), between, delta, omega))
        slopes[..., place] = (ends[0] - ends[1]) / (2 * STEP)
    effect, own = flat(posterior["s_run"]) ** 2 / runs, flat(posterior["s_cell"]) ** 2
    shared = effect * own / (effect + own + EDGE)
    extra = flat(posterior["overdispersion"])[:, None]
    exposed = flat(posterior["survival"], POSITION) > 0
    apart = exposed * extra / ((1 + extra) * h * (1 - h) * runs)
    variance = slopes.sum(axis=-1) ** 2 * shared[:, None] + (slopes**2 * apart[:, None, :]).sum(axis=-1)
    return np.asarray((rate**2 * variance).mean(axis=0))


def runs_of(posterior: xr.Dataset, cell: str) -> int:
    """How many runs of a cell were fitted."""
    return int((posterior["run_cell"].values.astype(str) == cell).sum())


def of_cell(posterior: xr.Dataset, cell: str) -> xr.Dataset:
    """Draws of one cell, without what belongs to runs."""
    return posterior.drop_dims("run", errors="ignore").sel({CELL: cell}, drop=True)
