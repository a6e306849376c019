"""What an arm would show that the fit has not seen: counts and steps of its runs, draw by draw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from .evidence import Evidence, Floats
from .hazard_law import SPREADS
from .model import SMALLEST_OVERDISPERSION
from .population import Population, population
from .priors import Priors
from .recursion import expit, fixed_hazard, shifted, verified_chance
from .step_arms import arm_ms, reference_ms, rows_ms
from .timing import run_noise
from .transport import of_caps


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm to be predicted: rounds, requests with a time (0: none) and server start of each run."""

    cell: str
    depth: int
    rounds: Sequence[int]
    requests: Sequence[int]
    start: Sequence[int]
    dynamic: bool = False  # then `depth` is a cap, and steps are not predicted


@dataclass(frozen=True, slots=True)
class Fitted:
    """Draws of a fit, completed; draws are flat."""

    evidence: Evidence
    priors: Priors
    config_ms: Floats
    draws: xr.Dataset
    held: Population

    @classmethod
    def of(cls, draws: xr.Dataset, evidence: Evidence, priors: Priors, config_ms: Floats, seed: int) -> "Fitted":
        """Complete the draws of the sampled variables (dims chain, draw and their own)."""
        return cls(evidence, priors, config_ms, draws, population(draws, evidence, priors, seed))

    @property
    def spreads(self) -> dict[str, Floats]:
        """Draws of the hierarchy's standard deviations, as `hazard_law.Variances` takes them."""
        return {name: self.draws[name].values for name in SPREADS}

    def predicted(self, arm: Arm, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws of the arm's pooled tokens a round of one request, and of its median step in ms (NaN without a time).

        Each run has an effect of its own, each start likewise; counts are beta-binomial; a step is the median over runs
        of a run's median request.
        """
        cell, held = self.evidence.cells.index(arm.cell), self.held
        logit, uniform = (x[..., cell, :].reshape(-1, self.evidence.deepest) for x in (held.logit, held.uniform))
        s_run, delta = held.run_sd.reshape(-1, 1), held.delta[..., cell].reshape(-1, 1)
        moved = of_caps(self.evidence, held.omega) if arm.dynamic else held.omega
        omega = moved[..., cell, arm.depth].reshape(-1, 1)
        concentration = 1.0 / (self.draws["overdispersion"].values.reshape(-1) + SMALLEST_OVERDISPERSION)
        passed = np.zeros(len(s_run))
        for rounds in arm.rounds:
            g = expit(logit + s_run * rng.standard_normal(s_run.shape), np)
            if self.evidence.dynamic_cell[cell] and not arm.dynamic:
                v = verified_chance(g, uniform, self.priors.exposure_power, self.priors.exposure_shape)
                g = fixed_hazard(g, v, delta, np)
            p = np.clip(shifted(g, omega, np), 1e-9, 1.0 - 1e-9)
            left = np.full(len(s_run), rounds)
            for i in range(arm.depth):
                left = rng.binomial(left, rng.beta(p[:, i] * concentration, (1.0 - p[:, i]) * concentration))
                passed += left
        return 1.0 + passed / sum(arm.rounds), self._step(arm, cell, rng)

    def _step(self, arm: Arm, cell: int, rng: np.random.Generator) -> Floats:
        held, draws, size = self.held, self.draws, self.held.run_sd.size
        base = np.exp(held.log_base[..., cell].reshape(-1))
        timed = [place for place, requests in enumerate(arm.requests) if requests]
        if not timed or arm.dynamic or np.isnan(base).any():
            return np.full(size, np.nan)
        reference = reference_ms(self.evidence, self.config_ms)[cell]
        batch, slope, gamma = self.evidence.batch[cell], held.slope.reshape(-1), held.gamma.reshape(-1)
        step = np.log(arm_ms(base, rows_ms(slope, gamma, batch, self.config_ms[arm.depth], reference), np))
        s_start, s_run, s_request = (
            draws[name].values.reshape(-1) for name in ("s_start", "s_run_time", "s_request_time")
        )
        starts = {start: s_start * rng.standard_normal(size) for start in sorted({arm.start[place] for place in timed})}
        runs = [
            step + starts[arm.start[place]]
            + run_noise(s_run, s_request, np.array(arm.requests[place])) * rng.standard_normal(size)
            for place in timed
        ]  # fmt: skip
        return np.asarray(np.exp(np.median(runs, axis=0)))
