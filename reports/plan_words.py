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


def count(value: float) -> str:
    """A count with thousands apart; endless where no number is enough."""
    return f"{value:,.0f}" if isfinite(value) else "endless"


def with_error(share: float, error: float) -> str:
    """A share and one Monte-Carlo standard error, both as percent."""
    return f"{percent(share)} ± {100 * error:.1f}" if isfinite(share) else NOTHING


def million(tokens: float) -> str:
    """Tokens in millions, with their sign."""
    return f"{tokens / 1e6:+.2f} M"


def design_words(design: Document) -> str:
    """A design in plain words."""
    return f"{design['runs']} runs of {count(design['rounds'])} rounds ({LAYOUTS[design['layout']]})"


def sentence(row: Document, goal: Document) -> str:
    """What the plan says of one comparison, in one line for people."""
    who = f"{row['arm']} against {row['against']} [{row['label']}]"
    design, best = row["design"], row["best_value"]
    value = (
        f"its value net of cost is {million(best['net_rule_tokens'])} tokens under the written rule and "
        f"{million(best['net_tokens'])} by EVSI"
    )
    if row["settled_today"]:
        return f"{who}: no new run is needed: the stored result asks for this arm already."
    if design is None:
        return f"{who}: no new run is worth it. No allowed design reaches the goal, and at the best one {value}."
    said = f"{design_words(design)} each, {one_decimal(design['minutes'])} minutes"
    if row["why"] == "goal reached":
        text = f"{who}: {said} reach the goal: {_goal_words(design, row, goal)}."
        return text if row["worth"] else f"{text} By value no new run is worth it: at the best design {value}."
    return (
        f"{who}: no allowed design reaches the goal; worth most is {said}: {_goal_words(design, row, goal)}; {value}."
    )


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
    return f"{million(design['net_rule_tokens'])} tokens net of cost"
