"""The page as a document: ids, links, figures and names, its size, and that it asks nothing of a network."""

import re
from collections import Counter
from pathlib import Path

import xarray as xr
from draftdepth.reports.page_figures import pictures
from draftdepth.reports.page_files import report_files
from draftdepth.reports.page_html import report_html
from draftdepth.reports.page_stored import Stored
from draftdepth.reports.page_view import page_view

from .made_up import made_up_tree
from .reading import Read, read_page

HOSTILE = 'x"><img src=y onerror=alert(1)>|*_`&'


def test_figures_in_the_page_find_the_shapes_that_they_share(files: dict[str, str], page: Read) -> None:
    html = files["report.html"]
    used = set(re.findall(r'<use [^>]*?href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html))
    assert used
    assert used <= set(page.ids)


def test_the_page_asks_nothing_of_a_network(files: dict[str, str], page: Read) -> None:
    html = files["report.html"]
    for tag, told in page.tags:
        for name in ("src", "href", "action", "srcset", "xlink:href"):
            value = told.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, value)
    assert not re.search(r"@import|url\((?!#)", html)
    assert "default-src 'none'" in html


def test_ids_are_unique_and_every_link_has_its_target(page: Read) -> None:
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert set(page.targets) <= set(page.ids)


def test_figures_say_what_they_show_and_heads_have_a_scope(page: Read) -> None:
    figures = [told for tag, told in page.tags if tag == "svg" and told.get("role") == "img"]
    assert figures
    for told in figures:
        assert re.search(r"\d", str(told["aria-label"]))
    assert all(told.get("scope") for tag, told in page.tags if tag == "th")
    assert page.headings[0] == "h1"
    assert page.headings.count("h1") == 1


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    made = {name: str(text) for name, text in report_files(made_up_tree(tmp_path, cell=HOSTILE)).items()}
    page = read_page(made["report.html"])
    assert not [tag for tag, told in page.tags if tag == "img" or any(name.startswith("on") for name in told)]
    assert HOSTILE in "".join(page.text)
    for name, text in made.items():
        assert "<img" not in text, name
        assert HOSTILE not in name


def test_a_page_of_thirty_one_cells_stays_under_two_megabytes(tree: xr.DataTree) -> None:
    view = page_view(Stored(tree))
    drawn = {cell["id"]: pictures(cell) for cell in view["cells"]}
    sizes = [
        len(report_html({**view, "cells": cells}, {cell["id"]: drawn[cell["id"]] for cell in cells}).encode())
        for cells in (view["cells"], view["cells"][:1], view["cells"][1:])
    ]
    largest = max(sizes[0] - size for size in sizes[1:])
    assert sizes[0] + 29 * largest < 2_000_000
