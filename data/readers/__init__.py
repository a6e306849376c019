"""Readers of engine outputs, one small file a format: each turns text into run records and says what it lacks."""

from .dspark_bench import DSPARK_BENCH
from .form import Conversion, Format, ReaderOptions

FORMATS: dict[str, Format] = {known.name: known for known in (DSPARK_BENCH,)}
"""Every format that can be read, by the name that `convert` takes."""

__all__ = ["FORMATS", "Conversion", "Format", "ReaderOptions"]
