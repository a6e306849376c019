"""Simulated runs of an arm: counts and step times drawn as the model says, for all simulations and round counts at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..models.recursion import expit
from .plan_arms import ArmDraws
from .plan_spread import REQUEST_NU, Spreads

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmRuns:
    """Runs of one arm in every world; the first n of them are an experiment of n runs.

    `survival` (simulation, rounds, run, position): observed prefix survivals. `log_request` (simulation, run, request): log
    step time of each request without start and drift, `log_step` (simulation, run) its median; `start` (simulation, run): effect of a start of its own for each run;
    `period` (simulation): drift, should the arm have a period of the session to itself.
    """

    survival: Floats
    log_request: Floats
    log_step: Floats
    start: Floats
    period: Floats

    @property
    def log_tokens(self) -> Floats:
        """Log of 1 + S_1 + ... + S_d of each run, (simulation, rounds, run)."""
        return np.asarray(np.log1p(self.survival.sum(axis=-1)))

    def only(self, place: int) -> "ArmRuns":
        """The same runs at one of their round counts."""
        return ArmRuns(self.survival[:, place : place + 1], self.log_request, self.log_step, self.start, self.period)


def simulate_arm(
    arm: ArmDraws,
    spreads: Spreads,
    rounds: tuple[int, ...],
    runs: int,
    requests: int,
    drift_sd: float,
    rng: np.random.Generator,
) -> ArmRuns:
    """Draw an arm's runs.

    A run effect on the logit is shared by all positions; each conditional step is beta-binomial; request times are
    StudentT(4) about the run's. One run effect serves all round counts, so that they differ by their rounds alone.

    Parameters
    ----------
    arm, spreads
        The worlds, one entry a simulation.
    rounds
        Rounds of a run: each is simulated.
    runs
        Runs of the arm.
    requests
        Timed requests of a run.
    drift_sd
        Spread of log time between periods of a session.
    rng
        Of this arm alone.
    """
    size, depth = arm.logit.shape
    effect = spreads.run[:, None] * rng.standard_normal((size, runs))
    concentration = 1.0 / (spreads.overdispersion[:, None, None] + 1e-9)
    total = np.asarray(rounds, dtype=np.int64)[None, :, None]
    before = np.broadcast_to(total, (size, len(rounds), runs))
    survival = np.empty((size, len(rounds), runs, depth))
    for i in range(depth):
        p = np.clip(expit(arm.logit[:, i, None] + effect, np), 1e-6, 1.0 - 1e-6)[:, None, :]
        chance = rng.beta(p * concentration, (1.0 - p) * concentration, (size, len(rounds), runs))
        before = rng.binomial(before, chance)
        survival[..., i] = before / total
    log_request = (
        arm.log_step[:, None, None]
        + (spreads.run_time[:, None] * rng.standard_normal((size, runs)))[..., None]
        + spreads.request_time[:, None, None] * rng.standard_t(REQUEST_NU, (size, runs, requests))
    )
    start = spreads.start[:, None] * rng.standard_normal((size, runs))
    period = np.asarray(drift_sd * rng.standard_normal(size))
    return ArmRuns(survival, log_request, np.median(log_request, axis=-1), start, period)
