"""Held-out validation: fit without some measured arms, predict them, and say which gates pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.holdout import hold_out
from ..analysis.holdout_scores import Gates, summary
from ..analysis.selection import chosen, in_turn
from ..data.errors import InputError
from ..data.inputs import usable_inputs
from ..data.study import HoldOut, load_study
from ..models.evidence import Flags
from ..models.sampling import Settings
from .numbers import as_json, percent
from .output import ready, write_whole
from .validation_md import ARMS, CELLS, WORDS, validation_page

VALIDATION_JSON, VALIDATION_MD = "validation.json", "VALIDATION.md"
HEADS = {ARMS: "", CELLS: "cells without a count: "}


def validate_study(
    named: str, roots: Mapping[str, Path], out_dir: Path | None, words: Sequence[str], keep_times: str,
    settings: Mapping[str, Any], json_wanted: bool, tell: Callable[[str], None],
) -> tuple[str, bool]:  # fmt: skip
    """Predict arms that the fit did not see.

    Parameters
    ----------
    named, roots
        The study, and folders in place of its roots.
    out_dir
        Where `validation.json` and `VALIDATION.md` go, if anywhere.
    words
        Which runs are left out, as `analysis.selection` reads them, all together; none: each of the study's own `[[hold_out]]`.
    keep_times
        Of which of them the step times are kept.
    settings
        `seed` (None: the study's), `draws`, `tune`, `chains`, `sampler`, `progress`.
    json_wanted
        Whether stdout gets the document.
    tell
        Called with a line of progress.

    Returns
    -------
    tuple
        What goes to stdout, and whether every gate passed.

    Raises
    ------
    DraftdepthError
        Bad input, or a fit that has not converged.
    """
    study = load_study(named)
    inputs, gates = usable_inputs(study, roots), Gates.stated(study.gates)
    runs = inputs.runs
    splits = study.hold_out
    if words:
        splits = (HoldOut(" and ".join(words), "\n".join(words), keep_times),)
    if not splits:
        raise InputError(
            "--hold-out: found nothing, and no [[hold_out]] in the study; words such as 'policy=fixed depth=3' would do"
        )
    chosen_settings = Settings.stated(settings, study.seed)
    each = [(split, _folds(runs, split)) for split in splits]  # bad words are told before hours are spent
    if out_dir is not None:
        ready(out_dir)
    parts = []
    for split, folds in each:
        arms, missed = [], []
        for fold in folds:
            tell(f"fitting without {split.name}{f' ({fold.words})' if len(folds) > 1 else ''}")
            rows, none = hold_out(study, runs, fold.held, fold.keep_times, chosen_settings)
            arms += [row | {"left_out": fold.words} for row in rows]
            missed += none
        summaries = {kind: summary(some, gates) for kind, some in _by_kind(arms).items()}
        parts.append({**asdict(split), "folds": [fold.told() for fold in folds], "arms": arms, "not_predicted": missed,
                      "summary": {kind: found for kind, (found, _) in summaries.items()},
                      "by_fold": _by_fold(arms, gates) if len(folds) > 1 else [],
                      "failed": [line for kind, (_, failed) in summaries.items() for line in _named(kind, failed)]})  # fmt: skip
    digests = {account.name: account.sha256 for account in inputs.files if account.present}
    document = {"schema": 2, "study": study.name, "study_sha256": study.sha256, "inputs": digests,
                "synthetic": study.synthetic, "gates": asdict(gates), "parts": parts}  # fmt: skip
    good = not any(part["failed"] for part in parts)
    page = validation_page(study, document)
    if out_dir is not None:
        write_whole(out_dir, {VALIDATION_JSON: as_json(document), VALIDATION_MD: page})
    return (as_json(document) if json_wanted else _lines(document)), good


@dataclass(frozen=True, slots=True)
class _Fold:
    """Runs that one fit is not shown, and of which of them the times are kept."""

    words: str
    held: Flags
    keep_times: Flags

    def told(self) -> dict[str, Any]:
        """For the document."""
        held = int(self.held.sum())
        return {"leave_out": self.words, "held_runs": held, "kept_runs": len(self.held) - held}


def _folds(runs: xr.Dataset, split: HoldOut) -> list[_Fold]:
    """One fold, or one for each value where a word asks for each."""
    lines = split.leave_out.split("\n")
    turns = [in_turn(runs, line) for line in lines]
    if len(lines) > 1 and any(turn != [line] for turn, line in zip(turns, lines, strict=True)):
        raise InputError("--hold-out: found several, one of which asks for each value; that one alone would do")
    keep_times = chosen(runs, split.keep_times, "--keep-times")
    folds = [split.leave_out] if len(lines) > 1 else turns[0]
    return [_Fold(words, _held(runs, words), keep_times) for words in folds]


def _held(runs: xr.Dataset, words: str) -> Flags:
    held = np.logical_or.reduce([chosen(runs, one) for one in words.split("\n")])
    if not held.any():
        raise InputError("--hold-out: found no words; some such as 'policy=fixed depth=3' would do")
    if held.all():
        raise InputError("--hold-out: found words that leave no run to fit; fewer runs would do")
    return np.asarray(held)


def _by_kind(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Arms of cells of which other counts were kept, and of cells of which none was: they are never averaged together."""
    kinds = {kind: [row for row in rows if row["own_counts"] is (kind == ARMS)] for kind in (ARMS, CELLS)}
    return {kind: some for kind, some in kinds.items() if some} or {ARMS: []}


def _by_fold(rows: Sequence[Mapping[str, Any]], gates: Gates) -> list[dict[str, Any]]:
    """Figures of each fit's arms alone."""
    words = list(dict.fromkeys(row["left_out"] for row in rows))
    some = {one: _by_kind([row for row in rows if row["left_out"] == one]) for one in words}
    return [
        {"leave_out": one, "kind": kind, "summary": summary(part, gates)[0]}
        for one in words
        for kind, part in some[one].items()
    ]


def _named(kind: str, failed: Sequence[str]) -> list[str]:
    return [HEADS[kind] + line for line in failed]


def _lines(document: Mapping[str, Any]) -> str:
    out = [f"{document['study']}: held-out arms"]
    for part in document["parts"]:
        out.append(f"  {part['name']}: " + ("every gate passes" if not part["failed"] else "gates that fail:"))
        out += [f"    {line}" for line in part["failed"]]
        out += [
            f"    {HEADS[kind]}{WORDS[name]}: {row['arms']} arms, error {percent(row['error'])}, 50 % intervals hold "
            f"{percent(row['cover_50'])}, 90 % {percent(row['cover_90'])}, log score {row['log_score']:.2f}"
            for kind, found in part["summary"].items()
            for name, row in found.items()
        ]
    return "\n".join(out) + "\n"
