"""The hierarchical model of one worker group: evidence and priors in, a `pm.Model` out; nothing is sampled here."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pymc as pm
import pytensor.tensor as pt

from .centring import run_centring, shape_centring
from .evidence import Evidence, contrast_matrix
from .observations import observations, totals, trials_of
from .priors import Priors
from .recursion import (
    acceptance,
    expit,
    exposure,
    fixed_hazard,
    log_share_density,
    lower_odds,
    shifted,
    verified_chance,
    verified_from_share,
    verified_uniform,
)
from .timing import state_times

SMALLEST_OVERDISPERSION = 1e-7  # a concentration of 1e7: a binomial to all purposes, and finite in floating point


def _position_means(evidence: Evidence, priors: Priors) -> Any:
    """Mean deviation of each position, apart for fixed (row 0) and dynamic hazards, zero over positions."""
    if evidence.deepest == 1:
        return pt.zeros((2, 1))
    return pm.ZeroSumNormal("position_mean", priors.position_sd, shape=(2, evidence.deepest))


def exposed_places(evidence: Evidence) -> tuple[Any, ...]:
    """Cell and position (from 0) wherever some run may verify."""
    return np.nonzero(evidence.positions <= evidence.cap[:, None])


def runs_of_cells(evidence: Evidence) -> npt.NDArray[np.float64]:
    """Runs of each cell that are new evidence, at least 1."""
    return np.maximum(np.bincount(evidence.cell[evidence.counted], minlength=len(evidence.cells)), 1.0)


def run_contrasts(evidence: Evidence) -> npt.NDArray[np.float64]:
    """Each run's contrast to its cell from free contrasts: shape (run, contrast); rows of copies are 0."""
    counted = np.flatnonzero(evidence.counted)
    inner = contrast_matrix(evidence.cell[counted], len(evidence.cells))
    out = np.zeros((len(evidence.cell), inner.shape[1]))
    out[counted] = inner
    return out


def _effect(name: str, sd: Any, centring: npt.NDArray[np.float64]) -> Any:
    """Normal(0, sd) effects, sampled in the coordinates that `models.centring` chose."""
    return sd ** (1.0 - centring) * pm.Normal(name, 0.0, sd**centring, shape=len(centring))


def _hazards(evidence: Evidence, priors: Priors) -> tuple[Any, Any]:
    """In-sample logit hazards of each cell (position in the last axis), and each run's contrast to its cell.

    A cell's centre holds its cell effect plus the mean run effect of its runs, so that neither is a ridge. Dynamic and
    fixed hazards are different things and share no mean.
    """
    kind = evidence.dynamic_cell.astype(int)
    centre = pm.Normal("hazard_centre", priors.hazard_centre, priors.hazard_centre_sd, shape=2)
    s_cell = pm.HalfNormal("s_cell", priors.cell_scale)
    s_run = pm.HalfNormal("s_run", priors.run_scale)
    s_shape = pm.HalfNormal("s_cell_position", priors.cell_position_scale)
    spread = pt.sqrt(s_cell**2 + s_run**2 / runs_of_cells(evidence))
    cell_centre = pm.Normal("cell_centre", centre[kind], spread, shape=len(evidence.cells))
    cell, place = exposed_places(evidence)
    means = cell_centre[:, None] + _position_means(evidence, priors)[kind]
    theta = means[cell, place] + _effect("cell_position", s_shape, shape_centring(evidence)[cell, place])
    where = np.full((len(evidence.cells), evidence.deepest), len(cell))
    where[cell, place] = np.arange(len(cell))
    logits = pt.concatenate([pm.Deterministic("theta", theta), np.zeros(1)])[where]
    contrasts = run_contrasts(evidence)
    if not contrasts.shape[1]:
        return logits, pt.zeros(len(evidence.cell))
    effect = _effect("run_effect", s_run, run_centring(evidence, contrasts))
    return logits, pt.dot(contrasts, pm.Deterministic("run_contrast", effect))


def transport_steps(evidence: Evidence) -> list[tuple[int, int]]:
    """Steps (cell, depth to depth + 1) of the walk that some fixed run's likelihood holds."""
    steps = {
        (int(k), e)
        for k, d in zip(evidence.cell[evidence.fixed], evidence.depth[evidence.fixed], strict=True)
        for e in range(int(d), int(evidence.origin[k]))
        if d > 0
    }
    return sorted(steps)


def _transport(evidence: Evidence, priors: Priors) -> Any:
    """omega of each run: a random walk in depth away from the cell's origin, zero there and for dynamic runs."""
    s_transport = pm.HalfNormal("s_transport", priors.transport_scale)
    steps = transport_steps(evidence)
    if not steps:
        return pt.zeros(len(evidence.cell))
    step = pm.Normal("transport_step", 0.0, 1.0, shape=len(steps))
    taken = np.array(
        [
            [float(fixed and k == j and d <= e) for j, e in steps]
            for k, d, fixed in zip(evidence.cell, evidence.depth, evidence.fixed, strict=True)
        ]
    )
    return s_transport * pt.dot(taken, step)


