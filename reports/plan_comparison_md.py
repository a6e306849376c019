"""One comparison of a plan on its page: what each design buys, question and inverse, looks, and what is worth logging."""

from collections.abc import Mapping
from typing import Any

from .markdown import escaped, table
from .numbers import one_decimal, percent, percent_span
from .plan_words import LAYOUTS, count, design_words, million, sentence, with_error

type Document = Mapping[str, Any]


def _grid(row: Document, layout: int) -> str:
    grid = row["grid"]
    head = ["runs of each arm", *[f"{count(rounds)} rounds" for rounds in grid["rounds"]]]
    best = [
        [
            str(int(runs)),
            *[
                f"{with_error(grid['assurance'][layout][n][q], grid['assurance_error'][layout][n][q])} / "
                f"{percent(grid['wrong'][layout][n][q])} / ±{percent(grid['half_width'][layout][n][q])}"
                for q in range(len(grid["rounds"]))
            ],
        ]
        for n, runs in enumerate(grid["runs"])
    ]
    return f"{LAYOUTS[str(grid['layouts'][layout])].capitalize()}: assurance / wrong / half-width.\n\n" + table(
        head, best
    )


def _precision(row: Document) -> str:
    rows = []
    for entry in row["precision"]:
        needed = entry["runs_needed"]
        rows.append(
            [
                LAYOUTS[entry["layout"]],
                f"±{percent(entry['half_width'])}",
                f"±{percent(entry['half_width_infinite_rounds'])}",
                f"±{percent(entry['half_width_infinite_runs'])}",
                "no number" if needed is None else str(needed),
                count(entry["rounds_worth"]),
            ]
        )
    first = row["precision"][0]
    head = [
        "layout",
        f"half-width of {first['runs']} runs x {count(first['rounds'])} rounds",
        "with endless rounds",
        "with endless runs",
        f"runs for ±{percent(first['wanted'])}",
        "rounds a run that still help (5 %)",
    ]
    return "Question and inverse, at median spreads:\n\n" + table(head, rows)


def _sequential(row: Document) -> str:
    if not row["sequential"]:
        return ""
    rows = []
    for looks in row["sequential"]:
        rows.append(
            [
                f"P(gain > 0) at {looks['probability']:g}",
                *[
                    with_error(looks[k]["value"], looks[k]["error"])
                    for k in ("assurance", "wrong", "undecided", "false_change")
                ],
                f"{looks['runs']['value']:.1f} ± {looks['runs']['error']:.1f}",
                f"{looks['minutes']['value']:.0f} ± {looks['minutes']['error']:.0f}",
            ]
        )
    looks = ", ".join(str(n) for n in row["sequential"][0]["looks"])
    head = [
        "stop as soon as",
        "right",
        "wrong",
        "never decided",
        "false change",
        "mean runs of each arm",
        "mean minutes",
    ]
    return f"Looking after {looks} runs of each arm:\n\n" + table(head, rows)


def _logging(row: Document) -> str:
    if not row["logging"]:
        return ""
    rows = [
        [
            entry["level"],
            f"±{percent(entry['half_width'])}",
            percent(entry["bound_width"]),
            with_error(entry["assurance"]["value"], entry["assurance"]["error"]),
            percent(entry["wrong"]["value"]),
        ]
        for entry in row["logging"]
    ]
    design = row["design"] or row["best_value"]
    rows.append(
        [
            f"this arm, {design['runs']} runs", f"±{percent(design['half_width'])}", percent(0.0),
            with_error(design["assurance"], design["assurance_error"]), percent(design["wrong"]),
        ]
    )  # fmt: skip
    levels = {entry["level"]: entry for entry in row["logging"]}
    reach = {name: entry["assurance"]["value"] for name, entry in levels.items() if name != "L0"}
    better = max(reach, key=lambda name: reach[name])
    verdict = (
        f"Logging {better} of the present policy is the cheaper way: without a restart it decides as often as the arm."
        if reach[better] >= design["assurance"]
        else f"The fixed arm is the cheaper way to the goal: no amount of {better} alone decides as often."
    )
    head = ["evidence", "half-width that remains", "worst-case width of tokens", "assurance at most", "wrong"]
    return (
        "What is worth logging on the present policy, were its exposure known without error:\n\n"
        + table(head, rows)
        + f"\n{verdict} Logs leave the row slope and the masked tail untaught, so that the rule's corners may still refuse.\n"
    )


def _page(prior: Document) -> str:
    """What the report of the stored result says of the same chance, and why it differs where it does."""
    theirs = prior["page_p_gain"]
    if theirs is None:
        return ""
    if percent(theirs) == percent(prior["p_gain"]):
        return " (as the stored result's report says)"
    return (
        f" (the stored result's report: {percent(theirs)}, with remote time as assumed there; here it is as measured)"
    )


def comparison_section(number: int, row: Document, goal: Document) -> str:
    """One comparison: what is known before, what designs buy, question and inverse, looks, and what is worth logging."""
    prior = row["design_prior"]
    values = row["design"] or row["best_value"]
    money = (
        f"Before any run: gain {percent(prior['gain']['p50'], True)} "
        f"({percent_span(prior['gain']['p05'], prior['gain']['p95'])}), P(gain > 0) {percent(prior['p_gain'])}{_page(prior)}, "
        "expected loss of "
        f"today's decision {row['loss_before']:.3f} tok/s [{row['label']}]. At {design_words(values)}: expected loss "
        f"{values['loss_after']:.3f} ± {values['loss_after_error']:.3f}, EVSI {values['evsi']:.3f} ± {values['evsi_error']:.3f}, "
        f"rule value {values['rule_value']:.3f} tok/s; net of {one_decimal(values['minutes'])} minutes "
        f"{million(values['net_tokens'])} (EVSI) and {million(values['net_rule_tokens'])} tokens (rule); false change "
        f"{with_error(values['false_change'], values['false_change_error'])}."
    )
    grids = "\n".join(_grid(row, place) for place in range(len(row["grid"]["layouts"])))
    parts = [
        f"### {number}. {escaped(row['arm'])} against {escaped(row['against'])}\n",
        escaped(sentence(row, goal)) + "\n",
        money + "\n",
        grids,
        _precision(row),
        _sequential(row),
        _logging(row),
    ]
    return "\n".join(part for part in parts if part) + "\n"
