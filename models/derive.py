"""Survival, exposure and step times on the draws, by the same recursions that stand in the model."""

import numpy as np
import xarray as xr

from ..data.words import CELL, CHAIN, DEPTH, DRAW, POSITION, RUN, VERIFIED_DEPTH
from .evidence import Evidence, Floats
from .population import Population, population
from .priors import Priors
from .recursion import expit, exposure, fixed_hazard, shifted, verified_chance
from .repetition import repeated
from .step_arms import arm_ms, reference_ms, rows_ms, single_arm
from .transport import of_caps

NODES = 7
"""Gauss-Hermite nodes for the mean over the run effect: exact to 1e-6 for run effects up to 0.5 on the logit."""


def _node(logit: Floats, held: Population, evidence: Evidence, priors: Priors) -> dict[str, Floats]:
    """All quantities of runs with the given logit hazards (chain, draw, cell, position)."""
    h = expit(logit, np)
    v = verified_chance(h, held.uniform, priors.exposure_power, priors.exposure_shape)
    dynamic = evidence.dynamic_cell[:, None]
    unmasked = np.where(dynamic, fixed_hazard(h, v, held.delta[..., None], np), h)
    moved = shifted(np.expand_dims(unmasked, -2), held.omega[..., None], np)  # cell, depth, position
    fixed = np.cumprod(moved, axis=-1)
    here = fixed[..., np.arange(len(evidence.cells)), evidence.screened_depth, :]
    e = np.where(evidence.screened_fixed[:, None], 1.0, exposure(h, v, held.kappa[..., None, None], np))
    survival = np.where(evidence.screened_fixed[:, None], here, np.cumprod(h, axis=-1))
    return {
        "survival": survival,
        "exposure": e,
        "verified_chance": np.where(dynamic, v, 1.0),
        "acceptance": np.where(dynamic, h / v, h),
        "fixed_survival": fixed,
    }


def _mean_over_runs(held: Population, evidence: Evidence, priors: Priors) -> dict[str, Floats]:
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    out: dict[str, Floats] = {}
    for point, weight in zip(points, weights / weights.sum(), strict=True):
        node = _node(held.logit + point * held.run_sd[..., None, None], held, evidence, priors)
        for name, value in node.items():
            out[name] = out.get(name, 0.0) + weight * value
    return out


def _p_verified(e: Floats) -> Floats:
    """P(V = k) = e_k - e_{k+1} for k = 0..K."""
    full = np.concatenate([np.ones_like(e[..., :1]), e, np.zeros_like(e[..., :1])], axis=-1)
    return np.asarray(full[..., :-1] - full[..., 1:])


