"""ESS a second of the least well mixing hazard on the counts of `sp2`: our model against plain formulations, in one run.

Plain hierarchy: the same acceptance model with every effect stated as it is written, all non-centred, in PyMC, by Bambi's
formula, and in numpyro. Plain product: h = v a with v and a sampled directly, one cell at a time and no hierarchy; its
quantity is the masked product of v. All get the same steps, chains, target of acceptance and cores, no times, and all but
the product the same law of the hazards. Those are of each cell at each exposed position, of its recorded runs and of the
cell at large: the worst bulk or tail ESS of any. Each has a process of its own, in which compiling stands apart. Bambi and
numpyro need `draftdepth[bench]`. Run it by `make benchmarks`.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import arviz as az
import numpy as np
import nutpie
import pymc as pm
import xarray as xr
from clock import Clock
from draftdepth.models.evidence import Evidence
from draftdepth.models.fit import sampled_variables
from draftdepth.models.model import build_model
from draftdepth.models.population import population
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings, compiled, divergences, named_seed
from reduced import Reduced, counts_of_sp2
from rival_numpyro import numpyro_draws, numpyro_program
from rivals_pymc import bambi_hierarchy, plain_hierarchy, plain_product

SETTINGS = Settings(seed=20261201)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one formulation took, and what it gave."""

    compiling: Clock
    sampling: Clock
    draws: np.ndarray  # chain, draw, entry
    diverged: int

    def told(self) -> dict[str, Any]:
        """Seconds, the least bulk or tail ESS over entries, the largest R-hat, and means with their Monte-Carlo errors."""
        one = xr.Dataset({"x": (("chain", "draw", "entry"), self.draws)})
        return {
            "compiling": self.compiling.wall, "compiling_processor": self.compiling.processor,
            "sampling": self.sampling.wall, "sampling_processor": self.sampling.processor, "diverged": self.diverged,
            "ess": float(min(az.ess(one, method=kind)["x"].min() for kind in ("bulk", "tail"))),
            "rhat": float(az.rhat(one)["x"].max()), "mean": self.draws.mean(axis=(0, 1)).tolist(),
            "error": az.mcse(one, method="mean")["x"].values.tolist(),
        }  # fmt: skip


def _by_nutpie(program: Any) -> xr.DataTree:
    return nutpie.sample(
        program, draws=SETTINGS.draws, tune=SETTINGS.tune, chains=SETTINGS.chains, cores=os.cpu_count(), seed=SETTINGS.seed,
        target_accept=SETTINGS.target_accept, progress_bar=False, save_warmup=False,
    )  # fmt: skip


def _hazards(tree: xr.DataTree) -> np.ndarray:
    drawn = tree["posterior"]["hazards"].values
    return np.asarray(drawn.reshape(*drawn.shape[:2], -1))


def by_us(held: Evidence, priors: Priors, config_ms: np.ndarray) -> Measured:
    """Our coordinates; completing the draws counts as sampling."""
    began = Clock.now()
    model = build_model(held, priors, config_ms)
    program = compiled(model, "nutpie")
    ready = Clock.now()
    tree = _by_nutpie(program)
    free = sampled_variables(tree)
    whole = population(free, held, priors, named_seed(SETTINGS.seed, "conditional"))
    done = Clock.now()
    places = Reduced.of(held, priors)
    draws = np.concatenate([whole.logit[..., places.cell, places.position], free["theta"].values], axis=-1)
    return Measured(ready.since(began), done.since(ready), draws, divergences(tree))


def by_nutpie(stated: Callable[[], pm.Model]) -> Measured:
    """A PyMC model under nutpie."""
    began = Clock.now()
    model = stated()
    program = compiled(model, "nutpie")
    ready = Clock.now()
    tree = _by_nutpie(program)
    return Measured(ready.since(began), Clock.now().since(ready), _hazards(tree), divergences(tree))


def by_pymc(stated: Callable[[], pm.Model]) -> Measured:
    """A PyMC model under PyMC's own sampler, on all cores; it compiles until its first step."""
    began = Clock.now()
    first: list[Clock] = []

    def noted(*_: Any, **__: Any) -> None:
        if not first:
            first.append(Clock.now())

    with stated():
        tree = pm.sample(
            draws=SETTINGS.draws, tune=SETTINGS.tune, chains=SETTINGS.chains, cores=os.cpu_count(), callback=noted,
            random_seed=SETTINGS.seed, nuts_sampler="pymc", target_accept=SETTINGS.target_accept, progressbar=False,
            quiet=True, compute_convergence_checks=False,
        )  # fmt: skip
    done = Clock.now()
    return Measured(first[0].since(began), done.since(first[0]), _hazards(tree), divergences(tree))


