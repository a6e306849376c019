"""Leaving a run out: its counts given all but its own effect, and the same evidence without them."""

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy import special

from .coordinates import counted_logits
from .evidence import Evidence, Floats, Ints
from .model import SMALLEST_OVERDISPERSION, log_beta_binomial
from .observations import Trials, totals, trials_of
from .population import Population
from .priors import Priors
from .recursion import expit, exposure, fixed_hazard, shifted, step_chances, total_moments, verified_chance
from .transport import of_runs

NODES = 15


def without(evidence: Evidence, run: int) -> Evidence:
    """The same runs, of which one has counted nothing; its step time stays, and so does every shape."""
    chosen = np.arange(len(evidence.cell)) == run

    def emptied(values: Floats) -> Floats:
        front = chosen.reshape(-1, *[1] * (values.ndim - 1))
        return np.where(front & ~np.isnan(values), 0, values).astype(values.dtype)

    return replace(
        evidence, rounds=np.where(chosen, 0, evidence.rounds), accepted=np.where(chosen[:, None], 0, evidence.accepted),
        verified=emptied(evidence.verified), verified_tokens=emptied(evidence.verified_tokens), table=emptied(evidence.table),
    )  # fmt: skip


class _Run:
    """One run's likelihood at some run effects, on flat draws."""

    def __init__(
        self,
        run: int,
        draws: xr.Dataset,
        held: Population,
        evidence: Evidence,
        priors: Priors,
        trials: dict[str, Trials],
    ) -> None:
        cell, deepest = int(evidence.cell[run]), evidence.deepest
        self.run, self.evidence, self.priors = run, evidence, priors
        self.logit, self.uniform = (x[..., cell, :].reshape(-1, 1, deepest) for x in (held.logit, held.uniform))
        of_dynamic, of_fixed = (moved[..., 0] for moved in of_runs(evidence, held.omega, slice(run, run + 1)))
        self.delta, self.kappa, self.of_dynamic, self.omega = (
            x.reshape(-1, 1, 1) for x in (held.delta[..., cell], held.kappa, of_dynamic, of_fixed)
        )
        self.overdispersion = draws["overdispersion"].values.reshape(-1, 1)
        self.fixed, self.masked = bool(evidence.fixed[run]), bool(evidence.dynamic_cell[cell])
        self.trials = {}
        for name, every in trials.items():
            mine = every.run == run
            if mine.any():
                self.trials[name] = Trials(every.run[mine], every.place[mine], every.tried[mine], every.taken[mine])

    def chances(self, effect: Floats) -> tuple[dict[str, Floats], Floats]:
        """Chance of each step (draw, node, position), and exposure; effect is (draw, node)."""
        h = expit(self.logit + self.of_dynamic + effect[..., None], np)
        v = verified_chance(h, self.uniform, self.priors.exposure_power, self.priors.exposure_shape)
        e = exposure(h, v, self.kappa, np)
        accepted = h
        if self.fixed:
            accepted = shifted(fixed_hazard(h, v, self.delta, np) if self.masked else h, self.omega, np)
        return step_chances(h, v, e, self.kappa, np) | {"accepted": accepted}, e

    def log_likelihood(self, effect: Floats) -> Floats:
        """Log probability of its counts at each effect: shape (draw, node)."""
        chances, e = self.chances(effect)
        concentration = 1.0 / (self.overdispersion[..., None] + SMALLEST_OVERDISPERSION)
        out = np.zeros_like(effect)
        for name, some in self.trials.items():
            p = np.clip(chances[name][..., some.place], 1e-9, 1.0 - 1e-9)
            steps = log_beta_binomial(some.taken, some.tried, some.log_ways, p, concentration, special.gammaln)
            out += steps.sum(axis=-1)
        if self.run in totals(self.evidence):
            inside = e * self.evidence.inside[self.run]
            rounds = float(self.evidence.rounds[self.run])
            mean, variance = total_moments(inside, self.evidence.positions, rounds, self.overdispersion)
            square = (self.evidence.verified_tokens[self.run] - mean) ** 2 / variance
            out -= 0.5 * (np.log(2.0 * np.pi * variance) + square)
        return out


def log_likelihood_of_counts(draws: xr.Dataset, held: Population, evidence: Evidence, priors: Priors) -> Floats:
    """Log probability of all counts given everything, run effects too: shape (chain, draw).

    As `log_likelihoods` takes its arguments.
    """
    centred = held.logit_in_sample - held.logit  # of all positions alike: the mean effect of the cell's runs
    trials, out = trials_of(evidence), np.zeros((held.run_sd.size, 1))
    for run in np.flatnonzero(evidence.counted):
        effect = held.run_shift[..., run] + centred[..., evidence.cell[run], 0]
        out += _Run(int(run), draws, held, evidence, priors, trials).log_likelihood(effect.reshape(-1, 1))
    return out.reshape(held.run_sd.shape)


def log_likelihoods(
    draws: xr.Dataset, held: Population, evidence: Evidence, priors: Priors, runs: Ints | None = None
) -> Floats:
    """Log probability of each run's counts given everything but its own effect, which is integrated out.

    Adaptive Gauss-Hermite quadrature about where the run's counts put its effect, draw by draw.

    Parameters
    ----------
    draws, held
        Sampled variables and their completion, dims chain and draw.
    evidence, priors
        What the model was built from.
    runs
        Of which runs; all whose counts stand in the likelihood where nothing is said.

    Returns
    -------
    numpy.ndarray
        Shape (chain, draw, run); NaN for others, and for runs whose counts do not stand in the likelihood.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    at_nodes = np.log(weights) + 0.5 * nodes**2
    spread = held.run_sd.reshape(-1, 1)
    observed, _ = counted_logits(evidence)
    tried = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    trials = trials_of(evidence)
    out = np.full((spread.size, len(evidence.cell)), np.nan)
    for run in np.flatnonzero(evidence.counted) if runs is None else runs:
        one = _Run(int(run), draws, held, evidence, priors, trials)
        p = one.chances(np.zeros_like(spread))[0]["accepted"][:, 0]
        told = tried[run] * p * (1.0 - p) / (1.0 + np.maximum(tried[run] - 1.0, 0.0) * one.overdispersion)
        apart = (told * (observed[run] - special.logit(p))).sum(axis=-1, keepdims=True)
        sd = (told.sum(axis=-1, keepdims=True) + spread**-2.0) ** -0.5
        effect = sd**2 * apart + sd * nodes
        prior = -0.5 * (effect / spread) ** 2 - np.log(spread) - 0.5 * np.log(2.0 * np.pi)
        values = at_nodes + np.log(sd) + prior + one.log_likelihood(effect)
        out[:, run] = special.logsumexp(values, axis=-1)
    return out.reshape(*held.run_sd.shape, -1)
