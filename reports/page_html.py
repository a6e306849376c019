"""`report.html`: one self-contained file, made by a template from the view and the figures."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ..data.words import Label
from .figure_sheet import Sheet
from .page_figures import Picture
from .page_stored import Number
from .visible import visible

TEMPLATES = Path(__file__).parent / "templates"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["visible"] = visible
    environment.filters["unbroken"] = unbroken
    environment.filters["slashed"] = slashed
    environment.filters["coded"] = coded
    environment.filters["labelled"] = labelled
    return environment


_UNIT = re.compile(r"(?:(?<=\d)|^) (?=%|tok/s|ms\b)")


def unbroken(text: object) -> str:
    """A sentence, or what follows a number in one, in which no line ends between a number and its unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", str(text))


def slashed(name: str) -> Markup:
    """A name that may end its line after a slash."""
    return Markup("/<wbr>").join(escape(part) for part in name.split("/"))


def coded(text: str) -> Markup:
    """Our own words, in which a command stands between backquotes."""
    parts = [escape(part) for part in text.split("`")]
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


_LABEL = re.compile(r"\b(" + "|".join(label.value for label in Label) + r")\b")


def labelled(text: str) -> Markup:
    """Our own words, in which a label looks as it does beside a number."""
    span = r'<span class="label {}">{}</span>'
    return Markup(_LABEL.sub(lambda found: span.format(found[1].lower(), found[1]), str(escape(text))))


def places_of(view: Any) -> dict[str, str]:
    """A short name for each array or document that some number of the page stands in."""
    found: dict[str, str] = {}

    def walk(part: Any) -> None:
        if isinstance(part, Number):
            found.setdefault(part.at.partition("[")[0].partition("#")[0], f"{len(found):x}")
        elif isinstance(part, Mapping):
            for value in part.values():
                walk(value)
        elif isinstance(part, list | tuple):
            for value in part:
                walk(value)

    walk(view)
    return found


def _shortened(places: Mapping[str, str]) -> Callable[[Number], str]:
    """Where a number stands, by the short name: `3:1,0,3` inside an array, `4#cells/0/batch` inside a document."""

    def short(number: Number) -> str:
        if "#" in number.at:
            name, _, pointer = number.at.partition("#")
            return f"{places[name]}#{pointer}"
        name, _, indices = number.at.removesuffix("]").partition("[")
        return f"{places[name]}:{indices}"

    return short


def report_html(view: Mapping[str, Any], drawn: Mapping[str, Sequence[Picture]]) -> str:
    """The whole page.

    Parameters
    ----------
    view
        Of `page_view`.
    drawn
        Figures by the id of their cell.
    """
    sheet = Sheet()
    figures = {
        cell: [
            {
                "svg": Markup(
                    sheet.figure(
                        picture.svg,
                        picture.legend,
                        picture.legend_name,
                        f"f{place}{picture.kind[0]}",
                        visible(picture.alt),
                    )
                ),
                "message": picture.message,
                "caption": picture.caption,
            }
            for picture in made
        ]
        for place, (cell, made) in enumerate(drawn.items())
    }
    legends = {picture.legend_name: picture.legend for made in drawn.values() for picture in made}
    legend_symbols = "".join(sheet.symbol(svg, name) for name, svg in legends.items())
    symbols = Markup(legend_symbols + sheet.marks())
    parts = {name: Markup((TEMPLATES / f"report.{name}").read_text(encoding="utf-8")) for name in ("css", "js")}
    environment, places = _environment(), places_of(view)
    environment.filters["short"] = _shortened(places)
    return environment.get_template("report.html").render(
        view=view, figures=figures, symbols=symbols, figure_css=Markup(sheet.css()), places=places, **parts
    )
