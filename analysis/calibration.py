"""Simulation-based calibration: parameters from the priors, made-up runs, a fit, and where the truth ranks in its draws.

Talts et al. 2018, "Validating Bayesian inference algorithms with simulation-based calibration". If model, simulator and
sampler agree, every rank is uniform. The log likelihood of the counts is ranked too, since it depends on the counts as well as
on the parameters (Modrák et al. 2023, "Simulation-based calibration checking for Bayesian computation").
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..data.study import Study
from ..data.words import CELL, CHAIN, DEPTH, DRAW, ESTIMAND, POSITION, SCENARIO, Level
from ..models.derive import derived
from ..models.evidence import Evidence, Floats, evidence_of
from ..models.fit import Stated, forward_draws, sampled_variables
from ..models.leave_out import log_likelihood_of_counts
from ..models.population import population
from ..models.priors import Priors
from ..models.sampling import Settings, divergences, named_seed, sample
from ..models.simulation import at_level, simulated
from .rates import FIXED_DEPTH, INTEGRATED, rate_draws

DRAWS, TUNE, CHAINS = 200, 500, 2
QUANTITIES = ("rate", "fixed_survival", "gain", "best_depth", "delta", "row_slope", "step_ms", "log_likelihood")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One simulation: where the truth lies in the draws of its fit."""

    number: int
    pit: dict[str, list[float]]  # of each entry: share of draws below the truth, ties broken at random, in (0, 1)
    diverged: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """A study's shape at one level of evidence, compiled once."""

    study: Study
    cells: xr.Dataset
    stated: Stated
    worlds: xr.Dataset
    world_priors: Priors
    seed: int
    group: str

    @classmethod
    def of(
        cls, study: Study, cells: xr.Dataset, runs: xr.Dataset, level: Level, sims: int, priors: Priors,
        fitted_priors: Priors, group: str,
    ) -> "Calibration":  # fmt: skip
        """Draw the worlds and compile the model.

        Parameters
        ----------
        study, cells, runs
            The study, its screen, and the runs of one worker group: their cells, policies, rounds and requests.
        level
            What dynamic runs record; at L4 every run is fixed.
        sims
            Simulations.
        priors, fitted_priors
            What the worlds are drawn from, and what the fits believe; calibrated only if both are the same.
        group
            The worker's name.
        """
        seed = named_seed(study.seed, group, "calibration", level)
        evidence = at_level(evidence_of(runs), level)
        config_ms = np.asarray(study.cost.config_ms, dtype=float)
        worlds = forward_draws(evidence, priors, config_ms, seed, sims)
        stated = Stated.of(evidence, fitted_priors, config_ms)
        return cls(study, cells.sel({CELL: list(evidence.cells)}), stated, worlds, priors, seed, group)

    def _entries(self, free: xr.Dataset, counts: Evidence, priors: Priors, seed: int) -> dict[str, Floats]:
        """Reported quantities on sampled variables that `seed` completes, and the log likelihood of counts: (draw, entry)."""
        config_ms = self.stated.config_ms
        draws, _ = derived(free, counts, priors, config_ms, seed)
        told = log_likelihood_of_counts(free, population(free, counts, priors, seed), counts, priors)
        found = rate_draws(self.study, self.cells, draws, counts.teaches_slope)
        at = {ESTIMAND: FIXED_DEPTH, SCENARIO: INTEGRATED}
        rate, gain = (found[name].sel(at).sel({DEPTH: found[DEPTH] > 0}) for name in ("rate", "gain_current"))
        deepest = draws["fixed_survival"].isel({DEPTH: -1})
        some = {
            "rate": rate, "gain": gain, "best_depth": rate.argmax(DEPTH).astype(float), "step_ms": draws["step_ms"],
            "fixed_survival": deepest, "delta": draws["delta"], "row_slope": draws["row_slope"].isel({CELL: 0}),
        }  # fmt: skip
        front = draws.sizes[CHAIN] * draws.sizes[DRAW]
        out = {"log_likelihood": told.reshape(front, 1)}
        for name, values in some.items():
            ordered = values.transpose(CHAIN, DRAW, *(dim for dim in (CELL, DEPTH, POSITION) if dim in values.dims))
            out[name] = np.asarray(ordered.values).reshape(front, -1)
        return out

    def labels(self) -> dict[str, list[str]]:
        """Names of the entries of each quantity, in the order of `Ranked.pit`."""
        cells = self.stated.evidence.cells
        steps = self.stated.evidence.positions
        of_depth = [f"{cell}, depth {d}" for cell in cells for d in steps]
        of_position = [f"{cell}, position {i}" for cell in cells for i in steps]
        each = {"rate": of_depth, "gain": of_depth, "fixed_survival": of_position, "row_slope": ["first cell"],
                "log_likelihood": ["all counts"]}  # fmt: skip
        return {name: each.get(name, list(cells)) for name in QUANTITIES}

    def ranked(self, number: int) -> Ranked:
        """Simulate, fit and rank one world."""
        seed = named_seed(self.seed, "world", str(number))
        world = self.worlds.isel({DRAW: [number]})
        base, config_ms = self.stated.evidence, self.stated.config_ms
        evidence = simulated(world, base, self.world_priors, config_ms, seed)
        fed = self.stated.given(evidence)
        settings = Settings(seed, draws=DRAWS, tune=TUNE, chains=CHAINS)
        raw = sample(fed.model, fed.program, settings, named_seed(seed, "fit"))
        true = self._entries(world, evidence, self.world_priors, seed)
        found = self._entries(sampled_variables(raw), evidence, fed.priors, named_seed(seed, "conditional"))
        rng = np.random.default_rng([seed, 3])
        pit = {name: _pit(true[name][0], found[name], rng) for name in QUANTITIES}
        return Ranked(number, pit, divergences(raw))

    def run(self, done: frozenset[int]) -> Iterator[Ranked]:
        """Every simulation that is not done yet, in order."""
        for number in range(self.worlds.sizes[DRAW]):
            if number not in done:
                yield self.ranked(number)


def _pit(truth: Floats, draws: Floats, rng: np.random.Generator) -> list[float]:
    """Randomised share of draws below the truth: uniform on (0, 1) if calibrated; NaN where there is no number."""
    below, ties = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    out = (below + rng.uniform(size=truth.shape) * (ties + 1)) / (len(draws) + 1)
    return [float(x) for x in np.where(np.isnan(truth), np.nan, out)]
