"""Figures measured with a ruler: what is drawn lies where the numbers say, and the envelope is no interval."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from draftdepth.reports.figure_rate import rate_figure
from draftdepth.reports.figure_style import FAINT, POSTERIOR, PROXY, stacked
from draftdepth.reports.figure_survival import survival_figure
from draftdepth.reports.page_figures import legends, pictures
from draftdepth.reports.page_stored import Stored
from draftdepth.reports.page_view import page_view

from .page.made_up import shared_tree

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def view() -> dict[str, Any]:
    return page_view(Stored(shared_tree()))


def _styled(root: ET.Element, colour: str) -> list[list[tuple[float, float]]]:
    """Straight lines of a colour, as points."""
    lines = []
    for path in root.iter(f"{SVG}path"):
        if f"stroke:{colour}" in path.get("style", ""):
            points = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", ""))]
            lines.append(points)
    return lines


def _scale(root: ET.Element) -> tuple[float, float]:
    """value = a + b y from the labels of the vertical axis and their ticks."""
    pairs = []
    for text in root.iter(f"{SVG}text"):
        if "text-anchor:end" in text.get("style", "") and str(text.text).lstrip("−-")[:1].isdigit():
            pairs.append((float(text.get("y", "nan")), float(str(text.text))))
    y, value = np.array(pairs).T
    slope, start = np.polyfit(y - 3.4, value, 1)  # letters stand 3.4 points below the middle of their line
    return float(start), float(slope)


def test_intervals_end_where_the_numbers_say(view: dict[str, Any]) -> None:
    for cell in view["cells"]:
        root = ET.fromstring(rate_figure(cell))
        start, slope = _scale(root)
        for colour, name in ((POSTERIOR, "fixed"), (PROXY, "proxy")):
            lines = [line for line in _styled(root, colour) if len(line) == 2 and line[0][0] == line[1][0]]
            assert len(lines) == 2 * len(cell["candidates"])
            drawn = sorted(sorted(start + slope * y for _, y in line) for line in lines)
            told = sorted(
                [row[name]["rate"][low].value, row[name]["rate"][high].value]
                for row in cell["candidates"]
                for low, high in (("p05", "p95"), ("p25", "p75"))
            )
            np.testing.assert_allclose(drawn, told, atol=0.2 * abs(slope) + 1e-9)


def test_the_envelope_is_hatched_and_has_no_mark_line_or_colour_of_an_interval(view: dict[str, Any]) -> None:
    for cell in view["cells"]:
        root = ET.fromstring(rate_figure(cell))
        hatched = [path for path in root.iter(f"{SVG}path") if "fill:url(#" in path.get("style", "")]
        assert len(hatched) == len(cell["candidates"])
        for path in hatched:
            assert POSTERIOR not in path.get("style", "")
            assert PROXY not in path.get("style", "")
            xs = {float(x) for x, _ in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", ""))}
            assert max(xs) - min(xs) > 25  # a box, not a line
        pattern = next(root.iter(f"{SVG}pattern"))
        assert FAINT in ET.tostring(pattern, encoding="unicode")


def test_legends_tell_envelope_interval_and_bounds_apart_in_words() -> None:
    words = legends()["rate"]
    assert "range of assumptions, no interval" in words
    assert "50 % and 90 % interval" in words
    assert "worst-case bounds" in words


def test_a_measured_fixed_arm_is_drawn_and_told(view: dict[str, Any]) -> None:
    with_arm = next(cell for cell in view["cells"] if any(arm["fixed"] for arm in cell["arms"]))
    (picture, _) = pictures(with_arm)
    arm = next(arm for arm in with_arm["arms"] if arm["fixed"])
    assert f"Measured fixed arms: depth {arm['depth']} {arm['rate']}" in picture.alt
    without = next(cell for cell in view["cells"] if cell is not with_arm)
    assert "Measured fixed arms" not in pictures(without)[0].alt


def test_exposure_before_and_after_stand_in_the_survival_figure(view: dict[str, Any]) -> None:
    cell = view["cells"][0]
    root = ET.fromstring(survival_figure(cell))
    for colour in (PROXY, FAINT):
        lines = [line for line in _styled(root, colour) if len(line) == 2 and line[0][0] == line[1][0]]
        assert len(lines) >= 2 * len(cell["positions"])


def test_files_of_figures_are_well_formed_and_always_the_same(view: dict[str, Any]) -> None:
    for cell in view["cells"]:
        once, again = pictures(cell), pictures(cell)
        assert [picture.svg for picture in once] == [picture.svg for picture in again]
        for picture in once:
            root = ET.fromstring(stacked(picture.svg, picture.legend))
            assert root.tag == f"{SVG}svg"
            assert len(stacked(picture.svg, picture.legend)) < 25_000


def test_a_cell_without_a_rate_says_so(view: dict[str, Any]) -> None:
    nothing = float("nan")

    def blank(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: blank(value) for key, value in part.items()}
        if isinstance(part, list):
            return [blank(value) for value in part]
        return type(part)(nothing, "–", part.at) if hasattr(part, "at") else part

    svg = rate_figure(blank(view["cells"][0]))
    assert "no step time, so no rate" in svg
