"""The dspark-bench reader, on small files of our own whose records were worked out by hand."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.faults import faults_alone
from draftdepth.data.readers import FORMATS, Conversion, ReaderOptions, Source
from draftdepth.data.records import parse_run
from hypothesis import given, settings
from hypothesis import strategies as st

SECRET = "the prompt nobody may see"
BENCH = FORMATS["dspark-bench"]


def options(**more: Any) -> ReaderOptions:
    return replace(ReaderOptions("kettle", "two-nodes", context_tokens=0), **more)


def trial(number: int | None = 1, **counters: Any) -> dict[str, Any]:
    """Ten rounds at concurrency 2; (10 / 2 + 1) * 0.8 = 4.8 chunks are the fewest that give a step time."""
    spec = {
        "enabled": True,
        "num_drafts": 10,
        "draft_tokens": 30,
        "accepted_tokens": 14,
        "accepted_tokens_per_position": [8, 5, 1],
    }
    return {
        "concurrency": 2,
        "trial": number,
        "streams": [
            {"chunks": 5, "decode_s": 0.5, "prompt_tokens": 40, "output": SECRET},
            {"chunks": 4, "decode_s": 0.4, "prompt_tokens": 40, "output_sha256": SECRET},
        ],
        "spec_decode": {name: value for name, value in (spec | counters).items() if value != "absent"},
    }


def read(text: str | bytes, **more: Any) -> Conversion:
    return BENCH.convert([Source.of_text(text)], options(**more))


def convert(*trials: dict[str, Any], container: str = "trials", **more: Any) -> Conversion:
    return read(json.dumps({"model": SECRET, container: list(trials)}), **more)


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


@pytest.mark.parametrize(
    ("counters", "said"),
    [
        ({"accepted_tokens": 15}, r"per_position: found a sum of 14; 15 \(accepted_tokens\)"),
        ({"accepted_tokens_per_position": [11, 5, 1]}, r"position\[1\]: found 11; at most 10 would do \(num_drafts\)"),
        ({"accepted_tokens_per_position": [5, 8, 1]}, r"position\[2\]: found 8; at most 5"),
        ({"accepted_tokens_per_position": [], "accepted_tokens": 0}, r"per_position: found nothing; one count"),
        ({"accepted_tokens_per_position": SECRET}, r"per_position: found a text of 25 characters"),
        ({"accepted_tokens_per_position": {"1": 8}}, r"keys that are not 0, 1"),
        ({"draft_tokens": 31}, r"draft_tokens: found 31; 14 \(accepted\) to 30"),
        ({"draft_tokens": 13}, r"draft_tokens: found 13; 14 \(accepted\) to 30"),
        ({"draft_tokens": "absent"}, r"draft_tokens: found nothing; the option policy_kind"),
        ({"num_drafts": "absent"}, r"num_drafts: found nothing"),
        ({"num_drafts": -1}, r"num_drafts: found -1; a whole number of at least 0"),
        ({"num_drafts": 10.5}, r"num_drafts: found 10\.5"),
        ({"num_drafts": True}, r"num_drafts: found true"),
        ({"num_drafts": float("nan")}, r"num_drafts: found nan"),
        ({"num_drafts": float("inf")}, r"num_drafts: found inf"),
        ({"num_drafts": 10**400}, r"num_drafts: found a (whole )?number"),
        ({"drafts": 12}, r"drafts: found another value than num_drafts has"),
        ({"enabled": False}, r"enabled: found false beside rounds"),
    ],
)
def test_counters_that_cannot_be_are_refused(counters: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        convert(trial(**counters))
    assert str(refused.value).startswith("trials[1].spec_decode.")
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"trials": [', "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        ("[" * 200_000, "nested too deeply"),
        ("9" * 5_000, "a number of too many digits"),
        ('{"trials": 1, "trials": 2}', "the field trials twice"),
        ("{}", "no spec_decode and no streams"),
        ('{"trials": []}', "an empty list"),
        ('{"trials": {}}', "trials: found an object of 0 fields; a list"),
        ('{"trials": [7]}', r"trials\[1\]: found 7; an object"),
        ('{"trials": [{"streams": []}], "cases": [{}]}', "cases: found trials beside those in trials"),
        ('{"trials": [{"streams": []}]}', r"concurrency: found nothing; the option batch"),
    ],
)
def test_text_that_is_no_bench_file_is_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text)


def test_times_and_batches_that_cannot_be_are_refused() -> None:
    for said, value in (("decode_s", -1.0), ("decode_s", float("inf")), ("chunks", 2.5)):
        one = trial()
        one["streams"][0][said] = value
        with pytest.raises(InputError, match=rf"trials\[1\].streams\[1\].{said}: found"):
            convert(one)
    with pytest.raises(InputError, match=r"concurrency: found 2; 3 would do"):
        convert(trial(), batch=3)
    with pytest.raises(InputError, match="trial 1 twice at concurrency 2"):
        convert(trial(1), trial(1))
    with pytest.raises(InputError, match="one concurrency would do for the one cell"):
        convert(trial(), trial() | {"concurrency": 4}, cell="mine")
    long = trial(2) | {"streams": [{"prompt_tokens": 32_000}]}
    with pytest.raises(InputError, match="prompts of 40 to 32000 tokens"):
        convert(trial(1), long)


def test_what_nobody_reads_may_be_odd_and_is_told() -> None:
    done = convert(trial() | {"mean_ttft_s": float("nan"), "text": SECRET})
    assert "1 bare NaN or Infinity in fields that are not read" in done.warnings[0]
    assert SECRET not in json.dumps([done.records, done.warnings, done.notes])


def test_options_are_checked() -> None:
    for wrong, said in (
        ({"suite": ""}, "suite"), ({"batch": 0}, "batch"), ({"confidence_threshold": 1.5}, "confidence_threshold"),
        ({"policy_kind": "fixed", "confidence_threshold": 0.4}, "policy_kind"), ({"policy_depth": 65}, "policy_depth"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            options(**wrong)


def test_it_recognises_its_own() -> None:
    assert BENCH.recognises(Source.of_text(json.dumps({"trials": [trial()]})))
    assert not BENCH.recognises(Source.of_text('{"results": [{"concurrency": 1}]}'))
    assert not BENCH.recognises(Source.of_text("SpecDecoding metrics: Mean acceptance length: 2.5"))


LISTS = st.lists(st.integers(-1, 12), max_size=4)
ODD = st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=3) | LISTS | st.just(10**30)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_no_mutation_brings_a_traceback_or_a_record_that_cannot_be(data: st.DataObject) -> None:
    source: Any = {"trials": [trial(1), trial(2)]}
    for _ in range(data.draw(st.integers(1, 3))):
        place = source
        while True:
            keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 4)):
                place = place[key]
                continue
            place[key] = copy.deepcopy(data.draw(ODD))
            break
    try:
        done = read(json.dumps(source), policy_kind=data.draw(st.sampled_from([None, "dynamic"])))
    except InputError:
        return
    for record in done.records:
        counts = [record["request_rounds"], *record["accepted_position"], 0]
        assert counts == sorted(counts, reverse=True)
        assert not faults_alone(parse_run(record, "", 0)[1])
