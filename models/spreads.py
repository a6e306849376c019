"""Half-normal variables, sampled so that what the counts leave open is neither stiff nor far out."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

SMALLEST_SD = (
    0.002  # beside a spread of logits: a million rounds hardly tell it, and no sampler follows a spread to nothing
)


def not_nothing(spread: Any) -> Any:
    """Standard deviation of runs, or of cells' own deviations at a position, with `SMALLEST_SD` beside their spread."""
    return (spread**2 + SMALLEST_SD**2) ** 0.5


class Softplus(Transform):  # type: ignore[misc]
    """x = unit log(1 + e^y): x falls to nothing as e^y and grows as y, where a log's e^y makes a half-normal's tail stiff."""

    name = "softplus"
    ndim_supp = 0

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def backward(self, value: Any, *inputs: Any) -> Any:
        """From y to x."""
        return self.unit * pt.softplus(value)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """From x to y."""
        return pt.log(pt.expm1(value / self.unit))

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Log of dx/dy."""
        return pt.log(self.unit) - pt.softplus(-value)


def half_normal(name: str, scale: float, shape: int | None = None) -> Any:
    """A half-normal variable of the model on the context stack."""
    return pm.HalfNormal(name, scale, shape=shape, default_transform=Softplus(scale))
