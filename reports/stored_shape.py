"""The shape of a stored result: which links, sizes, groups, variables, dims and documents reanalyze writes."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import xarray as xr

from ..analysis.result import CONTENT_HASH, PROVENANCE
from ..data.errors import InputError

COMPARISON, SCREEN = "comparison", "screen"
MOST_GROUPS, MOST_ARRAYS, DEEPEST = 1_000, 20_000, 4
SLACK_BYTES = 2**20  # declared beyond the file's size: dims without values have no bytes of their own


class NoResultError(InputError):
    """What was found in place of a result, in words; the door says of which file."""


REQUIRED: Mapping[str, Mapping[str, str]] = {
    "comparison": {
        "rate gain_cap gain_current": "estimand cell depth scenario quantile",
        "tokens prior_rate prior_tokens": "estimand cell depth quantile",
        "current": "cell scenario quantile",
        "current_measured": "cell quantile",
        "inside_envelope": "estimand cell depth scenario",
        "contraction": "estimand cell depth",
        "label": "cell depth",
        "cell": "cell", "depth": "depth", "estimand": "estimand", "scenario": "scenario", "quantile": "quantile",
    },
    "decision": {
        "p_best expected_loss expected_rate p_within": "cell candidate",
        "p_gain p_gain_claimed p_gain_claimed_high one_sign passes": "cell depth",
        "recommended": "cell",
        "cell": "cell", "depth": "depth", "candidate": "candidate",
    },
    "rates": {
        "rate": "estimand cell chain draw depth scenario",
        "current": "cell chain draw scenario",
        "cell": "cell", "depth": "depth", "estimand": "estimand", "scenario": "scenario",
    },
}  # fmt: skip
"""Dims of what the comparison, the page and the exports read of every result."""

ALLOWED: Mapping[str, Mapping[str, str]] = {
    "screen": {
        "cap batch context_tokens runs rounds step_ms favoured_depth hypothetical suite worker": "cell",
        "survival": "cell position",
        "rate rate_low rate_high": "cell depth",
        "rate_bound": "cell depth end",
        "survival_bound": "cell position end",
        "cell": "cell", "depth": "depth", "position": "position", "end": "end",
    },
    "positions": {
        "fixed_survival exposure prior_fixed_survival prior_exposure": "cell position quantile",
        "survival_contraction": "cell position",
        "cell": "cell", "position": "position", "quantile": "quantile",
    },
    "explain": {
        "share share_error": "cell source depth",
        "interaction runs_share rounds_share": "cell depth",
        "evppi evppi_error": "cell source",
        "evpi evpi_error": "cell",
        "tip_value tip_error tip_from tip_to tip_below": "cell quantity tip",
        "tip_low tip_high tip_depth_low": "cell quantity",
        "cell": "cell", "source": "source", "depth": "depth", "quantity": "quantity",
    },
    "sensitivity": {"power_scaling": "cell prior", "cell": "cell", "prior": "prior"},
    "posterior/*": {
        "survival": "chain draw cell position",
        "fixed_survival": "chain draw cell depth position",
        "p_verified": "chain draw cell verified_depth",
        "step_ms row_slope": "chain draw cell",
        "overlap overhead_ms": "chain draw",
        "cell": "cell", "depth": "depth", "position": "position", "verified_depth": "verified_depth",
    },
    "repetitions/*": {
        "length length_low length_high length_place step step_low step_high step_place run_name policy policy_depth": "run"
    },
    "left_out/*": {
        "length length_low length_high length_place elpd pareto_k refitted diverged run_name": "run",
    },
    "spread/*": {"spread spread_low spread_high spread_place spread_runs arm_cell arm_policy": "arm"},
    "outside/*": {
        "position_runs position_outside": "position",
        "length_runs length_outside step_runs step_outside": "",
        "position": "position",
    },
}  # fmt: skip
"""Dims of what a result may hold."""

DOCUMENT_KEYS: Mapping[str, Mapping[str, type]] = {
    COMPARISON: {"cells": list},
    PROVENANCE: {"study": str, "settings": dict},
    SCREEN: {"study": dict, "arms": list, "files": list, "assumptions": dict, "warnings": list, "absent": list},
}
COMPARISON_KEYS: Mapping[str, type] = {"study": dict, "unsupported": list, "diagnostics": dict, "priors": dict}
CELL_KEYS: Mapping[str, type] = {
    "cell": str, "worker": str, "batch": int, "level": str, "sentence": str, "depths": list,
    "policy": dict, "recommended": int,
}  # fmt: skip


def check_file(path: Path) -> None:
    """Walk an HDF5 file before anything reads its values.

    Raises
    ------
    NoResultError
        A link that is not hard, an object met twice, groups too many or too deep, values that lie elsewhere or are of
        no plain kind, more of them declared than the file can hold, or a document that is missing or is none.
    OSError
        The file is no HDF5.
    """
    room = path.stat().st_size + SLACK_BYTES
    with h5py.File(path, "r") as file:
        check_documents(file.attrs)
        waiting, seen, arrays = [(file["/"], 0)], {h5py.h5o.get_info(file.id).addr}, 0
        groups = 1
        while waiting:
            group, depth = waiting.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise NoResultError("a link to another place")
                held = group[name]
                address = h5py.h5o.get_info(held.id).addr
                if address in seen:
                    raise NoResultError("a group or an array that stands at two places")
                seen.add(address)
                if isinstance(held, h5py.Group):
                    groups += 1
                    waiting.append((held, depth + 1))
                    if groups > MOST_GROUPS or depth + 1 > DEEPEST:
                        raise NoResultError("too many groups, or groups too deep")
                    continue
                arrays += 1
                room -= _declared_bytes(held)
                if room < 0 or arrays > MOST_ARRAYS:
                    raise NoResultError("more values declared than the file can hold")


def _declared_bytes(held: Any) -> int:
    """Bytes that an array declares; refuses one that is no plain array of numbers or texts of this file."""
    plain = isinstance(held, h5py.Dataset) and held.shape is not None and not held.is_virtual and not held.external
    if not plain or not (held.dtype.kind in "fiu" or h5py.check_string_dtype(held.dtype)):
        raise NoResultError("an array of neither numbers nor texts, or of another file")
    return int(held.size) * int(held.dtype.itemsize)


def _groups(tree: xr.DataTree) -> Iterator[tuple[str, Mapping[str, str], Mapping[Any, xr.Variable]]]:
    """Name, wanted dims and variables of each group of known shape."""
    for name, dims in {**REQUIRED, **ALLOWED}.items():
        front, _, each = name.partition("/")
        node = tree.children.get(front)
        if node is not None:
            members = {f"{front}/{key}": member for key, member in node.children.items()} if each else {front: node}
            yield from ((key, dims, member.to_dataset(inherit=False).variables) for key, member in members.items())


def check_arrays(tree: xr.DataTree) -> None:
    """Hold the groups that an opened tree has against those that reanalyze writes.

    Raises
    ------
    NoResultError
        A variable has other dims, or values of another kind.
    """
    for name, wanted, variables in _groups(tree):
        for names, dims in wanted.items():
            for variable in set(names.split()) & set(variables):
                if variables[variable].dims != tuple(dims.split()):
                    raise NoResultError(f"other dims of {variable} in {name} than ({', '.join(dims.split())})")
        if any(held.dtype.kind not in "biufOUT" for held in variables.values()):
            raise NoResultError(f"an array of neither numbers nor texts in {name}")


def check_whole(tree: xr.DataTree) -> None:
    """Hold a tree against all that the comparison, the page and the exports read of every result.

    Raises
    ------
    NoResultError
        A group, variable or document is missing or has another shape.
    """
    missing = [name for name in REQUIRED if name not in tree.children]
    if missing:
        raise NoResultError(f"no group {missing[0]}")
    for name, wanted, variables in _groups(tree):
        lacking = [each for names in wanted for each in names.split() if name in REQUIRED and each not in variables]
        if lacking:
            raise NoResultError(f"no variable {lacking[0]} in {name}")
    told = document(tree.attrs, COMPARISON)
    _check_keys(COMPARISON, told, COMPARISON_KEYS)
    for cell in told["cells"]:
        if not isinstance(cell, dict):
            raise NoResultError("a cell of the comparison document that is no JSON object")
        _check_keys(COMPARISON, cell, CELL_KEYS)


def document(attributes: Mapping[Any, Any], name: str) -> dict[str, Any]:
    """A document among the attributes of a stored tree.

    Raises
    ------
    NoResultError
        It is missing, no text, no JSON object, or lacks a key.
    """
    text = attributes.get(name)
    if not isinstance(text, str):
        raise NoResultError(f"no {name} document")
    try:
        told = json.loads(text)
        json.dumps(told, ensure_ascii=False).encode("utf-8")  # a lone surrogate cannot be written to any file
    except (ValueError, RecursionError) as error:
        raise NoResultError(f"a {name} document that is no JSON of this program") from error
    if not isinstance(told, dict):
        raise NoResultError(f"a {name} document that is no JSON object")
    _check_keys(name, told, DOCUMENT_KEYS[name])
    return told


def _check_keys(name: str, told: Mapping[str, Any], wanted: Mapping[str, type]) -> None:
    for key, kind in wanted.items():
        if not isinstance(told.get(key), kind):
            raise NoResultError(f"a {name} document without a {key} that is a {kind.__name__}")


def check_documents(attributes: Mapping[Any, Any]) -> None:
    """Hold the attributes of a whole file against those that reanalyze writes.

    Raises
    ------
    NoResultError
        The hash is none, or a document is missing or is none.
    """
    if re.fullmatch(r"[0-9a-f]{64}", str(attributes.get(CONTENT_HASH))) is None:
        raise NoResultError("no hash of its content")
    for name in (COMPARISON, PROVENANCE, *((SCREEN,) if SCREEN in attributes else ())):
        document(attributes, name)
