"""How figures look: shapes before colours, text as text, and SVG small enough to stand in the page."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

INK, MUTED, FAINT, PAPER = "#1a1a1a", "#6b6b6b", "#a8a8a8", "#fffefb"
POSTERIOR, PROXY, CURRENT, MEASURED = "#0b4f8a", "#8a4708", "#a3123a", "#1a6b38"
NAMED = {
    INK: "ink", MUTED: "muted", FAINT: "faint", PAPER: "paper",
    POSTERIOR: "posterior", PROXY: "proxy", CURRENT: "current", MEASURED: "measured",
}  # fmt: skip
"""Colours by the name that the page's style sheet gives them, so that a dark page may turn them."""

DOTTED = (0, (1, 1.6))
LINE = 0.165  # inches of a legend's line
WIDTH = 4.9  # inches at 72 points: close to the width of a phone, so that letters stay letters there

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "draftdepth",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "path.simplify": False,
}


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
            right=1 - 0.05 / WIDTH,
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
        figure.text(0.985, 0.02, "SYNTHETIC", ha="right", va="bottom", fontsize=12.0, fontweight="bold", color=CURRENT)


_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_USED = re.compile(r'(?:url\(#|href="#)([^")]+)')
_ID = re.compile(r' id="([^"]+)"')
_GROUP = re.compile(r"<g\b[^>]*>|</g>")
_DEFAULTS = (
    re.compile(r" font-family: [^;\"]+;?"),
    re.compile(r"font-size: 9px;? ?"),
    re.compile(r' transform="rotate\(-0 [^"]*"'),
    re.compile(r' style=""'),
)
"""What the root element says once for all."""


def _without_plain_groups(svg: str) -> str:
    """Drop groups that carry nothing."""
    kept: list[bool] = []

    def keep(match: re.Match[str]) -> str:
        if match[0].endswith("/>"):
            return ""
        if match[0] == "</g>":
            return "</g>" if kept.pop() else ""
        kept.append(match[0] != "<g>")
        return match[0] if kept[-1] else ""

    return _GROUP.sub(keep, svg)


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def svg_text(figure: Figure) -> str:
    """The figure as SVG: without metadata, comments and unused names, coordinates to a tenth of a point."""
    out = io.StringIO()
    for axes in figure.axes:
        for artist in axes.get_children():
            artist.set_clip_on(False)  # limits hold everything, and a clip on each mark is long
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", lambda tag: _NUMBER.sub(_shorter, tag[0]), text)
    used = set(_USED.findall(text))
    text = _ID.sub(lambda match: match[0] if match[1] in used else "", text)
    text = re.sub(r"\s*\n\s*", " ", text)
    for default in _DEFAULTS:
        text = default.sub("", text)
    text = re.sub(r'style="([^"]*)"', lambda match: f'style="{_tight(match[1])}"', text)
    text = re.sub(r' d="([^"]*)"', lambda match: f' d="{_tight_path(match[1])}"', text)
    text = text.replace("<svg", '<svg font-family="sans-serif" font-size="9px"', 1)
    return re.sub(r">\s+<", "><", _without_plain_groups(text)).strip() + "\n"


def _tight(style: str) -> str:
    return re.sub(r"\s*([:;])\s*", r"\1", style).strip(";")


def _tight_path(path: str) -> str:
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", path)


_POINTS = re.compile(r' (width|height)="([\d.]+)pt"')
_BOX = re.compile(r'<svg[^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


def _box(svg: str) -> tuple[float, float]:
    found = _BOX.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def stacked(upper: str, lower: str) -> str:
    """One SVG with a second below the first."""
    (width, first), (_, second) = _box(upper), _box(lower)
    inner = [_POINTS.sub(r' \1="\2"', svg.strip(), count=2) for svg in (upper, lower)]  # units of the whole, not points
    below = inner[1].replace("<svg", f'<svg y="{first:g}"', 1)
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{width:g}pt" height="{first + second:g}pt" viewBox="0 0 {width:g} {first + second:g}">'
    )
    return f"{head}{inner[0]}{below}</svg>\n"


def _themed(svg: str, prefix: str) -> str:
    """Colours by name, short ids of its own, no size: the page's own."""
    for colour, name in NAMED.items():
        svg = svg.replace(colour, f"var(--{name})")
    for place, found in enumerate(dict.fromkeys(_ID.findall(svg))):
        svg = re.sub(rf'(url\(#|href="#| id="){re.escape(found)}(?=[")])', rf"\g<1>{prefix}{place}", svg)
    return _POINTS.sub("", svg, count=2).strip()


_MARK = re.compile(r'<defs><path id="([^"]+)" d="([^"]*)" class="([^"]*)"/></defs>')
_SAME = re.compile(r'<path d="([^"]*?) ?" class="(s\d+)"/><path d="([^"]*?) ?" class="\2"/>')
_SPOKEN = re.compile(r' (?:xmlns(?::xlink)?|version)="[^"]*"')
"""What a page that is HTML need not say."""


class Sheet:
    """Figures for one page: what their parts look like, and the shapes of their marks, are said once."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}
        self._marks: dict[tuple[str, str], str] = {}

    def marks(self) -> str:
        """The shapes of all marks that were set so far; it stands in the page once."""
        shapes = "".join(f'<path id="{name}" d="{d}" class="{look}"/>' for (d, look), name in self._marks.items())
        return f"<defs>{shapes}</defs>"

    def _lean(self, svg: str) -> str:
        """The same picture in fewer letters: marks shared with other figures, neighbours of one look as one path."""
        for name, d, look in _MARK.findall(svg):
            shared = self._marks.setdefault((d, look), f"m{len(self._marks)}")
            svg = svg.replace(f'href="#{name}"', f'href="#{shared}"')
        svg = _SPOKEN.sub("", _MARK.sub("", svg)).replace("xlink:href", "href")
        while True:
            svg, merged = _SAME.subn(r'<path d="\1\3" class="\2"/>', svg)
            if not merged:
                return svg

    def _classed(self, svg: str) -> str:
        def named(match: re.Match[str]) -> str:
            name = self._classes.setdefault(match[1], f"s{len(self._classes)}")
            return f'class="{name}"'

        return re.sub(r'style="((?:(?!url)[^"])*)"', named, svg)

    def css(self) -> str:
        """Rules of everything that was set so far."""
        return "\n".join(f".{name}{{{rule}}}" for rule, name in self._classes.items())

    def symbol(self, svg: str, kind: str) -> str:
        """A legend, to be shown by `figure` for its kind."""
        width, height = _box(svg)
        inside = re.sub(r"^<svg[^>]*>|</svg>$", "", self._lean(self._classed(_themed(svg, f"l{kind}"))))
        return (
            f'<symbol id="legend-{kind}" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" '
            f'font-size="9px">{inside}</symbol>'
        )

    def figure(self, svg: str, legend: str, kind: str, prefix: str, alt: str) -> str:
        """A figure, the legend of its kind below it, and words that tell what it shows."""
        (width, first), (_, second) = _box(svg), _box(legend)
        use = f'<use href="#legend-{kind}" y="{first:g}" width="{width:g}" height="{second:g}"/></svg>'
        svg = self._lean(self._classed(_themed(svg, prefix)))
        svg = svg.replace(f"0 0 {width:g} {first:g}", f"0 0 {width:g} {first + second:g}", 1)
        return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1).removesuffix("</svg>") + use
