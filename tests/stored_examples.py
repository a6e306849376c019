"""Stored results for tests: whole or as small as the commands allow, as trees, as netCDF and as the members of a zip."""

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from click.testing import Result
from draftdepth.analysis.result import content_hash
from draftdepth.reports.output_tree import ZARR, tree_writer

from .page.made_up import draws_of, shared_tree

type Members = dict[str, bytes]


RATE, RATE_VALUES = "comparison/rate/.zarray", "comparison/rate/0.0.0.0.0"


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


def renamed(tree: xr.DataTree, old: str, new: str) -> xr.DataTree:
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


def write_netcdf(tree: xr.DataTree, path: Path) -> Path:
    """A tree as the netCDF file that `reanalyze` writes."""
    hashed(tree).to_netcdf(path, engine="h5netcdf")
    return path


def small_members(folder: Path) -> Members:
    """The members of an honest zip."""
    path = folder / "posterior.zarr.zip"
    tree_writer(ZARR)(hashed(small_tree()), path)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(members: Mapping[str, bytes], path: Path, compression: int = zipfile.ZIP_STORED) -> Path:
    """A zip of members."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, held in members.items():
            file.writestr(name, held)
    return path


def retold(members: Members, name: str, changes: Mapping[str, Any]) -> None:
    """Other metadata of one array or group, consolidated likewise."""
    everything = json.loads(members[".zmetadata"])
    everything["metadata"][name] |= changes
    members[name] = json.dumps(everything["metadata"][name]).encode()
    members[".zmetadata"] = json.dumps(everything).encode()


def refused(result: Result, path: Path) -> None:
    """One line that says what was found in a file, and nothing else."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert re.fullmatch(rf"draftdepth: {re.escape(str(path))}: found .+ would do\n", result.stderr), result.stderr
