"""The fast analysis that starts from the stored runs: two arms position by position, normal on logit hazards and log time.

The stored posterior's draws give the prior, normal with their moments: so the arms' hazards move together as the full model
has them, but for one thing that no normal has: a fixed depth accepts no less than a dynamic policy does at the same positions,
so that what lies below is cut off. What the runs show of every position and of time updates it exactly (a normal given a normal), for each draw of the
spreads; what is left of the log gain is taken along its slope.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..data.words import DYNAMIC, FIXED
from ..models.recursion import expit
from .plan_arms import ArmDraws
from .plan_posterior import Posterior, SumOfSquares
from .plan_spread import Spreads, correlation, median_variance

type Floats = npt.NDArray[np.float64]

LEAST = 1e-3  # observed hazards stay so far from 0 and 1
JITTER = 1e-8


@dataclass(frozen=True, slots=True)
class JointPrior:
    """Mean and covariance of (logit hazards of the arm, of the other, -log time of the arm, of the other)."""

    mean: Floats
    cov: Floats
    depths: tuple[int, int]
    bounded: bool

    @classmethod
    def of(cls, arm: ArmDraws, other: ArmDraws) -> "JointPrior":
        """The moments of the stored draws; a fixed depth accepts no less than a dynamic policy at the same positions."""
        state = np.column_stack([arm.logit, other.logit, -arm.log_step, -other.log_step])
        cov = np.cov(state, rowvar=False) + JITTER * np.eye(state.shape[1])
        depths = arm.logit.shape[1], other.logit.shape[1]
        bounded = arm.arm.kind == FIXED and other.arm.kind == DYNAMIC and depths[0] <= depths[1]
        return cls(state.mean(axis=0), cov, depths, bounded)

    def room(self, state: Floats) -> Floats:
        """Log tokens of the fixed arm less those of the dynamic policy up to the same depth: not below zero, but for transport."""
        first, second, _ = self.split(state)
        return np.asarray(_log_tokens(first) - _log_tokens(second[..., : self.depths[0]]))

    def room_slope(self) -> Floats:
        """Its gradient at the prior's mean."""
        first, second, _ = self.split(self.mean)
        beyond = np.zeros(self.depths[1] - self.depths[0] + 2)
        return np.concatenate([_token_gradient(first), -_token_gradient(second[: self.depths[0]]), beyond])

    def split(self, state: Floats) -> tuple[Floats, Floats, Floats]:
        """Logit hazards of both arms, and the difference of -log time, of states in the last axis."""
        a, b = self.depths
        return state[..., :a], state[..., a : a + b], state[..., -2] - state[..., -1]

    def gain(self, state: Floats) -> Floats:
        """Log gain of states in the last axis."""
        first, second, time = self.split(state)
        return np.asarray(_log_tokens(first) - _log_tokens(second) + time)

    def slope(self, state: Floats) -> Floats:
        """Its gradient, of the states' shape."""
        first, second, _ = self.split(state)
        ends = np.broadcast_to([1.0, -1.0], (*state.shape[:-1], 2))
        return np.concatenate([_token_gradient(first), -_token_gradient(second), ends], axis=-1)


def _log_tokens(logit: Floats) -> Floats:
    return np.asarray(np.log1p(np.cumprod(expit(logit, np), axis=-1).sum(axis=-1)))


def _token_gradient(logit: Floats) -> Floats:
    """d log(1 + sum S) / d logit h_j = (1 - h_j) (S_j + ... + S_d) / (1 + sum S)."""
    h = expit(logit, np)
    s = np.cumprod(h, axis=-1)
    later = np.cumsum(s[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((1.0 - h) * later / (1.0 + s.sum(axis=-1))[..., None])


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
    noise: Floats  # rounds, draw of the spreads, state, state
    spread: tuple[SumOfSquares, ...]
    prior: JointPrior

    @property
    def estimate(self) -> Floats:
        """Log gain as observed, (simulation, rounds)."""
        return self.prior.gain(self.observed)

    def posterior(self, moved: Floats | float = 0.0, of_tokens: float = 0.0) -> Posterior:
        """Of the log gain; `moved` is added to what was observed, along what the prior expects of such a gain."""
        prior = self.prior
        slope = prior.slope(prior.mean)
        along = prior.cov @ slope / (slope @ prior.cov @ slope)
        away = self.observed + np.asarray(moved)[..., None] * along - prior.mean
        total = prior.cov + self.noise
        inverse = np.linalg.inv(total)
        to_mean = prior.cov @ inverse
        left = prior.cov - to_mean @ prior.cov
        log_weight = -0.5 * (
            np.linalg.slogdet(total)[1] + np.einsum("sqi,qkij,sqj->sqk", away, inverse, away, optimize=True)
        )
        for part in self.spread:
            log_weight = log_weight + part.log_weight()
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        state = prior.mean + np.einsum("qkij,sqj->sqki", to_mean, away, optimize=True)
        gradient = prior.slope(self.observed)
        variance = np.einsum("sqi,qkij,sqj->sqk", gradient, left, gradient, optimize=True)
        mean = prior.gain(state)
        if prior.bounded:
            toward = prior.room_slope()
            var_room = np.einsum("i,qkij,j->qk", toward, left, toward)[None]
            shared = np.einsum("sqi,qkij,j->sqk", gradient, left, toward, optimize=True)
            z = prior.room(state) / np.sqrt(var_room)
            inside = np.maximum(ndtr(z), 1e-12)
            ratio = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) / inside  # of a normal cut at zero (Mills)
            weight = weight * inside
            mean = mean + shared / np.sqrt(var_room) * ratio
            variance = variance - shared**2 / var_room * np.clip(ratio * (ratio + z), 0.0, 1.0)
        return Posterior(weight / weight.sum(axis=-1, keepdims=True), mean, np.sqrt(np.maximum(variance, 1e-8)))


def state_noise(
    prior: JointPrior, spreads: Spreads, requests: int, runs: int, rounds: Floats, starts: Floats | float, blocks: int
) -> Floats:
    """Covariance of what is observed of both arms, (rounds, draw, state, state).

    Parameters
    ----------
    prior
        For the hazards at which the noise is taken.
    spreads
        Draws of the analysis prior.
    requests, runs, rounds, blocks
        The design.
    starts
        Variance between starts (and periods) of each arm's log time, by draw; 0 where arms share them.
    """
    size = len(prior.mean)
    out = np.zeros((len(rounds), len(spreads.run), size, size))
    begin = 0
    for depth in prior.depths:
        end = begin + depth
        out[..., begin:end, begin:end] = _hazard_noise(prior.mean[begin:end], spreads, runs, rounds)
        begin = end
    time = spreads.run_time**2 + median_variance(requests) * spreads.request_time**2
    out[..., -1, -1] = out[..., -2, -2] = starts / blocks + time / runs
    return out
