"""Zips that lie about the zarr in them: each is refused in one line, before what it declares is read."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from draftdepth.analysis.result import CONTENT_HASH

from .called import run
from .stored_examples import RATE, RATE_VALUES, Members, pack, refused, retold, small_members

LABEL = "comparison/label/.zarray"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Members:
    return small_members(tmp_path_factory.mktemp("small"))


def _array(**changes: Any) -> Callable[[Members], None]:
    """Other metadata of the rates, consolidated likewise."""

    def change(members: Members) -> None:
        retold(members, RATE, changes)

    return change


def _attributes(members: Members, name: str, changes: Mapping[str, Any]) -> None:
    retold(members, f"{name}/.zattrs", changes)


def _put(name: str, held: bytes = b"x") -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members[name] = held

    return change


def _nothing_but(*names: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members.clear()
        members.update(dict.fromkeys(names, b"x"))

    return change


def _drop(name: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        del members[name]

    return change


def _silent(members: Members) -> None:
    """Metadata that leave out a word, so that a default would stand in its place."""
    everything = json.loads(members[".zmetadata"])
    del everything["metadata"][RATE]["compressor"]
    members[".zmetadata"] = json.dumps(everything).encode()
    members[RATE] = json.dumps(everything["metadata"][RATE]).encode()


def _grown(members: Members) -> None:
    """More rates than there are, by metadata and values that agree."""
    shape = json.loads(members[RATE])["shape"]
    shape[0] *= 2
    retold(members, RATE, {"shape": shape, "chunks": shape})
    members[RATE_VALUES] *= 2


def _without(prefix: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        everything = json.loads(members[".zmetadata"])
        for name in [name for name in members if name.startswith(prefix)]:
            everything["metadata"].pop(name, None)
            del members[name]
        members[".zmetadata"] = json.dumps(everything).encode()

    return change


def _groups(*names: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        everything = json.loads(members[".zmetadata"])
        for name in names:
            everything["metadata"][f"{name}/.zgroup"] = {"zarr_format": 2}
            members[f"{name}/.zgroup"] = b'{"zarr_format": 2}'
        members[".zmetadata"] = json.dumps(everything).encode()

    return change


HUGE = [2**40, 2**40, 2, 2, 2]


PICKLE = [{"id": "pickle", "protocol": 5}]


LIES: Mapping[str, tuple[str, Callable[[Members], None]]] = {
    "a shape that is too large": ("metadata do not fit", _array(shape=HUGE, chunks=HUGE)),
    "a shape that is too small": ("metadata do not fit", _array(shape=[1] * 5, chunks=[1] * 5)),
    "a negative shape": ("without a shape", _array(shape=[-1, 1, 1, 1, 1])),
    "a shape of truths": ("without a shape", _array(shape=[True])),
    "no shape": ("without a shape", _array(shape=None)),
    "other chunks": ("several chunks", _array(chunks=[1, 1, 1, 1, 1])),
    "other numbers": ("metadata do not fit", _array(dtype="<f4")),
    "a filter that runs code": ("neither numbers nor texts", _array(dtype="|O", filters=PICKLE)),
    "numbers under a filter": ("compressed or in several", _array(filters=PICKLE)),
    "compressed numbers": ("compressed or in several", _array(compressor={"id": "zstd", "level": 1})),
    "no word of a compressor": ("compressed or in several", _silent),
    "dates": ("neither numbers nor texts", _array(dtype="<M8[ns]")),
    "no dtype of this world": ("neither numbers nor texts", _array(dtype="|f1")),
    "fewer values": ("metadata do not fit", lambda m: _put(RATE_VALUES, m[RATE_VALUES][:-8])(m)),
    "more values": ("metadata do not fit", lambda m: _put(RATE_VALUES, m[RATE_VALUES] + b"x")(m)),
    "no values": ("metadata do not fit", _drop(RATE_VALUES)),
    "other values": ("hash", lambda m: _put(RATE_VALUES, m[RATE_VALUES][::-1])(m)),
    "more rates that agree": ("no result", _grown),
    "values that are scaled": ("hash", lambda m: _attributes(m, "comparison/rate", {"scale_factor": 2.0})),
    "other dims": ("other dims", lambda m: _attributes(m, "decision/p_gain", {"_ARRAY_DIMENSIONS": ["cell", "deep"]})),
    "fewer dims": ("no result", lambda m: _attributes(m, "comparison/rate", {"_ARRAY_DIMENSIONS": ["cell"]})),
    "dims of no text": ("no result", lambda m: _attributes(m, "comparison/rate", {"_ARRAY_DIMENSIONS": 5})),
    "metadata that are told otherwise": ("consolidated", _put(RATE, b"{}")),
    "no consolidated metadata": ("consolidated", _drop(".zmetadata")),
    "metadata of no JSON": ("no JSON", _put(LABEL, b"{")),
    "metadata of no text": ("no JSON", _put(LABEL, b"\xff\xfe\xfd")),
    "metadata that are a list": ("no JSON object", _put(LABEL, b"[]")),
    "metadata without end": ("no JSON", _put(LABEL, b"[" * 100_000)),
    "a member of no array": ("belongs to no array", _put("comparison/rate/1.0.0.0.0")),
    "a member above": ("leads elsewhere", _put("../../outside")),
    "a member at the root": ("leads elsewhere", _put("/etc/outside")),
    "a member of another system": ("leads elsewhere", _put("comparison\\outside")),
    "a member of here": ("leads elsewhere", _put("./.zgroup", b"{}")),
    "no group": ("no group decision", _without("decision/")),
    "no variable": ("no variable gain_cap", _without("comparison/gain_cap/")),
    "a group in an array": ("stands in no group", _groups("comparison/rate/in")),
    "a group that is an array": ("in place of one", _groups("comparison/rate")),
    "deep groups": ("too deep", _groups("a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e")),
    "many groups": ("too many groups", _groups(*(f"g{place}" for place in range(1001)))),
    "no zarr": ("no zarr store", _nothing_but("a.txt")),
    "nothing": ("no zarr store", _nothing_but()),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_zip_that_lies_is_refused_in_one_line(lie: str, small: Members, tmp_path: Path) -> None:
    part, change = LIES[lie]
    members = dict(small)
    change(members)
    path = pack(members, tmp_path / "posterior.zarr.zip")
    done = run("show", path)
    refused(done, path)
    assert part in done.stderr


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("comparison", "{", "a comparison document that is no JSON of this program"),
        ("provenance", 3, "no provenance document"),
        (CONTENT_HASH, "x", "no hash of its content"),
    ],
)
def test_no_document_of_a_zip_is_believed(key: str, value: object, said: str, small: Members, tmp_path: Path) -> None:
    members = dict(small)
    retold(members, ".zattrs", {key: value})
    path = pack(members, tmp_path / "posterior.zarr.zip")
    done = run("show", path)
    refused(done, path)
    assert said in done.stderr
