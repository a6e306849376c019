"""A small study with a plan, and a stored result of made-up draws whose spreads a test may set."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.plan_worlds import Worlds, worlds_of
from draftdepth.analysis.result import assemble
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.plan_file import Plan, read_plan
from draftdepth.data.study import Study, load_study
from draftdepth.models import recursion

from .builders import record, write_study

PLAN = """
schema = 1

[goal]
kind = "{kind}"
of = "{of}"
target = {target}
horizon_hours = {hours}

[allowed]
runs = {runs}
rounds = {rounds}
runs_per_start = {per_start}
switches_at_runtime = {switches}

[minutes]
run = 2.0
restart = 4.0

[design]
simulations = {simulations}
drift_sd = {drift}

[design.remote_scalar]
effect = [{{ scalar_ms = 0.0, gain = {effect}, sd = {effect_sd} }}]

[analysis]
prior = "{prior}"
gain_sd = {gain_sd}

[[arm]]
name = "now"
cell = "S/c"
policy = {{ kind = "dynamic", cap = 4 }}

[[arm]]
name = "fixed three"
cell = "S/c"
policy = {{ kind = "fixed", depth = 3 }}
against = "now"

[[arm]]
name = "{hostile}"
cell = "S/c"
policy = {{ kind = "dynamic", cap = 4 }}
remote_scalar_ms = 0.0
against = "now"
recorded_as = "S-remote/c"
"""

DEFAULTS: dict[str, Any] = {
    "kind": "assurance", "of": "gain", "target": 0.8, "hours": 100.0, "runs": [2, 4, 8, 16], "rounds": [500, 4000],
    "per_start": 1, "switches": "false", "simulations": 400, "drift": 0.005, "effect": 0.01, "effect_sd": 0.02,
    "prior": "weak", "gain_sd": 0.1, "hostile": "remote 0",
}  # fmt: skip

PAGE_P_GAIN = 0.3  # of depth 3, as no draws of the example give it

SPREADS = {"s_run": 0.15, "overdispersion": 3e-4, "s_start": 0.02, "s_run_time": 0.01, "s_request_time": 0.01}


def plan_text(**changes: Any) -> str:
    """A good plan file."""
    return PLAN.format(**(DEFAULTS | changes))


def draws(size: int, spreads: dict[str, float], vary: float = 1.0) -> xr.Dataset:
    """Draws of one cell of a dynamic policy with cap 4 under the depth-5 block; `vary` scales how much draws differ."""
    rng = np.random.default_rng(20260921)
    z = rng.standard_normal((size, 8)) * vary
    v = recursion.expit(np.array([2.5, 1.8, 1.2, 0.8, 0.2]) + 0.4 * z[:, :5], np)
    a = recursion.expit(np.array([1.6, 1.5, 1.4, 1.3, 1.2]) + 0.2 * z[:, 5:6], np)
    h, delta, kappa = v * a, np.abs(1.0 + z[:, 6]), np.full(size, 1.0)
    e = np.asarray(recursion.exposure(h, v, kappa[:, None], np)) * (np.arange(1, 6) <= 4)
    g = recursion.fixed_hazard(h, v, delta[:, None], np)
    fixed = np.cumprod(np.broadcast_to(g[:, None, :], (size, 6, 5)), axis=-1) * (
        np.arange(1, 6) <= np.arange(6)[:, None]
    )
    padded = np.concatenate([np.ones((size, 1)), e, np.zeros((size, 1))], axis=1)
    one = ("chain", "draw")
    cell = (*one, "cell")
    values: dict[str, Any] = {
        "survival": ((*cell, "position"), np.cumprod(h, axis=1) * (np.arange(1, 6) <= 4)),
        "exposure": ((*cell, "position"), e),
        "p_verified": ((*cell, "verified_depth"), padded[:, :-1] - padded[:, 1:]),
        "verified_chance": ((*cell, "position"), v),
        "acceptance": ((*cell, "position"), a),
        "fixed_survival": ((*cell, "depth", "position"), fixed),
        "step_ms": (cell, 70.0 * np.exp(0.02 * z[:, 7])),
        "row_slope": (cell, np.full(size, 0.5)),
        "omega": ((*cell, "depth"), np.zeros((size, 6))),
        "omega_cap": ((*cell, "depth"), np.zeros((size, 6))),
    }
    data: dict[str, Any] = {name: (dims, value[None, :, None]) for name, (dims, value) in values.items()}
    data["kappa"] = (one, kappa[None])
    for name, value in spreads.items():
        data[name] = (one, np.full((1, size), value))
    coords = {"cell": ["S/c"], "position": np.arange(1, 6), "depth": np.arange(6), "verified_depth": np.arange(6)}
    return xr.Dataset(data, coords | {"chain": [0], "draw": np.arange(size)})


def example_study(folder: Path) -> Path:
    """One cell of batch 3 with two runs."""
    return write_study(folder, {"c": 3}, [record(), record(run="r2", request_rounds=1700)])


def stored_tree(study: Study, posterior: xr.Dataset, recommended: int = 0) -> xr.DataTree:
    """What `reanalyze` would have stored, as far as a plan reads it."""
    inputs = usable_inputs(study)
    groups = {
        "runs": inputs.runs,
        "screen": screen(study, inputs.runs),
        "decision": xr.Dataset(
            {
                "recommended": ("cell", [recommended]),
                "p_gain": (("cell", "depth"), [[0.1, 0.2, PAGE_P_GAIN, 0.4, 0.5]]),
            },
            coords={"cell": ["S/c"], "depth": [1, 2, 3, 4, 5]},
        ),
        "posterior/w": posterior,
    }
    told = {
        "study": study.name,
        "study_sha256": study.sha256,
        "inputs": {account.name: account.sha256 for account in inputs.files if account.present},
        "settings": {"seed": 1},
    }
    tree = assemble(groups, told)
    tree.attrs["comparison"] = json.dumps({"cells": []})
    return tree


def example_worlds(
    folder: Path, spreads: dict[str, float] | None = None, vary: float = 1.0, seed: int = 5, **changes: Any
) -> Worlds:
    """Worlds of the example's plan."""
    study = load_study(str(example_study(folder)))
    tree = stored_tree(study, draws(500, SPREADS | (spreads or {}), vary))
    return worlds_of(example_plan(folder, study, **changes), Rule(), tree, seed)


def example_plan(folder: Path, study: Study, **changes: Any) -> Plan:
    """The example's plan, written beside the study and read."""
    path = folder / "plan.toml"
    path.write_text(plan_text(**changes), encoding="utf-8")
    return read_plan(path, study, frozenset({"S/c"}))


def ready(folder: Path, **changes: Any) -> tuple[Path, Path]:
    """A study with a plan, and a stored result beside it."""
    study = example_study(folder / "study")
    (study / "plan.toml").write_text(
        plan_text(**({"simulations": 100, "runs": [2, 6, 12], "target": 0.4} | changes)), encoding="utf-8"
    )
    posterior = folder / "posterior.nc"
    stored_tree(load_study(str(study)), draws(500, SPREADS)).to_netcdf(posterior, engine="h5netcdf")
    return study, posterior
