"""`convert` as a user meets it: formats, auto, sidecars, copies, privacy, large logs, and the corpus."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.data.jsonl import read_record_file, usable
from draftdepth.data.readers import FORMATS, Source, declared, recognised
from draftdepth.data.words import Level

from .called import run
from .reader_examples import SECRET, aiperf, bench, lines, llama, meta, payload, read, scrape, window

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
NEEDED = ("--suite", "kettle", "--worker", "w", "--batch", "4", "--policy-kind", "fixed")
EXAMPLES: dict[str, str] = {
    "vllm-metrics": scrape(100, [60, 30, 15]),
    "vllm-log": "INFO 07-18 20:26:53 API server version 0.19\n" + window(100, [60, 30, 15]),
    "vllm-requests": lines(payload([(2, 1), (2, 2)], 2), payload([(2, 0)], 2)),
    "vllm-bench": json.dumps(bench(100, [60, 30])),
    "aiperf": lines(aiperf([(2, 1), (2, 2)], 2)),
    "llamacpp": llama(87, [70, 55, 42], 259),
    "sglang": lines(meta([2, 4, 4])),
    "dspark-bench": json.dumps({"trials": [{"concurrency": 4, "streams": [], "spec_decode": {
        "num_drafts": 9, "draft_tokens": 9, "accepted_tokens": 5, "accepted_tokens_per_position": [5]}}]}),
}  # fmt: skip
MORE = {"llamacpp": ("--policy-depth", "3"), "sglang": ("--policy-depth", "2")}


def convert(folder: Path, text: str | bytes, *words: str, form: str = "auto", name: str = "source") -> Result:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return run("convert", form, folder / name, "-o", folder / "runs.jsonl", *(words or NEEDED))


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


def test_a_pair_of_scrapes_is_a_run_and_four_are_two(tmp_path: Path) -> None:
    texts = [scrape(10, [5, 1]), scrape(110, [65, 31]), scrape(200, [100, 50]), scrape(230, [120, 55])]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.prom").write_text(text)
    paths = [tmp_path / f"{number}.prom" for number in range(4)]
    assert run("convert", "vllm-metrics", *paths, "-o", tmp_path / "runs.jsonl", *NEEDED).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [(row["run"], row["request_rounds"], row["accepted_position"]) for row in rows] == [
        ("run1", 100, [60, 30]), ("run2", 30, [20, 5]),
    ]  # fmt: skip
    odd = run("convert", "vllm-metrics", *paths[:3], "-o", tmp_path / "runs.jsonl", *NEEDED)
    assert "one before and one after each run" in odd.stderr


def test_another_process_is_a_restart_though_counters_grew() -> None:
    texts = [f"process_start_time_seconds {born}\n" + scrape(rounds, [5, 1]) for born, rounds in ((1e9, 10), (2e9, 20))]
    with pytest.raises(InputError, match="process_start_time_seconds: found another start"):
        read("vllm-metrics", *texts)
    with pytest.raises(InputError, match="engines: found other ones than before"):
        read("vllm-metrics", scrape(1, [0]), scrape(5, [1]) + scrape(5, [1], engine="1"))


def test_models_are_selected_and_never_guessed() -> None:
    two = scrape(100, [60]) + scrape(9, [5]).replace('"m"', '"other"')
    with pytest.raises(InputError, match="found 2 models: m, other"):
        read("vllm-metrics", two)
    assert read("vllm-metrics", two, select="other").records[0]["request_rounds"] == 9
    with pytest.raises(InputError, match="the option select takes one of these"):
        read("vllm-metrics", two, select=SECRET)


def test_a_span_of_a_log_is_selected() -> None:
    text = "".join(window(rounds, [rounds // 2], when=f"07-18 20:{rounds}:00") for rounds in (10, 20, 30))
    assert read("vllm-log", text, select="07-18 20:15:00..07-18 20:30:00").records[0]["request_rounds"] == 50
    with pytest.raises(InputError, match="no SpecDecoding line in the span"):
        read("vllm-log", text, select="07-19 00:00:00..07-19 01:00:00")
    for wrong in ("yesterday", "07-18 21:00:00..07-18 20:00:00"):
        with pytest.raises(InputError, match=r"MM-DD HH:MM:SS\.\.MM-DD"):
            read("vllm-log", text, select=wrong)


def test_nothing_that_a_source_lacks_is_guessed() -> None:
    for name, text in EXAMPLES.items():
        if name not in ("vllm-bench", "dspark-bench"):  # both tell a concurrency
            with pytest.raises(InputError, match="the option batch would say"):
                read(name, text, batch=None, policy_depth={"llamacpp": 3, "sglang": 2}.get(name))
        if name != "dspark-bench":
            with pytest.raises(InputError, match="the option policy_kind"):
                read(name, text, policy_kind=None)
    (record,) = read("vllm-log", EXAMPLES["vllm-log"]).records
    assert record["context_tokens"] is None
    assert record["requests"] == []
    assert "start" not in record


def test_what_has_no_parts_has_nothing_to_select() -> None:
    for name in ("aiperf", "llamacpp", "sglang"):
        with pytest.raises(InputError, match="select: found a part where this format has none"):
            read(name, EXAMPLES[name], select="1", policy_depth=3)


@pytest.mark.parametrize("same", [pytest.param(True, id="F1-greedy-copies"), pytest.param(False, id="F4-not-copies")])
def test_copies_are_told(tmp_path: Path, same: bool) -> None:
    text = lines(bench(100, [60, 30]), bench(100, [60, 30 if same else 29]))
    result = convert(tmp_path, text, form="vllm-bench")
    assert result.exit_code == 0
    assert ("a copy is not new evidence" in result.stderr) == same


def test_a_sidecar_declares_and_an_option_counts_more(tmp_path: Path) -> None:
    side = tmp_path / "side.toml"
    side.write_text('suite = "kettle"\nworker = "w"\nbatch = 2\ncontext_tokens = 0\npolicy_kind = "fixed"\n')
    result = convert(tmp_path, EXAMPLES["vllm-log"], "--sidecar", str(side), "--batch", "3")
    assert result.exit_code == 0, result.output
    row = json.loads((tmp_path / "runs.jsonl").read_text())
    assert (row["suite"], row["batch"], row["context_tokens"]) == ("kettle", 3, 0)
    side.write_text('suite = "kettle"\nworker = "w"\nbatch = 2\ncontext_tokens = 9\npolicy_kind = "fixed"\n')
    assert not convert(tmp_path, EXAMPLES["vllm-log"], "--sidecar", str(side), "--context-tokens", "0").exit_code
    assert json.loads((tmp_path / "runs.jsonl").read_text())["context_tokens"] == 0
    assert "worker: found nothing" in convert(tmp_path, EXAMPLES["vllm-log"], "--suite", "s").stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("batch = true", "batch: found true; a whole number"),
        ('batch = "4"', "batch: found a text of 1 characters"),
        ("suite = 3", "suite: found 3; a text"),
        ("draft_tokens_are_verified = 1", "true or false"),
        ("rounds = 3", "rounds: found no such declaration"),
        ("batch = [", "not TOML"),
        ("batch = 1979-05-27", "something that is not JSON"),
        ("policy_kind = 'often'\nsuite = 's'\nworker = 'w'", "policy_kind: found another word"),
    ],
)
def test_sidecars_that_cannot_be_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "side.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        declared({}, tmp_path / "side.toml")
    with pytest.raises(MissingInputError, match="found nothing"):
        declared({}, tmp_path / "none.toml")


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


def _log(path: Path, megabytes: int) -> None:
    """A log of other lines with one window of 100 rounds a MB."""
    noise = b"INFO 07-18 20:26:54 [loggers.py:273] a line on something else, as long as those of a server often are..\n"
    with path.open("wb") as stream:
        for number in range(megabytes):
            stream.write(noise * (1_000_000 // len(noise)) + b"INFO Engine 000: Running: 4 reqs, Waiting: 0 reqs\n")
            stream.write(window(100, [60, 30], when=f"07-18 20:{number // 60:02}:{number % 60:02}").encode())


def _memory_of_a_log(path: Path) -> tuple[int, int]:
    """Peak memory in KiB of a process that reads a log, and the rounds that it found."""
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom draftdepth.data.readers import *\n"
        "done = FORMATS['vllm-log'].convert([Source.of_path(Path(sys.argv[1]))], ReaderOptions('s', 'w', batch=1, "
        "policy_kind='fixed'))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, done.records[0]['request_rounds'])"
    )
    words = [sys.executable, "-c", code, str(path)]
    peak, found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return int(peak), int(found)


def test_marked_lines_are_those_of_a_plain_search(tmp_path: Path) -> None:
    draw = random.Random(3)
    pieces = [b"x" * 700, b"mark", b"\n", b"\n", b"\r", b"other " * 90_000, b"m", b"ark\n"]
    text = b"\xef\xbb\xbf" + b"".join(draw.choice(pieces) for _ in range(80)) + b"mark at the end"
    assert len(text) > 3 << 20
    wanted = [(number, line) for number, line in enumerate(text[3:].split(b"\n"), 1) if b"mark" in line]
    assert list(Source.of_text(text).marked(b"mark", b"no such")) == wanted
    assert len(wanted) > 5
    assert not Source.of_text(text).holds(b"no such")


@pytest.mark.slow
def test_a_log_of_500_mb_is_read_in_constant_memory(tmp_path: Path) -> None:
    _log(tmp_path / "small", 2)
    _log(tmp_path / "large", 500)
    small, few = _memory_of_a_log(tmp_path / "small")
    large, many = _memory_of_a_log(tmp_path / "large")
    assert recognised(Source.of_path(tmp_path / "large"), FORMATS).name == "vllm-log"
    (tmp_path / "large").unlink()
    assert (few, many) == (200, 50_000)
    assert large < small + 10_000


KNOWN_TO_CONVERT: dict[str, list[tuple[int, list[int]]]] = {
    "vllm-prometheus-mia-k6.prom": [(105, [84, 63, 1, 1, 0, 0])],
    "vllm-server-log-excerpt-phase-c-failure.log": [(2302, [1811, 1293, 852, 574, 359])],
    "vllm-server-log-excerpt-prepared-load.log": [(1458, [1338, 1191, 1051, 913, 780])],
    "vllm-bench-acc_2026-05-22T200425Z.json": [(30058, [21024])],
    "vllm-bench-bench_2026-05-22T195133Z_mtp_bs1.json": [(1178, [867])],
    "vllm-bench-bench_2026-05-22T195133Z_mtp_bs16.json": [(19199, [13494])],
    "vllm-bench-bench_mtp_in2048_bs1.json": [(1, [1])],
    "vllm-bench-tp4_64k_bench_random256_bs8.json": [(4749, [3424])],
    "thread-ggml-org_llama.cpp_PR24536_sample.log": [(87, [70, 55, 42])],
    "thread-llamacpp_gemma4_12b_kvquant_annex.log": [(684, [536, 469, 385, 325])],
    "thread-llamacpp_qwen38_leg7_app-q5km.log": [(206, [173, 138])],
}
DEPTHS = {"PR24536": "3", "gemma4": "4", "qwen38": "2"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not part of the project")
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: path.name)
def test_every_file_of_the_corpus_converts_or_is_refused_with_a_reason(path: Path, tmp_path: Path) -> None:
    words: list[Any] = ["convert", "auto", path, "-o", tmp_path / "runs.jsonl", "--suite", "s", "--worker", "w"]
    if path.parent.name != "gx10":
        words += ["--batch", "4", "--policy-kind", "fixed"]
    words += [word for part, depth in DEPTHS.items() if part in path.name for word in ("--policy-depth", depth)]
    result = run(*words)
    if result.exit_code == 0:
        written = read_record_file(tmp_path / "runs.jsonl")
        assert usable(written)
        found = [(one.request_rounds, list(one.accepted)) for _, one in written.runs]
        assert path.parent.name == "gx10" or found == KNOWN_TO_CONVERT[path.name]
    else:
        assert result.exit_code == 2
        assert path.name not in KNOWN_TO_CONVERT
        assert "would do" in result.stderr or "would say" in result.stderr or "select" in result.stderr
        assert isinstance(result.exception, SystemExit)


def test_a_source_is_not_replaced_by_its_own_records(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_text(EXAMPLES["sglang"])
    done = run("convert", "sglang", path, "-o", path, *NEEDED, *MORE["sglang"])
    assert (done.exit_code, "the file that is read" in done.stderr) == (2, True), done.output
    assert path.read_text() == EXAMPLES["sglang"]
