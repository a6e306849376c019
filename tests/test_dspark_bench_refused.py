"""What the dspark-bench reader refuses, with the place and no text of the file; and files of any kind."""

import copy
import json
from typing import Any

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.faults import faults_alone
from draftdepth.data.records import parse_run
from hypothesis import given, settings
from hypothesis import strategies as st

from .dspark_examples import SECRET, convert, options, read, trial


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


def test_options_are_checked() -> None:
    for wrong, said in (
        ({"suite": ""}, "suite"), ({"batch": 0}, "batch"), ({"confidence_threshold": 1.5}, "confidence_threshold"),
        ({"policy_kind": "fixed", "confidence_threshold": 0.4}, "policy_kind"), ({"policy_depth": 65}, "policy_depth"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            options(**wrong)


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
