"""`REPORT.md`: the page's content as Markdown, with the figures as files beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

from .markdown import escaped, table
from .page_figures import Picture
from .page_md_trust import source_md, trust_md
from .page_stored import Number

type View = Mapping[str, Any]


def _both(found: Mapping[str, Number]) -> str:
    return f"{found['p50']} [{found['p25']} to {found['p75']}] ({found['p05']} to {found['p95']})"


def _wide(found: Mapping[str, Number]) -> str:
    return f"{found['p50']} ({found['p05']} to {found['p95']})"


def _span(ends: Sequence[Number]) -> str:
    return f"{ends[0]} to {ends[1]}"


def _depth_name(row: View) -> str:
    return f"{row['depth']}{' (cap)' if row['is_cap'] else ''}"


def _first(best: View | None) -> str:
    return f"{best['words']}: {best['worth']} tok/s" if best else "nothing by itself"


def _reasons(reasons: View) -> str:
    """Shares, values and tipping points of a cell."""
    if not reasons:
        return ""
    rows = [
        [
            row["words"],
            f"{row['share']} ± {row['share_error']}",
            f"{row['worth']} ± {row['worth_error']}",
            row["teacher"],
        ]
        for row in reasons["sources"]
    ]
    rows += [["together, and what sources share", str(reasons["interaction"]), "–", "–"],
             ["everything", "–", f"{reasons['all']} ± {reasons['all_error']}", "–"]]  # fmt: skip
    tips = []
    for row in reasons["tips"]:
        steps = "".join(
            f"; from {tip['value']} ± {tip['error']} on, depth {tip['to']} (posterior chance of less: {tip['below']})"
            for tip in row["tips"]
        )
        tips.append(
            f"- {row['words']}: depth {row['first']} has the highest expected rate at {row['low']}{steps}; looked through "
            f"up to {row['high']}.\n"
        )
    return (
        f"#### Why we are not sure of depth {reasons['depth']}\n\n"
        + table(["source", "share of the rate's variance", "knowing it exactly is worth, tok/s", "what would teach it"],
                rows)
        + f"\nOf acceptance's share, {reasons['of_runs']} is spread between runs; {reasons['of_rounds']} is rounds and, "
        "beyond the cap, what other cells suggest.\n\n" + "".join(tips) + "\n"
    )  # fmt: skip


def _top(view: View) -> str:
    study = view["study"]
    mark = " (SYNTHETIC)" if study["synthetic"] else ""
    lines = [f"# How deep to speculate: {escaped(study['name'])}{mark}", ""]
    if study["title"]:
        lines += [escaped(study["title"]), ""]
    if study["synthetic"]:
        lines += [
            "**SYNTHETIC: these run records were made up; no figure here speaks of a real server.**",
            "",
        ]
    lines += [f"**{view['overall']}**", "", *([view["next"], ""] if view["next"] else []), "## What to do", ""]
    lines += [f"- {escaped(cell['sentence'])}" for cell in view["cells"]]
    known = bool(view["sources"])
    head = ["cell", "batch", "context", "runs now", "advice", "current, tok/s", "depth in question", "P(best)",
            "its gain over current (90 %)", "P(gain > 0)", "expected loss, tok/s",
            *(["worth knowing first"] if known else []), "label"]  # fmt: skip
    rows = []
    for cell in view["cells"]:
        best = cell["shown"]
        rows.append(
            [escaped(cell["name"]), str(cell["batch"]), cell["context"], cell["policy"], cell["advice"],
             str(cell["current"]["rate"]["p50"]), _depth_name(best), str(best["p_best"]),
             _wide(best["fixed"]["gain_current"]), str(best["chances"][0]), str(best["loss"]),
             *([_first(cell["reasons"]["first"])] if known else []), best["label"]]
        )  # fmt: skip
    return (
        "\n".join(lines)
        + "\n\n"
        + table(head, rows)
        + "\nRates are aggregate tok/s, ESTIMATED. The *envelope* is a range of hand-made assumptions: it carries no "
        "probability. *Bounds* are worst cases on the recorded rounds. Posterior: median [50 % interval] (90 % "
        "interval). `fixed depth` verifies every position; `proxy` is the screen's own truncated quantity.\n\n"
    )


def _cell(cell: View, drawn: Sequence[Picture]) -> str:
    rates = table(
        ["depth", "screen", "envelope", "worst-case bounds", "proxy", "fixed depth", "inside envelope", "contraction",
         "label"],
        [
            [_depth_name(row), str(row["screen"]), _span(row["envelope"]), _span(row["bounds"]),
             _both(row["proxy"]["rate"]), _both(row["fixed"]["rate"]), str(row["fixed"]["inside"]),
             str(row["fixed"]["contraction"]), row["label"]]
            for row in cell["depths"]
        ],
    )  # fmt: skip
    gains = table(
        ["depth", "gain over current", "gain over cap", "P(best)", "P(gain > 0)", "> 3 %", "> 5 %", "within 1 % of best",
         "expected loss", "passes the rule"],
        [
            [_depth_name(row), _wide(row["fixed"]["gain_current"]), _wide(row["fixed"]["gain_cap"]), str(row["p_best"]),
             *map(str, row["chances"]), str(row["p_within"]), str(row["loss"]), "yes" if row["passes"] else "no"]
            for row in cell["candidates"]
        ],
    )  # fmt: skip
    moved = "fixed" in cell["positions"][0]
    places = table(
        ["position", "evidence", "accepted / rounds (MEASURED)", "bounds",
         *(["fixed-depth survival", "before the counts", "contraction", "exposure", "exposure before"] if moved else []),
         "fixed-depth survival is"],
        [
            [str(row["position"]), row["level"], str(row["survival"]) if row["exposed"] else "never exposed",
             _span(row["bounds"]),
             *([_wide(row["fixed"]), _wide(row["prior_fixed"]), str(row["contraction"]), _wide(row["exposure"]),
                _wide(row["prior_exposure"])] if moved else []),
             row["label"]]
            for row in cell["positions"]
        ],
    )  # fmt: skip
    figures = "".join(f"![{escaped(picture.alt)}]({picture.file})\n\n*{picture.caption}*\n\n" for picture in drawn)
    current = cell["current"]
    return (
        f"### {escaped(cell['name'])}\n\n{escaped(cell['sentence'])}\n\nCurrent policy ({cell['policy']}, evidence "
        f"{cell['level']}): {_both(current['rate'])} tok/s; P(best) {current['p_best']}, expected loss "
        f"{current['loss']} tok/s.\n\n{figures}{rates}\n{gains}\n{_reasons(cell['reasons'])}{places}\n"
    )


def report_md(view: View, drawn: Mapping[str, Sequence[Picture]]) -> str:
    """The whole of `REPORT.md`.

    Parameters
    ----------
    view
        Of `page_view`.
    drawn
        Figures by the id of their cell.
    """
    cells = "".join(_cell(cell, drawn[cell["id"]]) for cell in view["cells"])
    return _top(view) + "## Cells\n\n" + cells + trust_md(view) + source_md(view)
