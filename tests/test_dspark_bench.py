"""What the dspark-bench reader takes, on small files of our own whose records were worked out by hand."""

import json

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.readers import Source

from .dspark_examples import BENCH, SECRET, convert, read, trial


def test_a_record_is_what_it_is_by_hand() -> None:
    done = convert(trial(), start="monday", run_prefix="a-")
    assert done.records == [
        {
            "schema": 1, "suite": "kettle", "cell": "c2", "run": "a-trial1", "worker": "two-nodes", "batch": 2,
            "context_tokens": 0, "phase": "decode", "policy": {"kind": "fixed", "depth": 3}, "request_rounds": 10,
            "accepted_position": [8, 5, 1], "verified_tokens": 30, "start": "monday",
            "requests": [{"step_mean_ms": 125.0, "steps": 4}],
        }
    ]  # fmt: skip
    assert list(done.records[0])[:5] == ["schema", "suite", "cell", "run", "worker"]
    assert done.counts == {"streams": 2, "streams_without_step_time": 1, "without_counters": 0, "copies": 0}
    assert done.warnings == []
    assert "1 of 2 streams" in done.notes[0]


@pytest.mark.parametrize(("chunks", "timed"), [(80, 1), (79, 0)])
def test_a_stream_needs_eight_tenths_of_the_chunks_that_its_rounds_make(chunks: int, timed: int) -> None:
    one = trial(num_drafts=198, draft_tokens=594)  # 198 / 2 + 1 = 100 chunks
    one["streams"] = [{"chunks": chunks, "decode_s": 0.7}]
    assert len(convert(one).records[0]["requests"]) == timed


@pytest.mark.parametrize("container", ["trials", "cases", "results"])
def test_containers_and_names_are_read_alike(container: str) -> None:
    other = trial(num_drafts="absent", accepted_tokens="absent", drafts=10, accepted=14)
    assert convert(other, container=container).records == convert(trial()).records
    alone = other | {"trial": None}
    assert read(json.dumps(alone).encode("utf-8-sig")).records == convert(trial()).records
    keyed = trial(accepted_tokens_per_position={"2": 1, "0": 8, "1": 5})
    assert convert(keyed).records == convert(trial()).records


def test_missing_counters_are_no_record_and_no_zero() -> None:
    off, none, null = trial(2, enabled=False, num_drafts=0), trial(3), trial(4)
    del none["spec_decode"]
    null["spec_decode"] = None
    done = convert(trial(), off, none, null)
    assert len(done.records) == 1
    assert done.counts["without_counters"] == 3
    assert "3 of 4 trials hold no counters" in done.warnings[0]


def test_copies_are_kept_and_told() -> None:
    done = convert(trial(1), trial(2), trial(3, accepted_tokens_per_position=[8, 4, 2]))
    assert [record["run"] for record in done.records] == ["trial1", "trial2", "trial3"]
    assert done.counts["copies"] == 1
    assert "trials[2]: the same counters as trials[1]" in done.warnings[0]


def test_trials_without_a_number_are_counted_within_their_cell() -> None:
    other = trial(None) | {"concurrency": 4}
    done = convert(trial(None), other, trial(None))
    assert [(r["cell"], r["run"]) for r in done.records] == [("c2", "trial1"), ("c4", "trial1"), ("c2", "trial2")]


def test_a_threshold_is_dynamic_and_its_drafts_are_verified_only_where_declared() -> None:
    short = trial(draft_tokens=27)
    quiet = convert(short, confidence_threshold=0.4)
    assert quiet.records[0]["policy"] == {"kind": "dynamic", "cap": 3}
    assert "verified_tokens" not in quiet.records[0]
    assert "3 tokens short of 30" in quiet.warnings[0]
    declared = convert(short, confidence_threshold=0.4, draft_tokens_are_verified=True)
    assert declared.records[0]["verified_tokens"] == 27
    assert "verified_tokens" not in convert(trial(), policy_kind="dynamic").records[0]


def test_a_fixed_depth_forgives_short_last_drafts_of_one_percent() -> None:
    counters = {"num_drafts": 100, "accepted_tokens": 14}
    done = convert(trial(draft_tokens=297, **counters))
    assert done.records[0]["verified_tokens"] == 297
    assert "short last drafts" in done.warnings[0]
    with pytest.raises(InputError, match=r"draft_tokens: found 296; 300 would do at fixed depth 3"):
        convert(trial(draft_tokens=296, **counters))


def test_one_prompt_is_selected_and_never_guessed() -> None:
    first, second = trial() | {"prompt": "tea_time"}, trial(draft_tokens=29) | {"prompt": SECRET}
    with pytest.raises(InputError, match=r"prompt: found 2 prompts: a text of 25 characters, tea_time;"):
        convert(first, second)
    assert convert(first, second, select="tea_time").records == convert(trial()).records
    with pytest.raises(InputError, match="the option select takes one of these"):
        convert(first, select="coffee")
    with pytest.raises(InputError, match="prompt_sha256: found 2 prompts"):
        convert(trial(1) | {"prompt_sha256": "a"}, trial(2) | {"prompt_sha256": "b"})


def test_what_nobody_reads_may_be_odd_and_is_told() -> None:
    done = convert(trial() | {"mean_ttft_s": float("nan"), "text": SECRET})
    assert "1 bare NaN or Infinity in fields that are not read" in done.warnings[0]
    assert SECRET not in json.dumps([done.records, done.warnings, done.notes])


def test_it_recognises_its_own() -> None:
    assert BENCH.recognises(Source.of_text(json.dumps({"trials": [trial()]})))
    assert not BENCH.recognises(Source.of_text('{"results": [{"concurrency": 1}]}'))
    assert not BENCH.recognises(Source.of_text("SpecDecoding metrics: Mean acceptance length: 2.5"))
