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
from draftdepth.reports.page_figures import pictures
from draftdepth.reports.page_files import report_files
from draftdepth.reports.page_html import report_html
from draftdepth.reports.page_stored import Stored
from draftdepth.reports.page_view import overall, page_view

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


def _markdown_tables(text: str) -> list[list[list[str]]]:
    """Tables of a Markdown page: rows of entries, the head first and the line below it left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        if not line.startswith("| :--"):
            found[-1].append([entry.strip() for entry in line.strip("|").split("|")])
    return found


def test_measured_arms_stand_in_both_pages_as_they_were_counted(
    tree: xr.DataTree, files: dict[str, str], page: Read
) -> None:
    arms = [arm for arm in json.loads(tree.attrs["screen"])["arms"] if arm["cell"] == "S/d"]
    told = [
        [
            f"{arm['policy']['kind']} {arm['policy']['depth']}{' (screened)' if arm['screened'] else ''}",
            str(arm["runs"]),
            f"{arm['tokens_per_round']['value']:.3f}",
            f"{arm['step']['value']:.1f}",
            f"{arm['rate']['value']:.1f}",
        ]
        for arm in arms
    ]
    assert [row[0] for row in told] == ["dynamic 4 (screened)", "fixed 3"]
    assert page.tables["Measured arms of S/d"][1:] == told
    markdown = [rows for rows in _markdown_tables(files["REPORT.md"]) if rows[0][0] == "policy"]
    assert markdown[0][1:] == told
    assert "Measured arms of S/c" not in page.tables
    assert len([rows for rows in markdown if "tokens a round (MEASURED)" in rows[0]]) == 1
    rates = _table(page, "Rates by depth of S/d")
    assert [row["measured fixed arm (runs)"] for row in rates] == ["–"] * 3 + [f"{told[1][4]} (1)"] + ["–"] * 2
    assert "measured fixed arm (runs)" not in _table(page, "Rates by depth of S/c")[0]


def test_the_overview_shows_the_screens_pick_and_both_losses_beside_the_depth_in_question(
    tree: xr.DataTree, files: dict[str, str], page: Read
) -> None:
    document, picks = json.loads(tree.attrs["comparison"]), tree["screen"].to_dataset()["favoured_depth"]
    overview = _table(page, "Recommendations by cell")
    markdown = next(rows for rows in _markdown_tables(files["REPORT.md"]) if "screen's pick" in rows[0])
    for row, line, told in zip(overview, markdown[1:], document["cells"], strict=True):
        beside = dict(zip(markdown[0], line, strict=True))
        depth = told["recommended"] or max(told["depths"][1:], key=lambda at: float(at["decision"]["p_best"]))["depth"]
        ruled = told["depths"][depth]["decision"]
        assert row["depth in question"] == f"{depth}{told['depths'][depth]['label']}"
        expected = {
            "screen's pick": str(int(picks.sel(cell=told["cell"]))),
            "its expected loss, tok/s": f"{ruled['expected_loss']:.2f}",
            "loss of keeping, tok/s": f"{told['current']['expected_loss']:.2f}",
            "P(best)": f"{100 * ruled['p_best']:.0f} %",
            "P(gain > 0)": f"{100 * ruled['p_gain']:.0f} %",
        }
        assert {name: row[name] for name in expected} == expected
        assert {name: beside[name] for name in expected} == expected


def test_chances_of_being_best_add_up_to_what_the_page_says(page: Read, files: dict[str, str]) -> None:
    for cell in ("S/c", "S/d"):
        shown = [int(row["P(best)"].split()[0]) for row in _table(page, f"Gains by depth of {cell}")]
        assert abs(sum(shown) - 100) <= len(shown) / 2
        shares = [row[1] for row in page.tables[f"Sources of doubt of {cell}"][1:-1]]
        assert abs(sum(float(share.split()[0]) for share in shares) - 100) <= 0.05 * len(shares) + 1e-9
    gains = [rows for rows in _markdown_tables(files["REPORT.md"]) if "P(best)" in rows[0] and rows[0][0] == "depth"]
    for rows in gains:
        column = rows[0].index("P(best)")
        assert abs(sum(int(row[column].split()[0]) for row in rows[1:]) - 100) <= len(rows) / 2


def test_tipping_points_are_said_in_words_in_both_pages(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    tips = {"tip_value": 1.5, "tip_error": 0.07, "tip_from": 4, "tip_to": 2, "tip_below": 0.31}
    for name, value in tips.items():
        changed["explain"][name].loc[{"quantity": "delta", "tip": 0}] = value
    explain = changed["explain"].to_dataset()
    files = report_files(changed)
    text = " ".join("".join(read_page(str(files["report.html"])).text).split())
    markdown = " ".join(str(files["REPORT.md"]).split())
    assert (
        "odds more than 4.48 times lower (delta above 1.50 ± 0.07), depth 4 is no longer the best, depth 2 is" in text
    )
    said = 0
    for cell in explain["cell"].values:
        for quantity in explain["quantity"].values:
            at = explain.sel(cell=cell, quantity=quantity)
            for tip in range(at.sizes["tip"]):
                here = at.isel(tip=tip)
                value, error = float(here["tip_value"]), float(here["tip_error"])
                if math.isnan(value):
                    continue
                factor = f"{math.exp(value):.2f}" if math.exp(value) < 10 else f"{math.exp(value):.3g}"
                what = (
                    f"masked positions are accepted with odds more than {factor} times lower (delta above {value:.2f} ± {error:.2f})"
                    if quantity == "delta"
                    else f"a row costs more than {value:.2f} ± {error:.2f} times its price in the table of config times"
                )
                sentence = (
                    f"If {what}, depth {int(here['tip_from'])} is no longer the best, depth {int(here['tip_to'])} is; "
                    f"posterior chance that it is less than that: {100 * float(here['tip_below']):.0f} %."
                )
                assert sentence in text
                assert sentence in markdown
                said += 1
    assert said


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


def test_runs_left_out_stand_in_both_pages_where_they_were_asked_for(
    tree: xr.DataTree, files: dict[str, str], page: Read, tmp_path: Path
) -> None:
    held = tree["left_out/w"].to_dataset()
    shown = _table(page, "Runs left out of w")
    markdown = next(rows for rows in _markdown_tables(files["REPORT.md"]) if "Pareto k" in rows[0])
    assert len(shown) == held.sizes["run"] == 4
    for place, row in enumerate(shown):
        at = held.isel(run=place)
        beside = dict(zip(markdown[0], markdown[1 + place], strict=True))
        expected = {
            "run": str(at["run_name"].values),
            "90 % predicted from the others": f"{float(at['length_low']):.3f} to {float(at['length_high']):.3f}",
            "predictions below": f"{100 * float(at['length_place']):.0f} %",
            "outside": "yes" if place == 1 else "no",
            "Pareto k": f"{float(at['pareto_k']):.2f}",
            "log probability of its counts": f"{float(at['elpd']):.1f}",
            "fitted again (diverged steps)": "yes (2)" if place == 1 else "no",
        }
        assert {name: row[name] for name in expected} == expected
        assert {name: beside[name] for name in expected} == expected
        assert row["accepted length MEASURED"] == beside["accepted length (MEASURED)"] == f"{float(at['length']):.3f}"
    without = report_files(made_up_tree(tmp_path, with_reasons=False))
    assert "Pareto k" not in str(without["report.html"]) + str(without["REPORT.md"])


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


def test_a_page_of_thirty_one_cells_stays_under_two_megabytes(tree: xr.DataTree) -> None:
    view = page_view(Stored(tree))
    drawn = {cell["id"]: pictures(cell) for cell in view["cells"]}
    sizes = [
        len(report_html({**view, "cells": cells}, {cell["id"]: drawn[cell["id"]] for cell in cells}).encode())
        for cells in (view["cells"], view["cells"][:1], view["cells"][1:])
    ]
    largest = max(sizes[0] - size for size in sizes[1:])
    assert sizes[0] + 29 * largest < 2_000_000


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
