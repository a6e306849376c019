"""Zips that lie about the zarr in them: each is refused in one line, before what it declares is read."""

import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from draftdepth.analysis.result import CONTENT_HASH
from draftdepth.data.errors import InputError
from draftdepth.reports.command import main
from draftdepth.reports.output_tree import ZARR, tree_writer
from draftdepth.reports.page_opened import stored

from .test_stored import hashed, refused, small_tree

type Members = dict[str, bytes]

RATE, RATE_VALUES = "comparison/rate/.zarray", "comparison/rate/0.0.0.0.0"
LABEL = "comparison/label/.zarray"


def _run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """The members of an honest zip."""
    path = tmp_path_factory.mktemp("small") / "posterior.zarr.zip"
    tree_writer(ZARR)(hashed(small_tree()), path)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def _pack(members: Mapping[str, bytes], path: Path, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, held in members.items():
            file.writestr(name, held)
    return path


def _array(**changes: Any) -> Callable[[Members], None]:
    """Other metadata of the rates, consolidated likewise."""

    def change(members: Members) -> None:
        _metadata(members, RATE, changes)

    return change


def _metadata(members: Members, name: str, changes: Mapping[str, Any]) -> None:
    everything = json.loads(members[".zmetadata"])
    everything["metadata"][name] |= changes
    members[name] = json.dumps(everything["metadata"][name]).encode()
    members[".zmetadata"] = json.dumps(everything).encode()


def _attributes(members: Members, name: str, changes: Mapping[str, Any]) -> None:
    _metadata(members, f"{name}/.zattrs", changes)


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
    _metadata(members, RATE, {"shape": shape, "chunks": shape})
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
    path = _pack(members, tmp_path / "posterior.zarr.zip")
    done = _run("show", path)
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
    _metadata(members, ".zattrs", {key: value})
    path = _pack(members, tmp_path / "posterior.zarr.zip")
    done = _run("show", path)
    refused(done, path)
    assert said in done.stderr


def test_a_bomb_is_refused_before_it_is_read(small: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> None:
        raise AssertionError("a member was read")

    size = 2**26
    members = dict(small)
    _metadata(members, RATE, {"shape": [size], "chunks": [size], "dtype": "|i1"})
    path = _pack(members | {"comparison/rate/0": bytes(size)}, tmp_path / "bomb.zip", zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < size / 100
    honest = bytearray(_pack(small, tmp_path / "declared.zip").read_bytes())
    at = honest.rfind(b"PK\x01\x02")  # the last member of the directory, its sizes 20 and 24 bytes further on
    honest[at + 20 : at + 28] = b"\xf0\xff\xff\x7f" * 2
    (tmp_path / "declared.zip").write_bytes(honest)
    monkeypatch.setattr("zipfile.ZipFile.read", read)
    for name, said in (("bomb.zip", "compressed or encrypted"), ("declared.zip", "more values declared")):
        done = _run("show", tmp_path / name)
        refused(done, tmp_path / name)
        assert said in done.stderr


def test_a_member_that_stands_twice_or_is_encrypted_is_refused(small: Members, tmp_path: Path) -> None:
    twice = _pack(small, tmp_path / "twice.zip")
    with zipfile.ZipFile(twice, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr(RATE, small[RATE])
    secret = bytearray(_pack(small, tmp_path / "secret.zip").read_bytes())
    secret[secret.rfind(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "secret.zip").write_bytes(secret)
    for name, said in (("twice.zip", "stands twice"), ("secret.zip", "encrypted")):
        done = _run("show", tmp_path / name)
        refused(done, tmp_path / name)
        assert said in done.stderr


def test_a_zip_that_is_cut_short_or_damaged_is_refused(small: Members, tmp_path: Path) -> None:
    whole = _pack(small, tmp_path / "whole.zip").read_bytes()
    middle = whole.find(small[RATE_VALUES])
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    cuts = [whole[: int(len(whole) * part)] for part in (0.01, 0.5, 0.9)]
    for place, held in enumerate((*cuts, whole[:-1], whole[:4], flipped)):
        path = tmp_path / f"{place}.zip"
        path.write_bytes(held)
        done = _run("show", path)
        refused(done, path)
        assert ("cut short or damaged" in done.stderr) == (held is not flipped)


def test_a_byte_that_is_changed_makes_no_other_result_and_no_traceback(small: Members, tmp_path: Path) -> None:
    whole = _pack(small, tmp_path / "whole.zip").read_bytes()
    path, rng = tmp_path / "changed.zip", random.Random("a changed byte")
    honest = refusals = 0
    directory = whole.rfind(b"PK\x05\x06") - 40_000
    for place in range(60):
        at = rng.randrange(directory if place % 2 else 0, len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        try:
            with stored(path, whole=True) as tree:
                assert tree.attrs[CONTENT_HASH] == json.loads(small[".zattrs"])[CONTENT_HASH]
                rates = tree["comparison"].to_dataset()["rate"]
                np.testing.assert_array_equal(rates.values.ravel(), np.frombuffer(small[RATE_VALUES]))
        except InputError as error:
            refusals += str(error).endswith("would do")
        else:
            honest += 1
    assert honest + refusals == 60
    assert refusals > 30
