"""Sentences of both pages: what to do, what would change it, what disagrees, and what is SYNTHETIC."""

import json
from pathlib import Path
from typing import Any

import xarray as xr
from draftdepth.reports.page_files import report_files
from draftdepth.reports.page_top import overall

from .made_up import made_up_tree
from .reading import read_page

HOSTILE = 'x"><img src=y onerror=alert(1)>|*_`&'


def test_the_first_sentence_names_the_cells_to_change_and_their_names_stay_text(tmp_path: Path) -> None:
    tree = made_up_tree(tmp_path, cell=HOSTILE)
    document = json.loads(tree.attrs["comparison"])
    document["cells"][0]["recommended"] = 3
    tree.attrs["comparison"] = json.dumps(document)
    made = {name: str(text) for name, text in report_files(tree).items()}
    said = f"Verify this many positions: 3 in {document['cells'][0]['cell']}; keep the current policy in the other 1."
    assert said in "".join(read_page(made["report.html"]).text)
    assert "<img" not in made["REPORT.md"]


def test_many_cells_to_change_are_counted_and_few_are_named() -> None:
    cells: list[dict[str, Any]] = [{"name": f"n{place}", "recommended": 2 + place % 2} for place in range(7)]
    assert overall([*cells[:4], {"name": "k", "recommended": 0}]) == (
        "Verify this many positions: 2 in n0, n2; 3 in n1, n3; keep the current policy in the other 1. ESTIMATED."
    )
    assert overall(cells) == "Verify 2 or 3 positions in 7 of 7 cells; the table says which. ESTIMATED."


def test_a_cell_where_a_measurement_disagrees_is_marked_at_the_top(tree: xr.DataTree) -> None:
    changed = tree.copy()
    document = json.loads(tree.attrs["comparison"])
    document["cells"][1]["disagreements"] = ["WARNING: made up for this test"]
    changed.attrs["comparison"] = json.dumps(document)
    for name in ("report.html", "REPORT.md"):
        assert "WARNING" not in str(report_files(tree)[name])
        text = str(report_files(changed)[name])
        assert "WARNING: in S/d: a MEASURED arm disagrees with the model" in text
        assert text.count("measured otherwise") == (2 if name == "report.html" else 1)


def test_real_records_are_not_called_synthetic_and_a_page_without_explanations_is_one(
    files: dict[str, str], tmp_path: Path
) -> None:
    real = report_files(made_up_tree(tmp_path, with_reasons=False, synthetic=False))
    for name in ("report.html", "REPORT.md"):
        assert "SYNTHETIC" in files[name]
        assert "SYNTHETIC" not in str(real[name])
    assert 'class="synthetic"' in files["report.html"]
    assert 'class="synthetic"' not in str(real["report.html"])
    page = read_page(str(real["report.html"]))
    assert "unsure" not in page.ids
    assert {"do", "cells", "trust", "source"} <= set(page.ids)
