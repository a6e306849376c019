"""The fast analysis that starts from the stored runs: two arms position by position, normal on logit hazards and log time.

The stored posterior's draws give the prior, a mixture of normals (`plan_prior`). What the runs show of every position and of
time updates each of them exactly (a normal given a normal), for each draw of the spreads; what is left of the log gain is taken
along its slope.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..models.recursion import expit
from .plan_posterior import Posterior, SumOfSquares
from .plan_prior import JointPrior
from .plan_spread import Spreads, correlation, median_variance

type Floats = npt.NDArray[np.float64]

LEAST = 1e-3  # observed hazards stay so far from 0 and 1
FAR = 6.0  # parts of the prior whose weight is e^-6 of the best one's are left out: widths move by less than 1 %


def observed_logits(survival: Floats, runs: int) -> Floats:
    """Logit hazards of the first runs pooled: (simulation, rounds, position)."""
    pooled = survival[:, :, :runs].mean(axis=2)
    before = np.concatenate([np.ones_like(pooled[..., :1]), pooled[..., :-1]], axis=-1)
    hazard = np.clip(pooled / np.maximum(before, 1e-12), LEAST, 1.0 - LEAST)
    return np.asarray(np.log(hazard) - np.log1p(-hazard))


def _hazard_noise(logit: Floats, spreads: Spreads, runs: int, rounds: Floats) -> Floats:
    """Covariance of an arm's pooled logit hazards, (rounds, draw, position, position).

    The run effect is shared by positions; each beta-binomial step adds its own on the diagonal.
    """
    h = expit(logit, np)
    before = np.concatenate([[1.0], np.cumprod(h)[:-1]])
    rho = correlation(spreads.overdispersion)[None, :, None]
    step = ((1.0 - rho) / (rounds[:, None, None] * before) + rho) / (h * (1.0 - h))
    shared = spreads.run[None, :, None, None] ** 2
    return np.asarray((shared + step[..., None] * np.eye(len(h))) / runs)


@dataclass(frozen=True, slots=True)
class Informed:
    """An experiment that is analysed from the stored runs on; like `plan_experiment.Experiment`."""

    observed: Floats  # simulation, rounds, state
    noise: Floats  # component, rounds, draw of the spreads, state, state
    spread: tuple[SumOfSquares, ...]
    prior: JointPrior

    @property
    def estimate(self) -> Floats:
        """Log gain as observed, (simulation, rounds)."""
        return self.prior.gain(self.observed)

    def posterior(self, moved: Floats | float = 0.0, of_tokens: float = 0.0) -> Posterior:
        """Of the log gain: a normal for each part of the prior, with its moments over the draws of the spreads.

        `moved` is added to what was observed, along what the prior expects of such a gain.
        """
        prior = self.prior
        centre, whole = prior.moments()
        slope = prior.slope(centre)
        along = whole @ slope / (slope @ whole @ slope)
        seen = self.observed + np.asarray(moved)[..., None] * along
        told = np.asarray(sum((part.log_weight() for part in self.spread), np.zeros(1)))
        told = np.broadcast_to(told, (*seen.shape[:2], self.noise.shape[2]))
        near = self._near(seen)
        log_weight, mean, variance = np.full(near.shape, -np.inf), np.zeros(near.shape), np.ones(near.shape)
        for place, part in np.ndindex(near.shape[1:]):
            rows = np.flatnonzero(near[:, place, part])
            if len(rows):
                at = (rows, place, part)
                log_weight[at], mean[at], variance[at] = self._given(part, place, seen[rows, place], told[rows, place])
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        return Posterior(weight / weight.sum(axis=-1, keepdims=True), mean, np.sqrt(np.maximum(variance, 1e-8)))

    def _near(self, seen: Floats) -> npt.NDArray[np.bool_]:
        """Which parts of the prior may have made what was seen, (simulation, rounds, part): were the noise twice its mean."""
        out = np.empty((*seen.shape[:2], len(self.prior.weight)))
        for part, (centre, cov) in enumerate(zip(self.prior.mean, self.prior.cov, strict=True)):
            total = cov + 2.0 * self.noise[part].mean(axis=1)
            away = seen - centre
            square = (away * np.einsum("qij,sqj->sqi", np.linalg.inv(total), away)).sum(axis=-1)
            out[..., part] = np.log(self.prior.weight[part]) - 0.5 * (np.linalg.slogdet(total)[1] + square)
        return np.asarray(out >= out.max(axis=-1, keepdims=True) - FAR)

    def _given(self, part: int, place: int, seen: Floats, told: Floats) -> tuple[Floats, Floats, Floats]:
        """Log weight, mean and variance of the log gain for one normal of the prior and one round count, (simulation)."""
        prior, cov = self.prior, self.prior.cov[part]
        away = seen - prior.mean[part]
        total = cov + self.noise[part, place]
        inverse = np.linalg.inv(total)
        to_mean = cov @ inverse
        left = cov - to_mean @ cov
        gradient = prior.slope(seen)
        log_weight = told - 0.5 * (np.linalg.slogdet(total)[1] + _forms(away, inverse, away))
        start = prior.gain(seen) - (gradient * away).sum(axis=-1)
        mean = start[:, None] + _forms(gradient, to_mean, away)
        most = log_weight.max(axis=-1, keepdims=True)
        weight = np.exp(log_weight - most)
        size = weight.sum(axis=-1)
        centre = (weight * mean).sum(axis=-1) / size
        spread = (weight * (_forms(gradient, left, gradient) + (mean - centre[:, None]) ** 2)).sum(axis=-1) / size
        return np.log(prior.weight[part]) + most[:, 0] + np.log(size), centre, spread


def _forms(left: Floats, matrices: Floats, right: Floats) -> Floats:
    """left' M right for every simulation and draw, (s, i), (k, i, j), (s, j) to (s, k), as one matrix product."""
    products = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
    return np.asarray(products @ matrices.reshape(len(matrices), -1).T)


def state_noise(
    prior: JointPrior, spreads: Spreads, requests: int, runs: int, rounds: Floats, starts: Floats | float, blocks: int
) -> Floats:
    """Covariance of what is observed of both arms, (component, rounds, draw, state, state).

    Parameters
    ----------
    prior
        For the hazards at which the noise is taken: each component has its own.
    spreads
        Draws of the analysis prior.
    requests, runs, rounds, blocks
        The design.
    starts
        Variance between starts (and periods) of each arm's log time, by draw; 0 where arms share them.
    """
    count, size = prior.mean.shape
    out = np.zeros((count, len(rounds), len(spreads.run), size, size))
    for component, mean in enumerate(prior.mean):
        begin = 0
        for depth in prior.depths:
            end = begin + depth
            out[component, ..., begin:end, begin:end] = _hazard_noise(mean[begin:end], spreads, runs, rounds)
            begin = end
    time = spreads.run_time**2 + median_variance(requests) * spreads.request_time**2
    out[..., -1, -1] = out[..., -2, -2] = starts / blocks + time / runs
    return out
