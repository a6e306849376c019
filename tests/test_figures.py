"""Figures measured with a ruler: what is drawn lies where the numbers say, and the envelope is no interval."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from draftdepth.reports.figure_gain import gain_figure, gain_words
from draftdepth.reports.figure_rate import rate_figure
from draftdepth.reports.figure_style import FAINT, INK, POSTERIOR, PROXY
from draftdepth.reports.figure_survival import survival_figure
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


def _panels(root: ET.Element) -> list[tuple[float, float]]:
    """value = a + b y of each panel, from top to bottom."""
    labels: list[list[tuple[float, float]]] = [[]]
    for text in root.iter(f"{SVG}text"):
        if "text-anchor:end" not in text.get("style", "") or text.text == "SYNTHETIC":
            continue
        y, value = float(text.get("y", "nan")), float(str(text.text).replace("−", "-").removesuffix(" %"))
        if labels[-1] and y > labels[-1][-1][0]:
            labels.append([])
        labels[-1].append((y, value))
    out = []
    for pairs in labels:
        y, value = np.array(pairs).T
        slope, start = np.polyfit(y - 3.4, value, 1)
        out.append((float(start), float(slope)))
    return out


def _bars(root: ET.Element, fill: str) -> list[float]:
    """Upper ends of boxes with an ink outline, from left to right."""
    boxes = []
    for path in root.iter(f"{SVG}path"):
        style = path.get("style", "")
        if f"fill:{fill}" in style and f"stroke:{INK}" in style:
            points = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", ""))]
            if len({x for x, _ in points}) == 2:
                boxes.append((min(x for x, _ in points), min(y for _, y in points)))
    return [y for _, y in sorted(boxes)]


def test_gains_chances_and_losses_are_drawn_where_the_numbers_say_and_written_as_in_the_table(
    view: dict[str, Any],
) -> None:
    for cell in view["cells"]:
        root = ET.fromstring(gain_figure(cell))
        gain, chance, loss = _panels(root)
        rows, every = cell["candidates"], [*cell["candidates"], cell["current"]]
        lines = [line for line in _styled(root, POSTERIOR) if len(line) == 2 and line[0][0] == line[1][0]]
        drawn = sorted(sorted(gain[0] + gain[1] * y for _, y in line) for line in lines)
        told = sorted(
            [100 * row["fixed"]["gain_current"][low].value, 100 * row["fixed"]["gain_current"][high].value]
            for row in rows
            for low, high in (("p05", "p95"), ("p25", "p75"))
        )
        np.testing.assert_allclose(drawn, told, atol=0.2 * abs(gain[1]) + 1e-9)
        for fill, name, (start, slope), unit in ((FAINT, "p_best", chance, 100), ("none", "loss", loss, 1)):
            heights = [start + slope * y for y in _bars(root, fill)]
            np.testing.assert_allclose(heights, [unit * row[name].value for row in every], atol=0.2 * abs(slope))
        written = [str(text.text) for text in root.iter(f"{SVG}text")]
        for row in every:
            assert row["p_best"].text in written
            assert row["loss"].text in written
        assert "current" in written
        marks = [
            float(use.get("y", "nan")) for use in root.iter(f"{SVG}use") if f"stroke:{PROXY}" in use.get("style", "")
        ]
        drawn_chances = sorted(chance[0] + chance[1] * y for y in marks)
        np.testing.assert_allclose(
            drawn_chances,
            sorted(100 * found.value for row in rows for found in row["chances"]),
            atol=0.2 * abs(chance[1]),
        )


def test_the_words_of_the_gain_figure_hold_its_numbers(view: dict[str, Any]) -> None:
    for cell in view["cells"]:
        words = gain_words(cell)
        for row in cell["candidates"]:
            gain = row["fixed"]["gain_current"]
            assert f"depth {row['depth']}: gain {gain['p50']}, 90 % interval {gain['p05']} to {gain['p95']}" in words
            assert f"P(best) {row['p_best']}; expected loss {row['loss']} tok/s" in words
        assert f"current policy: P(best) {cell['current']['p_best']}, expected loss {cell['current']['loss']}" in words


def test_what_runs_now_at_a_fixed_depth_is_one_bar_and_not_two(view: dict[str, Any]) -> None:
    cell = view["cells"][0]
    now = [
        row | {"runs_now": row["depth"] == 4, "mark": " (runs now)" * (row["depth"] == 4)} for row in cell["candidates"]
    ]
    root = ET.fromstring(gain_figure(cell | {"candidates": now}))
    written = [str(text.text) for text in root.iter(f"{SVG}text")]
    assert "4 (runs now)" in written
    assert "current" not in written
    assert len(_bars(root, FAINT)) == len(now)
    assert "depth 4, which runs now: P(best)" in gain_words(cell | {"candidates": now})


def test_exposure_before_and_after_stand_in_the_survival_figure(view: dict[str, Any]) -> None:
    cell = view["cells"][0]
    root = ET.fromstring(survival_figure(cell))
    for colour in (PROXY, FAINT):
        lines = [line for line in _styled(root, colour) if len(line) == 2 and line[0][0] == line[1][0]]
        assert len(lines) >= 2 * len(cell["positions"])


def test_a_cell_without_a_rate_says_so(view: dict[str, Any]) -> None:
    nothing = float("nan")

    def blank(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: blank(value) for key, value in part.items()}
        if isinstance(part, list):
            return [blank(value) for value in part]
        return type(part)(nothing, "–", part.at) if hasattr(part, "at") else part

    for draw in (rate_figure, gain_figure):
        assert "no step time, so no rate" in draw(blank(view["cells"][0]))
