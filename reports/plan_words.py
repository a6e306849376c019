"""Words and figures that only plans need: layouts, counts, shares with their Monte-Carlo error, and what a plan answers."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from .numbers import NOTHING, one_decimal, percent

type Document = Mapping[str, Any]

LAYOUTS = {
    "interleaved": "blocks of all arms, a new server start for each",
    "one_start": "each arm in one start of its own",
    "shared_start": "blocks of all arms inside one start",
}


SHORT_LAYOUTS = {
    "interleaved": "blocks, new starts",
    "one_start": "one start an arm",
    "shared_start": "blocks, one start",
}
"""The same where there is little room."""


def count(value: float) -> str:
    """A count with thousands apart; endless where no number is enough."""
    return f"{value:,.0f}" if isfinite(value) else "endless"


def with_error(share: float, error: float) -> str:
    """A share and one Monte-Carlo standard error, both as percent."""
    return f"{percent(share)} ± {100 * error:.1f}" if isfinite(share) else NOTHING


def million(tokens: float) -> str:
    """Tokens in millions, with their sign."""
    return f"{tokens / 1e6:+.2f} M"


def duration(minutes: float) -> str:
    """Minutes, and hours beside them where there are many."""
    return f"{one_decimal(minutes)} minutes" + (f" ({minutes / 60.0:.1f} h)" if minutes >= 120.0 else "")


def design_words(design: Document) -> str:
    """A design in plain words."""
    return f"{design['runs']} runs of each arm x {count(design['rounds'])} rounds ({LAYOUTS[design['layout']]})"


def total_words(total: Document) -> str:
    """What all that is advised takes."""
    if not total["sessions"]:
        return "Nothing is to be run: 0 minutes, 0 restarts."
    several = "session" if total["sessions"] == 1 else "sessions"
    return (
        f"All that is advised takes {duration(total['minutes'])} of the machine ({count(total['gpu_minutes'])} GPU-minutes): "
        f"{total['runs']} runs and {total['restarts']} server starts in {total['sessions']} {several}, in the order under Schedule."
    )


def sentence(row: Document, goal: Document) -> str:
    """The verdict on one comparison, in one line for people."""
    who = f"{row['arm']} against {row['against']} [{row['label']}]"
    if row["settled_today"]:
        return f"{who}: no new run is needed: the stored result asks for this arm already."
    design, best, nearest = row["design"], row["best_value"], row["nearest"]
    reach = "at most" if row["goal_measure"] in ("assurance", "net_rule_tokens") else "at best"
    short = (
        f"The goal is out of reach: {reach} {_goal_words(nearest, row, goal)}, with {nearest['runs']} runs of each arm x "
        f"{count(nearest['rounds'])} rounds."
    )
    if design is None:
        return f"{who}: no new run is worth it: the best design is worth {_value(best)}. {short}"
    said = f"{who}: run {design_words(design)}; {duration(design['minutes'])} for the pair."
    if row["why"] == "goal reached":
        text = f"{said} Goal reached: {_goal_words(design, row, goal)}."
        return (
            text
            if row["worth"]
            else f"{text} By value no new run is worth it: the best design is worth {_value(best)}."
        )
    still = "Worth its cost" + (", but not by EVSI" if design["net_tokens"] < 0 else "")
    return f"{said} {still}: {_value(design)}. It gives {_goal_words(design, row, goal)}. {short}"


def _value(design: Document) -> str:
    rule, evsi = million(design["net_rule_tokens"]), million(design["net_tokens"])
    return f"{rule} tokens net by the written rule, {evsi} by EVSI"


def _goal_words(design: Document, row: Document, goal: Document) -> str:
    name = row["goal_measure"]
    if name == "assurance":
        return (
            f"assurance {with_error(design['assurance'], design['assurance_error'])}, wrong {percent(design['wrong'])}"
        )
    if name == "half_width":
        return f"half-width {with_error(design['half_width'], design['half_width_error'])} of the {goal['of']}"
    if name == "loss_after":
        return f"expected loss {design['loss_after']:.3f} ± {design['loss_after_error']:.3f} tok/s"
    return f"{million(design['net_rule_tokens'])} tokens net by the written rule"
