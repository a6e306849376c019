"""`REPORT.md`: the page's content as Markdown, with the figures as files beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

from .markdown import escaped, table
from .numbers import NOTHING
from .page_figures import Picture
from .page_md_trust import source_md, trust_md
from .page_stored import Number
from .page_words import words_md

type View = Mapping[str, Any]


def _both(found: Mapping[str, Number]) -> str:
    return f"{found['p50']} [{found['p25']} to {found['p75']}] ({found['p05']} to {found['p95']})"


def _wide(found: Mapping[str, Number]) -> str:
    return f"{found['p50']} ({found['p05']} to {found['p95']})"


def _span(ends: Sequence[Number]) -> str:
    return f"{ends[0]} to {ends[1]}"


def _depth_name(row: View) -> str:
    return f"{row['depth']}{row['mark']}"


def _first(best: View | None) -> str:
    return f"{best['words']}: {best['worth']}" if best else "nothing by itself"


def _said(parts: Sequence[str | Number]) -> str:
    """A sentence with its numbers."""
    return "".join(map(str, parts))


def _tips(rows: Sequence[View]) -> str:
    """The best depth in each range of what may tip the choice."""
    told = [
        [
            row["words"],
            str(row["depth"]),
            str(row["low"]),
            f"{row['high']} (delta {row['logarithm']} ± {row['error']})" if row["logarithm"]
            else f"{row['high']} ± {row['error']}" if row["error"] else f"{row['high']} (the most looked at)",
            str(row["below"] or NOTHING),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["were this known", "best fixed depth", "from", "to", "posterior chance of less than the upper end"]
    return "Which fixed depth has the highest expected rate, were one thing known:\n\n" + table(head, told)


def _measured(arm: View | None) -> str:
    return f"{arm['rate']} ({arm['runs']})" if arm else NOTHING


def _arms(arms: Sequence[View]) -> str:
    """What was measured of a cell, arm by arm; empty where the screened arm is all."""
    if len(arms) < 2:
        return ""
    rows = [
        [f"{arm['policy']}{' (screened)' if arm['screened'] else ''}", *(str(arm[key]) for key in ("runs", "tokens", "step", "rate"))]
        for arm in arms
    ]  # fmt: skip
    head = [
        "policy",
        "runs",
        "tokens a round, whole batch (MEASURED)",
        "step, ms (MEASURED)",
        "rate, tok/s (ESTIMATED from both)",
    ]
    return "Measured arms of this cell:\n\n" + table(head, rows) + "\n"


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
    rows += [["the rest: sources acting together", str(reasons["interaction"]), "–", "–"],
             ["everything", "–", f"{reasons['all']} ± {reasons['all_error']}", "–"]]  # fmt: skip
    return (
        f"#### Why we are not sure of depth {reasons['depth']}\n\n"
        + table(["source", "share of the rate's variance", "knowing it exactly is worth, tok/s", "what would teach it"],
                rows)
        + "\nThe shares and the rest add up to 100 %, but for rounding; a share a little below 0 is the noise of its estimate. "
        f"Worths do not add up: two answers may settle the same choice. Of acceptance's share, {reasons['of_runs']} is spread between runs; {reasons['of_rounds']} is rounds and, "
        "beyond the cap, what other cells suggest.\n\n" + _tips(reasons["tips"]) + "\n"
    )  # fmt: skip


def _pick(cell: View) -> str:
    """The depth of the highest rate at the screen's central assumptions."""
    return str(cell["favoured"]) if cell["favoured"].value > 0 else NOTHING


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
    first = view["first"]
    lines += [
        f"**{escaped(first['answer'])}**",
        "",
        *([f"**{escaped(first['warned'])}**", ""] if first["warned"] else []),
    ]
    lines += [f"- **{name}.** {' '.join(map(_said, sentences))}" for name, sentences in first["rows"]]
    lines += ["", "## What to do", ""]
    known = bool(view["sources"])
    head = ["cell", "batch", "context", "advice", "runs now", "depth in question", "label", "P(gain > 0)",
            "its gain over current (90 %)", "P(best)", "its expected loss, tok/s", "loss of keeping, tok/s", "current, tok/s",
            *(["measured at that depth, tok/s"] if view["measured"] else []), "screen's pick",
            *(["worth knowing first, tok/s"] if known else [])]  # fmt: skip
    rows = []
    for cell in view["cells"]:
        best = cell["shown"]
        rows.append(
            [escaped(cell["name"]), str(cell["batch"]), cell["context"],
             f"{cell['advice']}{' (WARNING: measured otherwise)' if cell['warned'] else ''}", cell["policy"],
             str(best["depth"]), best["label"],
             *([NOTHING, "runs now"] if best["runs_now"]
               else [str(best["chances"][0]), _wide(best["fixed"]["gain_current"])]),
             str(best["p_best"]), str(best["loss"]), str(cell["current"]["loss"]), str(cell["current"]["rate"]["p50"]),
             *([str(best["measured"]["rate"]) if best["measured"] else NOTHING] if view["measured"] else []), _pick(cell),
             *([_first(cell["reasons"]["first"])] if known else [])]
        )  # fmt: skip
    return (
        "\n".join(lines)
        + "\n\n"
        + table(head, rows)
        + "\n"
        + words_md(view["words"]["overview"])
        + "\n## How to read this\n\nRates are tok/s over the whole batch, ESTIMATED, as median [50 % interval] (90 % interval).\n\n"
        + words_md(view["words"]["reading"])
        + words_md(view["words"]["glossary"])
        + "\n"
    )


