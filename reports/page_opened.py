"""A stored result, reopened: no room that fits is needed for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import xarray as xr

from ..analysis.result import CONTENT_HASH
from ..data.errors import InputError, MissingInputError

POSTERIOR_NC = "posterior.nc"


@contextmanager
def stored(path: Path) -> Iterator[xr.DataTree]:
    """Open a stored result.

    Raises
    ------
    DraftdepthError
        The file is not there or holds no result of this program.
    """
    if not path.is_file():
        raise MissingInputError(f"{path}: found nothing; a {POSTERIOR_NC} that reanalyze wrote would do")
    wanted = f"{path}: found no result of this program; a {POSTERIOR_NC} that reanalyze wrote would do"
    try:
        tree = xr.open_datatree(path, engine="h5netcdf")
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(wanted) from error
    with tree:
        if not {"comparison", "provenance", CONTENT_HASH} <= set(tree.attrs):
            raise InputError(wanted)
        yield tree
