"""Held-out validation: fit without some measured arms, predict them, and say which gates pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.holdout import QUANTITIES, Gates, hold_out, summary
from ..analysis.selection import chosen
from ..data.errors import InputError
from ..data.inputs import usable_inputs
from ..data.study import HoldOut, Study, load_study
from ..data.words import RUN
from ..models.evidence import Flags
from ..models.sampling import Settings
from .markdown import escaped, table
from .numbers import NOTHING, as_json, one_decimal, percent
from .output import ready, write_whole

VALIDATION_JSON, VALIDATION_MD = "validation.json", "VALIDATION.md"
WORDS = {"tokens": "tokens a round", "step_ms": "step, ms", "rate": "rate, tok/s"}


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
    each = [(split, *_flags(runs, split)) for split in splits]  # bad words are told before hours are spent
    if out_dir is not None:
        ready(out_dir)
    parts = []
    for split, held, keep_times_of in each:
        tell(f"fitting without {split.name}")
        rows, missed = hold_out(study, runs, held, keep_times_of, chosen_settings)
        found, failed = summary(rows, gates)
        parts.append({**asdict(split), "held_runs": int(held.sum()), "kept_runs": runs.sizes[RUN] - int(held.sum()),
                      "arms": rows, "not_predicted": missed, "summary": found, "failed": failed})  # fmt: skip
    digests = {account.name: account.sha256 for account in inputs.files if account.present}
    document = {"schema": 1, "study": study.name, "study_sha256": study.sha256, "inputs": digests,
                "synthetic": study.synthetic, "gates": asdict(gates), "parts": parts}  # fmt: skip
    good = not any(part["failed"] for part in parts)
    page = validation_page(study, document)
    if out_dir is not None:
        write_whole(out_dir, {VALIDATION_JSON: as_json(document), VALIDATION_MD: page})
    return (as_json(document) if json_wanted else _lines(document)), good


def _flags(runs: xr.Dataset, split: HoldOut) -> tuple[Flags, Flags]:
    """Runs that are left out, and of which of them the times are kept."""
    held = np.logical_or.reduce([chosen(runs, one) for one in split.leave_out.split("\n")])
    if not held.any():
        raise InputError("--hold-out: found no words; some such as 'policy=fixed depth=3' would do")
    if held.all():
        raise InputError("--hold-out: found words that leave no run to fit; fewer runs would do")
    return held, chosen(runs, split.keep_times, "--keep-times")


def _lines(document: Mapping[str, Any]) -> str:
    out = [f"{document['study']}: held-out arms"]
    for part in document["parts"]:
        out.append(f"  {part['name']}: " + ("every gate passes" if not part["failed"] else "gates that fail:"))
        out += [f"    {line}" for line in part["failed"]]
        for name, row in part["summary"].items():
            out.append(
                f"    {WORDS[name]}: {row['arms']} arms, error {percent(row['error'])}, 50 % intervals hold "
                f"{percent(row['cover_50'])}, 90 % {percent(row['cover_90'])}"
            )
    return "\n".join(out) + "\n"


def _summary_rows(part: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, row in part["summary"].items():
        error = np.sqrt(0.9 * 0.1 / row["arms"])
        rows.append([
            WORDS[name], str(row["arms"]), percent(row["error"]), percent(row["bias"], True), percent(row["cover_50"]),
            f"{percent(row['cover_90'])} ± {percent(error)}", f"{row['log_score']:.2f}",
            f"{percent(row['truncated_error'])} ({row['truncated_log_score']:.2f})",
            f"{percent(row['nearest_error'])} ({row['nearest_log_score']:.2f})",
        ])  # fmt: skip
    return rows


def _interval(row: Mapping[str, Any] | None) -> list[str]:
    if row is None:
        return [NOTHING, NOTHING]
    mark = "" if row["inside_90"] else " **outside**"
    return [one_decimal(row["measured"]), f"{row['p50']:.1f} ({row['p05']:.1f} to {row['p95']:.1f}){mark}"]


def validation_page(study: Study, document: Mapping[str, Any]) -> str:
    """The whole of `VALIDATION.md`."""
    gates = document["gates"]
    text = [
        f"# Held-out arms: {escaped(study.name)}{' (SYNTHETIC)' if study.synthetic else ''}", "",
        "The model is fitted without some measured fixed-depth arms and predicts what they would show: counts of as many rounds, "
        "steps of as many requests, a new effect of each run and each server start. MEASURED values stand beside ESTIMATED 90 % "
        "intervals. *Truncated* is the screen of the runs that were kept, as a point; *nearest* is the measured arm of the same "
        "cell that is nearest in depth; both get a normal law with their own error over these arms, which is generous.", "",
        f"Gates: error (root mean square of median / measured - 1) at most {100 * gates['tokens_error']:g} % for tokens, "
        f"{100 * gates['step_error']:g} % for steps, {100 * gates['rate_error']:g} % for rates; 90 % intervals hold at least "
        f"{100 * gates['coverage']:g} % of the arms.", "",
    ]  # fmt: skip
    head = ["quantity", "arms", "error", "bias", "50 % hold", "90 % hold", "log score", "truncated: error (score)",
            "nearest: error (score)"]  # fmt: skip
    for part in document["parts"]:
        kept = f"; step times are kept of `{escaped(part['keep_times'])}`" if part["keep_times"] else ""
        text += [f"## {escaped(part['name'])}", "",
                 f"Left out: `{escaped(part['leave_out'].replace(chr(10), '; '))}` ({part['held_runs']} runs, {part['kept_runs']} "
                 f"others){kept}.", ""]  # fmt: skip
        text += [f"- GATE OPEN: {line}" for line in part["failed"]] or ["Every gate passes."]
        text += ["", table(head, _summary_rows(part)), ""]
        rows = [
            [escaped(row["cell"]), str(row["depth"]), str(row["batch"]), str(row["runs"]),
             *[cell for name in QUANTITIES for cell in _interval(row.get(name))]]
            for row in part["arms"]
        ]  # fmt: skip
        of_each = [word for name in QUANTITIES for word in (f"{WORDS[name]}: measured", "predicted (90 %)")]
        text += [table(["cell", "depth", "batch", "runs", *of_each], rows), ""]
        if part["not_predicted"]:
            text += [
                "No run of the cell was kept, so nothing is predicted: "
                + escaped(", ".join(part["not_predicted"]))
                + ".",
                "",
            ]
    return "\n".join(text).rstrip("\n") + "\n"
