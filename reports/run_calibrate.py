"""Simulation-based calibration of a study's shape: one line a simulation while it runs, a table when all are done."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xarray as xr

from ..analysis.calibration import CHAINS, DRAWS, Calibration, Ranked
from ..analysis.calibration_table import FAMILY_ERROR, LEAST_COVERAGE, calibration_rows, verdict
from ..analysis.groups import fit_groups
from ..analysis.screen import screen
from ..data.inputs import usable_inputs
from ..data.study import Study, load_study
from ..data.words import CELL, DYNAMIC, Level
from ..models.priors import Priors
from .markdown import escaped, table
from .numbers import as_json
from .output import add_line, ready, write_whole

CALIBRATION_JSON, CALIBRATION_MD = "calibration.json", "CALIBRATION.md"
COMPOSITE = (Level.L1, Level.L2)


def _done(path: Path, fingerprint: Mapping[str, Any]) -> list[Ranked]:
    """Simulations that an earlier call finished; none where it asked something else. A torn last line is left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    out = []
    for place, line in enumerate(lines):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            break
        if place == 0:
            if row != fingerprint:
                return []
            continue
        out.append(Ranked(row["number"], row["pit"], row["diverged"]))
    return out


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def _simulate(
    made: Calibration, path: Path, fingerprint: Mapping[str, Any], tell: Callable[[str], None]
) -> list[Ranked]:
    ranked = _done(path, fingerprint)
    known = [_line(row) for row in (fingerprint, *map(asdict, ranked))]
    write_whole(path.parent, {path.name: "\n".join([*known, ""])})
    for one in made.run(frozenset(one.number for one in ranked)):
        ranked.append(one)
        add_line(path, _line(asdict(one)))
        if len(ranked) % 25 == 0:
            tell(f"{path.stem}: {len(ranked)} simulations")
    return ranked


def _first_cells(runs: xr.Dataset, cells: int | None) -> xr.Dataset:
    """Runs of the first cells only, by name."""
    if cells is None:
        return runs
    names = sorted(set(runs[CELL].values.tolist()))[:cells]
    return runs.isel(run=[place for place, name in enumerate(runs[CELL].values) if name in names])


def _levels_that_fit(runs: xr.Dataset, levels: Sequence[Level]) -> list[Level]:
    """Levels below L4 say something of dynamic runs only."""
    dynamic = bool((runs["policy"].values == DYNAMIC).any())
    return [level for level in levels if dynamic or level == Level.L4]


def calibrate_study(
    named: str, roots: Mapping[str, Path], out_dir: Path, sims: int, levels: Sequence[str], cells: int | None,
    json_wanted: bool, tell: Callable[[str], None],
) -> tuple[str, bool]:  # fmt: skip
    """Calibrate every worker group of a study at each level of evidence.

    Parameters
    ----------
    named, roots
        The study, and folders in place of its roots.
    out_dir
        Where the ranks (one JSON line a simulation), `calibration.json` and `CALIBRATION.md` go; a second call goes on.
    sims
        Simulations for each group and level.
    levels
        Levels of evidence.
    cells
        Only so many cells of each group, or None.
    json_wanted
        Whether stdout gets the document.
    tell
        Called with a line of progress.

    Returns
    -------
    tuple
        What goes to stdout, and whether nothing failed.

    Raises
    ------
    DraftdepthError
        Bad input.
    """
    study = load_study(named)
    inputs = usable_inputs(study, roots)
    priors, screened = Priors.stated(study.scheduler, study.priors), screen(study, inputs.runs)
    ready(out_dir)
    parts: list[dict[str, Any]] = []
    for group, every in fit_groups(inputs.runs):
        runs = _first_cells(every, cells)
        for level in _levels_that_fit(runs, [Level(level) for level in levels]):
            tell(f"calibrating {group} at {level}")
            made = Calibration.of(study, screened, runs, level, sims, priors, priors, group)
            stem = "".join(char if char.isalnum() else "_" for char in f"ranks-{group}-{level}")
            fingerprint = {"study": study.sha256, "sims": sims, "cells": list(made.stated.evidence.cells),
                           "priors": priors.as_dict(), "seed": made.seed, "level": level}  # fmt: skip
            ranked = _simulate(made, out_dir / f"{stem}.jsonl", fingerprint, tell)
            rows = calibration_rows(sorted(ranked, key=lambda one: one.number), made.labels())
            failed = verdict(rows, level in COMPOSITE)
            parts.append({"group": group, "level": level, "sims": len(ranked), "rows": rows, "failed": failed,
                          "diverged": sum(one.diverged > 0 for one in ranked)})  # fmt: skip
    document = {"schema": 1, "study": study.name, "synthetic": study.synthetic, "parts": parts}
    write_whole(out_dir, {CALIBRATION_JSON: as_json(document), CALIBRATION_MD: _page(study, parts)})
    good = not any(part["failed"] for part in parts)
    if json_wanted:
        return as_json(document), good
    lines = [
        f"  {part['group']} at {part['level']}: {part['sims']} simulations, "
        + (f"{len(part['failed'])} entries fail" if part["failed"] else "no entry fails")
        for part in parts
    ]
    return "\n".join([study.name, *lines, f"results: {out_dir / CALIBRATION_MD}", ""]), good


def _page(study: Study, parts: Sequence[Mapping[str, Any]]) -> str:
    text = [
        f"# Calibration of the model on the shape of {escaped(study.name)}", "",
        "Parameters are drawn from the stated priors, runs of the study's own shape are made up from them, the model is fitted "
        f"again ({CHAINS} chains of {DRAWS} kept draws), and the truth is ranked in the draws. Everything here is simulated: it "
        "says whether the intervals are right *when the model is*. L1 and L2 take counts of A and of V over the same rounds as a "
        f"composite likelihood: there the 90 % intervals must cover {100 * LEAST_COVERAGE:g} % within two Monte-Carlo errors. "
        f"Elsewhere each ECDF of ranks must stay in a simultaneous band; all bands of a level together err in "
        f"{100 * FAMILY_ERROR:g} % of calibrated models.", "",
    ]  # fmt: skip
    for part in parts:
        text += [f"## {escaped(part['group'])}, {part['level']}", ""]
        text += [f"- FAILS: {escaped(line)}" for line in part["failed"]] or ["No entry fails."]
        text += ["", f"{part['diverged']} of {part['sims']} fits had a divergence; they are counted in.", ""]
        rows = [
            [row["quantity"].replace("_", " "), escaped(row["entry"]),
             *[f"{100 * row[f'cover_{c}']:.0f} ± {100 * row[f'error_{c}']:.0f} %" for c in (50, 80, 90)],
             f"{row['outside_band']:.3f}"]
            for row in part["rows"]
        ]  # fmt: skip
        head = ["quantity", "entry", "50 % covers", "80 % covers", "90 % covers", "ECDF beyond its band"]
        text += [table(head, rows), ""]
    return "\n".join(text).rstrip("\n") + "\n"
