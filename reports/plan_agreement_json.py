"""Fast analyses beside full refits, as a document."""

from typing import Any

import numpy as np

from ..analysis.plan_agreement import Agreement
from ..data.words import Label

TWO_SIDED = 1.959963984540054  # standard errors of a 95 % interval


def agreement_document(found: tuple[Agreement, ...]) -> dict[str, Any] | None:
    """Fast and full analyses of the same experiments, a row a design, and both over all of them."""
    if not found:
        return None
    rows = []
    for entry in found:
        value, error = entry.difference
        design = entry.design
        row: dict[str, Any] = {
            "arm": design.arm.name,
            "against": design.other.name,
            "layout": design.arrangement.layout,
        }
        row |= {"runs": design.runs, "rounds": design.rounds, "experiments": len(design.worlds)}
        for place, side in enumerate(("fast", "full")):
            row[side] = {
                "assurance": entry.right[place].mean(),
                "wrong": entry.wrong[place].mean(),
                "half_width": entry.half_width[place].mean(),
            }
        row |= {"difference": value, "difference_error": error, "divergent": entry.divergent}
        row["p_gain_apart"] = float(np.abs(entry.p_gain[1] - entry.p_gain[0]).mean())
        rows.append(row)
    whole = Agreement(
        found[0].design,
        np.concatenate([entry.right for entry in found], axis=1),
        np.concatenate([entry.wrong for entry in found], axis=1),
        np.concatenate([entry.p_gain for entry in found], axis=1),
        np.concatenate([entry.half_width for entry in found], axis=1),
        sum(entry.divergent for entry in found),
    )
    value, error = whole.difference
    return {
        "designs": rows, "experiments": whole.right.shape[1], "difference": value, "difference_error": error,
        "within_error": bool(abs(value) <= TWO_SIDED * error), "label": str(Label.ESTIMATED),
    }  # fmt: skip
