"""How far an effect is sampled centred, by where the counts let its spread lie; the law is the same whatever is chosen.

x ~ Normal(0, s) is sampled as x = s^(1 - c) y, y ~ Normal(0, s^c). Where counts fix x more closely than s does, c = 1 mixes
best; where they say little, c = 0 does; `Reach.centring` lies between.
"""

from dataclasses import dataclass

import numpy as np

from .evidence import Floats
from .spreads import SMALLEST_SD

HUNDREDTH, DOWN_TO = 100.0, 300.0
LEAST_TOLD = 0.01  # a direction known no better than ten times the largest effect tells of no spread


@dataclass(frozen=True, slots=True)
class Reach:
    """Between which values a spread may lie as far as the counts go; only to choose coordinates with."""

    low: float
    high: float

    @classmethod
    def of(cls, estimate: Floats, variance: Floats, largest: float) -> "Reach":
        """By moments (DerSimonian and Laird), three standard errors about their estimate.

        With n effects that are known to sigma, the posterior of a spread s beyond sigma falls as s^-n only: 1 % lie beyond
        sigma 100^(1 / (n - 1)). And where no spread is proven its density is flat below sigma, down to nothing.

        Parameters
        ----------
        estimate, variance
            Of each effect: shape (n,).
        largest
            What the prior lets one expect at most.
        """
        n = len(estimate)
        if not n:
            return cls(largest / DOWN_TO, largest)
        weight = 1.0 / np.maximum(variance, 1e-12)
        total, noise = float(weight.sum()), 3.0 * np.sqrt(2.0 * n)
        excess = float((weight * estimate**2).sum()) - n
        sigma = np.sqrt(n / total)
        tail = sigma * HUNDREDTH ** (1.0 / (n - 1)) if n > 1 else largest
        low, high = (float(np.sqrt(max(excess + side * noise, 0.0) / total)) for side in (-1, 1))
        high = min(max(high, tail, sigma), largest)
        return cls(min(max(low, sigma / DOWN_TO, SMALLEST_SD), high), high)

    @classmethod
    def told(cls, information: Floats, product: Floats, largest: float) -> "Reach":
        """From joint information on effects (n, n) and its product with their estimate, by the directions that it tells."""
        known, turn = np.linalg.eigh(information)
        seen = known * largest**2 > LEAST_TOLD
        return cls.of((turn.T @ product)[seen] / known[seen], 1.0 / known[seen], largest)

    @property
    def middle(self) -> float:
        """On the scale of logs."""
        return float(np.sqrt(self.low * self.high))

    def centring(self, cautious: Floats, bold: Floats) -> Floats:
        """c of each effect, on which counts hold an information between these two.

        An effect known to sigma is stiff by (s / sigma)^(1 - c) where s is large, and by (sigma / s)^c where s is small: c
        makes the worst of both equal over the reach.
        """
        least, most = (1.0 / np.sqrt(np.maximum(information, 1e-12)) for information in (bold, cautious))
        above, below = np.log(np.maximum(self.high / least, 1.0)), np.log(np.maximum(most / self.low, 1.0))
        return np.asarray(above / np.maximum(above + below, 1e-12))
