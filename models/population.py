"""What no count speaks of, drawn given the sampled variables: means of run effects, deep positions, unseen exposure.

Each law is the exact conditional under the model, so that draws of it beside the sampled ones are draws of the joint
posterior; given forward draws of the model it gives the joint prior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.words import CHAIN, DRAW
from .contrasts import Contrasts
from .evidence import Evidence, Floats
from .hazard_law import Variances, draw_means
from .places import Places, runs_of_cells
from .priors import Priors
from .spreads import not_nothing
from .starts import start_shares
from .transport import sampled_steps, walk

type Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Population:
    """Draws in front (chain, draw), then cells or runs, then positions or depths; logit scale or shares."""

    logit_in_sample: Floats  # cell, position: of the recorded runs' mean
    logit: Floats  # cell, position: of a run at the centre of its cell
    run_shift: Floats  # run
    run_sd: Floats
    uniform: Floats  # cell, position
    kappa: Floats
    delta: Floats  # cell
    omega: Floats  # cell, depth 0..K
    log_base: Floats  # cell: at `reference_ms`, over starts and runs; NaN without a time
    slope: Floats
    gamma: Floats


class _Draws:
    """Sampled variables by name, with what is not sampled drawn from its prior."""

    def __init__(self, draws: xr.Dataset, rng: Generator) -> None:
        self.draws, self.rng = draws, rng
        self.front = (draws.sizes[CHAIN], draws.sizes[DRAW])

    def __contains__(self, name: str) -> bool:
        return name in self.draws

    def __getitem__(self, name: str) -> Any:
        return self.draws[name].values

    def normal(self, *shape: int) -> Floats:
        return self.rng.standard_normal((*self.front, *shape))

    def half_normal(self, scale: float, *shape: int) -> Floats:
        return np.asarray(scale * np.abs(self.normal(*shape)))


def _second_part(draws: _Draws, total: Floats, first: Floats, second: Floats) -> Floats:
    """The second of two normal effects about zero, of these variances, given their sum."""
    share = second / (first + second)
    return np.asarray(share * total + np.sqrt(second * (1.0 - share)) * draws.normal(total.shape[-1]))


def _logits(draws: _Draws, evidence: Evidence, priors: Priors) -> tuple[Floats, Floats]:
    places = Places.of(evidence)
    both, alone = (Variances.of(draws, runs) for runs in (runs_of_cells(evidence), np.inf))
    _, beta, total = draw_means(places, draws["theta"], both, priors, draws.rng)
    logits = beta[..., places.suite, :] + total[..., None]
    logits += both.white[..., None, None] ** 0.5 * draws.normal(*logits.shape[2:])
    logits[..., places.cell, places.place] = draws["theta"]
    return logits, logits - _second_part(draws, total, alone.cell, both.cell - alone.cell)[..., None]


def _times(draws: _Draws, evidence: Evidence, priors: Priors) -> tuple[Floats, Floats, Floats]:
    cells = len(evidence.cells)
    if "log_base" not in draws:
        log_base = np.full((*draws.front, cells), np.nan)
    else:
        log_base = draws["log_base"] - draws["start"] @ start_shares(evidence).T
        log_base[..., start_shares(evidence).sum(axis=1) == 0.0] = np.nan
    if "slope" in draws:
        slope, gamma = (
            draws["slope"],
            draws["slope_batch"] if "slope_batch" in draws else np.zeros(draws.front),
        )
    else:
        slope, gamma = (
            draws.rng.beta(priors.row_slope_alpha, priors.row_slope_beta, draws.front),
            np.zeros(draws.front),
        )
    return log_base, slope, gamma


def population(draws: xr.Dataset, evidence: Evidence, priors: Priors, seed: int) -> Population:
    """Complete the draws of the sampled variables.

    Parameters
    ----------
    draws
        Free variables of `build_model` and `uniform`, dims chain, draw and their own.
    evidence, priors
        What the model was built from.
    seed
        Of the conditional draws.
    """
    held = _Draws(draws, np.random.default_rng(seed))
    cells, deepest = len(evidence.cells), evidence.deepest
    in_sample, logit = _logits(held, evidence, priors)
    uniform = held.rng.uniform(size=(*held.front, cells, deepest))
    delta = held.half_normal(priors.masked_gap_scale, cells)
    kappa = held.half_normal(priors.rejected_gap_scale)
    places = np.flatnonzero(evidence.exposure_matters)
    if len(places):
        uniform[..., places, :], delta[..., places], kappa = (
            held["uniform"],
            held["delta"],
            held["kappa"],
        )
    shift: npt.NDArray[np.float64] = np.zeros((*held.front, len(evidence.cell)))
    if "run_contrast" in held:
        contrasts = Contrasts.of(evidence)
        shift[..., contrasts.run] = contrasts.differences(held["run_contrast"], np)
    steps = held.normal(cells, deepest + 1)
    if "transport_step" in held:
        steps[..., *sampled_steps(evidence)] = held["transport_step"]
    log_base, slope, gamma = _times(held, evidence, priors)
    return Population(
        in_sample,
        logit,
        shift,
        not_nothing(held["s_run"]),
        uniform,
        kappa,
        delta,
        np.asarray(walk(evidence, held["s_transport"], steps)),
        log_base,
        np.asarray(slope),
        gamma,
    )
