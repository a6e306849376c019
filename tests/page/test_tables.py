"""Tables of both pages against the documents and arrays that they show, each column under its head."""

import json
import math
import re
from pathlib import Path

import xarray as xr
from draftdepth.reports.page_files import report_files

from .made_up import made_up_tree
from .reading import Read, markdown_tables, read_page, table_of


def test_tables_show_the_document_under_the_right_heads(tree: xr.DataTree, page: Read) -> None:
    document = json.loads(tree.attrs["comparison"])
    for cell in document["cells"]:
        rates = table_of(page, f"Rates by depth of {cell['cell']}")
        gains = table_of(page, f"Gains by depth of {cell['cell']}")
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
    for row in table_of(page, "Worth of knowing each source, by cell"):
        for source, head in heads.items():
            assert row[head] == f"{float(explain['evppi'].sel(cell=row['cell'], source=source)):.2f}"
        assert row["everything"] == f"{float(explain['evpi'].sel(cell=row['cell'])):.2f}"


def test_ranges_of_what_may_tip_the_choice_join_and_stand_in_both_pages(tree: xr.DataTree) -> None:
    changed = tree.copy(deep=True)
    tips = {
        "tip_value": [1.5, 2.5],
        "tip_error": [0.07, 0.2],
        "tip_from": [5, 4],
        "tip_to": [4, 2],
        "tip_below": [0.31, 0.55],
    }
    explain = changed["explain"]
    for name, values in tips.items():
        explain[name].loc[{"quantity": "delta", "tip": [0, 1]}] = values
        explain[name].loc[{"quantity": "row_slope"}] = float("nan") if name == "tip_value" else 0
    explain["tip_depth_low"].loc[{"quantity": "delta"}] = 5
    files, held = report_files(changed), explain.to_dataset()
    markdown = [rows for rows in markdown_tables(str(files["REPORT.md"])) if rows[0][0] == "were this known"]
    for place, cell in enumerate(("S/c", "S/d")):
        slope = held.sel(cell=cell, quantity="row_slope")
        low, high = (math.exp(float(held[name].sel(cell=cell, quantity="delta"))) for name in ("tip_low", "tip_high"))
        masked, price = "odds of masked positions lower by (delta)", "price of a row, times the study's (row slope)"
        expected = [
            [masked, "5", f"{low:.2f} times", "4.48 times (delta 1.50 ± 0.07)", "31 %"],
            [masked, "4", "4.48 times", "12.2 times (delta 2.50 ± 0.20)", "55 %"],
            [masked, "2", "12.2 times", f"{high:.3g} times (the most looked at)", "–"],
            [price, str(int(slope["tip_depth_low"])), f"{float(slope['tip_low']):.2f}",
             f"{float(slope['tip_high']):.2f} (the most looked at)", "–"],
        ]  # fmt: skip
        assert read_page(str(files["report.html"])).tables[f"Tipping points of {cell}"][1:] == expected
        assert markdown[place][1:] == expected


def test_markdown_holds_the_same_tables(tree: xr.DataTree, files: dict[str, str]) -> None:
    text = files["REPORT.md"]
    for cell in json.loads(tree.attrs["comparison"])["cells"]:
        for told in cell["depths"]:
            q = told["fixed_depth"]["scenarios"]["assumption_priors"]["rate"]
            assert f"{q['p50']:.1f} [{q['p25']:.1f} to {q['p75']:.1f}] ({q['p05']:.1f} to {q['p95']:.1f})" in text
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    assert linked == {name for name in files if name.startswith("figures/")}
    assert len(linked) >= 4


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
    markdown = [rows for rows in markdown_tables(files["REPORT.md"]) if rows[0][0] == "policy"]
    assert markdown[0][1:] == told
    assert "Measured arms of S/c" not in page.tables
    assert len([rows for rows in markdown if "tokens a round, whole batch (MEASURED)" in rows[0]]) == 1
    rates = table_of(page, "Rates by depth of S/d")
    assert [row["measured fixed arm (runs)"] for row in rates] == ["–"] * 3 + [f"{told[1][4]} (1)"] + ["–"] * 2
    assert "measured fixed arm (runs)" not in table_of(page, "Rates by depth of S/c")[0]


def test_the_overview_shows_the_screens_pick_and_both_losses_beside_the_depth_in_question(
    tree: xr.DataTree, files: dict[str, str], page: Read
) -> None:
    document, picks = json.loads(tree.attrs["comparison"]), tree["screen"].to_dataset()["favoured_depth"]
    overview = table_of(page, "Recommendations by cell")
    markdown = next(rows for rows in markdown_tables(files["REPORT.md"]) if "screen's pick" in rows[0])
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


def test_runs_left_out_stand_in_both_pages_where_they_were_asked_for(
    tree: xr.DataTree, files: dict[str, str], page: Read, tmp_path: Path
) -> None:
    held = tree["left_out/w"].to_dataset()
    shown = table_of(page, "Runs left out of w")
    markdown = next(rows for rows in markdown_tables(files["REPORT.md"]) if "Pareto k" in rows[0])
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
