"""Figures inside one page: what their parts look like, the shapes of marks and the legends are said once."""

import re

from markupsafe import escape

from .figure_style import NAMED
from .figure_svg import ID, POINTS, box_of


def _themed(svg: str, prefix: str) -> str:
    """Colours by name, short ids of its own, no size: the page's own."""
    for colour, name in NAMED.items():
        svg = svg.replace(colour, f"var(--{name})")
    for place, found in enumerate(dict.fromkeys(ID.findall(svg))):
        svg = re.sub(rf'(url\(#|href="#| id="){re.escape(found)}(?=[")])', rf"\g<1>{prefix}{place}", svg)
    return POINTS.sub("", svg, count=2).strip()


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
        width, height = box_of(svg)
        inside = re.sub(r"^<svg[^>]*>|</svg>$", "", self._lean(self._classed(_themed(svg, f"l{kind}"))))
        return (
            f'<symbol id="legend-{kind}" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" '
            f'font-size="9px">{inside}</symbol>'
        )

    def figure(self, svg: str, legend: str, kind: str, prefix: str, alt: str) -> str:
        """A figure, the legend of its kind below it, and words that tell what it shows."""
        (width, first), (_, second) = box_of(svg), box_of(legend)
        use = f'<use href="#legend-{kind}" y="{first:g}" width="{width:g}" height="{second:g}"/></svg>'
        svg = self._lean(self._classed(_themed(svg, prefix)))
        svg = svg.replace(f"0 0 {width:g} {first:g}", f"0 0 {width:g} {first + second:g}", 1)
        return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1).removesuffix("</svg>") + use
