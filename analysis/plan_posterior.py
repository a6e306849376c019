"""The fast analysis of a simulated experiment: a reduced two-arm model, normal in log rates, with unknown spreads.

Each run gives log tokens = arm + run + rounds and -log time = arm + start + run + requests; only several starts teach the
spread between starts. The spreads are a discrete set of draws of the stored posterior, weighted by what the experiment's sums
of squares say of each. Given a draw, the two differences between the arms are normal under a normal prior, and the log gain is
their sum: its posterior is a mixture of normals. It stands for the full model, which sees positions and other cells as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from .decision import Rule
from .plan_spread import Z90

type Floats = npt.NDArray[np.float64]
type Flags = npt.NDArray[np.bool_]

STEPS = 6  # of Newton for the ends of an interval, from the normal that has the mixture's moments


@dataclass(frozen=True, slots=True)
class SumOfSquares:
    """Squares about a mean, their degrees of freedom, and the variance that each draw of the spreads expects (..., draw)."""

    squares: Floats
    df: float
    expected: Floats

    def log_weight(self) -> Floats:
        """Log likelihood of each draw: squares / expected ~ chi2(df)."""
        if self.df <= 0:
            return np.zeros(1)
        return np.asarray(-0.5 * (self.df * np.log(self.expected) + self.squares[..., None] / self.expected))


@dataclass(frozen=True, slots=True)
class GainPrior:
    """The analysis prior of two arms' differences in log tokens and -log time: normal; the log gain is their sum."""

    tokens: float
    time: float
    var_tokens: float
    var_time: float
    cov: float = 0.0

    @classmethod
    def weak(cls, gain_sd: float) -> "GainPrior":
        """About zero, a gain of either sign alike: half of the variance in tokens, half in time."""
        return cls(0.0, 0.0, 0.5 * gain_sd**2, 0.5 * gain_sd**2)

    @classmethod
    def of(cls, tokens: Floats, time: Floats) -> "GainPrior":
        """The moments of draws: what the stored runs say already."""
        joint = np.cov(np.stack([tokens, time]))
        return cls(float(tokens.mean()), float(time.mean()), *(float(joint[i, j]) for i, j in ((0, 0), (1, 1), (0, 1))))


@dataclass(frozen=True, slots=True)
class Posterior:
    """A mixture of normals of the log gain: weights, means and standard deviations (experiment, draw)."""

    weight: Floats
    mean: Floats
    sd: Floats

    @classmethod
    def of(
        cls,
        estimates: tuple[Floats, Floats],
        variances: tuple[Floats, Floats],
        spread: Sequence[SumOfSquares],
        prior: GainPrior,
    ) -> "Posterior":
        """Weigh the draws of the spreads and update the gain: Bayes' rule for two normals with a joint normal prior.

        Parameters
        ----------
        estimates
            Differences of the arms' mean log tokens and mean -log time, (experiment).
        variances
            Their variances by each draw of the spreads, (experiment, draw).
        spread
            What else speaks of the spreads.
        prior
            Of both differences.
        """
        tokens, time = (
            estimate[..., None] - centre for estimate, centre in zip(estimates, (prior.tokens, prior.time), strict=True)
        )
        a, d, b = prior.var_tokens + variances[0], prior.var_time + variances[1], prior.cov
        det = a * d - b**2
        to_gain = (prior.var_tokens + b, prior.var_time + b)  # covariance of each difference with the gain
        log_weight = -0.5 * (np.log(det) + (d * tokens**2 - 2.0 * b * tokens * time + a * time**2) / det)
        for part in spread:
            log_weight = log_weight + part.log_weight()
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        mean = (
            prior.tokens
            + prior.time
            + (to_gain[0] * (d * tokens - b * time) + to_gain[1] * (a * time - b * tokens)) / det
        )
        learnt = (d * to_gain[0] ** 2 - 2.0 * b * to_gain[0] * to_gain[1] + a * to_gain[1] ** 2) / det
        left = np.maximum(to_gain[0] + to_gain[1] - learnt, 1e-16)
        return cls(weight / weight.sum(axis=-1, keepdims=True), mean, np.sqrt(left) + np.zeros_like(mean))

    def p_gain(self) -> Floats:
        """P(gain > 0)."""
        return np.asarray((self.weight * ndtr(self.mean / self.sd)).sum(axis=-1))

    def centre(self) -> Floats:
        """Mean of the log gain."""
        return np.asarray((self.weight * self.mean).sum(axis=-1))

    def losses(self) -> tuple[Floats, Floats]:
        """Expected log loss of changing, E max(-g, 0), and of keeping, E max(g, 0)."""
        z = self.mean / self.sd
        density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
        keeping = (self.weight * (self.sd * density + self.mean * ndtr(z))).sum(axis=-1)
        return np.asarray(keeping - self.centre()), np.asarray(keeping)

    def half_width(self) -> Floats:
        """Half of the shortest 90 % interval about the mean, as log gain."""
        centre = self.centre()[..., None]
        away = self.mean - centre
        sd = np.sqrt((self.weight * (self.sd**2 + away**2)).sum(axis=-1))
        width = Z90 * sd
        for _ in range(STEPS):
            high, low = (width[..., None] - away) / self.sd, (-width[..., None] - away) / self.sd
            inside = (self.weight * (ndtr(high) - ndtr(low))).sum(axis=-1)
            slope = (self.weight * (np.exp(-0.5 * high**2) + np.exp(-0.5 * low**2)) / self.sd).sum(axis=-1)
            move = (inside - 0.9) * np.sqrt(2.0 * np.pi) / np.maximum(slope, 1e-300)
            width = np.clip(width - move, 0.5 * width, 2.0 * width)
        return np.asarray(width)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the written rule says of each experiment: `change` to the arm, `keep` the other, or neither (undecided)."""

    change: Flags
    keep: Flags


def decided(posterior: Posterior, rule: Rule, probability: float | None = None) -> Verdict:
    """Apply the rule of `analysis.decision` to two arms that were both measured.

    Both are measured, so that neither label nor corners stand in the way: `change` needs P(gain > 0) and the expected loss
    of changing as the rule says. Its mirror, with the arms exchanged, is `keep`; where neither holds the rule keeps the
    present policy without being sure.

    Parameters
    ----------
    posterior
        Of the log gain.
    rule
        The written thresholds.
    probability
        In place of the rule's own, for several looks.
    """
    least = rule.probability if probability is None else probability
    p_gain = posterior.p_gain()
    of_changing, of_keeping = posterior.losses()
    return Verdict(
        np.asarray((p_gain >= least) & (of_changing <= rule.expected_loss_share)),
        np.asarray((1.0 - p_gain >= least) & (of_keeping <= rule.expected_loss_share)),
    )