def _uniforms(
    evidence: Evidence,
    priors: Priors,
    logits: Any,
    cells: Any,
    delta: Any,
    by_share: bool,
) -> Any:
    """U of the exposure of some cells; where fixed runs teach the masked tail it is sampled through the accepted share.

    Both ways leave U uniform whatever the hazard (the second by the density of `log_share_density`), so that one prior
    serves every level; the second is straight where counts pin the share down and bend (U, delta).
    """
    taught = evidence.mixed[cells] & by_share
    out = pt.zeros((len(cells), evidence.deepest))
    if (~taught).any():
        plain = pm.Uniform("exposure_uniform", 0.0, 1.0, shape=(int((~taught).sum()), evidence.deepest))
        out = pt.set_subtensor(out[np.flatnonzero(~taught)], plain)
    if taught.any():
        where = np.flatnonzero(taught)
        share = pm.Uniform("masked_share", 0.0, 1.0, shape=(len(where), evidence.deepest))
        h, gap = expit(logits[cells[where]], pt), delta[where][:, None]
        density = log_share_density(h, share, gap, priors.exposure_power, priors.exposure_shape, pt)
        pm.Potential("masked_share_density", density.sum())
        v = verified_from_share(h, share, gap, pt)
        out = pt.set_subtensor(
            out[where],
            verified_uniform(h, v, priors.exposure_power, priors.exposure_shape),
        )
    return pm.Deterministic("uniform", out)


def _chances(evidence: Evidence, hazard: Any, v: Any, kappa: Any, accepted: Any) -> dict[str, Any]:
    """Each binomial step's chance of every run and position."""
    if v is None:
        return {"accepted": accepted}
    e = exposure(hazard, v, kappa, pt)
    last = pt.concatenate([pt.ones_like(e[:, :1]), e[:, :-1]], axis=1)
    return {
        "accepted": accepted,
        "verified": e / last,
        "verified_if_accepted": v,
        "accepted_if_verified": acceptance(hazard, v, pt),
        "verified_if_rejected": lower_odds(v, kappa, pt),
    }


def _state_totals(
    evidence: Evidence,
    data: dict[str, Any],
    hazard: Any,
    v: Any,
    kappa: Any,
    extra: Any,
) -> None:
    """L1: the total has mean n sum e_i and variance n (sum (2i - 1) e_i - (sum e_i)^2); extra is overdispersion."""
    runs = totals(evidence)
    e = exposure(hazard, v, kappa, pt)[runs] * evidence.inside[runs]
    mean = e.sum(axis=-1)
    variance = ((2 * evidence.positions - 1) * e).sum(axis=-1) - mean**2
    rounds = data["total_rounds"]
    spread = rounds * (variance + 1e-6) * (1.0 + (rounds - 1.0) * extra) + 1.0 / 12.0
    pm.Normal("verified_tokens", rounds * mean, pt.sqrt(spread), observed=data["total_tokens"])


def run_anchor(evidence: Evidence, exposed: Any, config_ms: npt.NDArray[np.float64], xp: Any) -> Any:
    """Config time of each run in ms: H at a fixed depth, sum_k P(V = k) H[k] under a dynamic policy."""
    mean = config_ms[0] + (exposed * evidence.inside * np.diff(config_ms)).sum(axis=-1)
    return xp.where(evidence.fixed, config_ms[evidence.depth], mean)


def build_model(
    evidence: Evidence,
    priors: Priors,
    config_ms: npt.NDArray[np.float64],
    by_share: bool = True,
) -> pm.Model:
    """State the model.

    Parameters
    ----------
    evidence
        The runs of one worker group.
    priors
        What is believed before.
    config_ms
        The cost table H[0..K], ms.
    by_share
        Whether the exposure of cells with fixed and dynamic runs is sampled through the share that a masked round would
        accept; the prior is the same, and only without it do forward draws of this model follow it.

    Returns
    -------
    pymc.Model
        Free variables that stand in the likelihood; what no count speaks of (the exposure and masked tail of cells at
        L0, mean run effects) is drawn after sampling, exactly, by `models.derive`.
    """
    with pm.Model(check_bounds=False) as model:
        data = {name: pm.Data(name, value) for name, value in observations(evidence).items()}
        logits, shift = _hazards(evidence, priors)
        overdispersion = pm.HalfNormal("overdispersion", priors.overdispersion_scale)
        hazard = expit(logits[evidence.cell] + shift[:, None], pt)
        omega = _transport(evidence, priors)[:, None]
        anchor: Any = config_ms[evidence.depth]
        v: Any = None
        kappa: Any = None
        accepted = hazard
        cells = np.flatnonzero(evidence.exposure_matters)
        if len(cells):
            kappa = pm.HalfNormal("kappa", priors.rejected_gap_scale)
            delta = pm.HalfNormal("delta", priors.masked_gap_scale, shape=len(cells))
            uniform = _uniforms(evidence, priors, logits, cells, delta, by_share)
            of_run = np.minimum(np.searchsorted(cells, evidence.cell), len(cells) - 1)
            v = verified_chance(hazard, uniform[of_run], priors.exposure_power, priors.exposure_shape)
            unmasked = fixed_hazard(hazard, v, delta[of_run][:, None], pt)
            in_mixed = (evidence.fixed & evidence.mixed[evidence.cell])[:, None]
            accepted = pt.where(in_mixed, unmasked, hazard)
            has_exposure = evidence.exposure_matters[evidence.cell]
            anchor = pt.where(
                has_exposure,
                run_anchor(evidence, exposure(hazard, v, kappa, pt), config_ms, pt),
                anchor,
            )
            if len(totals(evidence)):
                _state_totals(evidence, data, hazard, v, kappa, overdispersion)
        accepted = shifted(accepted, omega, pt)
        chances = _chances(evidence, hazard, v, kappa, accepted)
        concentration = 1.0 / (overdispersion + SMALLEST_OVERDISPERSION)
        for name in trials_of(evidence):
            p = pt.clip(chances[name], 1e-9, 1.0 - 1e-9)
            pm.BetaBinomial(
                name, n=data[f"{name}_tried"], alpha=p * concentration, beta=(1.0 - p) * concentration,
                observed=data[f"{name}_taken"],
            )  # fmt: skip
        if len(evidence.times):
            state_times(evidence, priors, config_ms, anchor, data["log_times"])
    return model
