"""Thresholds that a study states in a table of its own: named, and each a share from 0 to 1."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..data.errors import InputError


def stated_shares(kind: Any, table: str, entries: Mapping[str, object]) -> dict[str, float]:
    """A study's own thresholds by name.

    Parameters
    ----------
    kind
        A dataclass of shares.
    table
        How the study calls the table.
    entries
        What it says.

    Raises
    ------
    InputError
        An entry that `kind` does not have, or that is no share from 0 to 1.
    """
    known = {entry.name for entry in fields(kind)}
    out: dict[str, float] = {}
    for name, value in entries.items():
        if name not in known:
            raise InputError(
                f"{table}.{name}: found an entry that is not known; one of {', '.join(sorted(known))} would do"
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{table}.{name}: found something that is no share; a number from 0 to 1 would do")
        out[name] = float(value)
    return out
