"""The main job: screen, fit each group, compare, decide, and store the result whole."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .. import __version__
from ..analysis.arms import measured_arms
from ..analysis.checks_leave_out import left_out
from ..analysis.comparison import compare
from ..analysis.decision import Rule
from ..analysis.explain_groups import explanations
from ..analysis.groups import NOTHING_TO_FIT, fit_groups
from ..analysis.result import CONTENT_HASH, assemble, group_path
from ..analysis.screen import screen
from ..data.errors import InputError
from ..data.inputs import Inputs, usable_inputs
from ..data.study import Study, load_study
from ..models.fit import fit
from ..models.priors import Priors
from ..models.sampling import Settings
from .comparison_json import comparison_document
from .comparison_md import comparison_page, summary_lines
from .numbers import as_json
from .output import ready, write_whole
from .output_tree import NETCDF, POSTERIOR, tree_writer
from .page_files import REPORT_HTML, report_files
from .page_opened import stored as stored
from .run_screen import SCREEN_JSON, TABLES_MD
from .screen_json import screen_document
from .tables import tables
from .visible import visible, visible_json

COMPARISON_MD, COMPARISON_JSON = "COMPARISON.md", "comparison.json"
LIBRARIES = ("arviz", "numpy", "nutpie", "pymc", "scipy", "xarray")


def _provenance(study: Study, inputs: Inputs, settings: Settings, began: float) -> dict[str, Any]:
    return {
        "study": study.name,
        "study_sha256": study.sha256,
        "inputs": inputs.hashes,
        "settings": {key: value for key, value in asdict(settings).items() if key != "progress"},
        "versions": {"draftdepth": __version__, **{name: version(name) for name in LIBRARIES}},
        "seconds": round(time.monotonic() - began, 1),
    }


def _per_group(trees: Mapping[str, xr.DataTree], name: str) -> dict[str, xr.Dataset]:
    return {group_path(name, group): tree[name].to_dataset() for group, tree in trees.items() if name in tree}


def reanalyze_study(
    named: str, roots: Mapping[str, Path], out_dir: Path, settings: Mapping[str, Any], checks: bool, json_wanted: bool,
    tell: Callable[[str], None], form: str = NETCDF,
) -> str:  # fmt: skip
    """Screen, fit, compare, decide and write everything.

    Parameters
    ----------
    named
        An embedded study's name, a folder or a `study.toml`.
    roots
        Folders in place of the study's roots.
    out_dir
        Where the results go.
    settings
        `seed` (None: the study's), `draws`, `tune`, `chains`, `sampler`, `progress`.
    checks
        Whether every run is also predicted from the others.
    json_wanted
        Whether stdout gets the comparison as JSON.
    tell
        Called with a line of progress.
    form
        `netcdf`, or `zarr`: what the tree is stored as.

    Returns
    -------
    str
        What goes to stdout.

    Raises
    ------
    DraftdepthError
        Bad input (exit 2), or a group that has not converged (exit 3): then no rate of any group is written.
    """
    began = time.monotonic()
    study = load_study(named)
    inputs = usable_inputs(study, roots)
    rule = Rule.stated(study.decision)
    priors = Priors.stated(study.scheduler, study.priors)
    screened = screen(study, inputs.runs)
    chosen = Settings.stated(settings, study.seed)
    write, posterior = tree_writer(form), POSTERIOR[form]
    ready(out_dir)
    trees: dict[str, xr.DataTree] = {}
    config_ms = np.array(study.cost.config_ms)
    for group, runs in fit_groups(inputs.runs):
        tell(f"fitting {group}: {runs.sizes['run']} runs")
        trees[group] = fit(runs, config_ms, priors, chosen, group)
    if not trees:
        raise InputError(f"{visible(study.name)}: {NOTHING_TO_FIT}")
    rates, comparison, decision = compare(study, screened, inputs.runs, trees, rule)
    arms = measured_arms(inputs.runs, screened)
    screen_text = screen_document(study, inputs, screened, arms)
    told = {
        "diagnostics": {
            g: {str(k): float(v) for k, v in tree["diagnostics"].data_vars.items()} for g, tree in trees.items()
        },
        "priors": priors.as_dict(),
        "run_time_sd": {
            g: float(tree["posterior"].to_dataset()["s_run_time"].median())
            for g, tree in trees.items()
            if "s_run_time" in tree["posterior"]
        },
    }
    document = comparison_document(study, screened, comparison, decision, rule, told, arms)
    groups = {
        "runs": inputs.runs,
        "screen": screened,
        "rates": rates.astype("float32"),
        "comparison": comparison,
        "decision": decision,
    }
    groups["bounds"] = screened[["survival_bound", "tokens_bound", "rate_bound"]]
    for name in ("prior", "posterior", "posterior_predictive", "sample_stats"):
        groups |= _per_group(trees, name)
    groups |= explanations(screened, inputs.runs, rates, decision, trees, priors)
    if checks:
        for group, runs in fit_groups(inputs.runs):
            drawn = trees[group]["sampled"].to_dataset()
            groups[group_path("left_out", group)] = left_out(runs, drawn, config_ms, priors, chosen, group, tell)
    tree = assemble(groups, _provenance(study, inputs, chosen, began))
    tree.attrs |= {"comparison": as_json(document), "screen": as_json(screen_text)}
    write_whole(
        out_dir,
        {
            SCREEN_JSON: as_json(screen_text),
            TABLES_MD: tables(screen_text),
            COMPARISON_JSON: as_json(document),
            COMPARISON_MD: comparison_page(document),
            posterior: lambda path: write(tree, path),
            **report_files(tree),
        },
    )
    for other in {*POSTERIOR.values()} - {posterior}:
        if (out_dir / other).exists():
            tell(f"{out_dir / other}: of an earlier run, left as it was")
    if json_wanted:
        return as_json(document)
    mark = " (SYNTHETIC records)" if study.synthetic else ""
    return (
        f"{study.name}{mark}: the rule's recommendations, ESTIMATED\n{summary_lines(document)}"
        f"content {tree.attrs[CONTENT_HASH]}\n"
        f"results: {', '.join(str(out_dir / name) for name in (REPORT_HTML, COMPARISON_MD, TABLES_MD, posterior))}\n"
    )


def show_file(path: Path, json_wanted: bool) -> str:
    """Reopen a stored result.

    Returns
    -------
    str
        Its comparison as JSON, or its recommendations and where it came from.

    Raises
    ------
    DraftdepthError
        The file is not there or holds no result of this program.
    """
    with stored(path, whole=True) as tree:
        document, provenance = (json.loads(tree.attrs[name]) for name in ("comparison", "provenance"))
        if json_wanted:
            return visible_json(as_json(document))
        told = {"cells": [{"sentence": visible(cell["sentence"])} for cell in document["cells"]]}
        head = visible(f"{provenance['study']}, seed {provenance['settings']['seed']}")
        return f"{head}\n{summary_lines(told)}content {tree.attrs[CONTENT_HASH]}\n"
