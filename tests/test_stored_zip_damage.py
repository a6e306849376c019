"""Zips that are bombs, damaged or cut short: none is read beyond what it shows, and none gives another result."""

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draftdepth.analysis.result import CONTENT_HASH
from draftdepth.data.errors import InputError
from draftdepth.reports.page_opened import stored

from .called import run
from .stored_examples import RATE, RATE_VALUES, Members, pack, refused, retold, small_members


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Members:
    return small_members(tmp_path_factory.mktemp("small"))


def test_a_bomb_is_refused_before_it_is_read(small: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> None:
        raise AssertionError("a member was read")

    size = 2**26
    members = dict(small)
    retold(members, RATE, {"shape": [size], "chunks": [size], "dtype": "|i1"})
    path = pack(members | {"comparison/rate/0": bytes(size)}, tmp_path / "bomb.zip", zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < size / 100
    honest = bytearray(pack(small, tmp_path / "declared.zip").read_bytes())
    at = honest.rfind(b"PK\x01\x02")  # the last member of the directory, its sizes 20 and 24 bytes further on
    honest[at + 20 : at + 28] = b"\xf0\xff\xff\x7f" * 2
    (tmp_path / "declared.zip").write_bytes(honest)
    monkeypatch.setattr("zipfile.ZipFile.read", read)
    for name, said in (("bomb.zip", "compressed or encrypted"), ("declared.zip", "more values declared")):
        done = run("show", tmp_path / name)
        refused(done, tmp_path / name)
        assert said in done.stderr


def test_a_member_that_stands_twice_or_is_encrypted_is_refused(small: Members, tmp_path: Path) -> None:
    twice = pack(small, tmp_path / "twice.zip")
    with zipfile.ZipFile(twice, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr(RATE, small[RATE])
    secret = bytearray(pack(small, tmp_path / "secret.zip").read_bytes())
    secret[secret.rfind(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "secret.zip").write_bytes(secret)
    for name, said in (("twice.zip", "stands twice"), ("secret.zip", "encrypted")):
        done = run("show", tmp_path / name)
        refused(done, tmp_path / name)
        assert said in done.stderr


def test_a_zip_that_is_cut_short_or_damaged_is_refused(small: Members, tmp_path: Path) -> None:
    whole = pack(small, tmp_path / "whole.zip").read_bytes()
    middle = whole.find(small[RATE_VALUES])
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    cuts = [whole[: int(len(whole) * part)] for part in (0.01, 0.5, 0.9)]
    for place, held in enumerate((*cuts, whole[:-1], whole[:4], flipped)):
        path = tmp_path / f"{place}.zip"
        path.write_bytes(held)
        done = run("show", path)
        refused(done, path)
        assert ("cut short or damaged" in done.stderr) == (held is not flipped)


def test_a_byte_that_is_changed_makes_no_other_result_and_no_traceback(small: Members, tmp_path: Path) -> None:
    whole = pack(small, tmp_path / "whole.zip").read_bytes()
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