def by_numpyro(held: Reduced, priors: Priors) -> Measured:
    """Every run compiles anew: what one of two steps takes is that, and sampling is what the whole takes beyond it."""
    began = Clock.now()
    numpyro_draws(numpyro_program(held, priors, replace(SETTINGS, tune=2, draws=2)), SETTINGS.seed)
    ready = Clock.now()
    draws, diverged = numpyro_draws(numpyro_program(held, priors, SETTINGS), SETTINGS.seed)
    compiling = ready.since(began)
    return Measured(compiling, Clock.now().since(ready).since(compiling), draws, diverged)


RIVALS: dict[str, tuple[str, Callable[[Evidence, Priors, np.ndarray], Measured]]] = {
    "ours, nutpie": ("nutpie", by_us),
    "plain hierarchy, nutpie": ("nutpie", lambda held, priors, _: by_nutpie(lambda: plain_hierarchy(Reduced.of(held, priors), priors))),
    "plain hierarchy, PyMC": ("pymc", lambda held, priors, _: by_pymc(lambda: plain_hierarchy(Reduced.of(held, priors), priors))),
    "plain product, PyMC": ("pymc", lambda held, *_: by_pymc(lambda: plain_product(held))),
    "Bambi, nutpie": ("bambi", lambda held, priors, _: by_nutpie(lambda: bambi_hierarchy(Reduced.of(held, priors), priors))),
    "Bambi, PyMC": ("bambi", lambda held, priors, _: by_pymc(lambda: bambi_hierarchy(Reduced.of(held, priors), priors))),
    "numpyro": ("numpyro", lambda held, priors, _: by_numpyro(Reduced.of(held, priors), priors)),
}  # fmt: skip
"""Each formulation: the library that it needs, and how it is measured."""


def apart(found: dict[str, Any], ours: dict[str, Any]) -> str:
    """Largest difference between posterior means of hazards, in Monte-Carlo standard errors."""
    if len(found["mean"]) != len(ours["mean"]) or found is ours:
        return "-"
    distance = np.abs(np.subtract(found["mean"], ours["mean"])) / np.hypot(found["error"], ours["error"])
    return f"{distance.max():.1f}"


def main() -> None:
    """Measure each and print a line with how many times as fast ours is."""
    held, priors, _ = counts_of_sp2()
    print(f"{len(held.cells)} cells, {len(held.cell)} runs, {len(Reduced.of(held, priors).cell)} exposed places; "
          f"{SETTINGS.chains} chains of {SETTINGS.tune} + {SETTINGS.draws} steps on {os.cpu_count()} cores")  # fmt: skip
    print("times: seconds of the wall (of processors); rates: worst ESS a second (how many times as fast ours is); means apart: the "
          "largest difference of a hazard's posterior mean to ours, in Monte-Carlo standard errors")  # fmt: skip
    columns = ["formulation", "compiling", "sampling", "diverged", "R-hat", "means apart", "worst ESS", "of the wall", "of processors", "wall with compiling"]  # fmt: skip
    print("| " + " | ".join(columns) + " |\n| :-- |" + " --: |" * (len(columns) - 1))
    ours: dict[str, Any] = {}
    for name, (library, _) in RIVALS.items():
        if importlib.util.find_spec(library) is None:
            print(f"{name}: {library} is not installed; `pip install 'draftdepth[bench]'` would do", flush=True)
            continue
        child = subprocess.run([sys.executable, __file__, name], check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(child.stdout.splitlines()[-1])
        found["both"] = found["compiling"] + found["sampling"]
        ours = ours or found
        shown = [f"{found[part]:.1f} ({found[part + '_processor']:.1f})" for part in ("compiling", "sampling")]
        shown += [f"{found['diverged']}", f"{found['rhat']:.3f}", apart(found, ours), f"{found['ess']:.0f}"]
        for part in ("sampling", "sampling_processor", "both"):
            rate, base = (one["ess"] / one[part] for one in (found, ours))
            shown.append(f"{rate:.1f} ({base / rate:.1f})")
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(RIVALS[sys.argv[1]][1](*counts_of_sp2()).told()))
    else:
        main()
