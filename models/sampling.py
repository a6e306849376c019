"""The one place that calls a sampler, and the gate that stands between a fit and any number."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from ..data.errors import InputError, NotConvergedError
from ..data.words import DRAW

SAMPLERS = ("nutpie", "pymc")
LARGEST_RHAT = 1.01
LEAST_ESS = 400.0
THIN = 3  # steps for each draw that is kept: the spread of many small cells over positions mixes slowly
CONSTANT = 1e-12  # a range of draws below this is no randomness: survival beyond a cap


@dataclass(frozen=True, slots=True)
class Settings:
    """How to sample; the seed is the study's unless the caller names one."""

    seed: int
    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    sampler: str = "nutpie"
    target_accept: float = 0.95  # of a step; small steps also enter the narrow places where a spread is near zero
    progress: bool = False

    @classmethod
    def stated(cls, given: Mapping[str, Any], seed: int) -> "Settings":
        """Given settings by name; `seed` where they name none."""
        return cls(**{**given, "seed": seed if given["seed"] is None else given["seed"]})


def named_seed(seed: int, *purpose: str) -> int:
    """A seed of 32 bits for one purpose: equal for equal words, unrelated for others."""
    text = "\0".join([str(seed), *purpose])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:4], "big")


def compiled(model: Any, sampler: str) -> Any:
    """A program that draws from the model; PyMC's sampler compiles by itself.

    Raises
    ------
    InputError
        No sampler is called so.
    """
    if sampler not in SAMPLERS:
        raise InputError(f"no sampler is called {sampler!r}; there are: {', '.join(SAMPLERS)}")
    if sampler == "pymc":
        return None
    import nutpie

    return nutpie.compile_pymc_model(model)


def sample(model: Any, program: Any, settings: Settings, seed: int) -> xr.DataTree:
    """Draw from the posterior of a model.

    Parameters
    ----------
    model
        A `pymc.Model`.
    program
        What `compiled` made of it, perhaps with other data.
    settings
        Draws, tuning steps, chains and the sampler's name.
    seed
        The seed of this fit, from `named_seed`.

    Returns
    -------
    xarray.DataTree
        Groups `posterior` (every third step) and `sample_stats` (every step).
    """
    steps = THIN * settings.draws
    if settings.sampler == "nutpie":
        import nutpie

        tree: xr.DataTree = nutpie.sample(
            program, draws=steps, tune=settings.tune, chains=settings.chains, seed=seed, target_accept=settings.target_accept,
            progress_bar=settings.progress, save_warmup=False,
        )  # fmt: skip
    else:
        import pymc as pm

        with model:
            tree = pm.sample(
                draws=steps, tune=settings.tune, chains=settings.chains, random_seed=seed,
                nuts_sampler="pymc", target_accept=settings.target_accept, progressbar=settings.progress, quiet=not settings.progress, cores=1,
            )  # fmt: skip
    kept = tree["posterior"].to_dataset().isel({DRAW: slice(None, None, THIN)})
    return xr.DataTree.from_dict(
        {
            "posterior": kept.assign_coords({DRAW: np.arange(settings.draws)}),
            "sample_stats": tree["sample_stats"].to_dataset().rename({DRAW: "step"}),
        }
    )


def divergences(tree: xr.DataTree) -> int:
    """How many transitions diverged."""
    return int(np.asarray(tree["sample_stats"]["diverging"].values).sum())


def diagnostics(reported: xr.Dataset) -> xr.Dataset:
    """Worst R-hat, bulk and tail ESS of each reported quantity; constant entries are left out.

    Parameters
    ----------
    reported
        Draws over chain and draw of everything that will be reported.
    """
    out = {}
    for name, values in reported.data_vars.items():
        flat = values.transpose("chain", "draw", ...).values.reshape(*values.shape[:2], -1)
        flat = flat[..., ~np.isnan(flat).all(axis=(0, 1))]
        flat = flat[..., np.ptp(flat, axis=(0, 1)) > CONSTANT]
        if flat.shape[-1]:
            one = xr.Dataset({"x": (("chain", "draw", "entry"), flat)})
            out[f"{name}_rhat"] = az.rhat(one)["x"].max()
            out[f"{name}_ess_bulk"] = az.ess(one, method="bulk")["x"].min()
            out[f"{name}_ess_tail"] = az.ess(one, method="tail")["x"].min()
    return xr.Dataset(out)


def faults_of(found: xr.Dataset, diverged: int) -> list[str]:
    """All that is amiss with a fit, each with its limit beside it."""
    faults = [f"{diverged} divergences, none allowed"] if diverged else []
    for name, value in found.data_vars.items():
        if str(name).endswith("_rhat") and float(value) >= LARGEST_RHAT:
            faults.append(f"r-hat of {str(name)[:-5]} is {float(value):.3f}, must be below {LARGEST_RHAT}")
        if "_ess_" in str(name) and float(value) <= LEAST_ESS:
            quantity, kind = str(name).rsplit("_ess_", 1)
            faults.append(f"{kind} ESS of {quantity} is {float(value):.0f}, must exceed {LEAST_ESS:.0f}")
    return faults


def refuse(group: str, faults: list[str]) -> None:
    """Stand between a fit and any number.

    Raises
    ------
    NotConvergedError
        Anything is amiss; all of it is named.
    """
    if faults:
        raise NotConvergedError(
            f"group {group} has not converged: {'; '.join(faults)}; another --seed, or more --draws where R-hat or ESS is amiss, may do; `draftdepth screen` needs no fit"
        )
