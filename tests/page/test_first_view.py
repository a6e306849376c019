"""The first view of both pages: what to do, how sure, what is assumed, what to measure next; and the words that are used."""

import json
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from draftdepth.reports.page_files import report_files
from draftdepth.reports.page_words import GLOSSARY, OVERVIEW, READING

from .reading import read_page

ROOT = Path(__file__).parents[2]


def _said(tree: xr.DataTree) -> str:
    """The first view as one line, the same in both pages."""
    files = report_files(tree)
    page = " ".join("".join(read_page(str(files["report.html"])).text).replace("\u00a0", " ").split())
    first = page[page.index("How sure") : page.index("What to do", page.index("How sure"))]
    markdown = str(files["REPORT.md"])
    lines = [line for line in markdown[: markdown.index("## What to do")].splitlines() if line.startswith("- **")]
    told = "".join(line.removeprefix("- **").replace(".**", "").replace("`", "") for line in lines)
    assert "".join(told.split()).startswith("".join(first.split()))
    return first


def _document(tree: xr.DataTree) -> tuple[xr.DataTree, Any]:
    changed = tree.copy(deep=True)
    return changed, json.loads(tree.attrs["comparison"])


def _likeliest(cell: Any) -> Any:
    return max(cell["depths"][1:], key=lambda row: float(row["decision"]["p_best"]))


def _ends(values: list[float], form: str) -> str:
    low, high = (form.format(value) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def test_where_nothing_is_recommended_it_says_how_likely_another_depth_is_faster(tree: xr.DataTree) -> None:
    _, document = _document(tree)
    assert [cell["recommended"] for cell in document["cells"]] == [0, 0]
    chances = [100 * _likeliest(cell)["decision"]["p_gain"] for cell in document["cells"]]
    told = f"Another depth may be faster in all 2 cells: chance {_ends(chances, '{:.0f} %')}, but none passes the rule."
    assert told in _said(tree)


def test_where_a_depth_is_recommended_it_says_its_chance_and_gain_alone(tree: xr.DataTree) -> None:
    changed, document = _document(tree)
    document["cells"][1]["recommended"] = 3
    changed.attrs["comparison"] = json.dumps(document)
    row = document["cells"][1]["depths"][3]
    gain = row["fixed_depth"]["scenarios"]["assumption_priors"]["gain_current"]["p50"]
    said = _said(changed)
    assert (
        f"Change in 1 of 2 cells: chance that it is faster {100 * row['decision']['p_gain']:.0f} %, "
        f"median gain {100 * gain:+.1f} %." in said
    )
    assert "Another depth may be faster in 1 of 2 cells" in said


def test_what_runs_now_may_be_the_likeliest_best(tree: xr.DataTree) -> None:
    changed, document = _document(tree)
    for cell in document["cells"]:
        cell["policy"] = {"kind": "fixed", "cap": _likeliest(cell)["depth"]}
    changed.attrs["comparison"] = json.dumps(document)
    best = [100 * _likeliest(cell)["decision"]["p_best"] for cell in document["cells"]]
    told = f"What runs now is the likeliest best in all 2 cells: chance {_ends(best, '{:.0f} %')}."
    assert told in _said(changed)


@pytest.mark.parametrize("label", ["exposure_label", "tail_label"])
def test_it_says_what_is_assumed_and_where_and_no_more(tree: xr.DataTree, label: str) -> None:
    words = {
        "exposure_label": "which positions were verified (exposure)",
        "tail_label": "what masked positions would have added (masked tail)",
    }
    changed = tree.copy(deep=True)
    for name in words:
        changed["comparison"][name].loc[{}] = "ESTIMATED"
    changed["comparison"][label].loc[{"cell": "S/d"}] = "ASSUMED"
    said = _said(changed)
    for name, told in words.items():
        assert (f"{told} in 1 of 2 cells" in said) == (name == label)
        assert (told in said) == (name == label)
    assert "what verifying one position more costs (price of a row) in all 2 cells" in said


def test_it_says_whose_timed_runs_the_price_of_a_row_is_from(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    screen = json.loads(tree.attrs["screen"])
    fixed = next(arm for arm in screen["arms"] if arm["policy"]["kind"] == "fixed")
    screen["arms"].append(fixed | {"policy": {"kind": "fixed", "depth": 2}})
    changed.attrs["screen"] = json.dumps(screen)
    said = _said(changed)
    assert "The price of a row is that of other cells of the same worker in 1 of 2 cells." in said
    assert "what verifying one position more costs" not in said


def test_it_names_the_measurement_that_is_worth_most_and_what_it_is_worth(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    explain = changed["explain"]
    explain["evppi"].loc[{}] = 0.0
    explain["evppi_error"].loc[{}] = 0.01
    explain["evppi"].loc[{"source": "masked_tail", "cell": "S/c"}] = 0.25
    explain["evppi"].loc[{"source": "masked_tail", "cell": "S/d"}] = 1.75
    said = _said(changed)
    assert (
        "A run at a fixed depth in all 2 cells, to learn the masked tail (delta): worth at most 0.25 to 1.75 tok/s. That is to one who takes the best expected rate today."
        in said
    )


def test_it_says_what_keeping_loses_where_that_is_more_than_the_depth_in_question(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    loss = changed["decision"]["expected_loss"]
    assert "loss of keeping" in _said(tree)
    loss.loc[{}] = 0.5
    assert "loss of keeping" not in _said(changed)
    loss.loc[{"cell": "S/c", "candidate": "current"}] = 4.25
    told = "to it a measured arm may be worth up to the loss of keeping, 4.25 tok/s in 1 of 2 cells."
    assert told in _said(changed)


def test_where_nothing_is_worth_measuring_no_plan_is_named(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    changed["explain"]["evppi"].loc[{}] = 0.0
    changed["decision"]["expected_loss"].loc[{}] = 0.5
    said = _said(changed)
    assert "No answer to a single question would change which choice has the best expected rate." in said
    assert "draftdepth plan" not in said


def test_words_that_the_pages_use_are_explained_on_both(files: dict[str, str]) -> None:
    told = {
        word
        for words, _ in (*OVERVIEW, *READING, *GLOSSARY)
        for word in words.replace("(", "").replace(")", "").split()
    }
    assert {"delta", "kappa", "omega", "exposure", "masked", "slope", "contraction", "proxy", "P"} <= told | {"P"}
    page = " ".join("".join(read_page(files["report.html"]).text).replace("\u00a0", " ").split())
    for word, meaning in (*OVERVIEW, *READING, *GLOSSARY):
        assert word in page
        assert meaning in page
        assert f"- **{word}**: {meaning}\n" in files["REPORT.md"]


def test_the_readme_explains_the_same_words_in_the_same_sentences() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for word, meaning in GLOSSARY:
        assert f"- **{word}**: {meaning}" in readme