def _cell(cell: View, drawn: Sequence[Picture]) -> str:
    current = cell["current"]
    rates = table(
        ["depth", *(["measured fixed arm (runs)"] if cell["measured"] else []), "screen", "envelope", "worst-case bounds", "proxy", "fixed depth", "inside envelope", "contraction",
         "label"],
        [
            [_depth_name(row), *([_measured(row["measured"])] if cell["measured"] else []), str(row["screen"]), _span(row["envelope"]), _span(row["bounds"]),
             _both(row["proxy"]["rate"]), _both(row["fixed"]["rate"]), str(row["fixed"]["inside"]),
             str(row["fixed"]["contraction"]), row["label"]]
            for row in cell["depths"]
        ],
    )  # fmt: skip
    against_cap = [] if cell["runs_now"] else ["gain over cap"]  # a fixed policy is its own cap
    gains = table(
        ["depth", "gain over current", *against_cap, "P(best)", "P(gain > 0)", "> 3 %", "> 5 %", "within 1 % of best",
         "expected loss, tok/s", "passes the rule"],
        [
            [_depth_name(row), _wide(row["fixed"]["gain_current"]),
             *(_wide(row["fixed"]["gain_cap"]) for _ in against_cap), str(row["p_best"]),
             *map(str, row["chances"]), str(row["p_within"]), str(row["loss"]), "yes" if row["passes"] else "no"]
            for row in cell["candidates"]
        ] + ([] if cell["runs_now"] else [["current", NOTHING, NOTHING, str(current["p_best"]), *[NOTHING] * 4,
                                           str(current["loss"]), NOTHING]]),
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
    figures = "".join(
        f"{_said(picture.message)}\n\n![{escaped(picture.alt)}]({picture.file})\n\n*{picture.caption}*\n\n"
        for picture in drawn
    )
    best = "" if cell["runs_now"] else f"P(best) {current['p_best']}, "
    return (
        f"### {escaped(cell['name'])}\n\n{escaped(cell['sentence'])}\n\nCurrent policy ({cell['policy']}, evidence "
        f"{cell['level']}): {_both(current['rate'])} tok/s; {best}expected loss "
        f"{current['loss']} tok/s. The screen's pick: {_pick(cell)}. Recorded (MEASURED): runs {cell['runs']}, rounds "
        f"{cell['rounds']}, step {cell['step']} ms ({cell['step_kind']}).\n\n{_arms(cell['arms'])}{figures}{rates}\n{gains}\n"
        f"But for rounding, P(best) adds up to 100 %{', what runs now counted as its depth' if cell['runs_now'] else ''}.\n\n"
        f"{_reasons(cell['reasons'])}{places}\n"
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
