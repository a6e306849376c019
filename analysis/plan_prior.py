"""What the stored runs say of two arms, as a mixture of normals of their logit hazards and log times.

A fixed depth accepts no less than a dynamic policy does at the same position, and often just as much: where little is masked
the gap between both is next to nothing, elsewhere wide. One normal has no such edge. Draws are therefore split by their gaps,
and each part has its own moments.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data.words import DYNAMIC, FIXED
from ..models.recursion import expit
from .plan_arms import ArmDraws

type Floats = npt.NDArray[np.float64]
type Ints = npt.NDArray[np.int64]

JITTER = 1e-8
SPLITS = 7  # 128 parts: with 4,000 draws each keeps 31, of which only means and the gaps' own moments are taken
NARROW = 0.01  # logit: gaps below are alike, since no allowed number of runs would tell them apart


@dataclass(frozen=True, slots=True)
class JointPrior:
    """Weights, means and covariances of (logit hazards of the arm, of the other, -log time of the arm, of the other)."""

    weight: Floats  # component
    mean: Floats  # component, state
    cov: Floats  # component, state, state
    depths: tuple[int, int]

    @classmethod
    def of(cls, side: tuple[ArmDraws, Floats], against: tuple[ArmDraws, Floats]) -> "JointPrior":
        """From draws; each arm stands beside the logit hazards of its mean over runs."""
        (arm, logit), (other, of_other) = side, against
        state = np.column_stack([logit, of_other, -arm.log_step, -other.log_step])
        depths = logit.shape[1], of_other.shape[1]
        edged = arm.arm.kind == FIXED and other.arm.kind == DYNAMIC
        shared = min(depths) if edged else 0
        turn = np.eye(state.shape[1])  # to gaps of the positions that both have, and all else
        turn[np.arange(shared), depths[0] + np.arange(shared)] = -1.0
        return cls(*_parts(state, turn, shared), depths)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and covariance of the whole mixture."""
        centre = self.weight @ self.mean
        away = self.mean - centre
        return centre, np.asarray(np.einsum("k,kij->ij", self.weight, self.cov) + (self.weight * away.T) @ away)

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


def parts_of(gaps: Floats, splits: int) -> list[Ints]:
    """Draws in halves of halves: each time at the median of the gap that differs most, on the scale of logs."""
    scale = np.log(np.maximum(gaps, 0.0) + NARROW)
    out = [np.arange(len(gaps))]
    for _ in range(splits if gaps.shape[1] else 0):
        halves = []
        for part in out:
            widest = scale[part].std(axis=0).argmax()
            order = part[np.argsort(scale[part, widest], kind="stable")]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        out = halves
    return out


def _parts(state: Floats, turn: Floats, shared: int) -> tuple[Floats, Floats, Floats]:
    """Weights and moments of each part: its own means and gaps; how all else hangs on the gaps is learnt from every draw."""
    turned, back = state @ turn.T, np.linalg.inv(turn)
    whole = np.cov(turned, rowvar=False) + JITTER * np.eye(len(turn))
    on_gaps = np.linalg.solve(whole[:shared, :shared], whole[:shared, shared:]).T
    left = whole[shared:, shared:] - on_gaps @ whole[:shared, shared:]
    weights, means, covs = [], [], []
    for part in parts_of(turned[:, :shared], SPLITS):
        cov = whole.copy()
        if shared:
            gaps = np.cov(turned[part, :shared], rowvar=False).reshape(shared, shared) + JITTER * np.eye(shared)
            cov[:shared, :shared], cov[shared:, :shared] = gaps, on_gaps @ gaps
            cov[:shared, shared:], cov[shared:, shared:] = cov[shared:, :shared].T, left + on_gaps @ gaps @ on_gaps.T
        weights.append(len(part) / len(state))
        means.append(back @ turned[part].mean(axis=0))
        covs.append(back @ cov @ back.T)
    return np.array(weights), np.array(means), np.array(covs)


def _log_tokens(logit: Floats) -> Floats:
    return np.asarray(np.log1p(np.cumprod(expit(logit, np), axis=-1).sum(axis=-1)))


def _token_gradient(logit: Floats) -> Floats:
    """d log(1 + sum S) / d logit h_j = (1 - h_j) (S_j + ... + S_d) / (1 + sum S)."""
    h = expit(logit, np)
    s = np.cumprod(h, axis=-1)
    later = np.cumsum(s[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((1.0 - h) * later / (1.0 + s.sum(axis=-1))[..., None])
