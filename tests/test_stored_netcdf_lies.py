"""netCDF files that lie about the result in them: each is refused in one line."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.reports.page_opened import stored

from .called import run
from .stored_examples import refused, small_tree, whole_tree, write_netcdf


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_netcdf(small_tree(), tmp_path_factory.mktemp("small") / "posterior.nc")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_netcdf(whole_tree(), tmp_path_factory.mktemp("good") / "posterior.nc")


def test_an_honest_file_passes_every_command(good: Path, small: Path, tmp_path: Path) -> None:
    for words in (
        ("show", small),
        ("report", good, "--out-dir", tmp_path),
        ("export", "csv", small),
        ("export", "priors", small),
        ("export", "vllm-synthetic", small),
    ):
        result = run(*words)
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
    refused(run("show", path), path)


def test_a_document_that_lies_below_its_cells_is_refused_where_it_is_read(small: Path, tmp_path: Path) -> None:
    for place, depths in enumerate(([], [1], [{}])):
        path = tmp_path / f"{place}.nc"
        shutil.copyfile(small, path)
        with h5py.File(path, "r+") as file:
            told = json.loads(file.attrs["comparison"])
            told["cells"] = [told["cells"][0] | {"depths": depths}]
            file.attrs["comparison"] = json.dumps(told)
        refused(run("export", "csv", path), path)


def test_a_page_of_a_screen_document_that_lies_is_refused(good: Path, tmp_path: Path) -> None:
    for place, arms in enumerate(([{"cell": "S/c"}],)):
        path = tmp_path / f"{place}.nc"
        shutil.copyfile(good, path)
        with h5py.File(path, "r+") as file:
            file.attrs["screen"] = json.dumps(json.loads(file.attrs["screen"]) | {"arms": arms})
        refused(run("report", path, "--out-dir", tmp_path / "out"), path)
        assert not (tmp_path / "out").exists()


def test_dims_and_kinds_are_held_against_what_reanalyze_writes(tmp_path: Path) -> None:
    turned = small_tree()
    turned["decision"] = xr.DataTree(turned["decision"].to_dataset().transpose("depth", "candidate", "cell"))
    refused(run("show", write_netcdf(turned, tmp_path / "turned.nc")), tmp_path / "turned.nc")
    dated = small_tree()
    rate = dated["comparison"].to_dataset()
    rate["rate"] = rate["rate"].astype("datetime64[ns]").drop_attrs()
    dated["comparison"] = xr.DataTree(rate)
    refused(run("show", write_netcdf(dated, tmp_path / "dated.nc")), tmp_path / "dated.nc")


@pytest.mark.parametrize("value", [np.nan, -0.5])
def test_draws_that_are_no_numbers_are_not_handed_on(value: float, tmp_path: Path) -> None:
    tree = small_tree()
    draws = tree["posterior/w"].to_dataset().copy(deep=True)
    draws["s_run"][0, 0] = value
    draws["fixed_survival"][0, 0, 0, 3, 0] = value
    tree["posterior/w"].dataset = draws
    path = write_netcdf(tree, tmp_path / "posterior.nc")
    for kind in ("priors", "vllm-synthetic"):
        result = run("export", kind, path)
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
