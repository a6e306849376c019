"""Stored results that lie: each is refused in one line, and no name of one reaches a terminal or a spreadsheet raw."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner, Result
from draftdepth.analysis.result import content_hash
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.reports.command import main
from draftdepth.reports.page_files import report_files
from draftdepth.reports.page_opened import stored
from draftdepth.reports.visible import spreadsheet_text, visible, visible_json

from .page.made_up import draws_of, shared_tree

RAW = "\x1b[31m\u202ea\nb\x9bc"
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def whole_tree() -> xr.DataTree:
    """The shared result, and draws as a fit leaves them."""
    tree = shared_tree().copy(deep=True)
    cells = tree["screen"].to_dataset()
    draws = draws_of(cells, ["r"], [str(cells["cell"].values[0])], 1, 1.0)
    tree["posterior/w"] = xr.DataTree(draws.assign(fixed_survival=draws["fixed_survival"].clip(0.0, 1.0)))
    return tree


def small_tree() -> xr.DataTree:
    """What the comparison and the exports read of it, and no more."""
    tree = whole_tree()
    kept = ("comparison", "decision", "rates")
    small = xr.DataTree.from_dict({name: tree[name].to_dataset() for name in kept})
    names = ["s_run", "fixed_survival"]
    small["posterior/w"] = xr.DataTree(tree["posterior/w"].to_dataset()[names])
    small.attrs = {name: tree.attrs[name] for name in ("comparison", "provenance")}
    return small


def _renamed(tree: xr.DataTree, old: str, new: str) -> xr.DataTree:
    """The same tree with another name of a cell, wherever it stands."""
    out = tree.copy(deep=True)
    for node in out.subtree:
        held = node.to_dataset(inherit=False)
        if "cell" in held.coords:
            values = [new if value == old else value for value in held["cell"].values]
            node.dataset = held.assign_coords(cell=(held["cell"].dims, np.array(values, dtype=object)))
    quoted = json.dumps(old), json.dumps(new)
    out.attrs = {name: str(text).replace(*quoted) for name, text in tree.attrs.items()}
    return out


def hashed(tree: xr.DataTree) -> xr.DataTree:
    """A tree whose hash is right, whatever it says."""
    for node in tree.subtree:
        for name, held in node.to_dataset(inherit=False).variables.items():
            if held.dtype.kind == "U":
                node[str(name)] = held.astype(object)
    tree.attrs["content_sha256"] = content_hash(tree)
    return tree


def _write(tree: xr.DataTree, path: Path) -> Path:
    hashed(tree).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(small_tree(), tmp_path_factory.mktemp("small") / "posterior.nc")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(whole_tree(), tmp_path_factory.mktemp("good") / "posterior.nc")


def refused(result: Result, path: Path) -> None:
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert re.fullmatch(rf"draftdepth: {re.escape(str(path))}: found .+ would do\n", result.stderr), result.stderr


def test_an_honest_file_passes_every_command(good: Path, small: Path, tmp_path: Path) -> None:
    for words in (
        ("show", small),
        ("report", good, "--out-dir", tmp_path),
        ("export", "csv", small),
        ("export", "priors", small),
        ("export", "vllm-synthetic", small),
    ):
        result = _run(*words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output


def _link_loop(file: Any) -> None:
    file["loop"] = h5py.SoftLink("/")


def _link_away(file: Any) -> None:
    file["away"] = h5py.ExternalLink("/etc/passwd", "/")


def _hard_loop(file: Any) -> None:
    file["comparison/loop"] = file["comparison"]


def _deep(file: Any) -> None:
    file.create_group("/".join("abcdefg"))


def _many(file: Any) -> None:
    for place in range(1001):
        file.create_group(f"g{place}")


def _huge(file: Any) -> None:
    file.create_dataset("huge", (10**6, 10**6), "f8", chunks=(10, 10))


def _huge_dim(file: Any) -> None:
    file["rates"].create_dataset("long", (10**12,), ">f4", chunks=(10,)).make_scale("long")


def _elsewhere(file: Any) -> None:
    file.create_dataset("raw", (4,), "u1", external=[("/etc/passwd", 0, 4)])


def _odd_dtype(file: Any) -> None:
    file.create_dataset("odd", data=np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))


def _changed(file: Any) -> None:
    file["comparison/rate"][0, 0, 0, 0, 0] += 1.0


def _no_group(file: Any) -> None:
    del file["decision"]


def _no_variable(file: Any) -> None:
    del file["comparison/gain_cap"]


def _attribute(name: str, value: Any) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        del file.attrs[name]
        if value is not None:
            file.attrs[name] = value

    return change


def _without(document: str, key: str) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        told = json.loads(file.attrs[document])
        del told[key]
        file.attrs[document] = json.dumps(told)

    return change


LIES: Mapping[str, Callable[[Any], None]] = {
    "soft link to the root": _link_loop,
    "link to another file": _link_away,
    "group inside itself": _hard_loop,
    "deep groups": _deep,
    "many groups": _many,
    "huge array": _huge,
    "huge dim": _huge_dim,
    "values of another file": _elsewhere,
    "compound values": _odd_dtype,
    "a value changed since": _changed,
    "no group": _no_group,
    "no variable": _no_variable,
    "no comparison": _attribute("comparison", None),
    "no JSON": _attribute("comparison", "{"),
    "deep JSON": _attribute("comparison", "[" * 100_000),
    "deep JSON that ends": _attribute("comparison", '{"cells": ' + "[" * 5_000 + "]" * 5_000 + "}"),
    "a number of 5000 digits": _attribute("comparison", '{"cells": [], "n": ' + "9" * 5000 + "}"),
    "a list": _attribute("comparison", "[]"),
    "a number": _attribute("comparison", 3.5),
    "bytes": _attribute("comparison", np.void(b"\xff\xfe")),
    "cells that are none": _attribute("comparison", '{"cells": [1]}'),
    "a lone surrogate": _attribute("comparison", '{"cells": [{"sentence": "\\ud800"}]}'),
    "no study": _without("comparison", "study"),
    "no settings": _without("provenance", "settings"),
    "provenance of no text": _attribute("provenance", np.arange(3)),
    "hash of no text": _attribute("content_sha256", np.arange(3)),
    "no hash": _attribute("content_sha256", None),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_lies_is_refused_in_one_line(lie: str, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "posterior.nc"
    shutil.copyfile(small, path)
    with h5py.File(path, "r+") as file:
        LIES[lie](file)
    refused(_run("show", path), path)


def test_a_document_that_lies_below_its_cells_is_refused_where_it_is_read(small: Path, tmp_path: Path) -> None:
    for place, depths in enumerate(([], [1], [{}])):
        path = tmp_path / f"{place}.nc"
        shutil.copyfile(small, path)
        with h5py.File(path, "r+") as file:
            told = json.loads(file.attrs["comparison"])
            told["cells"] = [told["cells"][0] | {"depths": depths}]
            file.attrs["comparison"] = json.dumps(told)
        refused(_run("export", "csv", path), path)


def test_a_page_of_a_screen_document_that_lies_is_refused(good: Path, tmp_path: Path) -> None:
    for place, arms in enumerate(([{"cell": "S/c"}],)):
        path = tmp_path / f"{place}.nc"
        shutil.copyfile(good, path)
        with h5py.File(path, "r+") as file:
            file.attrs["screen"] = json.dumps(json.loads(file.attrs["screen"]) | {"arms": arms})
        refused(_run("report", path, "--out-dir", tmp_path / "out"), path)
        assert not (tmp_path / "out").exists()


def test_dims_and_kinds_are_held_against_what_reanalyze_writes(tmp_path: Path) -> None:
    turned = small_tree()
    turned["decision"] = xr.DataTree(turned["decision"].to_dataset().transpose("depth", "candidate", "cell"))
    refused(_run("show", _write(turned, tmp_path / "turned.nc")), tmp_path / "turned.nc")
    dated = small_tree()
    rate = dated["comparison"].to_dataset()
    rate["rate"] = rate["rate"].astype("datetime64[ns]").drop_attrs()
    dated["comparison"] = xr.DataTree(rate)
    refused(_run("show", _write(dated, tmp_path / "dated.nc")), tmp_path / "dated.nc")


@pytest.mark.parametrize("value", [np.nan, -0.5])
def test_draws_that_are_no_numbers_are_not_handed_on(value: float, tmp_path: Path) -> None:
    tree = small_tree()
    draws = tree["posterior/w"].to_dataset().copy(deep=True)
    draws["s_run"][0, 0] = value
    draws["fixed_survival"][0, 0, 0, 3, 0] = value
    tree["posterior/w"].dataset = draws
    path = _write(tree, tmp_path / "posterior.nc")
    for kind in ("priors", "vllm-synthetic"):
        result = _run("export", kind, path)
        refused(result, path)
        assert "draws of" in result.stderr


def test_an_error_of_the_block_is_the_file_s_and_one_of_this_program_passes(small: Path, tmp_path: Path) -> None:
    for error in (KeyError("x\x1b"), RecursionError(), MemoryError()):
        with pytest.raises(InputError, match=r"posterior\.nc: found .* would do$") as caught, stored(small):
            raise error
        assert str(caught.value).isprintable()
    with pytest.raises(InputError, match=r"^as it is$"), stored(small):
        raise InputError("as it is")
    with pytest.raises(OSError, match="disk"), stored(small):
        raise OSError("disk")
    for none in (tmp_path, tmp_path / "none", tmp_path / ("x" * 300)):
        with pytest.raises(MissingInputError, match="found nothing"), stored(none):
            pass


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest file of records with names that are not."""
    folder = tmp_path_factory.mktemp("hostile")
    tree = _renamed(small_tree(), "S/c", RAW)
    provenance = json.loads(tree.attrs["provenance"]) | {"study": f"s{RAW}"}
    told = json.loads(tree.attrs["comparison"])
    told["cells"][0] |= {"sentence": f"first{RAW}", "worker": "=cmd|' /C calc'!A0"}
    told["cells"][1] |= {"cell": "-2+3", "worker": "@SUM(A1)"}
    tree.attrs |= {"provenance": json.dumps(provenance), "comparison": json.dumps(told)}
    return _write(tree, folder / "posterior.nc")


def test_show_prints_a_line_a_cell_and_no_control_code(hostile: Path) -> None:
    plain, raw = _run("show", hostile), _run("show", hostile, "--json")
    assert (plain.exit_code, raw.exit_code) == (0, 0)
    assert plain.stdout.count("\n") == 4  # the study, two cells, the hash
    assert UNSEEN.search(plain.stdout) is None
    assert UNSEEN.search(raw.stdout) is None
    assert json.loads(raw.stdout)["cells"][0]["sentence"] == f"first{RAW}"


def test_csv_holds_no_formula_and_no_control_code(hostile: Path) -> None:
    done = _run("export", "csv", hostile)
    assert UNSEEN.search(done.stdout) is None
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["worker"] for row in rows} == {"'=cmd|' /C calc'!A0", "'@SUM(A1)"}
    assert "'-2+3" in {row["cell"] for row in rows}
    assert any(float(row["gain_current_p05"]) < 0 for row in rows if row["depth"] != "0")  # a number stays one


def test_what_a_figure_is_called_has_no_control_code() -> None:
    page = str(report_files(_renamed(shared_tree(), "S/c", RAW))["report.html"])
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
