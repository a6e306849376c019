"""Gain, chances and expected loss of a cell by depth: three panels, each thing with its own shape."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .figure_parts import depth_names, drawn, interval_marks, mark_synthetic, without_rate
from .figure_style import CURRENT, FAINT, INK, MUTED, PAPER, POSTERIOR, PROXY
from .figure_svg import svg_text

type View = Mapping[str, Any]

CLAIMS = (("gain > 0", "o", 0.14), ("gain > 3 %", "^", 0.27), ("gain > 5 %", "s", 0.40))
"""The claims whose chances are drawn, the mark of each, and how far right of its depth it stands."""

LEFT, RIGHT = -0.38, 0.02  # ends of a bar about its depth


def gain_legend(claims: bool) -> list[Any]:
    """What each mark of the figure is, in words; `claims` whether some depth is held against the current policy."""
    marks = [
        Line2D([], [], color=PROXY, marker=marker, linewidth=0, markersize=4.2, markerfacecolor=PAPER, label=f"chance that the {words}")
        for words, marker, _ in CLAIMS
    ]  # fmt: skip
    return [
        Line2D([], [], color=POSTERIOR, marker="o", linewidth=3, markersize=5.5, label="gain of a fixed depth: median, 50 % and 90 % interval"),
        Line2D([], [], color=CURRENT, linestyle="--", linewidth=1.1, label="the current policy: gain 0"),
        Patch(facecolor=FAINT, edgecolor=INK, linewidth=0.8, label="full bar: chance of being the best of all, P(best)"),
        *(marks if claims else []),
        Patch(facecolor="none", edgecolor=INK, linewidth=0.8, label="empty bar: expected loss against the best, less is better"),
    ]  # fmt: skip


def has_claims(cell: View) -> bool:
    """Whether some depth is held against the current policy, and not all are what runs now."""
    return not all(row["runs_now"] for row in cell["candidates"])


def has_rate(cell: View) -> bool:
    """Whether any depth has a rate."""
    return any(isfinite(row["loss"].value) for row in cell["candidates"])


def _bars(axes: Axes, rows: Sequence[View], name: str, filled: bool, room: float) -> None:
    """Bars from zero, the number on each as it is written in the table."""
    boxes = [
        [(x + LEFT, 0.0), (x + LEFT, row[name].value), (x + RIGHT, row[name].value), (x + RIGHT, 0.0)]
        for x, row in enumerate(rows, 1)
        if isfinite(row[name].value)
    ]
    axes.add_collection(
        PolyCollection(boxes, facecolors=FAINT if filled else "none", edgecolors=INK, linewidths=0.8, zorder=3)
    )
    for x, row in enumerate(rows, 1):
        if isfinite(row[name].value):
            axes.annotate(row[name].text, (x + (LEFT + RIGHT) / 2, row[name].value + room), ha="center", va="bottom",
                          fontsize=7.5, annotation_clip=False)  # fmt: skip


def _gains(axes: Axes, rows: Sequence[View]) -> None:
    found = [{name: number.value * 100 for name, number in row["fixed"]["gain_current"].items()} for row in rows]
    ends = [each[name] for each in found for name in ("p05", "p95") if isfinite(each[name])] + [0.0]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    interval_marks(axes, range(1, len(rows) + 1), found, POSTERIOR, "o", True)
    axes.axhline(0.0, color=CURRENT, linestyle="--", linewidth=1.1, zorder=3)
    axes.set_ylim(min(ends) - room, max(ends) + room)
    axes.set_title("gain over the current policy, %")


def _chances(axes: Axes, rows: Sequence[View], every: Sequence[View]) -> None:
    _bars(axes, every, "p_best", True, 0.02)
    for place, (_, marker, right) in enumerate(CLAIMS):
        at = [(x + right, row["chances"][place].value) for x, row in enumerate(rows, 1) if not row["runs_now"]]
        axes.plot([x for x, _ in at], [y for _, y in at], marker, color=PROXY, markersize=4.2, markerfacecolor=PAPER,
                  markeredgewidth=1.1, zorder=5)  # fmt: skip
    axes.set_ylim(0.0, 1.18)
    axes.set_yticks([0.0, 0.5, 1.0], ["0 %", "50 %", "100 %"])
    axes.set_title("chance: of being best (bars), of a gain (marks)")


def _losses(axes: Axes, every: Sequence[View]) -> None:
    top = max(row["loss"].value for row in every if isfinite(row["loss"].value)) or 1.0
    _bars(axes, every, "loss", False, 0.03 * top)
    axes.set_ylim(0.0, 1.25 * top)
    axes.set_title("expected loss against the best, tok/s")


def gain_figure(cell: View) -> str:
    """SVG of gain over current, chances, and expected loss, by depth.

    Parameters
    ----------
    cell
        A cell of `page_view`.
    """
    if not has_rate(cell):
        return without_rate()
    rows, names = cell["candidates"], depth_names(cell)
    every = [*rows, *([] if any(row["runs_now"] for row in rows) else [cell["current"]])]
    names += ["current"] * (len(every) - len(rows))
    with drawn(4.4, 3, (1.35, 1.15, 1.0)) as (figure, panels):
        upper, middle, lower = panels
        _gains(upper, rows)
        _chances(middle, rows, every)
        _losses(lower, every)
        for axes in panels:
            axes.set_xlim(0.5, len(every) + 0.5)
            axes.set_xticks(range(1, len(every) + 1), names if axes is lower else [""] * len(every))
        lower.set_xlabel("depth")
        upper.spines["bottom"].set_color(MUTED)
        mark_synthetic(figure, cell["synthetic"])
        return svg_text(figure)


def gain_words(cell: View) -> str:
    """What the figure shows, for a reader who does not see it."""
    parts = []
    for row in cell["candidates"]:
        if row["runs_now"]:
            parts.append(
                f"depth {row['depth']}, which runs now: P(best) {row['p_best']}, expected loss {row['loss']} tok/s"
            )
            continue
        gain, (some, three, five) = row["fixed"]["gain_current"], row["chances"]
        parts.append(
            f"depth {row['depth']}: gain {gain['p50']}, 90 % interval {gain['p05']} to {gain['p95']}; chance of a gain "
            f"{some}, above 3 % {three}, above 5 % {five}; P(best) {row['p_best']}; expected loss {row['loss']} tok/s"
        )
    current = cell["current"]
    if not any(row["runs_now"] for row in cell["candidates"]):
        parts.append(f"current policy: P(best) {current['p_best']}, expected loss {current['loss']} tok/s")
    return f"Gain over the current policy, chances and expected loss by depth for {cell['name']}. {'. '.join(parts)}."
