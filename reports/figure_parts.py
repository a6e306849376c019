"""Parts that several figures draw: the frame, legends, intervals, bounds, and the mark of made-up records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from .figure_style import CURRENT, DOTTED, LINE, MUTED, PAPER, STYLE, WIDTH
from .figure_svg import svg_text


def legend_text(handles: Sequence[Any]) -> str:
    """SVG of a legend alone, a line an entry: drawn once and set below each figure of its kind."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, len(handles) * LINE + 0.05))
        figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.02, 0.0), ncols=1, handlelength=2.4,
                      labelspacing=0.3, borderaxespad=0.1, borderpad=0.1)  # fmt: skip
        return svg_text(figure)


@contextmanager
def drawn(height: float, rows: int = 1, ratios: tuple[float, ...] | None = None) -> Iterator[tuple[Figure, Any]]:
    """A figure of the page's width and its axes, in the page's style."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height))
        axes = figure.subplots(rows, 1, height_ratios=ratios, squeeze=False)[:, 0]
        figure.subplots_adjust(
            left=0.56 / WIDTH,
            right=1 - 0.12 / WIDTH,  # half of the name of what runs now
            top=1 - 0.25 / height,
            bottom=0.48 / height,
            hspace=0.42,
        )
        yield figure, axes


def without_rate() -> str:
    """What stands in place of a figure of rates."""
    with drawn(0.8) as (figure, (axes,)):
        axes.set_axis_off()
        axes.text(0.0, 0.5, "no step time, so no rate")
        return svg_text(figure)


def depth_names(cell: Any) -> list[str]:
    """The depths as an axis names them: which is the cap, which runs now."""
    return [f"{row['depth']}{row['mark']}" for row in cell["candidates"]]


def interval_marks(
    axes: Axes, places: Sequence[float], found: Sequence[Mapping[str, float]], colour: str, marker: str, filled: bool
) -> None:
    """Medians as marks, 50 % as thick lines, 90 % as thin ones."""
    ends = {name: [each[name] for each in found] for name in ("p05", "p25", "p50", "p75", "p95")}
    axes.vlines(places, ends["p05"], ends["p95"], color=colour, linewidth=1.0, zorder=4)
    axes.vlines(places, ends["p25"], ends["p75"], color=colour, linewidth=3.2, zorder=4)
    axes.plot(places, ends["p50"], marker, color=colour, markersize=5.5, zorder=5,
              markerfacecolor=colour if filled else PAPER, markeredgewidth=1.2)  # fmt: skip


def values(found: Mapping[str, Any]) -> dict[str, float]:
    """The bare values of an interval's numbers."""
    return {name: number.value for name, number in found.items()}


def frames(axes: Axes, boxes: Sequence[tuple[float, float, float]], half: float, top: float) -> None:
    """Dotted frames (centre, low, high), open above where they leave the axis."""
    segments: list[list[tuple[float, float]]] = []
    for centre, low, high in boxes:
        left, right, end = centre - half, centre + half, min(high, top)
        segments.append([(left, end), (left, low), (right, low), (right, end)])
        if high <= top:
            segments.append([(left, high), (right, high)])
    axes.add_collection(LineCollection(segments, colors=MUTED, linewidths=0.9, linestyles=[DOTTED], zorder=2))


def mark_synthetic(figure: Figure, synthetic: bool) -> None:
    """A figure leaves its page: what was made up says so itself."""
    if synthetic:
        low = 2.0 / (72.0 * figure.get_figheight())  # below the names of the axis
        figure.text(0.985, low, "SYNTHETIC", ha="right", va="bottom", fontsize=12.0, fontweight="bold", color=CURRENT)
