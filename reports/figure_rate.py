"""The main figure of a cell: rate against depth, each thing drawn as what it is."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .figure_parts import depth_names, drawn, frames, interval_marks, mark_synthetic, values, without_rate
from .figure_style import CURRENT, DOTTED, FAINT, INK, MEASURED, MUTED, PAPER, POSTERIOR, PROXY
from .figure_svg import svg_text

type View = Mapping[str, Any]

HALF = 0.4  # half the width of a depth's boxes


def _top(cell: View) -> float:
    """The upper end of the axis: all but the worst-case bounds fit in it, which may be open above."""
    tops = [cell["current"]["rate"]["p50"].value]
    for row in cell["candidates"]:
        tops += [row["envelope"][1].value, row["proxy"]["rate"]["p95"].value, row["fixed"]["rate"]["p95"].value]
    tops += [arm["rate"].value for arm in cell["arms"] if arm["fixed"]]
    return 1.07 * max(float(top) for top in tops if isfinite(top))


def _bottom(cell: View) -> float:
    ends = [cell["current"]["rate"]["p50"].value]
    for row in cell["candidates"]:
        ends += [row["envelope"][0].value, row["fixed"]["rate"]["p05"].value, row["proxy"]["rate"]["p05"].value]
    return 0.94 * min(float(end) for end in ends if isfinite(end))


def _envelopes(axes: Axes, rows: Sequence[View]) -> None:
    """Hatched boxes: a range of assumptions, without any mark that would read as an interval."""
    boxes = [
        [(x - HALF, low), (x + HALF, low), (x + HALF, high), (x - HALF, high)]
        for x, low, high in ((row["depth"], *(end.value for end in row["envelope"])) for row in rows)
    ]
    hatched = PolyCollection(boxes, facecolors="none", edgecolors=FAINT, linewidths=0.0, zorder=1)
    hatched.set_hatch("////")
    axes.add_collection(hatched)


def _bounds(axes: Axes, rows: Sequence[View], top: float) -> None:
    """Frames, with the upper end in figures where it leaves the axis."""
    boxes = [(row["depth"], row["bounds"][0].value, row["bounds"][1].value) for row in rows]
    frames(axes, boxes, HALF + 0.05, top)
    for depth, _, high in boxes:
        if high > top:
            axes.annotate(f"to {high:.0f}", (depth, top), ha="center", va="bottom", fontsize=7.5, color=MUTED,
                          annotation_clip=False)  # fmt: skip


def has_arms(cell: View) -> bool:
    """Whether some fixed arm was measured, with its rate."""
    return any(arm["fixed"] and isfinite(arm["rate"].value) for arm in cell["arms"])


def rate_legend(arms: bool) -> list[Any]:
    """What each mark of the figure is, in words; `arms` whether a measured fixed arm is among them."""
    marks = [
        Line2D([], [], color=POSTERIOR, marker="o", linewidth=3, markersize=5.5, label="fixed depth: median, 50 % and 90 % interval"),
        Line2D([], [], color=PROXY, marker="s", linewidth=3, markersize=5, markerfacecolor=PAPER, label="proxy: the same intervals"),
        Line2D([], [], color=INK, marker="D", linewidth=0, markersize=4.5, markerfacecolor=PAPER, label="screen, central assumptions"),
        Patch(facecolor="none", edgecolor=FAINT, hatch="////", linewidth=0, label="envelope: a range of assumptions, no interval"),
        Line2D([], [], color=MUTED, linestyle=DOTTED, label="frame: worst-case bounds"),
        Line2D([], [], color=CURRENT, linestyle="--", linewidth=1.1, label="current policy, median"),
        Line2D([], [], color=MEASURED, marker="x", linewidth=0, markeredgewidth=1.8, label="measured fixed arm"),
    ]  # fmt: skip
    return marks if arms else marks[:-1]


def rate_figure(cell: View) -> str:
    """SVG of rate against depth.

    Parameters
    ----------
    cell
        A cell of `page_view`.
    """
    measured = [arm for arm in cell["arms"] if arm["fixed"] and isfinite(arm["rate"].value)]
    if not any(isfinite(row["screen"].value) for row in cell["candidates"]):
        return without_rate()
    top, bottom = _top(cell), _bottom(cell)
    with drawn(3.1) as (figure, (axes,)):
        rows = [row for row in cell["candidates"] if isfinite(row["screen"].value)]
        _envelopes(axes, rows)
        _bounds(axes, rows, top)
        axes.plot([row["depth"] - 0.24 for row in rows], [row["screen"].value for row in rows], "D", color=INK,
                  markersize=4.5, markerfacecolor=PAPER, zorder=5)  # fmt: skip
        interval_marks(
            axes, [row["depth"] for row in rows], [values(row["proxy"]["rate"]) for row in rows], PROXY, "s", False
        )
        interval_marks(axes, [row["depth"] + 0.22 for row in rows], [values(row["fixed"]["rate"]) for row in rows],
                       POSTERIOR, "o", True)  # fmt: skip
        axes.axhline(cell["current"]["rate"]["p50"].value, color=CURRENT, linestyle="--", linewidth=1.1, zorder=3)
        axes.plot([arm["depth"] + 0.36 for arm in measured], [arm["rate"].value for arm in measured], "x", color=MEASURED,
                  markersize=6, markeredgewidth=1.8, zorder=6)  # fmt: skip
        depths = [row["depth"] for row in cell["candidates"]]
        axes.set_xlim(min(depths) - 0.55, max(depths) + 0.55)
        axes.set_ylim(bottom, top)
        axes.set_xticks(depths, depth_names(cell))
        axes.set_xlabel("depth")
        axes.set_ylabel("tok/s over the batch")
        mark_synthetic(figure, cell["synthetic"])
        return svg_text(figure)


def rate_words(cell: View) -> str:
    """What the main figure shows, for a reader who does not see it."""
    parts = [
        f"depth {row['depth']}: fixed depth {row['fixed']['rate']['p50']} tok/s, 90 % interval "
        f"{row['fixed']['rate']['p05']} to {row['fixed']['rate']['p95']}; screen {row['screen']}, range of assumptions "
        f"{row['envelope'][0]} to {row['envelope'][1]}; worst-case bounds {row['bounds'][0]} to {row['bounds'][1]}"
        for row in cell["candidates"]
    ]
    arms = [f"depth {arm['depth']} {arm['rate']}" for arm in cell["arms"] if arm["fixed"]]
    measured = f" Measured fixed arms: {', '.join(arms)} tok/s." if arms else ""
    return (
        f"Rate against depth for {cell['name']}. Current policy {cell['current']['rate']['p50']} tok/s. "
        + "; ".join(parts)
        + "."
        + measured
    )
