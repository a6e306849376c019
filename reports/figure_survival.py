"""Survival and exposure of a cell by position: what was counted, what bounds say, what the model says."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from .figure_parts import drawn, frames, interval_marks, mark_synthetic, values
from .figure_style import DOTTED, FAINT, INK, MUTED, PAPER, POSTERIOR, PROXY
from .figure_svg import svg_text

type View = Mapping[str, Any]

CERTAIN = 1e-9


def _known(row: View) -> bool:
    return "fixed" in row and isfinite(row["fixed"]["p50"].value)


def has_exposure(cell: View) -> bool:
    """Whether exposure is drawn: where the policy verifies every position in every round it is 1 and needs no picture."""
    return not all(row["exposure"]["p05"].value > 1 - CERTAIN for row in cell["positions"] if _known(row))


def survival_legend(exposure: bool) -> list[Any]:
    """What each mark of the figure is, in words; `exposure` whether it is among them."""
    marks = [
        Line2D([], [], color=INK, marker="x", linewidth=0, markeredgewidth=1.6, label="accepted / rounds, counted"),
        Line2D([], [], label="frame: worst-case bounds of fixed-depth survival", color=MUTED, linestyle=DOTTED),
        Line2D([], [], color=POSTERIOR, marker="o", linewidth=3, label="fixed-depth survival: median, 50 % and 90 % interval"),
        Line2D([], [], color=FAINT, marker="s", linewidth=3, markerfacecolor=PAPER, label="exposure before the counts (prior)"),
        Line2D([], [], color=PROXY, marker="o", linewidth=3, label="exposure after the counts (posterior)"),
    ]  # fmt: skip
    return marks if exposure else marks[:-2]


def _axes(axes: Axes, rows: Sequence[View]) -> None:
    axes.set_ylim(0.0, 1.03)
    axes.set_xlim(0.5, len(rows) + 0.5)
    axes.set_xticks([row["position"] for row in rows])


def _survival(axes: Axes, rows: Sequence[View], counted: Sequence[View], known: Sequence[View]) -> None:
    bounded = [row for row in rows if isfinite(row["bounds"][0].value)]
    frames(axes, [(row["position"], *(end.value for end in row["bounds"])) for row in bounded], 0.3, 1.0)
    axes.plot([row["position"] - 0.15 for row in counted], [row["survival"].value for row in counted], "x", color=INK,
               markersize=6, markeredgewidth=1.6, zorder=5)  # fmt: skip
    if known:
        places = [row["position"] + 0.1 for row in known]
        interval_marks(axes, places, [values(row["fixed"]) for row in known], POSTERIOR, "o", True)
    axes.set_title("survival to position")
    _axes(axes, rows)


def _survival_alone(cell: View, counted: Sequence[View], known: Sequence[View]) -> str:
    """Without exposure."""
    with drawn(2.4) as (figure, (axes,)):
        _survival(axes, cell["positions"], counted, known)
        axes.set_xlabel("position (each is verified in every round)" if known else "position")
        mark_synthetic(figure, cell["synthetic"])
        return svg_text(figure)


def survival_figure(cell: View) -> str:
    """SVG of survival above and exposure below, by position.

    Parameters
    ----------
    cell
        A cell of `page_view`.
    """
    rows = cell["positions"]
    counted = [row for row in rows if row["exposed"] and isfinite(row["survival"].value)]
    known = [row for row in rows if _known(row)]
    if not has_exposure(cell):
        return _survival_alone(cell, counted, known)
    with drawn(3.4, 2, (3.0, 2.0)) as (figure, (upper, lower)):
        _survival(upper, rows, counted, known)
        places = [row["position"] for row in known]
        if known:
            for name, right, colour, marker in (("prior_exposure", -0.12, FAINT, "s"), ("exposure", 0.12, PROXY, "o")):
                interval_marks(lower, [x + right for x in places], [values(row[name]) for row in known], colour, marker,
                               name == "exposure")  # fmt: skip
        _axes(lower, rows)
        lower.set_title("exposure: share of rounds that verify the position")
        lower.set_xlabel("position")
        mark_synthetic(figure, cell["synthetic"])
        return svg_text(figure)


def survival_words(cell: View) -> str:
    """What the survival figure shows, for a reader who does not see it."""
    parts = []
    for row in cell["positions"]:
        counted = f"accepted {row['survival']} of rounds" if row["exposed"] else "never exposed"
        said = f"position {row['position']}: {counted}, worst-case bounds {row['bounds'][0]} to {row['bounds'][1]}"
        if _known(row):
            said += (
                f", fixed-depth survival {row['fixed']['p50']} with 90 % interval {row['fixed']['p05']} to "
                f"{row['fixed']['p95']}, exposure {row['exposure']['p50']} (prior {row['prior_exposure']['p50']})"
            )
        parts.append(said)
    return f"Survival and exposure by position for {cell['name']}. " + "; ".join(parts) + "."
