"""A stored result from made-up draws that holds every group, without a fit."""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from draftdepth.analysis.arms import measured_arms
from draftdepth.analysis.comparison import compare
from draftdepth.analysis.decision import Rule
from draftdepth.analysis.explain_groups import explanations
from draftdepth.analysis.result import assemble
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.priors import Priors
from draftdepth.reports.comparison_json import comparison_document
from draftdepth.reports.numbers import as_json
from draftdepth.reports.screen_json import screen_document

from ..builders import record, write_study

DRAWS = 60
CHAINS = 2


def draws_of(cells: xr.Dataset, run_ids: list[str], run_cells: list[str], seed: int, width: float) -> xr.Dataset:
    """Draws of everything that a fit derives, around the screen's survivals."""
    rng = np.random.default_rng(seed)
    names = cells["cell"].values
    front, positions = (CHAINS, DRAWS), cells.sizes["position"]
    h = np.clip(0.75 + 0.05 * width * rng.standard_normal((*front, len(names), positions)), 0.05, 0.95)
    v = h + (1 - h) * rng.uniform(size=h.shape)
    delta = np.abs(2 * rng.standard_normal((*front, len(names))))
    gap = np.exp(-delta)[..., None]
    a = h / v
    fixed = np.cumprod(h + (1 - v) * a * gap / (1 - a + a * gap), axis=-1)
    depths = np.arange(positions + 1)
    omega = 0.03 * rng.standard_normal((*front, len(names), positions + 1))
    survival = np.cumprod(h, axis=-1) * (cells["position"].values <= cells["cap"].values[:, None])
    exposure = np.cumprod(v, axis=-1)
    ends = np.concatenate([np.ones_like(exposure[..., :1]), exposure, np.zeros_like(exposure[..., :1])], axis=-1)
    inside = cells["position"].values <= depths[:, None]
    two, each = ("chain", "draw"), ("chain", "draw", "cell")
    step = cells["step_ms"].values * np.exp(0.02 * width * rng.standard_normal((*front, len(names))))
    return xr.Dataset(
        {
            "survival": ((*each, "position"), survival),
            "fixed_survival": ((*each, "depth", "position"), fixed[..., None, :] * np.exp(omega)[..., None] * inside),
            "exposure": ((*each, "position"), exposure),
            "p_verified": ((*each, "verified_depth"), ends[..., :-1] - ends[..., 1:]),
            "verified_chance": ((*each, "position"), v),
            "acceptance": ((*each, "position"), a),
            "step_ms": (each, step),
            "step_base_ms": (each, step),
            "row_slope": (each, np.broadcast_to(rng.beta(2, 2, (*front, 1)), (*front, len(names))).copy()),
            "delta": (each, delta),
            "omega": ((*each, "depth"), omega),
            "kappa": (two, np.abs(rng.standard_normal(front))),
            "overlap": (two, rng.beta(3, 1, front)),
            "overhead_ms": (two, 0.6 * rng.beta(2, 2, front)),
            "s_run": (two, np.abs(0.1 * rng.standard_normal(front))),
            "s_cell": (two, np.abs(0.3 * rng.standard_normal(front))),
            "overdispersion": (two, np.abs(0.003 * rng.standard_normal(front))),
        },
        coords={
            "cell": names, "position": cells["position"].values, "depth": depths, "verified_depth": depths,
            "run_id": ("run", run_ids), "run_cell": ("run", run_cells),
        },
    )  # fmt: skip


def _left_out(keys: list[str]) -> xr.Dataset:
    """Runs that were predicted from the others: the second lies outside and was fitted again."""
    middle = np.linspace(2.0, 2.3, len(keys))
    second = np.arange(len(keys)) == 1
    columns = {
        "length": middle + 0.5 * second, "length_low": middle - 0.21, "length_high": middle + 0.23,
        "length_place": np.where(second, 0.998, 0.47), "elpd": -20.25 - middle, "pareto_k": np.where(second, 0.83, 0.31),
        "refitted": second.astype(float), "diverged": 2.0 * second,
    }  # fmt: skip
    return xr.Dataset({name: ("run", values) for name, values in columns.items()}, {"run_name": ("run", keys)})


def run_keys(runs: xr.Dataset) -> list[str]:
    """Names of runs as a fit gives them."""
    return [f"{c}/{r}" for c, r in zip(runs["cell"].values, runs["run_id"].values, strict=True)]


def fitted_tree(cells: xr.Dataset, runs: xr.Dataset) -> xr.DataTree:
    """What a fit of one worker leaves, as far as a result stores it."""
    keys = run_keys(runs)
    run_cells = [str(c) for c in runs["cell"].values]
    posterior, prior = (draws_of(cells, keys, run_cells, seed, width) for seed, width in ((1, 1.0), (2, 3.0)))
    rng = np.random.default_rng(3)
    accepted = runs["accepted"].values
    predictive = xr.Dataset(
        {
            "accepted": (
                ("chain", "draw", "run", "position"),
                np.maximum(accepted + rng.integers(-40, 41, (CHAINS, DRAWS, *accepted.shape)), 0),
            ),
            "step_ms": (("chain", "draw", "run"), 73.0 + rng.standard_normal((CHAINS, DRAWS, len(keys)))),
        },
        coords={"position": cells["position"].values, "run_id": ("run", keys)},
    )
    fitted = xr.DataTree.from_dict({"posterior": posterior, "prior": prior, "posterior_predictive": predictive})
    fitted.attrs["slope_taught"] = 0
    return fitted


def made_up_tree(folder: Path, cell: str = "c", with_reasons: bool = True, synthetic: bool = True) -> xr.DataTree:
    """Two cells of one worker; the second has a measured fixed arm beside its dynamic runs."""
    rows: list[dict[str, Any]] = [
        record(cell=cell),
        record(cell=cell, run="r2", request_rounds=1700, requests=[{"step_p50_ms": 75.0}]),
        record(cell="d", batch=2),
        record(cell="d", batch=2, run="f1", policy={"kind": "fixed", "depth": 3},
               accepted_position=[1200, 900, 640]),
    ]  # fmt: skip
    named = {json.dumps(row["cell"])[1:-1]: row["batch"] for row in rows}  # JSON's escapes are TOML's
    study = load_study(str(write_study(folder, named, rows)))
    inputs = usable_inputs(study)
    cells = screen(study, inputs.runs)
    object.__setattr__(study, "synthetic", synthetic)
    trees = {"w": fitted_tree(cells, inputs.runs)}
    rates, comparison, decision = compare(study, cells, inputs.runs, trees, Rule())
    told = {"diagnostics": {"w": {"survival_rhat": 1.0012345}}, "priors": Priors().as_dict()}
    document = comparison_document(study, cells, comparison, decision, Rule(), told)
    groups = {"runs": inputs.runs, "screen": cells, "rates": rates, "comparison": comparison, "decision": decision}
    if with_reasons:
        groups |= explanations(cells, inputs.runs, rates, decision, trees, Priors())
        groups["left_out/w"] = _left_out(run_keys(inputs.runs))
    provenance = {
        "study": study.name, "study_sha256": study.sha256, "settings": {"seed": 1}, "versions": {"draftdepth": "0"},
    }  # fmt: skip
    tree = assemble(groups, provenance)
    screen_text = screen_document(study, inputs, cells, measured_arms(inputs.runs, cells))
    tree.attrs |= {"comparison": as_json(document), "screen": as_json(screen_text)}
    return tree


@cache
def shared_tree() -> xr.DataTree:
    """One made-up result for all tests that only read it."""
    with tempfile.TemporaryDirectory() as folder:
        return made_up_tree(Path(folder)).load()
