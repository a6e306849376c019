"""`convert` as a user meets it: formats, auto, copies, privacy, and what is never replaced."""

import gzip
from pathlib import Path

import pytest
from draftdepth.data.jsonl import read_record_file, usable
from draftdepth.data.readers import FORMATS, Source, recognised
from draftdepth.data.words import Level

from .called import run
from .convert_examples import EXAMPLES, MORE, NEEDED, convert
from .reader_examples import SECRET, bench, lines, meta, payload, window


def test_the_list_tells_of_every_format() -> None:
    told = run("convert", "--list").stdout
    assert set(EXAMPLES) == set(FORMATS)
    for name in FORMATS:
        assert f"{name}: " in told
    assert told.count("  evidence: ") == told.count("  lacks: ") == len(FORMATS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_auto_recognises_each_and_says_so(tmp_path: Path, name: str) -> None:
    known = recognised(Source.of_text(EXAMPLES[name]), FORMATS)
    assert known.name == name
    result = convert(tmp_path, EXAMPLES[name], *NEEDED, *MORE.get(name, ()))
    assert result.exit_code == 0, result.output
    assert f"recognised as {name}: " in result.stderr
    written = read_record_file(tmp_path / "runs.jsonl")
    assert usable(written)
    assert [run.level for _, run in written.runs] == [Level.L4]
    again = tmp_path / "again"
    again.mkdir()
    assert convert(again, gzip.compress(EXAMPLES[name].encode()), *NEEDED, *MORE.get(name, ())).exit_code == 0
    assert (again / "runs.jsonl").read_bytes() == (tmp_path / "runs.jsonl").read_bytes()


def test_auto_refuses_what_several_or_none_know(tmp_path: Path) -> None:
    mixed = convert(tmp_path, lines(payload([(2, 1)], 2), meta([1, 2])))
    assert (mixed.exit_code, "vllm-requests, sglang know" in mixed.stderr) == (2, True)
    assert "text that no format knows" in convert(tmp_path, f"{SECRET}\n").stderr
    assert "recognised as vllm-log" in convert(tmp_path, window(1720, [1256, 850, 514, 349, 194])).stderr
    (tmp_path / "two").write_text(EXAMPLES["vllm-log"])
    (tmp_path / "source").write_text(EXAMPLES["vllm-metrics"])
    several = run("convert", "auto", tmp_path / "source", tmp_path / "two", "-o", tmp_path / "o", *NEEDED)
    assert "found several formats" in several.stderr
    assert run("convert", "nothing", tmp_path / "two", "-o", tmp_path / "o", *NEEDED).exit_code == 2


@pytest.mark.parametrize("same", [pytest.param(True, id="F1-greedy-copies"), pytest.param(False, id="F4-not-copies")])
def test_copies_are_told(tmp_path: Path, same: bool) -> None:
    text = lines(bench(100, [60, 30]), bench(100, [60, 30 if same else 29]))
    result = convert(tmp_path, text, form="vllm-bench")
    assert result.exit_code == 0
    assert ("a copy is not new evidence" in result.stderr) == same


def test_sources_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for text, said in (
        (gzip.compress(EXAMPLES["vllm-log"].encode())[:-9], "a damaged gzip stream"),
        (EXAMPLES["vllm-log"].encode("utf-16"), "found UTF-16"),
    ):
        assert said in convert(tmp_path, text, form="vllm-log").stderr
    assert "found nothing" in run("convert", "auto", tmp_path / "no", "-o", tmp_path / "o", *NEEDED).stderr
    assert run("convert", "auto", tmp_path, "-o", tmp_path / "o", *NEEDED).exit_code == 2
    assert not (tmp_path / "o").exists()


def test_no_text_of_a_source_comes_along(tmp_path: Path) -> None:
    secret = "swordfish"
    for name, text in EXAMPLES.items():
        result = convert(tmp_path, text.replace('"m"', f'"{secret} {secret}"'), *NEEDED, *MORE.get(name, ()), form=name)
        assert result.exit_code == 0, result.output
        assert secret not in result.output + (tmp_path / "runs.jsonl").read_text()
        for broken in (
            text.replace("100", secret),
            text.replace('"2"', f'"{secret}"'),
            text.replace(": 2", f': "{secret}"'),
        ):
            for form in FORMATS:
                assert secret not in convert(tmp_path, broken, *NEEDED, *MORE.get(name, ()), form=form).output


def test_a_source_is_not_replaced_by_its_own_records(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_text(EXAMPLES["sglang"])
    done = run("convert", "sglang", path, "-o", path, *NEEDED, *MORE["sglang"])
    assert (done.exit_code, "the file that is read" in done.stderr) == (2, True), done.output
    assert path.read_text() == EXAMPLES["sglang"]
