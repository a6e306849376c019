"""ESS a second of the least well mixing reported survival: our model against two plain formulations, in one process.

Plain hierarchy: the same acceptance model with every effect stated as it is written (centre, positions, cells, cells at
positions, runs, all non-centred) under PyMC's own sampler. Plain product: h = v a with v and a sampled directly, one
cell at a time and no hierarchy. Step times are left out of all three. Run it by `make benchmarks`.
"""

import time
from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from draftdepth.analysis.groups import fit_groups
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.coordinates import exposed_places
from draftdepth.models.evidence import Evidence, evidence_of
from draftdepth.models.model import build_model
from draftdepth.models.observations import trials_of
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import THIN, Settings, compiled, sample

SEED_OF_SAMPLING = 20261201


def counts_only() -> tuple[Evidence, Priors, np.ndarray]:
    """The runs of `sp2` without their times."""
    study = load_study("sp2")
    ((_, runs),) = fit_groups(usable_inputs(study, {}).runs)
    held = evidence_of(runs)
    bare = replace(held, times=held.times[:0], time_run=held.time_run[:0])
    return bare, Priors.stated(study.scheduler, study.priors), np.array(study.cost.config_ms)


def plain_hierarchy(held: Evidence, priors: Priors) -> pm.Model:
    """Every sentence of the hierarchy as it is written."""
    steps = trials_of(held)["accepted"]
    with pm.Model() as model:
        centre = pm.Normal("centre", priors.hazard_centre, priors.hazard_centre_sd)
        s_cell, s_run = pm.HalfNormal("s_cell", priors.cell_scale), pm.HalfNormal("s_run", priors.run_scale)
        s_shape = pm.HalfNormal("s_shape", priors.cell_position_scale)
        extra = pm.HalfNormal("overdispersion", priors.overdispersion_scale)
        position = pm.ZeroSumNormal("position", priors.position_sd, shape=held.deepest)
        cell = s_cell * pm.Normal("cell", shape=len(held.cells))
        shape = s_shape * pm.Normal("shape", shape=(len(held.cells), held.deepest))
        run = s_run * pm.Normal("run", shape=len(held.cell))
        theta = pm.Deterministic("theta", centre + position + cell[:, None] + shape)
        h = pm.math.invlogit(theta[held.cell[steps.run], steps.place] + run[steps.run])
        size = 1.0 / (extra + 1e-7)
        pm.BetaBinomial("accepted", n=steps.tried, alpha=h * size, beta=(1 - h) * size, observed=steps.taken)
    return model


def plain_product(held: Evidence) -> pm.Model:
    """Exposure and acceptance sampled directly, though the counts speak of their product alone."""
    steps = trials_of(held)["accepted"]
    with pm.Model() as model:
        v = pm.Beta("v", 2.0, 1.0, shape=(len(held.cells), held.deepest))
        a = pm.Beta("a", 2.0, 1.0, shape=(len(held.cells), held.deepest))
        h = pm.Deterministic("h", v * a)[held.cell[steps.run], steps.place]
        pm.Binomial("accepted", n=steps.tried, p=pt.clip(h, 1e-9, 1 - 1e-9), observed=steps.taken)
        pm.Deterministic("masked", pt.cumprod(v, axis=1))
    return model


def worst_ess(draws: xr.DataArray) -> float:
    """Least bulk or tail ESS over entries."""
    flat = draws.stack(entry=[dim for dim in draws.dims if dim not in ("chain", "draw")])
    one = xr.Dataset({"x": (("chain", "draw", "entry"), flat.transpose("chain", "draw", "entry").values)})
    return float(min(az.ess(one, method=kind)["x"].min() for kind in ("bulk", "tail")))


def timed(name: str, model: pm.Model, sampler: str, quantity: str, base: float | None) -> float:
    """Compile, sample, and print a line; PyMC's own sampler compiles within its sampling time."""
    settings = Settings(SEED_OF_SAMPLING, sampler=sampler)
    began = time.perf_counter()
    program = compiled(model, sampler)
    ready = time.perf_counter()
    tree = sample(model, program, settings, SEED_OF_SAMPLING)
    done = time.perf_counter()
    diverged = int(tree["sample_stats"]["diverging"].values.sum())
    draws = tree["posterior"].to_dataset()[quantity]
    rate = worst_ess(draws) / (done - ready)
    ratio = "" if base is None else f", ours is {base / rate:.1f} times as fast"
    print(
        f"{name}: compile {ready - began:.1f} s, {THIN * settings.draws} steps a chain in {done - ready:.1f} s, {diverged} "
        f"diverged, worst ESS {worst_ess(draws):.0f}, {rate:.1f} a second{ratio}",
        flush=True,
    )
    return rate


def main() -> None:
    """Measure all three on the counts of `sp2`."""
    held, priors, config_ms = counts_only()
    print(f"{len(held.cells)} cells, {len(held.cell)} runs, {len(exposed_places(held)[0])} exposed positions")
    ours = timed("ours", build_model(held, priors, config_ms), "nutpie", "theta", None)
    timed("plain hierarchy, nutpie", plain_hierarchy(held, priors), "nutpie", "theta", ours)
    timed("plain hierarchy, PyMC", plain_hierarchy(held, priors), "pymc", "theta", ours)
    timed("plain product, PyMC", plain_product(held), "pymc", "masked", ours)


if __name__ == "__main__":
    main()
