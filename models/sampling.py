"""The one place that calls a sampler, and the gate that stands between a fit and any number."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.errors import InputError, NotConvergedError
from ..data.words import CHAIN, DRAW

SAMPLERS = ("nutpie", "pymc")
LARGEST_RHAT = 1.01
LEAST_ESS = 400.0
THIN = 3  # steps for each draw that is kept: the spread of many small cells over positions mixes slowly
SMALL_GROUP = 200  # dimensions; some 100 runs
LEAST_ACCEPT = 0.65  # at which many dimensions cost least (Beskos et al., Bernoulli 19, 2013)
ENTRIES = 1000  # whose diagnostics are worked out at once: 32 MiB of draws
CONSTANT = 1e-12  # a range of draws below this is no randomness: survival beyond a cap

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to sample; the seed is the study's unless the caller names one."""

    seed: int
    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    sampler: str = "nutpie"
    target_accept: float = 0.95  # in a small group; small steps also enter where a spread is near zero
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


def acceptance(target: float, dimensions: int) -> float:
    """Mean acceptance at which steps are as long as `target` has them in a small group.

    A step e is refused as often as its energy error e^2 sqrt(dimensions) says, so that steps of one acceptance shrink as
    dimensions^(-1/4) and a fit costs more than its runs. But runs add easy dimensions: the narrow places, which ask for small
    steps, are those of the few spreads.
    """
    refused = (1.0 - target) * np.sqrt(max(dimensions / SMALL_GROUP, 1.0))
    return float(max(1.0 - refused, LEAST_ACCEPT))


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
    accept = acceptance(settings.target_accept, sum(value.size for value in model.initial_point(0).values()))
    if settings.sampler == "nutpie":
        import nutpie

        tree: xr.DataTree = nutpie.sample(
            program, draws=steps, tune=settings.tune, chains=settings.chains, seed=seed, target_accept=accept,
            progress_bar=settings.progress, save_warmup=False,
        )  # fmt: skip
    else:
        import pymc as pm

        with model:
            tree = pm.sample(
                draws=steps, tune=settings.tune, chains=settings.chains, random_seed=seed,
                nuts_sampler="pymc", target_accept=accept, progressbar=settings.progress, quiet=not settings.progress, cores=1,
            )  # fmt: skip
    kept = tree["posterior"].to_dataset().isel({DRAW: slice(None, None, THIN)})
    kept = kept.copy(deep=True)  # a view would hold every step in memory
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
        flat = values.transpose(CHAIN, DRAW, ...).values.reshape(*values.shape[:2], -1)
        some = (_diagnosed(flat[..., first : first + ENTRIES]) for first in range(0, flat.shape[-1], ENTRIES))
        for kind, told in xr.concat(some, "entry").data_vars.items():
            if told.size:
                out[f"{name}_{kind}"] = told.max() if kind == "rhat" else told.min()
    return xr.Dataset(out)


def _diagnosed(flat: Floats) -> xr.Dataset:
    """R-hat, bulk and tail ESS of every entry that is not constant: from shape (chain, draw, entry)."""
    flat = flat[..., ~np.isnan(flat).all(axis=(0, 1))]
    flat = flat[..., np.ptp(flat, axis=(0, 1)) > CONSTANT]
    if not flat.shape[-1]:
        return xr.Dataset({kind: ("entry", np.empty(0)) for kind in ("rhat", "ess_bulk", "ess_tail")})
    one = xr.Dataset({"x": ((CHAIN, DRAW, "entry"), flat)})
    ess = {f"ess_{method}": az.ess(one, method=method)["x"] for method in ("bulk", "tail")}
    return xr.Dataset({"rhat": az.rhat(one)["x"], **ess})


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
