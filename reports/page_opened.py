"""A stored result, reopened by one door: no room that fits is needed for it, and no file is believed unread."""

import os
import struct
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import xarray as xr
from jinja2 import TemplateError

from ..analysis.result import CONTENT_HASH, content_hash
from ..data.errors import DraftdepthError, InputError, MissingInputError
from .output_tree import POSTERIOR
from .stored_shape import NoResultError, check_arrays, check_file, check_whole
from .stored_zarr import is_zip, open_zarr
from .visible import visible

WOULD_DO = f"a {' or '.join(POSTERIOR.values())} that reanalyze wrote would do"
LIES = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError, MemoryError,
        TemplateError, EOFError, zipfile.BadZipFile, struct.error)  # fmt: skip
"""What a file that contradicts itself makes of the code that reads it."""


def _opened(path: Path) -> xr.DataTree:
    """Open a file as what it is, not as what it is called, once its declared sizes are checked."""
    if is_zip(path):
        return open_zarr(path)
    check_file(path)
    return xr.open_datatree(path, engine="h5netcdf")


def _checked(path: Path, whole: bool) -> xr.DataTree:
    """Open and check; what a hash covers is read whole here, and stays in memory for who reads it next."""
    tree = _opened(path)
    try:
        check_arrays(tree)
        if whole:
            check_whole(tree)
        if content_hash(tree) != tree.attrs[CONTENT_HASH]:
            raise NoResultError("values that its own hash of the content does not fit")
    except BaseException:
        tree.close()
        raise
    return tree


@contextmanager
def stored(path: Path, whole: bool = False) -> Iterator[xr.DataTree]:
    """Open a stored result that has the shape of one and whose values fit its hash.

    Parameters
    ----------
    path
        A posterior.nc or posterior.zarr.zip.
    whole
        Whether all that the comparison and the exports read must be there; a plan reads less.

    Notes
    -----
    An error of the block that a file which lies can cause becomes the same one line; errors of this program pass.

    Raises
    ------
    MissingInputError
        The file is not there.
    InputError
        The file holds no result of this program, was changed since, or contradicts itself; or zarr is not installed.
    """
    if not os.path.isfile(path):
        raise MissingInputError(f"{path}: found nothing; {WOULD_DO}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a library thinks of a hostile file is no line of this program
        try:
            tree = _checked(path, whole)
        except NoResultError as error:
            raise InputError(f"{path}: found {visible(error)}; {WOULD_DO}") from error
        except InputError:
            raise
        except (OSError, *LIES) as error:
            raise InputError(f"{path}: found no result of this program; {WOULD_DO}") from error
        with tree:
            try:
                yield tree
            except NoResultError as error:
                raise InputError(f"{path}: found {visible(error)}; {WOULD_DO}") from error
            except DraftdepthError:
                raise
            except LIES as error:
                said = visible(f"{type(error).__name__}: {error}")[:120]
                raise InputError(f"{path}: found a result that contradicts itself ({said}); {WOULD_DO}") from error
