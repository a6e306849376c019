"""What is taken of a source and what is declared beside it: pairs, selections, sidecars; nothing is guessed."""

import json
from pathlib import Path

import pytest
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.data.readers import declared

from .called import run
from .convert_examples import EXAMPLES, NEEDED, convert
from .reader_examples import SECRET, read, scrape, window


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
