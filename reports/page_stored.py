"""A stored result as the page takes it: each number with its text and the place that it stands in."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np
import xarray as xr

from .numbers import written
from .stored_shape import NoResultError, check_whole, document

DOCUMENTS = ("comparison", "screen", "provenance")


@dataclass(frozen=True, slots=True)
class Number:
    """A stored number: its value unrounded, its text, and its place (`group/variable[indices]` or `document#keys`)."""

    value: float
    text: str
    at: str

    def __str__(self) -> str:
        return self.text

    @property
    def is_known(self) -> bool:
        """Whether there is a number; elsewhere the text is a dash, and a page holds nothing to read back."""
        return isfinite(self.value)


type Said = list[str | Number]
"""A sentence with numbers in it, each with its place."""


@dataclass(frozen=True, slots=True)
class _Group:
    values: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    places: Mapping[str, Mapping[Any, int]]


def _group(data: xr.Dataset) -> _Group:
    return _Group(
        {str(name): data[name].values for name in data.variables},
        {str(name): tuple(str(dim) for dim in data[name].dims) for name in data.variables},
        {str(dim): {value: place for place, value in enumerate(data[dim].values.tolist())} for dim in data.indexes},
    )


class Stored:
    """Reads numbers and words of a stored tree by name; raises `InputError` where the tree lacks a document."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree
        self._groups: dict[str, _Group] = {}
        self.documents: dict[str, Any] = {name: document(tree.attrs, name) for name in DOCUMENTS}
        check_whole(tree)
        if "screen" not in tree.children:
            raise NoResultError("no group screen")
        self.content = str(tree.attrs["content_sha256"])

    def __contains__(self, group: str) -> bool:
        return group in self._tree.children

    def _of(self, group: str) -> _Group:
        if group not in self._groups:
            self._groups[group] = _group(self._tree[group].to_dataset())
        return self._groups[group]

    def _place(self, group: str, variable: str, where: Mapping[str, Any]) -> tuple[int, ...]:
        held = self._of(group)
        return tuple(
            held.places[dim][where[dim]] if dim in held.places else int(where[dim]) for dim in held.dims[variable]
        )

    def members(self, group: str) -> list[str]:
        """Names of the groups inside a group."""
        return [str(name) for name in self._tree[group].children]

    def labels(self, group: str, dim: str) -> list[Any]:
        """Coordinate values of a dim."""
        return list(self._of(group).places[dim])

    def size(self, group: str, dim: str) -> int:
        """Length of a dim, with or without coordinates."""
        return int(self._tree[group].sizes[dim])

    def word(self, group: str, variable: str, **where: Any) -> str:
        """A text that is stored in an array."""
        return str(self._of(group).values[variable][self._place(group, variable, where)])

    def number(self, kind: str, group: str, variable: str, **where: Any) -> Number:
        """A number that is stored in an array."""
        place = self._place(group, variable, where)
        value = float(self._of(group).values[variable][place])
        return Number(value, written(kind, value), f"{group}/{variable}[{','.join(map(str, place))}]")

    def told(self, kind: str, document: str, *keys: str | int) -> Number:
        """A number of one of the documents."""
        value: Any = self.documents[document]
        for key in keys:
            value = value[key]
        number = nan if value is None else float(value)
        pointer = "/".join(str(key).replace("~", "~0").replace("/", "~1") for key in keys)
        return Number(number, written(kind, number), f"{document}#{pointer}")

    def largest(self, group: str, variable: str, dim: str, **where: Any) -> Any:
        """The coordinate at which an array is largest: for choosing what to show, never a figure."""
        held = self._of(group)
        labels = list(held.places[dim])
        values = [held.values[variable][self._place(group, variable, {**where, dim: label})] for label in labels]
        return labels[int(np.nanargmax(values))] if np.isfinite(values).any() else None