def derived(
    draws: xr.Dataset, evidence: Evidence, priors: Priors, config_ms: Floats, seed: int
) -> tuple[xr.Dataset, xr.Dataset]:
    """Turn draws of the sampled variables into what the analysis floor takes.

    Parameters
    ----------
    draws
        Free variables of `build_model`, dims chain, draw and their own; of the posterior or of the prior.
    evidence, priors, config_ms
        What the model was built from; H[0..K] in ms.
    seed
        Of the conditional draws.

    Returns
    -------
    tuple of xarray.Dataset
        Quantities over (chain, draw) and cell, run, position, depth, verified_depth: `survival` of the screened policy
        (0 beyond its cap), `fixed_survival` (depth d verified throughout, with transport), `exposure` (of the screened
        policy), `p_verified`, `verified_chance` v and `acceptance` a of a dynamic policy, `step_ms` of the screened
        policy, `step_base_ms` at `origin_ms`, `row_slope` a row, `delta`, `omega` of fixed depths, `omega_cap` of the
        dynamic policy's caps, `overlap`, `overhead_ms`, `run_fixed_survival`, and the hyperparameters; shares and ms. And a repetition of each run: `accepted` (run,
        position) counts and `step_ms` (run), the median request's step, NaN where the run has no time.
    """
    held = population(draws, evidence, priors, seed)
    rng = np.random.default_rng([seed, 1])
    means = _mean_over_runs(held, evidence, priors)
    allowed = evidence.positions <= evidence.screened_depth[:, None]
    means["survival"], means["exposure"] = means["survival"] * allowed, means["exposure"] * allowed
    p_verified = _p_verified(means["exposure"])
    origin_ms = reference_ms(evidence, config_ms)
    # the base of a cell whose one timed arm is the screened dynamic policy is that policy's own step
    own = single_arm(evidence) & ~evidence.screened_fixed
    nominal = np.where(own, origin_ms, config_ms[evidence.screened_depth])
    effective = evidence.screened_fixed | (evidence.exposure_matters & ~own)
    anchor = np.where(effective, p_verified @ config_ms, nominal)
    slope, gamma = held.slope[..., None], held.gamma[..., None]
    base = np.exp(held.log_base)
    step = arm_ms(base, rows_ms(slope, gamma, evidence.batch, anchor, origin_ms), np)
    front, dims = held.run_sd.shape, (CHAIN, DRAW)
    overlap = rng.beta(priors.overlap_alpha, priors.overlap_beta, front)
    overhead = priors.overhead_top_ms * rng.beta(2.0, 2.0, front)
    runs = repeated(draws, held, evidence, priors, config_ms, rng)
    known = {name: draws[name] for name in HYPERPARAMETERS if name in draws} | {"s_run": (dims, held.run_sd)}
    quantities = {
        "survival": ((*dims, CELL, POSITION), means["survival"]),
        "exposure": ((*dims, CELL, POSITION), means["exposure"]),
        "p_verified": ((*dims, CELL, VERIFIED_DEPTH), p_verified),
        "verified_chance": ((*dims, CELL, POSITION), means["verified_chance"]),
        "acceptance": ((*dims, CELL, POSITION), means["acceptance"]),
        "fixed_survival": ((*dims, CELL, DEPTH, POSITION), means["fixed_survival"] * _up_to_depth(evidence)),
        "step_ms": ((*dims, CELL), step, {"units": "ms"}),
        "step_base_ms": ((*dims, CELL), base, {"units": "ms"}),
        "origin_ms": (CELL, origin_ms, {"units": "ms"}),
        "row_slope": ((*dims, CELL), slope * evidence.batch**-gamma),
        "delta": ((*dims, CELL), held.delta),
        "kappa": (dims, held.kappa),
        "omega": ((*dims, CELL, DEPTH), held.omega),
        "omega_cap": ((*dims, CELL, DEPTH), of_caps(evidence, held.omega)),
        "overlap": (dims, overlap),
        "overhead_ms": (dims, overhead, {"units": "ms"}),
        "run_fixed_survival": ((*dims, RUN, POSITION), runs.fixed_survival),
        "run_chance": ((*dims, RUN, POSITION), runs.chance),
        "slope": (dims, held.slope),
        "slope_batch": (dims, held.gamma),
    }
    coords = {
        CHAIN: draws[CHAIN].values,
        DRAW: draws[DRAW].values,
        CELL: list(evidence.cells),
        POSITION: evidence.positions,
        DEPTH: np.arange(evidence.deepest + 1),
        VERIFIED_DEPTH: np.arange(evidence.deepest + 1),
        "run_id": (RUN, list(evidence.run_ids)),
        "run_cell": (RUN, [evidence.cells[k] for k in evidence.cell]),
    }
    predicted = xr.Dataset(
        {"accepted": ((*dims, RUN, POSITION), runs.accepted), "step_ms": ((*dims, RUN), runs.step_ms, {"units": "ms"})},
        {k: v for k, v in coords.items() if k in (CHAIN, DRAW, POSITION, "run_id")},
    )
    return xr.Dataset(quantities, coords).assign(known), predicted


HYPERPARAMETERS = (
    "s_suite", "s_suite_position", "s_cell", "s_run", "s_cell_position", "overdispersion", "s_transport", "s_start",
    "s_run_time", "s_request_time",
)  # fmt: skip
"""Spreads that a planner draws future cells, runs and starts from."""


def _up_to_depth(evidence: Evidence) -> Floats:
    """1 where position <= depth: shape (depth, position)."""
    return (evidence.positions <= np.arange(evidence.deepest + 1)[:, None]).astype(float)
