"""What the page shows, as plain words and stored numbers: every cell, and what all of them have in common."""

from collections.abc import Mapping
from typing import Any

from ..analysis.comparison import QUANTILES
from ..analysis.decision import CURRENT
from ..analysis.rates import CENTRE, FIXED_DEPTH, INTEGRATED, PROXY
from ..data.words import FIXED, HIGH, LOW
from .page_reasons import reasons, sources_table
from .page_stored import Number, Stored
from .page_top import first_view
from .page_trust import positions, trust
from .page_words import GLOSSARY, OVERVIEW, READING, policy_mark

type View = dict[str, Any]

NAMES = {quantile: f"p{round(100 * quantile):02d}" for quantile in QUANTILES}
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


def _depth(stored: Stored, cell: str, depth: int, policy: Mapping[str, Any]) -> View:
    at = {"cell": cell, "depth": depth}
    out: View = {
        "depth": depth,
        "mark": policy_mark(depth, policy),
        "runs_now": policy["kind"] == FIXED and depth == policy["cap"],
        "label": stored.word("comparison", "label", **at),
        "exposure": stored.word("comparison", "exposure_label", **at),
        "tail": stored.word("comparison", "tail_label", **at),
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
        "remote": bool(stored.documents["screen"]["assumptions"]["remote"]["value"]),
        "measured": bool(fixed),
        "reasons": reasons(stored, name, told["recommended"] or likeliest["depth"]),
    }


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


def _prices(cells: list[View]) -> list[View]:
    """Whether timed fixed runs at two depths taught what a row costs: of this cell, and of some cell of its worker."""
    here = [sum(arm["fixed"] and arm["step"].is_known for arm in cell["arms"]) > 1 for cell in cells]
    workers = {cell["worker"] for cell, taught in zip(cells, here, strict=True) if taught}
    return [
        cell | {"priced_here": taught, "priced": cell["worker"] in workers}
        for cell, taught in zip(cells, here, strict=True)
    ]


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
    cells = _prices([_cell(stored, place, told) for place, told in enumerate(comparison["cells"])])
    return {
        "study": {**comparison["study"], "title": screen["study"]["title"]},
        "first": first_view(cells, screen["assumptions"], "explain" in stored),
        "words": {"overview": OVERVIEW, "reading": READING, "glossary": GLOSSARY},
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
