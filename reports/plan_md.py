"""`PLAN.md`: what to run, how often, in which order, and what that buys; made from the same document as `plan.json`."""

from collections.abc import Mapping
from typing import Any

from .markdown import escaped, table
from .numbers import NOTHING, one_decimal, percent, span
from .plan_comparison_md import comparison_section
from .plan_curves import ASSURANCE_SVG, LOSS_SVG
from .plan_words import LAYOUTS, count, duration, sentence, total_words

type Document = Mapping[str, Any]


def _prior_words(analysis: Document) -> str:
    weak = f"log gain about zero with sd {analysis['gain_sd']:g}, ASSUMED"
    if analysis["prior"] == "weak":
        return (
            f"{weak}: it leans to no arm, so that a fit of all runs, which starts from the stored ones, decides sooner"
        )
    return (
        "what the stored runs say already, as a fit of all runs will have it, so that false changes may exceed what the rule "
        f"says of a gain that they lean to; across a remote scalar, {weak}"
    )


def _words(plan: Document) -> list[str]:
    """What the words of the page mean, an item each."""
    goal = plan["goal"]
    return [
        "- **Every number is simulated.** Worlds are drawn from the stored posterior (the *design prior*), runs are drawn from each "
        "world, and each experiment is analysed by a reduced two-arm model of run, round, timing and start spread (the "
        f"*analysis prior*: {_prior_words(plan['analysis'])}). ± is one Monte-Carlo standard error of "
        f"{plan['design']['simulations']} simulations; a goal is reached only by more than that.",
        "- **assurance**: the chance that the rule decides, and rightly: for the change, or to keep today's policy. **wrong**: that it "
        "decides wrongly, judged by the sign of the true gain. Elsewhere it is *undecided* and keeps today's policy without being sure.",
        "- **false change**: how often the rule asks for the change though the true gain is zero.",
        "- **half-width**: half of the 90 % interval of the gain that the experiment leaves (where the goal is a rate, of the arm's rate).",
        "- **rule value**: what the written rule loses less by the experiment, in tok/s; it keeps today whatever was not shown. **EVSI**: "
        "the better expected rate after the experiment less the better one today. **Net**: tokens earned at that rate over "
        f"{goal['horizon_hours']:g} hours (ASSUMED), less those not served while both arms are measured.",
        "- **run, block, start**: a run is one repetition of one arm; a block holds one run of each arm, in drawn order; a start is one "
        "start of the server process. Minutes of runs and restarts are ASSUMED.",
        "- **labels**: ASSUMED: only the plan file speaks of the arm's effect. EXTRAPOLATED: no run of the cell could verify that depth. "
        "ESTIMATED: computed from the stored result.",
    ]


def _head(document: Document) -> str:
    study, plan = document["study"], document["plan"]
    mark = " (SYNTHETIC)" if study["synthetic"] else ""
    goal = plan["goal"]
    lines = [f"# Plan: {escaped(study['name'])}{mark}", ""]
    if study["synthetic"]:
        lines += ["**SYNTHETIC: the design prior comes from records that were made up.**", ""]
    target = "" if goal["kind"] == "value" else f" of {percent(goal['target'])}"
    lines += [
        f"Goal: {goal['kind']}{target} ({goal['of']}). Fingerprint `{document['fingerprint']}`.",
        "",
        "## What to do",
        "",
        f"**{total_words(document['total'])}**",
        "",
    ]
    lines += [f"- {escaped(sentence(row, goal))}" for row in document["comparisons"]]
    lines += [
        "",
        f"![Assurance against runs of each arm, a panel a comparison; the numbers stand under Comparisons]({ASSURANCE_SVG})",
        "",
        "*Assurance against runs of each arm; the band is 90 % of Monte-Carlo error.*",
        "",
        f"![Expected loss after the experiment against GPU-minutes, a panel a comparison]({LOSS_SVG})",
        "",
        "*Expected loss after the experiment against what it costs; the bars are 90 % of Monte-Carlo error.*",
        "",
        "## How to read this",
        "",
        *_words(plan),
        "",
    ]
    return "\n".join(lines) + "\n"


def _sd(interval: Document) -> str:
    return f"{percent(interval['p50'])} ({percent(interval['p05'])} to {percent(interval['p95'])})"


def _arms(document: Document) -> str:
    rows = []
    for arm in document["arms"]:
        policy = f"{arm['kind']} {arm['depth']}"
        scalar = NOTHING if arm["scalar_ms"] is None else f"{arm['scalar_ms']:g} ms"
        sd = arm["run_sd"]
        rows.append(
            [
                escaped(arm["name"]), escaped(arm["cell"]), policy, scalar,
                f"{one_decimal(arm['rate']['p50'])} ({span(arm['rate']['p05'], arm['rate']['p95'])})",
                _sd(sd["within_start"]), _sd(sd["between_starts"]), arm["label"],
                escaped(arm["recorded_as"]),
            ]
        )  # fmt: skip
    head = [
        "arm",
        "cell",
        "policy",
        "remote scalar",
        "rate before, tok/s (90 %)",
        "runs of endless rounds differ by (sd)",
        "starts differ by (sd)",
        "label",
        "record as",
    ]
    reason = document["plan"]["design"]["effects_reason"]
    note = f"\nRemote scalars: ASSUMED, {escaped(reason)}.\n" if reason else ""
    return "## Arms\n\n" + table(head, rows) + note + "\n"


