"""The figures of the page: which there are, their words, and their names as files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .figure_rate import rate_figure, rate_legend, rate_words
from .figure_style import legend_text
from .figure_survival import survival_figure, survival_legend, survival_words

type View = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of a cell: its SVG, what it shows in words, and its name as a file."""

    kind: str
    caption: str
    svg: str
    legend: str
    alt: str
    file: str


KINDS: tuple[tuple[str, str, Callable[[View], str], Callable[[View], str], Callable[[], list[Any]]], ...] = (
    (
        "rate",
        "Rate against depth. Hatching is a range of hand-made assumptions and carries no probability; lines through "
        "marks are intervals of the posterior.",
        rate_figure,
        rate_words,
        rate_legend,
    ),
    (
        "survival",
        "Survival and exposure by position. Below evidence L4 what lies above accepted / rounds is ASSUMED: exposure and "
        "masked tail.",
        survival_figure,
        survival_words,
        survival_legend,
    ),
)


@cache
def legends() -> Mapping[str, str]:
    """SVG of the legend of each kind of figure."""
    return {kind: legend_text(handles()) for kind, _, _, _, handles in KINDS}


def pictures(cell: View) -> list[Picture]:
    """All figures of one cell of `page_view`."""
    return [
        Picture(kind, caption, draw(cell), legends()[kind], words(cell), f"figures/{cell['id']}-{kind}.svg")
        for kind, caption, draw, words, _ in KINDS
    ]
