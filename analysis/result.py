"""The stored result: one tree of named groups, and a hash of its content that ignores how long it took."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .described import described

PROVENANCE = "provenance"
CONTENT_HASH = "content_sha256"


PIECE = 1 << 20  # entries that are made canonical at once


def _canonical(values: Any) -> Iterator[Any]:
    """Buffers that are equal for equal values, in order: little-endian numbers, one NaN, UTF-8 text."""
    array = np.asarray(values)
    if array.dtype.kind in "OUST":
        yield "\0".join(str(entry) for entry in array.ravel().tolist()).encode("utf-8")
        return
    flat = np.ascontiguousarray(array).reshape(-1)
    for first in range(0, flat.size, PIECE):
        piece = flat[first : first + PIECE]
        yield np.where(np.isnan(piece), np.nan, piece).astype("<f8") if array.dtype.kind == "f" else piece.astype("<i8")


def content_hash(tree: xr.DataTree) -> str:
    """SHA-256 over groups, names, dims and values: equal for equal input, settings and seed, whatever the file's bytes."""
    digest = hashlib.sha256()
    for node in sorted(tree.subtree, key=lambda node: node.path):
        for name, variable in sorted(node.to_dataset(inherit=False).variables.items(), key=lambda pair: str(pair[0])):
            digest.update(f"{node.path}\0{name}\0{variable.dims}\0{variable.shape}\0".encode())
            for buffer in _canonical(variable.values):
                digest.update(buffer)
    return digest.hexdigest()


def group_path(kind: str, group: str) -> str:
    """Where a worker's variables of one kind are stored: its name without what paths, netCDF and zarr take for theirs."""
    return f"{kind}/{re.sub(r'[:/\\]|^\.+', '_', group)}"


def assemble(groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> xr.DataTree:
    """Put groups and provenance into one tree that netCDF can hold.

    Parameters
    ----------
    groups
        Datasets by path, such as `posterior/tp2`.
    provenance
        Plain values: hashes of inputs, settings, versions.
    """
    stored = {path: _storable(described(path, group)) for path, group in groups.items()}
    tree: xr.DataTree = xr.DataTree.from_dict(stored)
    tree.attrs = {
        CONTENT_HASH: content_hash(tree),
        PROVENANCE: json.dumps(provenance, sort_keys=True, default=str),
    }
    return tree


def _storable(group: xr.Dataset) -> xr.Dataset:
    """Booleans as small integers, texts as texts: what netCDF takes."""
    out = group.copy()
    for name, variable in group.variables.items():
        if variable.dtype.kind == "b":
            out[name] = variable.astype("int8")
        elif variable.dtype.kind in "OU":
            out[name] = (variable.dims, variable.values.astype(object), variable.attrs)
    out.attrs = {key: value for key, value in group.attrs.items() if isinstance(value, str | int | float)}
    return out
