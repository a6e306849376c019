"""Names in a stored result that are not honest: none reaches a terminal, a figure or a spreadsheet raw."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from draftdepth.reports.page_files import report_files
from draftdepth.reports.visible import spreadsheet_text, visible, visible_json

from .called import run
from .page.made_up import shared_tree
from .stored_examples import (
    renamed,
    small_tree,
    write_netcdf,
)

RAW = "\x1b[31m\u202ea\nb\x9bc"


UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest file of records with names that are not."""
    folder = tmp_path_factory.mktemp("hostile")
    tree = renamed(small_tree(), "S/c", RAW)
    provenance = json.loads(tree.attrs["provenance"]) | {"study": f"s{RAW}"}
    told = json.loads(tree.attrs["comparison"])
    told["cells"][0] |= {"sentence": f"first{RAW}", "worker": "=cmd|' /C calc'!A0"}
    told["cells"][1] |= {"cell": "-2+3", "worker": "@SUM(A1)"}
    tree.attrs |= {"provenance": json.dumps(provenance), "comparison": json.dumps(told)}
    return write_netcdf(tree, folder / "posterior.nc")


def test_show_prints_a_line_a_cell_and_no_control_code(hostile: Path) -> None:
    plain, raw = run("show", hostile), run("show", hostile, "--json")
    assert (plain.exit_code, raw.exit_code) == (0, 0)
    assert plain.stdout.count("\n") == 4  # the study, two cells, the hash
    assert UNSEEN.search(plain.stdout) is None
    assert UNSEEN.search(raw.stdout) is None
    assert json.loads(raw.stdout)["cells"][0]["sentence"] == f"first{RAW}"


def test_csv_holds_no_formula_and_no_control_code(hostile: Path) -> None:
    done = run("export", "csv", hostile)
    assert UNSEEN.search(done.stdout) is None
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["worker"] for row in rows} == {"'=cmd|' /C calc'!A0", "'@SUM(A1)"}
    assert "'-2+3" in {row["cell"] for row in rows}
    assert any(float(row["gain_current_p05"]) < 0 for row in rows if row["depth"] != "0")  # a number stays one


def test_what_a_figure_is_called_has_no_control_code() -> None:
    page = str(report_files(renamed(shared_tree(), "S/c", RAW))["report.html"])
    names = re.findall(r'aria-label="([^"]*)"', page)
    assert any("[31m" in name for name in names)
    assert all(name.isprintable() for name in names)


def test_texts_are_made_harmless_and_numbers_left() -> None:
    assert visible("a\ud800\tb\u202e") == "a\ufffd\ufffdb\ufffd"
    assert visible_json(json.dumps({"a": "\ud800\x9b\U000e0001"}, ensure_ascii=False)).isascii()
    assert json.loads(visible_json(json.dumps(["\x9b\U000e0001é"], ensure_ascii=False))) == ["\x9b\U000e0001é"]
    assert [spreadsheet_text(value) for value in ("=1", " +1", "\t-1", "@x", "＝1", "a=1", "", -1.5, None, True)] == [
        "'=1", "' +1", "\ufffd-1", "'@x", "'＝1", "a=1", "", -1.5, None, True,
    ]  # fmt: skip
