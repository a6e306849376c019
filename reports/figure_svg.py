"""A figure as SVG that is small enough to stand in a page, and two of them as one file."""

import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure

from .figure_style import STYLE

_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_USED = re.compile(r'(?:url\(#|href="#)([^")]+)')
ID = re.compile(r' id="([^"]+)"')
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
    text = ID.sub(lambda match: match[0] if match[1] in used else "", text)
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


POINTS = re.compile(r' (width|height)="([\d.]+)pt"')
_BOX = re.compile(r'<svg[^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


def box_of(svg: str) -> tuple[float, float]:
    """Width and height in units of its own."""
    found = _BOX.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def stacked(upper: str, lower: str) -> str:
    """One SVG with a second below the first."""
    (width, first), (_, second) = box_of(upper), box_of(lower)
    inner = [POINTS.sub(r' \1="\2"', svg.strip(), count=2) for svg in (upper, lower)]  # units of the whole, not points
    below = inner[1].replace("<svg", f'<svg y="{first:g}"', 1)
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{width:g}pt" height="{first + second:g}pt" viewBox="0 0 {width:g} {first + second:g}">'
    )
    return f"{head}{inner[0]}{below}</svg>\n"
