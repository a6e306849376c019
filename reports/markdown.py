"""Markdown tables of a document's texts and numbers: no cell can break out of them."""

import re
from collections.abc import Sequence
from math import nan

from .visible import visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")


def escaped(text: str) -> str:
    """Take text of an input literally: no markup, no HTML, no control codes."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};" if match[1] in "<>&|" else f"\\{match[1]}", visible(text))


def known(value: float | None) -> float:
    """A number of a document, where null stands for none: NaN, which is written as a dash."""
    return nan if value is None else float(value)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are escaped already; the first column is text, the others stand to the right."""
    rule = [":--", *["--:"] * (len(head) - 1)]
    return "".join("| " + " | ".join(row) + " |\n" for row in [list(head), rule, *rows])
