"""Numbers of the page against what is stored: each is the stored one, rightly written, and names its place."""

import json
import math
import re
from collections import Counter
from functools import reduce

import pytest
import xarray as xr

from .reading import Read, markdown_tables, places_of, table_of


def _stored(tree: xr.DataTree, places: dict[str, str], at: str) -> float:
    """What stands in the tree at a place that the page names."""
    if "#" in at:
        short, _, pointer = at.partition("#")
        keys = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
        document = json.loads(tree.attrs[places[short]])
        value = reduce(lambda held, key: held[int(key) if isinstance(held, list) else key], keys, document)
        return math.nan if value is None else float(value)
    short, _, indices = at.partition(":")
    group, _, variable = places[short].rpartition("/")
    place = tuple(int(index) for index in indices.split(",") if index)
    return float(tree[group].to_dataset()[variable].values[place])


def test_every_number_of_the_page_is_the_stored_one_and_is_written_rightly(
    tree: xr.DataTree, files: dict[str, str], page: Read
) -> None:
    places = places_of(files["report.html"])
    assert len(page.numbers) > 500
    for value, at, text in page.numbers:
        stored = _stored(tree, places, at)
        assert float(value) == stored, at
        shown = re.fullmatch(r"([+-]?\d+(?:\.(\d+))?(?:e[+-]?\d+)?)( %| times)?", text)
        assert shown, text
        if shown[3] == " times":  # a log odds, said as the factor that it stands for
            stored = math.exp(stored)
            assert float(shown[1]) == pytest.approx(stored, rel=6e-3)
            continue
        scale = 100 if shown[3] == " %" else 1
        digits = len(shown[2] or "")
        tolerance = 0.5000001 * 10**-digits + 1e-5 * abs(stored) * scale * ("e" in shown[1] or digits > 3)
        assert abs(float(shown[1]) - scale * stored) <= tolerance, (at, text)


def test_a_cell_without_a_number_is_a_dash_and_has_nothing_to_read_back(tree: xr.DataTree, page: Read) -> None:
    assert all(math.isfinite(float(value)) for value, _, _ in page.numbers)
    contraction = tree["comparison"].to_dataset()["contraction"].sel(estimand="fixed_depth")
    for cell in ("S/c", "S/d"):
        known = [math.isfinite(value) for value in contraction.sel(cell=cell).values]
        shown = [row["contraction"] != "–" for row in table_of(page, f"Rates by depth of {cell}")]
        assert shown == known
        assert not known[0]


def test_no_number_stands_in_a_table_without_its_place(page: Read) -> None:
    """Numbers of results have a decimal point or a percent sign; each such one is a `data` element."""
    told = Counter(text for _, _, text in page.numbers)
    shown = Counter(
        number
        for name, table in page.tables.items()
        if not name.startswith(("Priors", "Ranges", "Input"))
        for row in table[1:]
        for entry in row[1:]
        for number in re.findall(r"[+-]?\d+\.\d+(?: %| times)?", entry)
    )
    assert not {number for number, count in shown.items() if count > told[number]}


def test_chances_of_being_best_add_up_to_what_the_page_says(page: Read, files: dict[str, str]) -> None:
    for cell in ("S/c", "S/d"):
        shown = [int(row["P(best)"].split()[0]) for row in table_of(page, f"Gains by depth of {cell}")]
        assert abs(sum(shown) - 100) <= len(shown) / 2
        shares = [row[1] for row in page.tables[f"Sources of doubt of {cell}"][1:-1]]
        assert abs(sum(float(share.split()[0]) for share in shares) - 100) <= 0.05 * len(shares) + 1e-9
    gains = [rows for rows in markdown_tables(files["REPORT.md"]) if "P(best)" in rows[0] and rows[0][0] == "depth"]
    for rows in gains:
        column = rows[0].index("P(best)")
        assert abs(sum(int(row[column].split()[0]) for row in rows[1:]) - 100) <= len(rows) / 2
