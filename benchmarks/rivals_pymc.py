"""Two plain formulations in PyMC, and what Bambi builds from its formula."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt
from draftdepth.models.evidence import Evidence
from draftdepth.models.observations import trials_of
from draftdepth.models.priors import Priors
from reduced import SMALLEST, Reduced


def plain_hierarchy(held: Reduced, priors: Priors) -> pm.Model:
    """Every sentence of the hierarchy as it is written, all effects non-centred."""
    with pm.Model() as model:
        extra = pm.HalfNormal("overdispersion", priors.overdispersion_scale)
        centre = pm.Normal("centre", priors.hazard_centre, priors.hazard_centre_sd)
        theta = centre + pm.ZeroSumNormal("position", priors.position_sd, shape=held.deepest)[held.position]
        for name, level in held.levels.items():
            theta += pm.HalfNormal(f"s_{name}", level.scale) * pm.Normal(name, shape=level.size)[level.of]
        run = pm.HalfNormal("s_run", held.run.scale) * pm.Normal("run", shape=held.run.size)
        pm.Deterministic("hazards", pt.concatenate([theta, theta + pt.dot(held.share_of_run, run)]))
        h = pm.math.invlogit(theta[held.place_of_step] + run[held.run_of_step])
        size = 1.0 / (extra + SMALLEST)
        pm.BetaBinomial("accepted", n=held.tried, alpha=h * size, beta=(1 - h) * size, observed=held.taken)
    return model


def plain_product(held: Evidence) -> pm.Model:
    """Exposure and acceptance sampled directly, though the counts speak of their product alone."""
    steps = trials_of(held)["accepted"]
    with pm.Model() as model:
        v = pm.Beta("v", 2.0, 1.0, shape=(len(held.cells), held.deepest))
        a = pm.Beta("a", 2.0, 1.0, shape=(len(held.cells), held.deepest))
        h = pm.Deterministic("h", v * a)[held.cell[steps.run], steps.place]
        pm.Binomial("accepted", n=steps.tried, p=pt.clip(h, 1e-9, 1 - 1e-9), observed=steps.taken)
        pm.Deterministic("hazards", pt.cumprod(v, axis=1))
    return model


def bambi_hierarchy(held: Reduced, priors: Priors) -> pm.Model:
    """The same law by a Bambi formula; its own non-centred graph.

    A centre and zero-sum positions are, in law, an intercept of variance centre^2 - position^2 / K and independent positions.
    """
    import bambi
    import pandas as pd

    data = {"taken": held.taken, "tried": held.tried, "run": held.run_of_step}
    data |= {"position": held.position[held.place_of_step]}
    data |= {name: level.of[held.place_of_step] for name, level in held.levels.items()}
    frame = pd.DataFrame(data).astype({name: "category" for name in data if name not in ("taken", "tried")})

    def effects(scale: float) -> Any:
        return bambi.Prior("Normal", mu=0.0, sigma=bambi.Prior("HalfNormal", sigma=scale))

    def known(name: str, value: float, **_: Any) -> Any:
        return pm.Deterministic(name, pt.constant(value))

    def size(name: str, scale: float) -> Any:
        extra = pm.HalfNormal(f"{name}_overdispersion", scale)
        return pm.Deterministic(name, 1.0 / (extra + SMALLEST))

    intercept_sd = (priors.hazard_centre_sd**2 - priors.position_sd**2 / held.deepest) ** 0.5
    stated = {
        "Intercept": bambi.Prior("Normal", mu=priors.hazard_centre, sigma=intercept_sd),
        "1|position": bambi.Prior("Normal", mu=0.0, sigma=bambi.Prior("Known", dist=known, value=priors.position_sd)),
        "kappa": bambi.Prior("InverseHalfNormal", dist=size, scale=priors.overdispersion_scale),
    } | {f"1|{name}": effects(level.scale) for name, level in (held.levels | {"run": held.run}).items()}
    terms = " + ".join(f"(1|{name})" for name in ["position", *held.levels, "run"])
    stated_model = bambi.Model(f"p(taken, tried) ~ 1 + {terms}", frame, family="beta_binomial", priors=stated)
    stated_model.build()
    model = stated_model.backend.model
    with model:
        effect = {name: model[f"1|{name}"] for name in ["position", *held.levels, "run"]}
        theta = model["Intercept"] + effect["position"][held.position]
        theta += sum(effect[name][level.of] for name, level in held.levels.items())
        pm.Deterministic("hazards", pt.concatenate([theta, theta + pt.dot(held.share_of_run, effect["run"])]))
    return model
