"""Planning: arms that might be run, worlds from the stored posterior, and what every design would buy."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.decision import Rule
from ..analysis.groups import fit_groups
from ..analysis.plan_agreement import Agreement, agreements
from ..analysis.plan_choice import Chosen, choose, with_rule_value
from ..analysis.plan_logging import Logged, worth_logging
from ..analysis.plan_schedule import sessions
from ..analysis.plan_sequential import Looks, looking
from ..analysis.plan_sharing import share
from ..analysis.plan_worlds import Worlds, arrangements, group_of, worlds_of
from ..analysis.planning import plan_grid
from ..analysis.result import CONTENT_HASH
from ..data.errors import InputError
from ..data.inputs import usable_inputs
from ..data.plan_file import PLAN_FILE, read_plan
from ..data.study import Study, load_study
from ..data.words import CELL, DYNAMIC, FIXED
from ..models.priors import Priors
from .numbers import as_json
from .output import ready, write_whole
from .output_tree import NETCDF, POSTERIOR
from .plan_curves import ASSURANCE_SVG, LOSS_SVG, assurance_curves, loss_curves
from .plan_json import Answers, plan_document
from .plan_md import plan_page, summary_lines
from .run_reanalyze import reanalyze_study, stored

PLAN_MD, PLAN_JSON = "PLAN.md", "plan.json"

type Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Refits:
    """Full refits of simulated experiments: how many (0: none), and the address of a Dask scheduler."""

    experiments: int = 0
    scheduler: str | None = None


def fitted_cells(tree: xr.DataTree) -> frozenset[str]:
    """Cells that the stored result has draws of."""
    groups = tree["posterior"].children.values()
    return frozenset(str(cell) for group in groups for cell in group.to_dataset()[CELL].values.tolist())


def _same_study(study: Study, hashes: Mapping[str, str], provenance: Mapping[str, Any], path: Path) -> None:
    """Refuse a result that other records or another study file made.

    Raises
    ------
    InputError
        It is another study's, or the study or its inputs have changed since.
    """
    if provenance["study"] != study.name:
        raise InputError(f"{path}: found a result of another study; the result of {study.name} would do")
    if provenance["study_sha256"] != study.sha256 or provenance["inputs"] != dict(hashes):
        raise InputError(
            f"{path}: found a result of other records or settings of {study.name}; a new `reanalyze` would do"
        )


def _logging(worlds: Worlds, tree: xr.DataTree, chosen: Chosen, deepest: int) -> tuple[Logged, ...]:
    arm, other = chosen.arm, chosen.other
    if arm.kind != FIXED or other.kind != DYNAMIC or arm.scalar_ms is not None:
        return ()
    cell = tree["screen"].to_dataset().sel({CELL: arm.cell})
    return worth_logging(group_of(tree, arm.cell), cell, arm, other, worlds.rule, deepest)


def _agreements(
    worlds: Worlds, tree: xr.DataTree, study: Study, runs: xr.Dataset, seed: int, refits: Refits, tell: Tell
) -> tuple[Agreement, ...]:
    if not refits.experiments:
        return ()
    tell(f"refitting about {refits.experiments} simulated experiments in full")

    def group_of_cell(cell: str) -> xr.Dataset:
        return next(group for _, group in fit_groups(runs) if cell in group[CELL].values)

    config, priors = np.array(study.cost.config_ms), Priors.stated(study.scheduler, study.priors)
    screened = tree["screen"].to_dataset()
    return agreements(worlds, group_of_cell, screened, config, priors, seed, refits.scheduler, refits.experiments)


def _looks(worlds: Worlds, chosen: Chosen) -> tuple[Looks, ...]:
    layout, _, rounds = chosen.place or chosen.best_place
    return looking(worlds, chosen.arm, chosen.other, arrangements(worlds.plan)[layout], rounds)


def plan_study(
    named: str,
    roots: Mapping[str, Path],
    out_dir: Path,
    posterior: Path | None,
    plan_file: Path | None,
    settings: Mapping[str, Any],
    refits: Refits,
    json_wanted: bool,
    tell: Tell,
) -> str:
    """Plan the arms of a study and write `PLAN.md`, `plan.json` and the curves.

    Parameters
    ----------
    named
        An embedded study's name, a folder or a `study.toml`.
    roots
        Folders in place of the study's roots.
    out_dir
        Where the results go.
    posterior
        The stored result that is the design prior; None fits the study first, as `reanalyze` does, into the same folder.
    plan_file
        In place of the study's own `plan.toml`.
    settings
        `seed` (None: the study's), and those of `reanalyze` for the fit.
    refits
        Whether simulated experiments are refitted in full, how many, and on which cluster.
    json_wanted
        Whether stdout gets the plan as JSON.
    tell
        Called with a line of progress.

    Returns
    -------
    str
        What goes to stdout.

    Raises
    ------
    DraftdepthError
        Bad input, a result of other records, or (without `posterior`) a fit that has not converged.
    """
    if refits.scheduler is not None and not refits.experiments:
        raise InputError("--scheduler: found no --refit: only refits are sent to a cluster; --refit beside it would do")
    study = load_study(named)
    ready(out_dir)
    inputs = usable_inputs(study, roots)
    if posterior is None:
        reanalyze_study(named, roots, out_dir, settings, checks=False, json_wanted=False, tell=tell)
        posterior = out_dir / POSTERIOR[NETCDF]
    seed = study.seed if settings["seed"] is None else settings["seed"]
    with stored(posterior) as tree:
        provenance = json.loads(tree.attrs["provenance"])
        _same_study(study, inputs.hashes, provenance, posterior)
        plan = read_plan(plan_file or study.folder / PLAN_FILE, study, fitted_cells(tree))
        tell(f"simulating {plan.design.simulations} worlds, {len(plan.comparisons)} comparisons")
        worlds = worlds_of(plan, Rule.stated(study.decision), tree, seed)
        grid = with_rule_value(plan_grid(worlds), worlds)
        chosen = share(choose(grid, worlds), grid, worlds)
        answers = Answers(
            grid=grid,
            chosen=chosen,
            sessions=sessions(worlds, chosen, seed),
            looks={entry.arm.name: _looks(worlds, entry) for entry in chosen},
            logging={entry.arm.name: _logging(worlds, tree, entry, study.max_depth) for entry in chosen},
            agreement=_agreements(worlds, tree, study, inputs.runs, seed, refits, tell),
        )
        content = str(tree.attrs[CONTENT_HASH])
    text = as_json(plan_document(study, worlds, answers, provenance, content, seed))
    document = json.loads(text)
    files = {
        PLAN_JSON: text,
        PLAN_MD: plan_page(document),
        ASSURANCE_SVG: assurance_curves(document),
        LOSS_SVG: loss_curves(document),
    }
    write_whole(out_dir, files)
    if json_wanted:
        return text
    mark = " (SYNTHETIC records)" if study.synthetic else ""
    return (
        f"{study.name}{mark}: plan\n{summary_lines(document)}fingerprint {document['fingerprint']}\n"
        f"results: {', '.join(str(out_dir / name) for name in (PLAN_MD, PLAN_JSON))}\n"
    )
