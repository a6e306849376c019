"""Fast analyses beside full refits, as a document."""

from typing import Any

import numpy as np

from ..analysis.calibration_table import share_error
from ..analysis.plan_agreement import Agreement
from ..data.words import Label

INSIDE = 0.9  # of worlds, where both analyses are right
TWO_SIDED = 1.959963984540054  # standard errors of a 95 % interval


def _sides(found: Agreement) -> dict[str, Any]:
    """Shares and means of both analyses over the experiments."""
    return {
        side: {
            "assurance": found.right[place].mean(),
            "wrong": found.wrong[place].mean(),
            "half_width": found.half_width[place].mean(),
            "covered": found.covered[place].mean(),
        }
        for place, side in enumerate(("fast", "full"))
    }


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
        row |= _sides(entry)
        row |= {"difference": value, "difference_error": error, "divergent": entry.divergent}
        row["p_gain_apart"] = float(np.abs(entry.p_gain[1] - entry.p_gain[0]).mean())
        rows.append(row)
    whole = Agreement.over(found)
    value, error = whole.difference
    return _sides(whole) | {
        "designs": rows, "experiments": whole.right.shape[1], "difference": value, "difference_error": error,
        "covered_error": share_error(INSIDE, whole.right.shape[1]), "within_error": bool(abs(value) <= TWO_SIDED * error), "label": str(Label.ESTIMATED),
    }  # fmt: skip
