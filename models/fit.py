"""One worker group, fitted: evidence in, draws of everything that the analysis floor needs out, through the gate."""

import json
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from ..data.words import CHAIN, DRAW
from .derive import derived
from .evidence import Evidence, Floats, evidence_of
from .model import build_model
from .observations import observations
from .priors import Priors
from .sampling import (
    Settings,
    compiled,
    diagnostics,
    divergences,
    faults_of,
    named_seed,
    refuse,
    sample,
)

REPORTED = (
    "survival",
    "fixed_survival",
    "exposure",
    "p_verified",
    "step_ms",
    "row_slope",
    "run_fixed_survival",
)
"""What the gate looks at, beside divergences."""

PRIOR_DRAWS = 1000
SECOND_ACCEPT = 0.98  # of the second attempt


@dataclass(frozen=True, slots=True)
class Stated:
    """A model that is built and compiled, to be fed with counts of any group of the same shape."""

    evidence: Evidence
    priors: Priors
    config_ms: Floats
    model: pm.Model
    program: Any

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        priors: Priors,
        config_ms: Floats,
        sampler: str = "nutpie",
    ) -> "Stated":
        """Build and compile once."""
        model = build_model(evidence, priors, config_ms)
        return cls(evidence, priors, config_ms, model, compiled(model, sampler))

    def given(self, evidence: Evidence) -> "Stated":
        """The same program on another group's counts and times; cells, policies and levels have to agree."""
        return replace(
            self,
            evidence=evidence,
            program=self.program.with_data(**observations(evidence)),
        )


def forward_draws(evidence: Evidence, priors: Priors, config_ms: Floats, seed: int, draws: int) -> xr.Dataset:
    """Draws of the sampled variables before a count is seen: dims chain (one), draw and their own."""
    forward = build_model(evidence, priors, config_ms, forward=True)
    names = [rv.name for rv in forward.free_RVs] + [rv.name for rv in forward.deterministics]
    with forward:
        drawn = pm.draw([forward[name] for name in names], draws=draws, random_seed=seed)
    free = xr.Dataset({name: ((CHAIN, DRAW, *(f"{name}_{d}" for d in range(value.ndim - 1))), value[None])
                       for name, value in zip(names, drawn, strict=True)})  # fmt: skip
    return free.assign_coords({CHAIN: [0], DRAW: np.arange(draws)})


def prior_of(stated: Stated, seed: int, draws: int = PRIOR_DRAWS) -> tuple[xr.Dataset, xr.Dataset]:
    """Forward draws: derived quantities and repeated counts before a count is seen."""
    free = forward_draws(stated.evidence, stated.priors, stated.config_ms, seed, draws)
    return derived(free, stated.evidence, stated.priors, stated.config_ms, seed)


def sampled_variables(raw: xr.DataTree) -> xr.Dataset:
    """The sampler's own variables, without their unconstrained twins."""
    free = raw["posterior"].to_dataset()
    return free[[name for name in free.data_vars if not str(name).endswith("__")]]


def fit(
    runs: xr.Dataset,
    config_ms: Floats,
    priors: Priors,
    settings: Settings,
    group: str,
    with_prior: bool = True,
) -> xr.DataTree:
    """Fit one worker group and pass it through the gate; draws are doubled once before giving up.

    Parameters
    ----------
    runs
        Runs of `data.inputs` that share a worker.
    config_ms
        The cost table H[0..K], ms.
    priors
        `Priors.stated` of the study's scheduler and entries.
    settings
        Seed, draws, chains and sampler.
    group
        The worker's name: with the study's seed it gives the seed of this fit, so that groups never touch.
    with_prior
        Whether forward draws of the prior are wanted as well.

    Returns
    -------
    xarray.DataTree
        Groups `posterior` and `prior` (as `models.derive.derived` says), `sampled` (the sampler's own variables),
        `posterior_predictive`, `prior_predictive`, `sample_stats`, `diagnostics`; attributes tell seed, settings,
        priors, and whether fixed arms taught the row slope.

    Raises
    ------
    NotConvergedError
        The draws must not be used; everything amiss is named.
    """
    began = time.monotonic()
    evidence = evidence_of(runs)
    config_ms = np.asarray(config_ms, dtype=float)
    stated = Stated.of(evidence, priors, config_ms, settings.sampler)
    tree, faults = _attempt(stated, settings, group)
    if faults:
        settings = replace(settings, draws=2 * settings.draws, tune=2 * settings.tune, target_accept=SECOND_ACCEPT)
        tree, faults = _attempt(stated, settings, group)
    refuse(group, faults)
    if with_prior:
        prior, prior_predictive = prior_of(stated, named_seed(settings.seed, group, "prior"))
        tree = tree.assign(
            {
                "prior": xr.DataTree(prior),
                "prior_predictive": xr.DataTree(prior_predictive),
            }
        )
    tree.attrs = {
        "group": group,
        "seed": settings.seed,
        "sampler": settings.sampler,
        "draws": settings.draws,
        "chains": settings.chains,
        "slope_taught": int(evidence.teaches_slope),
        "priors": json.dumps(priors.as_dict(), sort_keys=True),
        "seconds": time.monotonic() - began,
    }
    return tree


def _attempt(stated: Stated, settings: Settings, group: str) -> tuple[xr.DataTree, list[str]]:
    raw = sample(stated.model, stated.program, settings, named_seed(settings.seed, group))
    free = sampled_variables(raw)
    conditional = named_seed(settings.seed, group, "conditional")
    posterior, predictive = derived(free, stated.evidence, stated.priors, stated.config_ms, conditional)
    found = diagnostics(posterior[list(REPORTED)])
    tree = xr.DataTree.from_dict(
        {
            "posterior": posterior,
            "sampled": free,
            "posterior_predictive": predictive,
            "sample_stats": raw["sample_stats"].to_dataset()[["diverging"]],
            "diagnostics": found,
        }
    )
    return tree, faults_of(found, divergences(raw))
