"""The files of the page, by name, from a stored tree."""

from collections.abc import Mapping

import xarray as xr

from .figure_svg import stacked
from .output import Content
from .page_figures import pictures
from .page_html import report_html
from .page_md import report_md
from .page_stored import Stored
from .page_view import page_view

REPORT_HTML, REPORT_MD = "report.html", "REPORT.md"


def report_files(tree: xr.DataTree) -> dict[str, Content]:
    """`report.html`, `REPORT.md` and its figures, by name.

    Parameters
    ----------
    tree
        A stored result.
    """
    view = page_view(Stored(tree))
    drawn = {cell["id"]: pictures(cell) for cell in view["cells"]}
    figures: Mapping[str, Content] = {
        picture.file: stacked(picture.svg, picture.legend) for made in drawn.values() for picture in made
    }
    return {**figures, REPORT_HTML: report_html(view, drawn), REPORT_MD: report_md(view, drawn)}
