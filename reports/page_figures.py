"""The figures of the page: which there are, their words, and their names as files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .figure_gain import gain_figure, gain_legend, gain_words, has_claims
from .figure_messages import gain_message, rate_message, survival_message
from .figure_parts import legend_text
from .figure_rate import has_arms, rate_figure, rate_legend, rate_words
from .figure_survival import has_exposure, survival_figure, survival_legend, survival_words
from .page_stored import Said

type View = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of a cell: its SVG, what it shows in words, and its name as a file."""

    kind: str
    message: Said
    caption: str
    svg: str
    legend_name: str
    legend: str
    alt: str
    file: str


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of figure is drawn and told; a legend lists no mark that the cell's figure lacks."""

    name: str
    message: Callable[[View], Said]
    caption: str
    draw: Callable[[View], str]
    words: Callable[[View], str]
    has_more: Callable[[View], bool]  # whether the marks are drawn that only some cells have
    legend: Callable[[bool], list[Any]]


KINDS = (
    Kind(
        "rate",
        rate_message,
        "Rate against depth. Hatching is a range of hand-made assumptions and carries no probability; lines through "
        "marks are intervals of the posterior.",
        rate_figure,
        rate_words,
        has_arms,
        rate_legend,
    ),
    Kind(
        "gain",
        gain_message,
        "Gain, chances and expected loss of verifying a fixed depth. ESTIMATED. P(best) adds up to 100 % over everything "
        "shown, but for rounding.",
        gain_figure,
        gain_words,
        has_claims,
        gain_legend,
    ),
    Kind(
        "survival",
        survival_message,
        "Survival and exposure by position. Below evidence L4 what lies above accepted / rounds is ASSUMED: exposure and "
        "masked tail.",
        survival_figure,
        survival_words,
        has_exposure,
        survival_legend,
    ),
)


@cache
def _legend(place: int, more: bool) -> str:
    return legend_text(KINDS[place].legend(more))


def pictures(cell: View) -> list[Picture]:
    """All figures of one cell of `page_view`."""
    out = []
    for place, kind in enumerate(KINDS):
        more = kind.has_more(cell)
        out.append(
            Picture(
                kind=kind.name,
                message=kind.message(cell),
                caption=kind.caption,
                svg=kind.draw(cell),
                legend_name=f"{kind.name}-{'more' if more else 'less'}",
                legend=_legend(place, more),
                alt=kind.words(cell),
                file=f"figures/{cell['id']}-{kind.name}.svg",
            )
        )
    return out
