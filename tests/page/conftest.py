"""One made-up result, its page and its files, for all tests that only read them."""

import pytest
import xarray as xr
from draftdepth.reports.page_files import report_files

from .made_up import shared_tree
from .reading import Read, read_page


@pytest.fixture
def tree() -> xr.DataTree:
    """The stored result."""
    return shared_tree()


@pytest.fixture(scope="session")
def files() -> dict[str, str]:
    """Texts by the names of the files that they are written to."""
    return {name: str(text) for name, text in report_files(shared_tree()).items()}


@pytest.fixture(scope="session")
def page(files: dict[str, str]) -> Read:
    """The page read back."""
    return read_page(files["report.html"])
