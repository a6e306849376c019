"""The page against what is stored: every number, every name, every link; and that it asks nothing of a network."""

import json
import math
import re
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner
from draftdepth.reports.command import main
from draftdepth.reports.page_files import report_files

from .page.made_up import made_up_tree, shared_tree
from .page.reading import Read, places_of, read_page

HOSTILE = 'x"><img src=y onerror=alert(1)>|*_`&'


@pytest.fixture(scope="module")
def tree() -> xr.DataTree:
    return shared_tree()


@pytest.fixture(scope="module")
def files(tree: xr.DataTree) -> dict[str, str]:
    return {name: str(text) for name, text in report_files(tree).items()}


@pytest.fixture(scope="module")
def page(files: dict[str, str]) -> Read:
    return read_page(files["report.html"])


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
        assert float(value) == stored or (math.isnan(float(value)) and math.isnan(stored)), at
        if math.isnan(stored):
            assert text == "–", at
            continue
        shown = re.fullmatch(r"([+-]?\d+(?:\.(\d+))?(?:e[+-]?\d+)?)( %)?", text)
        assert shown, text
        scale = 100 if shown[3] else 1
        digits = len(shown[2] or "")
        tolerance = 0.5000001 * 10**-digits + 1e-5 * abs(stored) * scale * ("e" in shown[1] or digits > 3)
        assert abs(float(shown[1]) - scale * stored) <= tolerance, (at, text)


def test_no_number_stands_in_a_table_without_its_place(page: Read) -> None:
    """Numbers of results have a decimal point or a percent sign; each such one is a `data` element."""
    told = Counter(text for _, _, text in page.numbers)
    shown = Counter(
        number
        for name, table in page.tables.items()
        if not name.startswith(("Priors", "Ranges", "Input"))
        for row in table[1:]
        for entry in row[1:]
        for number in re.findall(r"[+-]?\d+\.\d+(?: %)?", entry)
    )
    assert not {number for number, count in shown.items() if count > told[number]}


def _table(page: Read, name: str) -> list[dict[str, str]]:
    head, *rows = page.tables[name]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_tables_show_the_document_under_the_right_heads(tree: xr.DataTree, page: Read) -> None:
    document = json.loads(tree.attrs["comparison"])
    for cell in document["cells"]:
        rates = _table(page, f"Rates by depth of {cell['cell']}")
        gains = _table(page, f"Gains by depth of {cell['cell']}")
        for row, told in zip(rates, cell["depths"], strict=True):
            under = {name: told[name]["scenarios"]["assumption_priors"]["rate"] for name in ("proxy", "fixed_depth")}
            assert row["depth"].split()[0] == str(told["depth"])
            assert row["screen"] == f"{told['screen_rate']:.1f}"
            low, high = told["screen_envelope"]
            assert row["envelope (assumptions)"] == f"{low:.1f} to {high:.1f}"
            low, high = told["worst_case_bound"]
            assert row["worst-case bounds"] == f"{low:.1f} to {high:.1f}"
            for head, name in (("proxy", "proxy"), ("fixed depth", "fixed_depth")):
                q = {key: f"{value:.1f}" for key, value in under[name].items()}
                expected = f"{q['p50']} [{q['p25']} to {q['p75']}] ({q['p05']} to {q['p95']})"
                assert row[f"{head}: median [50 %] (90 %)"] == expected
            assert row["label"] == told["label"]
        for row, told in zip(gains, cell["depths"][1:], strict=False):
            ruled = told["decision"]
            assert row["P(best)"] == f"{100 * ruled['p_best']:.0f} %"
            assert row["P(gain > 0)"] == f"{100 * ruled['p_gain']:.0f} %"
            assert row["P(gain > 3 %)"] == f"{100 * ruled['p_gain_claimed']:.0f} %"
            assert row["P(gain > 5 %)"] == f"{100 * ruled['p_gain_claimed_high']:.0f} %"
            assert row["expected loss, tok/s"] == f"{ruled['expected_loss']:.2f}"


def test_the_worth_of_sources_stands_in_their_own_columns(tree: xr.DataTree, page: Read) -> None:
    explain = tree["explain"].to_dataset()
    heads = {
        "acceptance": "acceptance",
        "masked_tail": "masked tail (delta)",
        "row_slope": "price of a row (row slope)",
    }
    for row in _table(page, "Worth of knowing each source, by cell"):
        for source, head in heads.items():
            assert row[head] == f"{float(explain['evppi'].sel(cell=row['cell'], source=source)):.2f}"
        assert row["everything"] == f"{float(explain['evpi'].sel(cell=row['cell'])):.2f}"


def test_markdown_holds_the_same_tables(tree: xr.DataTree, files: dict[str, str]) -> None:
    text = files["REPORT.md"]
    for cell in json.loads(tree.attrs["comparison"])["cells"]:
        for told in cell["depths"]:
            q = told["fixed_depth"]["scenarios"]["assumption_priors"]["rate"]
            assert f"{q['p50']:.1f} [{q['p25']:.1f} to {q['p75']:.1f}] ({q['p05']:.1f} to {q['p95']:.1f})" in text
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    assert linked == {name for name in files if name.startswith("figures/")}
    assert len(linked) >= 4


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


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    made = {name: str(text) for name, text in report_files(made_up_tree(tmp_path, cell=HOSTILE)).items()}
    page = read_page(made["report.html"])
    assert not [tag for tag, told in page.tags if tag == "img" or any(name.startswith("on") for name in told)]
    assert HOSTILE in "".join(page.text)
    for name, text in made.items():
        assert "<img" not in text, name
        assert HOSTILE not in name


def _run(*words: object) -> Any:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_report_writes_the_files_of_a_stored_result_whole(
    tree: xr.DataTree, files: dict[str, str], tmp_path: Path
) -> None:
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    out = tmp_path / "out"
    done = _run("report", tmp_path / "posterior.nc", "--out-dir", out, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["report"] == str(out / "report.html")
    written = {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*.*")}
    assert written == files


def test_report_refuses_what_holds_no_screen_in_one_line(tree: xr.DataTree, tmp_path: Path) -> None:
    bare = tree.copy()
    del bare.attrs["screen"]
    bare.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    done = _run("report", tmp_path / "posterior.nc", "--out-dir", tmp_path / "out")
    assert done.exit_code == 2
    assert re.fullmatch(r"draftdepth: .*screen.*would do\n", done.stderr)
    assert not (tmp_path / "out").exists()


def test_where_figures_cannot_be_written_the_old_page_stays(tree: xr.DataTree, tmp_path: Path) -> None:
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("old", encoding="utf-8")
    (out / "figures").write_text("a file in the way of the folder", encoding="utf-8")
    done = _run("report", tmp_path / "posterior.nc", "--out-dir", out)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert {path.name for path in out.iterdir()} == {"report.html", "figures"}
    assert (out / "report.html").read_text(encoding="utf-8") == "old"
