"""A stored result that is zarr in a zip: what it declares is held against what it has before zarr reads it."""

import json
import re
import struct
import zipfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .output_tree import CONSOLIDATED, is_metadata, zarr_storage
from .stored_shape import DEEPEST, MOST_ARRAYS, MOST_GROUPS, NoResultError, check_documents

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
GROUP, ARRAY, ATTRIBUTES = ".zgroup", ".zarray", ".zattrs"
PLAIN_DTYPE = re.compile(r"[<>|][fiu][1248]|[<>]U[1-9]\d{0,8}")
AS_WRITTEN: Mapping[str, Any] = {"zarr_format": 2, "order": "C", "compressor": None, "filters": None}
ABSENT = object()


def is_zip(path: Path) -> bool:
    """Whether a file begins as a zip does, whatever it is called."""
    with path.open("rb") as stream:
        return stream.read(4) in ZIP_STARTS


def open_zarr(path: Path) -> xr.DataTree:
    """Check a zip and open the zarr store in it; closing the tree closes the file.

    Raises
    ------
    NoResultError
        As `check_zarr`.
    InputError
        zarr is not installed.
    """
    check_zarr(path)
    store = zarr_storage().ZipStore(path, mode="r")
    try:
        tree = xr.open_datatree(store, engine="zarr", consolidated=True)
    except BaseException:
        store.close()
        raise
    tree.set_close(store.close)
    return tree


def check_zarr(path: Path) -> None:
    """Walk a zip before anything reads its values.

    Raises
    ------
    NoResultError
        A zip that is cut short or whose names lead elsewhere, members that are compressed or of other sizes than
        declared, metadata or arrays of another kind than reanalyze writes, values that do not fit them, or a document
        that is missing or is none.
    """
    try:
        with zipfile.ZipFile(path) as file:
            _check_store(file, _sizes(file, path.stat().st_size))
    except (zipfile.BadZipFile, struct.error, NotImplementedError, EOFError) as error:
        raise NoResultError("a zip that is cut short or damaged") from error


def _sizes(file: zipfile.ZipFile, room: int) -> dict[str, int]:
    """Bytes of each member by name, from the directory of the zip alone."""
    sizes: dict[str, int] = {}
    for member in file.infolist():
        name = member.filename
        straight = not any(part in ("", ".", "..") for part in name.split("/")) and "\\" not in name
        if not straight or name != member.orig_filename or name in sizes:
            raise NoResultError("a member of a zip whose name leads elsewhere or stands twice")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise NoResultError("a member of a zip that is compressed or encrypted")
        sizes[name] = member.file_size
        room -= max(member.file_size, member.compress_size)
        if room < 0:
            raise NoResultError("more values declared than the file can hold")
    return sizes


def _check_store(file: zipfile.ZipFile, sizes: Mapping[str, int]) -> None:
    metadata = {name: _told(file, name) for name in sizes if is_metadata(name)}
    if ARRAY in metadata or GROUP not in metadata:
        raise NoResultError("a zip that holds no zarr store of format 2")
    if _text(metadata.pop(CONSOLIDATED, {}).get("metadata")) != _text(metadata):
        raise NoResultError("consolidated metadata that are not those of the arrays")
    check_documents(metadata.get(ATTRIBUTES, {}))
    groups = {name.rpartition("/")[0] for name in metadata if name.rpartition("/")[2] == GROUP}
    arrays = {name.rpartition("/")[0] for name in metadata if name.rpartition("/")[2] == ARRAY}
    if len(groups) > MOST_GROUPS or len(arrays) > MOST_ARRAYS or any(at.count("/") >= DEEPEST for at in groups):
        raise NoResultError("too many groups or arrays, or groups too deep")
    if groups & arrays or any(at and at.rpartition("/")[0] not in groups for at in groups | arrays):
        raise NoResultError("a group or an array that stands in no group, or in place of one")
    known = {*metadata, CONSOLIDATED}
    for at in arrays:
        chunk, size = _declared(metadata[f"{at}/{ARRAY}"])
        known.add(f"{at}/{chunk}")
        if sizes.get(f"{at}/{chunk}", 0) != size:
            raise NoResultError("values of an array that its metadata do not fit")
    if sizes.keys() - known:
        raise NoResultError("a member of a zip that belongs to no array")


def _text(told: Any) -> str:
    """Equal for equal JSON, whatever the order of its keys; NaN is equal to itself."""
    return json.dumps(told, sort_keys=True)


def _told(file: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """The JSON object of a member."""
    try:
        told = json.loads(file.read(name))
    except (ValueError, RecursionError) as error:
        raise NoResultError("metadata that are no JSON") from error
    if not isinstance(told, dict):
        raise NoResultError("metadata that are no JSON object")
    return told


def _declared(array: Mapping[str, Any]) -> tuple[str, int]:
    """The name of an array's one chunk, and the bytes that it declares."""
    shape, dtype = array.get("shape"), array.get("dtype")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise NoResultError("an array without a shape")
    if not isinstance(dtype, str) or PLAIN_DTYPE.fullmatch(dtype) is None or dtype[1:] == "f1":
        raise NoResultError("an array of neither numbers nor texts")
    kept = all(array.get(key, ABSENT) == value for key, value in AS_WRITTEN.items())
    if not kept or array.get("chunks") != [max(size, 1) for size in shape]:
        raise NoResultError("an array that is compressed or in several chunks")
    return ".".join("0" for _ in shape) or "0", prod(shape) * np.dtype(dtype).itemsize
