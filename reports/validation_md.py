"""`VALIDATION.md`: held-out arms and cells, each number beside what was measured and what the fit was shown of its cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.calibration_table import share_error
from ..analysis.holdout_scores import NAIVE, QUANTITIES
from ..data.study import Study
from .markdown import escaped, table
from .numbers import NOTHING, one_decimal, percent

ARMS, CELLS = "arms", "cells"
"""Held-out arms of cells of which other counts were kept; and of cells of which no count was."""
WORDS = {"tokens": "tokens a round", "step_ms": "step, ms", "rate": "rate, tok/s"}
OPENING = (
    "The model is fitted without some measured fixed-depth arms and predicts what they would show: counts of as many rounds, "
    "steps of as many requests, a new effect of each run and each server start. MEASURED values stand beside ESTIMATED 90 % "
    "intervals. *Truncated* is the screen of the runs that were kept, as a point; *nearest* is the measured arm of the same "
    "cell that is nearest in depth; both get a normal law with their own error over these arms, which is generous. Where the step "
    "times of an arm itself were kept, its step and rate are no prediction: they are marked so and count in no figure."
)
UNSEEN = (
    "No count of these cells was kept. EXTRAPOLATED: hazards are drawn from the hierarchy, with the means of positions from the other "
    "cells of the worker under the same kind of policy, and the cell's effect, its shape over positions and its runs' effects from "
    "their posterior spreads. Nothing ties a cell to another concurrency of its own suite. A step needs an anchor, since each cell has a "
    "base of its own: without a kept time that base is drawn from its prior, and the interval says that the step is not known. Such steps "
    "and rates are shown and scored as they are, and are no forecast to use. *Pooled* takes the kept arms of the same worker "
    "and depth: the mean of one request's tokens, a line of log step over log batch. *Nearest* takes the same suite and depth at "
    "the nearest batch, its step as it is. Where a step of the cell was kept, both take that one as it is, from the nearest depth. "
    "Arms of one cell share its effect: ± counts them as if they did not."
)


def _forecasts(row: Mapping[str, Any], shown: Sequence[str]) -> list[str]:
    out = []
    for name in shown:
        if f"{name}_error" not in row:
            out.append(NOTHING)
            continue
        fewer = row[f"{name}_arms"] < row["arms"]
        beside = f"; {row[f'{name}_arms']} arms, ours {row[f'{name}_model_log_score']:.2f}" if fewer else ""
        out.append(f"{percent(row[f'{name}_error'])} ({row[f'{name}_log_score']:.2f}{beside})")
    return out


def _summary_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    shown = [name for name in NAIVE if any(f"{name}_error" in row for row in found.values())]
    head = ["quantity", "arms", "error", "bias", "50 % hold", "90 % hold", "log score"]
    rows = []
    for name, row in found.items():
        error = share_error(0.9, row["arms"])
        rows.append([
            WORDS[name], str(row["arms"]), percent(row["error"]), percent(row["bias"], True), percent(row["cover_50"]),
            f"{percent(row['cover_90'])} ± {percent(error)}", f"{row['log_score']:.2f}", *_forecasts(row, shown),
        ])  # fmt: skip
    return table([*head, *(f"{name}: error (score)" for name in shown)], rows)


def _folds_table(folds: Sequence[Mapping[str, Any]]) -> str:
    """Error, bias and coverage of each fit's arms alone."""
    of_each = [word for name in QUANTITIES for word in (f"{WORDS[name]}: arms", "error", "bias", "90 % hold")]
    rows = []
    for fold in folds:
        words = [escaped(fold["leave_out"])]
        for name in QUANTITIES:
            row = fold["summary"].get(name)
            words += [NOTHING] * 4 if row is None else [
                str(row["arms"]), percent(row["error"]), percent(row["bias"], True), percent(row["cover_90"]),
            ]  # fmt: skip
        rows.append(words)
    return table(["left out", *of_each], rows)


def _interval(row: Mapping[str, Any] | None, shown: bool) -> list[str]:
    if row is None:
        return [NOTHING, NOTHING]
    mark = " (its time was kept)" if shown else "" if row["inside_90"] else " **outside**"
    return [one_decimal(row["measured"]), f"{row['p50']:.1f} ({row['p05']:.1f} to {row['p95']:.1f}){mark}"]


def _kept(row: Mapping[str, Any]) -> str:
    """What the fit was shown of an unseen cell."""
    depths = ", ".join(str(depth) for depth in row["own_times"])
    return f"step times at depth {depths}" if depths else "nothing"


def _arms_table(rows: Sequence[Mapping[str, Any]], kind: str) -> str:
    of_each = [word for name in QUANTITIES for word in (f"{WORDS[name]}: measured", "predicted (90 %)")]
    told = ["kept of the cell"] if kind == CELLS else []
    return table(["cell", "depth", "batch", "runs", *told, *of_each], [
        [escaped(row["cell"]), str(row["depth"]), str(row["batch"]), str(row["runs"]), *([_kept(row)] if told else []),
         *[word for name in QUANTITIES for word in _interval(row.get(name), name != "tokens" and row["step_kept"])]]
        for row in rows
    ])  # fmt: skip


def _left_out(part: Mapping[str, Any]) -> str:
    told = "; ".join(
        f"`{escaped(fold['leave_out'].replace(chr(10), '; '))}` ({fold['held_runs']} runs, {fold['kept_runs']} others)"
        for fold in part["folds"]
    )
    turn = ", in turn, a fit each" if len(part["folds"]) > 1 else ""
    kept = f"; of these, step times are kept of `{escaped(part['keep_times'])}`" if part["keep_times"] else ""
    return f"Left out{turn}: {told}{kept}."


def validation_page(study: Study, document: Mapping[str, Any]) -> str:
    """The whole of `VALIDATION.md`."""
    gates = document["gates"]
    text = [
        f"# Held-out arms: {escaped(study.name)}{' (SYNTHETIC)' if study.synthetic else ''}", "", OPENING, "",
        f"Gates: error (root mean square of median / measured - 1) at most {100 * gates['tokens_error']:g} % for tokens, "
        f"{100 * gates['step_error']:g} % for steps, {100 * gates['rate_error']:g} % for rates; 90 % intervals hold at least "
        f"{100 * gates['coverage']:g} % of the arms.", "",
    ]  # fmt: skip
    for part in document["parts"]:
        text += [f"## {escaped(part['name'])}", "", _left_out(part), ""]
        text += [f"- GATE OPEN: {line}" for line in part["failed"]] or ["Every gate passes."]
        text.append("")
        for kind, found in part["summary"].items():
            rows = [row for row in part["arms"] if row["own_counts"] is (kind == ARMS)]
            text += [UNSEEN, ""] if kind == CELLS else []
            folds = [fold for fold in part["by_fold"] if fold["kind"] == kind]
            text += [
                _summary_table(found),
                "",
                *([_folds_table(folds), ""] if folds else []),
                _arms_table(rows, kind),
                "",
            ]
        if part["not_predicted"]:
            text += [
                "Not predicted, as no count of their worker was kept, or of their cell only those of a dynamic policy, or their suite "
                f"is a reference: {escaped(', '.join(part['not_predicted']))}.",
                "",
            ]
    return "\n".join(text).rstrip("\n") + "\n"
