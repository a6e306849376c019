"""The design prior: what each draw of the stored posterior says of an arm, before any of its runs is seen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.errors import InputError
from ..data.plan_arm import Arm
from ..data.plan_file import Design
from ..data.words import CELL, CHAIN, DEPTH, DRAW, FIXED, Label
from ..models import recursion
from . import equations
from .plan_spread import Spreads, run_mean_survival

type Floats = npt.NDArray[np.float64]

LEAST_HAZARD = 1e-6
STEPS = 8  # of a fixed point: less than 1e-5 of a survival is left at a run spread of 1 on the logit


@dataclass(frozen=True, slots=True)
class ArmDraws:
    """One arm in every simulated world: logit hazards (simulation, position up to its depth), log step time in ms.

    `logit` is that of a run without a run effect; `shift` is the ASSUMED effect of a remote scalar on the log rate, which
    stands in `log_step` already.
    """

    arm: Arm
    batch: float
    logit: Floats
    log_step: Floats
    shift: Floats
    label: Label

    def mean_logit(self, run_sd: Floats) -> Floats:
        """Logit hazards of the mean survival over runs, as the runs of an arm show them pooled."""
        return _logit(_hazards(run_mean_survival(self.logit, run_sd)))

    def rate(self, run_sd: Floats) -> Floats:
        """True rate of each world in tok/s: mean tokens over the run effect at the typical step time."""
        tokens = equations.tokens_per_round(self.batch, run_mean_survival(self.logit, run_sd).sum(axis=-1))
        return np.asarray(equations.rate(tokens, np.exp(self.log_step)))


def chosen_draws(posterior: xr.Dataset, count: int, offset: float = 0.0) -> xr.Dataset:
    """So many draws, evenly spread over the stored ones; dim `draw` alone. More than are stored come round again."""
    flat = posterior.drop_vars([CHAIN, DRAW], errors="ignore").stack(sample=(CHAIN, DRAW), create_index=False)
    stored = flat.sizes["sample"]
    places = ((np.arange(count) + offset) * stored / count).astype(int) % stored
    if count > stored:
        places = np.arange(count) % stored
    return flat.isel(sample=places).rename(sample=DRAW).transpose(DRAW, ...)


def spreads_of(draws: xr.Dataset) -> Spreads:
    """Spreads of future runs and starts."""
    names = ("s_run", "overdispersion", "s_start", "s_run_time", "s_request_time")
    absent = [name for name in names if name not in draws]
    if absent:
        raise InputError(
            f"posterior: found no {absent[0]}; a result whose group has step times would do: a plan without any would "
            "know nothing of how runs differ"
        )
    return Spreads(*(np.asarray(draws[name].values, dtype=float) for name in names))


def effect_draws(design: Design, count: int, rng: np.random.Generator) -> dict[float, Floats]:
    """The ASSUMED log effect of each remote scalar: normal, with a shared part, so that scalars move together."""
    shared = rng.standard_normal(count)
    out = {}
    for effect in design.effects:
        own = rng.standard_normal(count)
        z = np.sqrt(design.effects_share) * shared + np.sqrt(1.0 - design.effects_share) * own
        out[effect.scalar_ms] = np.asarray(effect.gain + effect.sd * z)
    return out


def _logit(hazard: Floats) -> Floats:
    inside = np.clip(hazard, LEAST_HAZARD, 1.0 - LEAST_HAZARD)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _hazards(survival: Floats) -> Floats:
    before = np.concatenate([np.ones_like(survival[:, :1]), survival[:, :-1]], axis=1)
    return np.asarray(survival / np.maximum(before, 1e-12))


def centre_logit(mean_logit: Floats, run_sd: Floats) -> Floats:
    """Logit hazards of a run without a run effect, from those of the mean survival over runs with that spread.

    The stored survival is a mean over runs already: runs that are drawn about its hazards would be averaged over twice.

    Parameters
    ----------
    mean_logit
        (draw, position).
    run_sd
        Spread of runs on the logit, (draw).
    """
    centre = mean_logit
    for _ in range(STEPS):
        centre = centre + mean_logit - _logit(_hazards(run_mean_survival(centre, run_sd)))
    return np.asarray(centre)


@dataclass(frozen=True, slots=True)
class _Dynamic:
    """What a dynamic policy does at every position, whatever its cap: hazards and exposure, (draw, position)."""

    hazard: Floats
    exposure: Floats

    @classmethod
    def of(cls, at: xr.Dataset, cap: int, screened_fixed: bool) -> "_Dynamic":
        v, a = at["verified_chance"].values, at["acceptance"].values
        hazard = v * a
        exposure = np.asarray(recursion.exposure(hazard, v, at["kappa"].values[:, None], np))
        if not screened_fixed:  # what was screened is this policy: its own means up to its cap
            hazard[:, :cap] = _hazards(at["survival"].values)[:, :cap]
            exposure[:, :cap] = at["exposure"].values[:, :cap]
            exposure = np.minimum.accumulate(exposure, axis=1)
        return cls(hazard, exposure)


def _anchor(exposure: Floats, config_ms: Floats) -> Floats:
    """Hbar = H[0] + sum_i e_i (H[i] - H[i-1]), ms: the config time of the depth that is really verified."""
    return np.asarray(config_ms[0] + exposure @ np.diff(config_ms)[: exposure.shape[1]])


def arm_draws(
    arm: Arm, cell: xr.Dataset, draws: xr.Dataset, seen_depth: int, effects: Mapping[float, Floats]
) -> ArmDraws:
    """Turn draws of a cell into draws of an arm.

    Parameters
    ----------
    arm
        What may be run.
    cell
        The screen of its cell: `batch`, `cap`, `policy`, `config_ms`.
    draws
        Draws of `models` at this cell, dim `draw` alone.
    seen_depth
        The deepest position that a run of the cell could verify: beyond, the arm is EXTRAPOLATED.
    effects
        Log effects of remote scalars, one entry a draw.

    Raises
    ------
    InputError
        A dynamic arm in a cell without any dynamic run, or a cell without a step time.
    """
    config = np.asarray(cell["config_ms"].values, dtype=float)
    cap, batch = int(cell["cap"]), float(cell["batch"])
    screened_fixed = str(cell["policy"].values) == FIXED
    known_dynamic = bool((draws["verified_chance"].values < 1.0 - 1e-12).any())
    step = np.asarray(draws["step_ms"].values, dtype=float)
    if np.isnan(step).any():
        raise InputError(f"arm {arm.name}: found no step time in its cell; runs with step times would do")
    if arm.kind != FIXED and not known_dynamic:
        raise InputError(
            f"arm {arm.name}: found no dynamic run in its cell; a fixed policy would do: nothing is known of a scheduler there"
        )
    dynamic = _Dynamic.of(draws, cap, screened_fixed) if known_dynamic else None
    now = _now_anchor(draws, config)
    if arm.kind == FIXED:
        survival = draws["fixed_survival"].sel({DEPTH: arm.depth}).values[:, : arm.depth]
        logit, anchor = _logit(_hazards(survival)), np.full_like(step, config[arm.depth])
    else:
        assert dynamic is not None
        moved = draws["omega_cap"].sel({DEPTH: arm.depth}).values[:, None]  # as another cap moves later rounds
        logit = _logit(dynamic.hazard[:, : arm.depth]) + moved
        anchor = _anchor(dynamic.exposure[:, : arm.depth], config)
    slope = np.asarray(draws["row_slope"].values, dtype=float)
    duration = equations.verify_ms(step, 0.0, slope, batch, anchor, now)
    shift = effects[arm.scalar_ms] if arm.scalar_ms is not None else np.zeros_like(step)
    label = Label.EXTRAPOLATED if arm.depth > seen_depth else Label.ESTIMATED
    if arm.scalar_ms is not None:
        label = Label.ASSUMED
    log_step = np.log(np.maximum(duration, 0.05 * step)) - shift
    centre = centre_logit(logit, np.asarray(draws["s_run"].values, dtype=float))
    return ArmDraws(arm, batch, centre, np.asarray(log_step), shift, label)


def _now_anchor(draws: xr.Dataset, config_ms: Floats) -> Floats:
    """Config time of the screened policy in each draw, ms."""
    shares = draws["p_verified"].transpose(DRAW, "verified_depth").values
    return np.asarray(shares @ config_ms)


def seen_depths(runs: xr.Dataset) -> dict[str, int]:
    """The deepest position that some run of each cell could verify."""
    out: dict[str, int] = {}
    for cell, depth in zip(runs[CELL].values.tolist(), runs["policy_depth"].values.tolist(), strict=True):
        out[str(cell)] = max(out.get(str(cell), 0), int(depth))
    return out