def agreement_section(document: Document) -> str:
    """Fast analysis and full refits side by side, and whether they agree."""
    found = document["agreement"]
    if found is None:
        return (
            "## Fast analysis and full refits\n\nNot compared: the numbers above stand on the fast analysis alone (`--refit` "
            "fits the full model to simulated experiments beside it).\n\n"
        )
    rows = [
        [
            f"{escaped(row['arm'])} against {escaped(row['against'])}", f"{row['runs']} x {count(row['rounds'])}",
            str(row["experiments"]), percent(row["fast"]["assurance"]), percent(row["full"]["assurance"]),
            f"{100 * row['difference']:+.1f} ± {100 * row['difference_error']:.1f}", percent(row["fast"]["wrong"]),
            percent(row["full"]["wrong"]), f"±{percent(row['fast']['half_width'])}", f"±{percent(row['full']['half_width'])}",
            percent(row["fast"]["covered"]), percent(row["full"]["covered"]), f"{row['p_gain_apart']:.3f}", str(row["divergent"]),
        ]
        for row in found["designs"]
    ]  # fmt: skip
    head = [
        "comparison", "runs x rounds", "experiments", "assurance: fast", "full", "full - fast, points", "wrong: fast", "full",
        "half-width: fast", "full", "truth inside: fast", "full", "P(gain > 0) apart by", "with divergences",
    ]  # fmt: skip
    verdict = "agree within" if found["within_error"] else "do **not** agree within"
    return (
        "## Fast analysis and full refits\n\nThe same simulated experiments, analysed twice: fast, with the prior that the stored "
        "runs give, and by the full model fitted to the stored runs and the simulated ones together. Short fits, not gated: "
        "those with divergences are counted. The truth of a world should lie in the 90 % interval in 90 % of experiments. The fast one is a mixture of normals over the gap between fixed and dynamic hazards; what it "
        "leaves of the half-widths' difference is the breadth of its parts.\n\n"
        + table(head, rows)
        + f"\nOver all {found['experiments']}: full less fast assurance is {100 * found['difference']:+.1f} ± "
        f"{100 * found['difference_error']:.1f} points: they {verdict} 1.96 Monte-Carlo errors. The truth lies in the 90 % interval in "
        f"{percent(found['fast']['covered'])} (fast) and {percent(found['full']['covered'])} (full) of them, each ± "
        f"{percent(found['covered_error'])}.\n\n"
    )


def _schedule(document: Document) -> str:
    if not document["sessions"]:
        return "## Schedule\n\nNothing is to be run.\n\n"
    out = (
        "## Schedule\n\nThese are the designs under What to do: comparisons that share an arm share a session, whose layout and "
        "round count are the cheapest for all of them together, and measure that arm once; an arm leaves the blocks when it has "
        "its runs. The order inside each block is drawn; every turn with its run and start name stands in `plan.json`.\n\n"
    )
    for session in document["sessions"]:
        number = {name: place for place, name in enumerate(session["arms"], 1)}
        arms = "; ".join(f"{place} = {escaped(name)}, {session['runs'][name]} runs" for name, place in number.items())
        blocks: dict[int, list[int]] = {}
        for turn in session["turns"]:
            order = blocks.setdefault(turn["block"], [])
            if not order or order[-1] != number[turn["arm"]]:
                order.append(number[turn["arm"]])
        rows = [[str(block), " ".join(str(place) for place in order)] for block, order in blocks.items()]
        out += (
            f"### Session {session['session']}: stage {session['stage']}, {escaped(session['cell'])}\n\n"
            f"{count(session['rounds'])} rounds a run, {session['restarts']} starts, {duration(session['minutes'])} "
            f"({LAYOUTS[session['layout']]}). Arms: {arms}. Order drawn with seed {session['order_seed']}.\n\n"
            + table(["block", "order of arms"], rows)
            + "\n"
        )
    rows = [
        [
            escaped(row["arm"]), f"{row['runs']} x {count(row['rounds'])}",
            span(row["tokens"]["p05"], row["tokens"]["p95"]), span(row["step_ms"]["p05"], row["step_ms"]["p95"]),
            span(row["rate"]["p05"], row["rate"]["p95"]), row["label"],
        ]
        for row in document["predicted"]
    ]  # fmt: skip
    head = ["arm", "runs x rounds", "tokens a round, whole batch", "step, ms", "rate, tok/s", "label"]
    return (
        out
        + "What will be measured, 90 % intervals (`validate --plan` holds the runs against them):\n\n"
        + table(head, rows)
    )


def plan_page(document: Document) -> str:
    """The whole of `PLAN.md`."""
    goal = document["plan"]["goal"]
    comparisons = "\n".join(comparison_section(n, row, goal) for n, row in enumerate(document["comparisons"], 1))
    page = _head(document) + _arms(document) + "## Comparisons\n\n" + comparisons + "\n"
    page += agreement_section(document) + _schedule(document)
    return page.rstrip("\n") + "\n"


def summary_lines(document: Document) -> str:
    """The answers, a line each, for a terminal."""
    verdicts = [sentence(row, document["plan"]["goal"]) for row in document["comparisons"]]
    return "".join(f"  {line}\n" for line in (total_words(document["total"]), *verdicts))
