"""What each figure of a cell says, in one sentence above it."""

from collections.abc import Mapping
from typing import Any

from .page_stored import Number, Said

type View = Mapping[str, Any]

RATE = " tok/s"


def _who(cell: View) -> str:
    """The depth in question, and what it is."""
    row = cell["shown"]
    if row["runs_now"]:
        return f"Depth {row['depth']}, which runs now"
    return f"Depth {row['depth']}, {'advised' if cell['recommended'] else 'the likeliest best'}"


def _ninety(found: Mapping[str, Number]) -> Said:
    """The 90 % interval."""
    return [" (", found["p05"], " to ", found["p95"], ")"]


def rate_message(cell: View) -> Said:
    """The rate of the depth in question beside that of the current policy and of its measured arm."""
    row, current = cell["shown"], cell["current"]["rate"]
    rate = row["fixed"]["rate"]
    if not rate["p50"].is_known:
        return ["No step time, so no rate."]
    out: Said = [f"{_who(cell)}: ", rate["p50"], RATE, *_ninety(rate), "."]
    if not row["runs_now"]:
        out += [" Current policy: ", current["p50"], RATE, *_ninety(current), "."]
    if row["measured"] and row["measured"]["rate"].is_known:
        out += [" Measured at that depth: ", row["measured"]["rate"], RATE, "."]
    return out


def gain_message(cell: View) -> Said:
    """How likely the depth in question is faster, by how much, and what each choice loses."""
    row = cell["shown"]
    if not row["fixed"]["rate"]["p50"].is_known:
        return ["No step time, so no gain."]
    if row["runs_now"]:
        return [
            f"{_who(cell)}: the best with a chance of ",
            row["p_best"],
            "; expected loss of keeping it ",
            row["loss"],
            RATE,
            ".",
        ]
    gain = row["fixed"]["gain_current"]
    return [f"{_who(cell)}: faster with a chance of ", row["chances"][0], ", by ", gain["p50"], *_ninety(gain),
            ". Expected loss ", row["loss"], RATE, "; of keeping ", cell["current"]["loss"], RATE, "."]  # fmt: skip


def survival_message(cell: View) -> Said:
    """How much of a draft as deep as the depth in question was accepted, and would be were it all verified."""
    row = cell["positions"][cell["shown"]["depth"] - 1]
    ends = f"Positions 1 to {row['position']} all accepted" if row["position"] > 1 else "Position 1 accepted"
    counted: Said = ["in ", row["survival"], " of rounds as counted"] if row["exposed"] else ["never verified"]
    model: Said = (
        [", in ", row["fixed"]["p50"], *_ninety(row["fixed"]), " if all were verified"] if "fixed" in row else []
    )
    return [f"{ends}: ", *counted, *model, "."]
