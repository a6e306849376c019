"""Legends of figures, figures as files and figures inside the page: all that is drawn is told and arrives."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from draftdepth.reports.figure_gain import gain_legend
from draftdepth.reports.figure_rate import rate_legend
from draftdepth.reports.figure_sheet import Sheet
from draftdepth.reports.figure_survival import survival_legend
from draftdepth.reports.figure_svg import stacked
from draftdepth.reports.page_figures import pictures
from draftdepth.reports.page_stored import Stored
from draftdepth.reports.page_view import page_view

from .page.made_up import shared_tree

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return page_view(Stored(shared_tree()))


def _words(handles: list[Any]) -> str:
    return "; ".join(str(handle.get_label()) for handle in handles)


def test_legends_list_only_marks_that_the_figure_has(view: dict[str, Any]) -> None:
    assert "measured fixed arm" in _words(rate_legend(True))
    assert "measured" not in _words(rate_legend(False))
    assert "exposure" in _words(survival_legend(True))
    assert "exposure" not in _words(survival_legend(False))
    without, with_arm = (pictures(cell)[0] for cell in view["cells"])
    assert "measured fixed arm" in with_arm.legend
    assert "measured" not in without.legend
    assert with_arm.legend_name != without.legend_name


def test_legends_tell_chances_gains_and_losses_apart_by_shape_and_words() -> None:
    marks = gain_legend(True)
    words = _words(marks)
    for said in ("full bar: chance of being the best", "empty bar: expected loss", "median, 50 % and 90 % interval"):
        assert said in words
    shapes = [handle.get_marker() for handle in marks if "chance that the gain" in handle.get_label()]
    assert len(set(shapes)) == 3


def _drawn(svg: str, shared: str = "") -> tuple[list[str], list[tuple[str, str, str]]]:
    """Every stroke, and the shape and place of every mark."""
    shapes = dict(re.findall(r'<path id="([^"]*)" d="([^"]*?) ?"', svg + shared))
    body = re.sub(r"<defs>.*?</defs>", "", svg)
    strokes = [part for d in re.findall(r'<path d="([^"]*)"', body) for part in re.findall(r"M[^M]*", d)]
    marks = re.findall(r'<use [^>]*?href="#([^"]*)" x="([^"]*)" y="([^"]*)"', body)
    return sorted(part.strip() for part in strokes), sorted((shapes[name], x, y) for name, x, y in marks)


def test_the_page_draws_every_stroke_and_mark_of_the_file(view: dict[str, Any]) -> None:
    sheet = Sheet()
    for cell in view["cells"]:
        for picture in pictures(cell):
            lean = sheet.figure(picture.svg, picture.legend, picture.legend_name, "f", "words")
            lean = re.sub(r'<use href="#legend[^>]*>', "", lean)
            assert _drawn(lean, sheet.marks()) == _drawn(picture.svg)
            assert len(lean) < len(picture.svg)


def test_legends_tell_envelope_interval_and_bounds_apart_in_words() -> None:
    words = _words(rate_legend(True))
    assert "range of assumptions, no interval" in words
    assert "50 % and 90 % interval" in words
    assert "worst-case bounds" in words


def test_a_measured_fixed_arm_is_drawn_and_told(view: dict[str, Any]) -> None:
    with_arm = next(cell for cell in view["cells"] if any(arm["fixed"] for arm in cell["arms"]))
    picture = pictures(with_arm)[0]
    arm = next(arm for arm in with_arm["arms"] if arm["fixed"])
    assert f"Measured fixed arms: depth {arm['depth']} {arm['rate']}" in picture.alt
    without = next(cell for cell in view["cells"] if cell is not with_arm)
    assert "Measured fixed arms" not in pictures(without)[0].alt


def test_files_of_figures_are_well_formed_and_always_the_same(view: dict[str, Any]) -> None:
    for cell in view["cells"]:
        once, again = pictures(cell), pictures(cell)
        assert [picture.svg for picture in once] == [picture.svg for picture in again]
        for picture in once:
            root = ET.fromstring(stacked(picture.svg, picture.legend))
            assert root.tag == f"{SVG}svg"
            assert len(stacked(picture.svg, picture.legend)) < 25_000


def test_parts_of_a_file_fill_its_frame_in_the_same_units(view: dict[str, Any]) -> None:
    for picture in pictures(view["cells"][0]):
        root = ET.fromstring(stacked(picture.svg, picture.legend))
        _, _, width, height = map(float, str(root.get("viewBox")).split())
        parts = root.findall(f"{SVG}svg")
        assert [float(str(part.get("width"))) for part in parts] == [width, width]
        assert sum(float(str(part.get("height"))) for part in parts) == pytest.approx(height, abs=0.1)
