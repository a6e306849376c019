"""A result as one file: netCDF, or zarr in one zip where it is asked for."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from ..data.errors import InputError

NETCDF, ZARR = "netcdf", "zarr"
POSTERIOR: Mapping[str, str] = {NETCDF: "posterior.nc", ZARR: "posterior.zarr.zip"}
"""What the file is called, by format."""

CONSOLIDATED = ".zmetadata"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name: the same tree gives the same bytes


def zarr_storage() -> Any:
    """The stores of zarr.

    Raises
    ------
    InputError
        zarr is not installed.
    """
    try:
        from zarr import storage
    except ImportError as error:
        raise InputError("zarr: found no zarr; `pip install draftdepth[zarr]` would do") from error
    return storage


def tree_writer(form: str) -> Callable[[xr.DataTree, Path], None]:
    """What writes a tree in a format; told before a fit, so that nothing is found missing after it.

    Raises
    ------
    InputError
        The format needs a package that is not installed.
    """
    if form == ZARR:
        zarr_storage()
        return _write_zarr
    return _write_netcdf


def _write_netcdf(tree: xr.DataTree, path: Path) -> None:
    path.write_bytes(tree.to_netcdf(engine="h5netcdf"))  # HDF5 itself does not survive a full disk


def _write_zarr(tree: xr.DataTree, path: Path) -> None:
    """Write zarr format 2, which specifies texts and consolidated metadata; in format 3 both are extensions.

    An array is one chunk and nothing is compressed, so that the sizes that a file declares are those that it has.
    """
    held: dict[str, Any] = {}
    plain = xr.DataTree.from_dict({node.path: _plain(node.to_dataset(inherit=False)) for node in tree.subtree})
    encoding = {node.path: _one_chunk(node.to_dataset(inherit=False)) for node in plain.subtree}
    store = zarr_storage().MemoryStore(held)
    plain.to_zarr(store, mode="w-", encoding=encoding, consolidated=False, zarr_format=2, write_empty_chunks=True)
    metadata = {name: json.loads(held.pop(name).to_bytes()) for name in sorted(held) if is_metadata(name)}
    consolidated = {"metadata": metadata, "zarr_consolidated_format": 1}  # zarr's own hold words that no array has
    with zipfile.ZipFile(path, "w") as file:
        for name, told in {CONSOLIDATED: consolidated, **metadata}.items():
            file.writestr(zipfile.ZipInfo(name, LONG_AGO), json.dumps(told))
        for name in sorted(held):
            file.writestr(zipfile.ZipInfo(name, LONG_AGO), held.pop(name).to_bytes())


def is_metadata(name: str) -> bool:
    """Whether a member of a store says what others hold."""
    return name.rpartition("/")[2].startswith(".z")


def _plain(group: xr.Dataset) -> xr.Dataset:
    """Texts of one width, and no encoding of another file."""
    out = group.drop_encoding()
    for name, variable in group.variables.items():
        if variable.dtype.kind == "O":
            out[name] = (variable.dims, variable.values.astype(str), variable.attrs)
    return out


def _one_chunk(group: xr.Dataset) -> dict[str, dict[str, Any]]:
    return {
        str(name): {"chunks": tuple(max(size, 1) for size in variable.shape), "compressors": None, "filters": None}
        for name, variable in group.variables.items()
    }
