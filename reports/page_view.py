"""What the page shows, as plain words and stored numbers: the top, and every cell."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..analysis.comparison import QUANTILES
from ..analysis.decision import CURRENT
from ..analysis.rates import CENTRE, FIXED_DEPTH, INTEGRATED, PROXY
from ..data.words import FIXED, HIGH, LOW
from .page_reasons import reasons, sources_table
from .page_stored import Number, Stored
from .page_trust import positions, trust

type View = dict[str, Any]

NAMES = {quantile: f"p{round(100 * quantile):02d}" for quantile in QUANTILES}
NAMED_CELLS = 6  # more cells than this to change are counted at the top, not named
CHANCES = ("p_gain", "p_gain_claimed", "p_gain_claimed_high")


def interval(stored: Stored, kind: str, group: str, variable: str, **where: Any) -> dict[str, Number]:
    """Median and the ends of the 50 % and 90 % intervals, under p05, p25, p50, p75, p95."""
    return {name: stored.number(kind, group, variable, quantile=q, **where) for q, name in NAMES.items()}


def _estimand(stored: Stored, cell: str, depth: int, estimand: str) -> View:
    at = {"cell": cell, "depth": depth, "estimand": estimand}
    under = {**at, "scenario": INTEGRATED}
    return {
        "rate": interval(stored, "rate", "comparison", "rate", **under),
        "gain_current": interval(stored, "gain", "comparison", "gain_current", **under),
        "gain_cap": interval(stored, "gain", "comparison", "gain_cap", **under),
        "inside": stored.number("chance", "comparison", "inside_envelope", **under),
        "contraction": stored.number("chance", "comparison", "contraction", **at),
    }


def _mark(depth: int, policy: Mapping[str, Any]) -> str:
    """What a depth is to the policy that runs now."""
    if depth != policy["cap"]:
        return ""
    return " (runs now)" if policy["kind"] == FIXED else " (cap)"


def _depth(stored: Stored, cell: str, depth: int, policy: Mapping[str, Any]) -> View:
    at = {"cell": cell, "depth": depth}
    out: View = {
        "depth": depth,
        "mark": _mark(depth, policy),
        "runs_now": policy["kind"] == FIXED and depth == policy["cap"],
        "label": stored.word("comparison", "label", **at),
        "screen": stored.number("rate", "screen", "rate", **at),
        "envelope": [stored.number("rate", "screen", name, **at) for name in ("rate_low", "rate_high")],
        "bounds": [stored.number("rate", "screen", "rate_bound", end=end, **at) for end in (LOW, HIGH)],
        "proxy": _estimand(stored, cell, depth, PROXY),
        "fixed": _estimand(stored, cell, depth, FIXED_DEPTH),
        "chances": [],
    }
    if depth:
        candidate = {"cell": cell, "candidate": str(depth)}
        out["p_best"] = stored.number("chance", "decision", "p_best", **candidate)
        out["loss"] = stored.number("loss", "decision", "expected_loss", **candidate)
        out["p_within"] = stored.number("chance", "decision", "p_within", **candidate)
        out["chances"] = [stored.number("chance", "decision", name, **at) for name in CHANCES]
        out["passes"] = bool(stored.number("count", "decision", "passes", **at).value)
    return out


def context_words(tokens: float) -> str:
    """A nominal context in words."""
    if tokens != tokens:
        return "unknown"
    return "short" if tokens == 0 else f"{tokens / 1000:g}K"


def _arms(stored: Stored, cell: str) -> list[View]:
    out = []
    for place, arm in enumerate(stored.documents["screen"]["arms"]):
        if arm["cell"] != cell:
            continue
        out.append(
            {
                "policy": f"{arm['policy']['kind']} {arm['policy']['depth']}",
                "depth": arm["policy"]["depth"],
                "fixed": arm["policy"]["kind"] == FIXED,
                "screened": arm["screened"],
                "runs": stored.told("count", "screen", "arms", place, "runs"),
                "tokens": stored.told("tokens", "screen", "arms", place, "tokens_per_round", "value"),
                "step": stored.told("ms", "screen", "arms", place, "step", "value"),
                "rate": stored.told("rate", "screen", "arms", place, "rate", "value"),
            }
        )
    return out


def _scenarios(stored: Stored, cell: str, depths: list[int]) -> list[View]:
    """Median gain against current inside each scenario."""
    return [
        {
            "name": scenario.replace("_", " "),
            "gains": [
                stored.number("gain", "comparison", "gain_current", cell=cell, depth=depth, estimand=FIXED_DEPTH,
                              scenario=scenario, quantile=0.5)
                for depth in depths
            ],
        }
        for scenario in stored.labels("comparison", "scenario")
    ]  # fmt: skip


def _cell(stored: Stored, place: int, told: Mapping[str, Any]) -> View:
    name = told["cell"]
    at = {"cell": name}
    arms = _arms(stored, name)
    fixed = {arm["depth"]: arm for arm in arms if arm["fixed"]}
    depths = [
        _depth(stored, name, int(depth), told["policy"]) | {"measured": fixed.get(int(depth))}
        for depth in stored.labels("comparison", "depth")
    ]
    likeliest = max(depths[1:], key=lambda row: row["p_best"].value)
    context = stored.number("count", "screen", "context_tokens", **at)
    candidate = {"cell": name, "candidate": CURRENT}
    return {
        "name": name,
        "id": f"cell-{place + 1}",
        "suite": stored.word("screen", "suite", **at),
        "worker": told["worker"],
        "batch": stored.number("count", "screen", "batch", **at),
        "context": context_words(context.value),
        "policy": f"{told['policy']['kind']} {told['policy']['cap']}",
        "runs_now": any(row["runs_now"] for row in depths),
        "cap": told["policy"]["cap"],
        "level": told["level"],
        "step_kind": told["step_kind"],
        "hypothetical": told["hypothetical"],
        "synthetic": bool(stored.documents["comparison"]["study"]["synthetic"]),
        "runs": stored.number("count", "screen", "runs", **at),
        "rounds": stored.number("count", "screen", "rounds", **at),
        "step": stored.number("ms", "screen", "step_ms", **at),
        "favoured": stored.number("count", "screen", "favoured_depth", **at),
        "sentence": told["sentence"],
        "recommended": told["recommended"],
        "advice": f"verify {told['recommended']}" if told["recommended"] else "keep current",
        "warned": bool(told.get("disagreements")),
        "shown": next((row for row in depths if row["depth"] == told["recommended"] > 0), likeliest),
        "current": {
            "rate": interval(stored, "rate", "comparison", "current_measured", **at),
            "p_best": stored.number("chance", "decision", "p_best", **candidate),
            "loss": stored.number("loss", "decision", "expected_loss", **candidate),
        },
        "depths": depths,
        "candidates": depths[1:],
        "positions": positions(stored, name, told["policy"]["cap"], told["level"]),
        "scenarios": _scenarios(stored, name, [row["depth"] for row in depths[1:]]),
        "arms": arms,
        "measured": bool(fixed),
        "reasons": reasons(stored, name, told["recommended"] or likeliest["depth"]),
    }


def overall(cells: list[View]) -> str:
    """The recommendation for the study as a whole, in words."""
    changed = [cell for cell in cells if cell["recommended"]]
    if not cells:
        return "No cell was fitted; nothing is recommended."
    if not changed:
        return (
            f"Keep the current policy in all {len(cells)} cells: no depth passes the rule in any. ESTIMATED."
            if len(cells) > 1
            else "Keep the current policy: no depth passes the rule. ESTIMATED."
        )
    kept = len(cells) - len(changed)
    rest = f"; keep the current policy in the other {kept}" if kept else ""
    depths = sorted({cell["recommended"] for cell in changed})
    if len(changed) > NAMED_CELLS:
        said = " or ".join(str(depth) for depth in depths)
        where = "; the table says which" if len(depths) > 1 or kept else ""
        return f"Verify {said} positions in {len(changed)} of {len(cells)} cells{rest}{where}. ESTIMATED."
    names = {depth: ", ".join(cell["name"] for cell in changed if cell["recommended"] == depth) for depth in depths}
    said = "; ".join(f"{depth} in {named}" for depth, named in names.items())
    return f"Verify this many positions: {said}{rest}. ESTIMATED."


def worth_knowing(cells: list[View]) -> str:
    """Which source of doubt is worth most to settle, over the cells, in words; empty where none is."""
    named = [cell["reasons"]["first"] for cell in cells if cell["reasons"] and cell["reasons"]["first"]]
    if not named:
        return "No single source of doubt is worth settling: no answer would change a choice." if cells else ""
    counted = Counter((row["words"], row["teacher"]) for row in named)
    parts = [
        f"{words} in {count} of {len(cells)} cells (taught by: {teacher})"
        for (words, teacher), count in counted.most_common(2)
    ]
    return f"Worth knowing first: {'; '.join(parts)}. ESTIMATED."


def warned(cells: list[View]) -> str:
    """In how many cells a measured arm lies outside what the model expects, in words; empty where in none."""
    count = sum(cell["warned"] for cell in cells)
    if not count:
        return ""
    cell = next(cell["name"] for cell in cells if cell["warned"])
    where = f"{cell}: a MEASURED arm disagrees" if count == 1 else f"{count} cells a MEASURED arm disagrees"
    return f"WARNING: in {where} with the model; believe the measurement, and repeat it before acting on either."


def _only_screened(stored: Stored, fitted: set[str]) -> list[View]:
    """Cells that the screen has and no fit speaks of."""
    out = []
    for name in stored.labels("screen", "cell"):
        if name in fitted:
            continue
        favoured = int(stored.number("count", "screen", "favoured_depth", cell=name).value)
        at = {"cell": name, "depth": favoured}
        out.append(
            {
                "name": name,
                "hypothetical": bool(stored.number("count", "screen", "hypothetical", cell=name).value),
                "worker": stored.word("screen", "worker", cell=name),
                "favoured": stored.number("count", "screen", "favoured_depth", cell=name),
                "rate": stored.number("rate", "screen", "rate", **at),
                "envelope": [stored.number("rate", "screen", end, **at) for end in ("rate_low", "rate_high")],
            }
        )
    return out


def page_view(stored: Stored) -> View:
    """Everything that `report.html` and `REPORT.md` say.

    Parameters
    ----------
    stored
        A stored result.

    Returns
    -------
    dict
        Words and `Number`s; nothing in it is computed here.
    """
    comparison, screen = stored.documents["comparison"], stored.documents["screen"]
    cells = [_cell(stored, place, told) for place, told in enumerate(comparison["cells"])]
    return {
        "study": {**comparison["study"], "title": screen["study"]["title"]},
        "overall": overall(cells),
        "next": worth_knowing(cells) if "explain" in stored else "",
        "warned": warned(cells),
        "cells": cells,
        "measured": any(cell["measured"] for cell in cells),
        "screened": _only_screened(stored, {cell["name"] for cell in cells}),
        "absent": screen["absent"],
        "unsupported": comparison["unsupported"],
        "scenario": {"centre": CENTRE, "integrated": INTEGRATED},
        "choices": {key: sorted({str(cell[key]) for cell in cells}) for key in ("suite", "worker", "batch", "context")},
        "sources": sources_table(stored),
        "trust": trust(stored),
        "content": stored.content,
    }
