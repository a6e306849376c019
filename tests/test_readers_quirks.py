"""Real quirks of acceptance metrics, by their numbers: each that reaches a reader has a decided behaviour."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.faults import faults_alone
from draftdepth.data.readers import FORMATS, Source, recognised
from draftdepth.data.records import parse_run

from .reader_examples import (
    SECRET,
    aiperf,
    bench,
    facts,
    lines,
    llama,
    meta,
    payload,
    printed,
    read,
    scrape,
    trtllm,
    window,
)  # fmt: skip

FIXED, DYNAMIC = {"policy_kind": "fixed"}, {"policy_kind": "dynamic"}
V0_LINE = (
    "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, "
    "Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted "
    "tokens: 10616.\n"
)
V0_METRICS = 'vllm:spec_decode_num_accepted_tokens_total{m="a"} 5.0\nvllm:spec_decode_efficiency{m="a"} 0.5\n'
CREATED = 'vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} '
HALVES = [60, 30, 15]


def dspark(**spec: Any) -> str:
    counters = {"num_drafts": 100, "draft_tokens": 300, "accepted_tokens": 105, "accepted_tokens_per_position": HALVES}
    one = {"concurrency": 4, "streams": [], "spec_decode": counters | spec}
    return json.dumps({"trials": [one, one | {"spec_decode": None}]})


def without_rates(rounds: int, accepted: int) -> str:
    return json.dumps({"timings": {"draft_n": rounds, "draft_n_accepted": accepted, "predicted_n": 200}})


TAKEN: dict[str, tuple[str, Sequence[str | bytes], dict[str, Any], list[tuple[int, list[int]]]]] = {
    "A2-emitted-fewer": ("sglang", [lines(meta([2, 4, 4], completion_tokens=19))], {"policy_depth": 2}, [(10, [8, 4])]),
    "A3-zero-length": ("vllm-requests", [lines(payload([(2, 1), (0, 0), (1, 1)], 2))], DYNAMIC, [(3, [2, 0])]),
    "A6-mean-is-not-trusted": (
        "vllm-requests", [lines(payload([(2, 1), (2, 2)], 2, mean_acceptance_length=1.5))], {}, [(2, [2, 1])],
    ),
    "B1-engines-summed": (
        "vllm-metrics", [scrape(100, HALVES) + scrape(50, [40, 5, 5], engine="1")], {}, [(150, [100, 35, 20])],
    ),
    "B4-position-first": (
        "vllm-metrics",
        [re.sub(r'\{(.*),(position="\d")\}', r"{\2,\1}", scrape(100, HALVES, extra='x="a,\\"b}",'))],
        {}, [(100, HALVES)],
    ),
    "B8-windows-add-up": ("vllm-log", [window(100, HALVES) + window(50, [40, 5, 5])], {}, [(150, [100, 35, 20])]),
    "B9-no-positions-yet": ("vllm-metrics", [scrape(0, []), scrape(100, HALVES)], {}, [(100, HALVES)]),
    "B11-created-is-no-counter": (
        "vllm-metrics", [f"{CREATED}1.7863175205107226e+09\n" + scrape(100, HALVES)], {}, [(100, HALVES)],
    ),
    "C2-at-risk-may-rise": (
        "vllm-requests", [lines(payload([(1, 0)] * 8 + [(1, 1)] * 2 + [(2, 2)] * 5, 2))], DYNAMIC, [(15, [7, 5])],
    ),
    "C4-zero-length-kept": (
        "vllm-requests", [lines(payload([(0, 0)] * 3 + [(1, 1)], 2, "lengths"))], DYNAMIC, [(4, [1, 0])],
    ),
    "C9-vector-is-no-depth": ("llamacpp", [llama(97, [78, 68, 61, 50])], {"policy_depth": 4}, [(97, [78, 68, 61, 50])]),
    "C10-one-position-printed": ("vllm-bench", [printed(26407, [22021])], {}, [(26407, [22021])]),
    "C12-cliff": ("vllm-metrics", [scrape(105, [84, 63, 1, 1, 0, 0])], {}, [(105, [84, 63, 1, 1, 0, 0])]),
    "C13-exact-zeros": ("vllm-log", [window(65, [39, 25, 14] + [0] * 12)], {}, [(65, [39, 25, 14] + [0] * 12)]),
    "D1-percent-beside-fractions": ("vllm-bench", [json.dumps(bench(1178, [867]))], {}, [(1178, [867])]),
    "D2-sum-decides": ("vllm-log", [window(1300, [1300, 650])], {}, [(1300, [1300, 650])]),
    "D3-irregular-windows": (
        "vllm-log", [window(1, [1, 0]) + window(97, [55, 21], when="07-19 01:00:00")], {}, [(98, [56, 21])],
    ),
    "D4-bare-nan-unread": (
        "vllm-bench", [json.dumps(bench(100, HALVES, request_rate=float("inf"), r=float("nan")))], {}, [(100, HALVES)],
    ),
    "D5-keys-of-any-order": (
        "aiperf",
        [lines(aiperf([(12, 10), (12, 2), (12, 0)], 12) | {"metadata": {}})],
        {}, [(3, [2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0])],
    ),
    "D5-json-in-a-text": (
        "vllm-requests", [lines(payload([(2, 1), (2, 2)], 2, "", acceptance_histogram="[0, 1, 1]"))], {}, [(2, [2, 1])],
    ),
    "D6-integral-floats": ("vllm-bench", [json.dumps(bench(100, HALVES, spec_decode_num_drafts=1e2))], {},
                           [(100, HALVES)]),
    "D6-scientific": ("vllm-metrics", [scrape(83_198_416, [7_136_001]).replace("83198416.0", "8.3198416e+07")], {},
                      [(83_198_416, [7_136_001])]),
    "D7-ansi-cr-crlf": (
        "vllm-log",
        ["\x1b[36m" + window(100, HALVES).replace("INFO", "\x1b[0mINFO").replace("\n", "\r\n")
         + "progress 1%\r" + window(50, [40, 5, 5])],
        {}, [(150, [100, 35, 20])],
    ),
    "D8-field-in-between": (
        "vllm-log", [window(44, [44, 44, 35], field="Current speculative depth: 3, ")], {}, [(44, [44, 44, 35])],
    ),
    "D9-other-names": (
        "dspark-bench",
        [json.dumps({"cases": [{"concurrency": 1, "streams": [], "spec_decode": {
            "drafts": 10, "draft_tokens": 20, "accepted": 12, "accepted_per_position": [8, 4]}}]})],
        {"batch": None}, [(10, [8, 4])],
    ),
    "F5-warm-up-flag": (
        "aiperf",
        [lines(aiperf([(2, 2)] * 9, 2) | {"metadata": {"benchmark_phase": "warmup"}}, aiperf([(2, 1)], 2))],
        {}, [(1, [1, 0])],
    ),
    "F7-flat-tail": ("vllm-metrics", [scrape(84, [84, 84, 84])], {}, [(84, [84, 84, 84])]),
    "F8-few-drafts-all-accepted": ("llamacpp", [llama(4, [2, 1], 3)], {"policy_depth": 3, **DYNAMIC}, [(4, [2, 1, 0])]),
}  # fmt: skip

WARNED: dict[str, tuple[str, Sequence[str], dict[str, Any], list[tuple[int, list[int]]], str]] = {
    "A1-nothing-accepted": ("vllm-metrics", [scrape(40, [0, 0])], {}, [(40, [0, 0])], "perhaps not drafted"),
    "A1-windows-of-zeros": (
        "vllm-log", [window(100, HALVES) + window(40, [0, 0, 0])], {}, [(140, HALVES)], "1 of 2 windows accepted nothing",
    ),
    "A5-mean-without-bonus": (
        "vllm-log", [window(100, HALVES, mean="1.05")], {}, [(100, HALVES)], "has no bonus token",
    ),
    "A13-whole-or-nothing": ("vllm-metrics", [scrape(90, [30, 30, 30])], {}, [(90, [30, 30, 30])], "whole or not at all"),
    "A14-padded-drafts": ("vllm-requests", [lines(trtllm([8, 0, 6, 6]))], {}, [(20, [12, 12, 6])], "an upper bound"),
    "A16-bonus-in-front": (
        "vllm-bench", [json.dumps(bench(100, [100, 60, 30], spec_decode_accepted_tokens=90, spec_decode_draft_tokens=200))],
        {}, [(100, [60, 30])], "the bonus token: left out",
    ),
    "A17-given-total-counts": (
        "vllm-metrics", [scrape(1000, [500, 100], 1998)], {}, [(1000, [500, 100])], "2 short of 2000",
    ),
    "B5-no-keys": ("vllm-bench", [lines(bench(0, [], spec_decode_num_drafts=..., spec_decode_accepted_tokens=...,
                                              spec_decode_acceptance_rate=...), bench(10, [5]))],
                   {}, [(10, [5])], "missing is not zero"),
    "B5-all-failed": ("vllm-bench", [lines(bench(0, [], spec_decode_num_drafts=..., spec_decode_accepted_tokens=...,
                                                 spec_decode_acceptance_rate=..., completed=0, failed=8))],
                      {}, [], "no request was completed"),
    "B6-one-draft": ("vllm-bench", [json.dumps(bench(1, [1], completed=1, failed=7))], {}, [(1, [1])], "only 1"),
    "B6-failed": ("vllm-bench", [json.dumps(bench(1, [1], completed=1, failed=7))], {}, [(1, [1])], "7 of 8 requests failed"),
    "B7-no-rounds": ("vllm-metrics", [scrape(0, [0, 0])], {}, [(0, [0, 0])], "a run without a round"),
    "B8-not-available": (
        "vllm-bench", [lines(bench(9, [5], spec_decode_num_drafts="n/a", spec_decode_accepted_tokens="n/a",
                                   spec_decode_acceptance_rate="n/a"))], {}, [], "missing is not zero",
    ),
    "B12-lifetime": ("vllm-metrics", [scrape(100, HALVES)], {}, [(100, HALVES)], "the server's lifetime"),
    "B14-missing-counters": ("dspark-bench", [dspark()], {}, [(100, HALVES)], "missing is not zero"),
    "C3-full-drafts": ("vllm-metrics", [scrape(100, HALVES)], DYNAMIC, [(100, HALVES)], "nothing is taken as verified"),
    "C5-padded-vector": ("vllm-metrics", [scrape(100, [60, 30, 0], 200)], DYNAMIC, [(100, [60, 30, 0])],
                         "may never have been drafted"),
    "C7-structural-zeros": ("vllm-metrics", [scrape(100, [60, 30] + [0] * 30, 529)], DYNAMIC,
                            [(100, [60, 30] + [0] * 30)], "zeros beyond position 2"),
    "C8-short-last-drafts": ("vllm-metrics", [scrape(12297, [9000, 6000, 3000, 2000, 1000], 61479)], {},
                             [(12297, [9000, 6000, 3000, 2000, 1000])], "short last drafts"),
    "D8-depth-changes": (
        "vllm-log", [window(100, HALVES, field="Current speculative depth: 2, ")], DYNAMIC, [(100, HALVES)],
        "a depth that changes is a dynamic policy",
    ),
    "E4-more-at-once": ("vllm-bench", [json.dumps(bench(100, HALVES, max_concurrent_requests=7))], {}, [(100, HALVES)],
                        "up to 7 requests were open at once"),
    "E7-ranks-repeat": (
        "vllm-metrics", [scrape(100, HALVES, extra='tp_rank="0",') + scrape(100, HALVES, extra='tp_rank="1",')],
        {}, [(100, HALVES)], "taken once",
    ),
}  # fmt: skip

REFUSED: dict[str, tuple[str, Sequence[str], dict[str, Any], str]] = {
    "A7-v0-log": ("vllm-log", [V0_LINE], {}, "1 lines of the V0 engine: totals"),
    "A7-v0-metrics": ("vllm-metrics", [V0_METRICS], {}, "V0 has totals alone"),
    "A7-more-accepted-than-drafted": ("vllm-metrics", [scrape(100, HALVES, 100)], {}, "at least 105"),
    "A8-rate-above-one": ("sglang", [lines(meta([2, 3], spec_accept_rate=1.2))], {"policy_depth": 1}, "beyond 0 to 1"),
    "A8-fraction-above-one": (
        "vllm-bench", [json.dumps(bench(10, [5], spec_decode_per_position_acceptance_rates=[1.01]))], {}, "share from 0 to 1",
    ),
    "A9-trees": ("sglang", [lines(meta([2, 4, 4], spec_proposed_drafts=60))], {"policy_depth": 2}, "not the nodes"),
    "A10-more-tokens-than-rounds-give": (
        "sglang", [lines(meta([2, 4, 4], completion_tokens=24))], {"policy_depth": 2}, "at most 23",
    ),
    "A11-above-rounds": ("vllm-metrics", [scrape(100, [101, 3])], {}, r"position 1: found 101; at most 100"),
    "A11-not-the-total": ("vllm-metrics", [scrape(100, HALVES, accepted_tokens=104)], {}, "a sum of 105; 104"),
    "A11-longer-than-the-cap": ("vllm-metrics", [scrape(100, HALVES, 301)], DYNAMIC, r"draft tokens: found 301; at most 300"),
    "A14-padded-is-not-verified": (
        "vllm-requests", [lines(trtllm([8, 0, 6, 6]))], {**DYNAMIC, "draft_tokens_are_verified": True},
        "draft tokens: found nothing",
    ),
    "A15-survival-is-no-histogram": (
        "vllm-requests", [lines(payload([(3, 3)] * 10, 3, "", acceptance_histogram=[10, 6, 3, 1]))], {}, "no histogram",
    ),
    "A17-short-is-not-fixed": ("vllm-metrics", [scrape(100, [50, 10], 150)], {}, "200 would do at fixed depth 2"),
    "B2-one-engine-of-two": ("vllm-metrics", [scrape(100, [40, 10], accepted_tokens=100)], {}, "one engine out of 2"),
    "B3-cut-vector": ("vllm-metrics", [scrape(240, [226], 960, accepted_tokens=863)], {}, "cut off is no row of zeros"),
    "B3-hole": ("vllm-metrics", ["".join(one for one in scrape(100, HALVES).splitlines(True) if '"1"' not in one)], {},
                "no position 1"),
    "B4-speculation-off": ("vllm-metrics", ['vllm:num_requests_running{engine="0"} 1.0\n'], {}, "missing is not zero"),
    "B9-prefix": ("vllm-metrics", ['llamacpp:tokens_predicted_total{a="b"} 5\n'], {}, "the format llamacpp"),
    "B9-positions-too-late": ("vllm-metrics", [scrape(5, [], 15, accepted_tokens=2), scrape(100, HALVES)], {},
                              "no position 0"),
    "B10-totals": ("llamacpp", [without_rates(347, 65)], {}, "no rounds, no positions"),
    "B10-old-log": ("llamacpp", [llama(10, [5, 1], rates=False)], {"policy_depth": 2}, "1 lines of totals"),
    "B11-born-anew": (
        "vllm-metrics", [f"{CREATED}1e9\n" + scrape(1, [0, 0, 0]), f"{CREATED}2e9\n" + scrape(100, HALVES)], {},
        "born anew; a server that was not started anew",
    ),
    "B12-counters-went-back": ("vllm-metrics", [scrape(100, HALVES), scrape(90, HALVES)], {}, "found 90 after 100"),
    "B13-mean-of-a-life": ("sglang", [json.dumps({"internal_states": [{"avg_spec_accept_length": 3.1}]})], {},
                           "a mean accept length"),
    "C1-cut-drafts-are-not-fixed": (
        "vllm-requests", [lines(payload([(2, 1), (1, 1), (2, 0)], 2))], FIXED, "6 would do at fixed depth 2",
    ),
    "C9-depth-is-not-told": ("llamacpp", [llama(97, [78, 68, 61, 50])], {}, "the length of a vector is no depth"),
    "C14-keys-disagree": (
        "sglang", [json.dumps({"speculative_num_steps": 1, "speculative_num_draft_tokens": 6, "dspark_block_size": 5})],
        {}, "3 settings of the depth",
    ),
    "D1-percent-in-a-fraction": (
        "vllm-bench", [json.dumps(bench(10, [5], spec_decode_per_position_acceptance_rates=[50.0]))], {}, "percent",
    ),
    "D2-undetermined": ("vllm-log", [window(1720, [1256, 850, 514, 349, 194])], {}, "do not determine the counts"),
    "D2-undetermined-print": ("vllm-bench", [printed(11043, [8411, 6800, 5660])], {}, "do not determine"),
    "D4-bare-nan-read": (
        "vllm-bench", [json.dumps(bench(10, [5], spec_decode_per_position_acceptance_rates=[float("nan")]))], {},
        "no share from 0 to 1",
    ),
    "D6-half-a-round": ("vllm-bench", [json.dumps(bench(10, [5], spec_decode_num_drafts=10.5))], {}, r"found 10\.5"),
    "D6-null-is-not-zero": (
        "vllm-requests", [lines(payload([(2, 1)], 2, num_spec_steps=None))], {}, "num_spec_steps: found nothing",
    ),
    "D9-unknown-container": ("dspark-bench", [json.dumps({"rows": [1]})], {}, "trials, cases or results"),
    "D10-open-last-bucket": (
        "aiperf",
        [lines(aiperf([(5, 2), (5, 5)], 5) | {"spec_decode_acceptance": {
            "acceptance_histogram": {"2": 2}, "num_spec_steps": 2, "num_accepted_draft_tokens": 7,
            "num_draft_tokens": 10}})],
        {}, "or more is no length",
    ),
    "D10-pooled": ("aiperf", [json.dumps({"pooled_spec_decode_acceptance_histogram": {"0": 1}})], {}, "may be open"),
    "E7-ranks-differ": (
        "vllm-metrics", [scrape(100, HALVES, extra='tp_rank="0",') + scrape(101, HALVES, extra='tp_rank="1",')], {},
        "one series twice",
    ),
}  # fmt: skip

ELSEWHERE = {
    "A4": "counters do not tell the drafting method; a user of an affected build declares the policy dynamic",
    "A12": "log lines do not tell the build",
    "C6": "no source tells the build",
    "C11": "how depths compare is the analysis' business",
    "E2": "peak throughputs are never read",
    "E5": "no source tells its configuration; runs are never pooled without a run effect",
    "E6": "a slow run is a run of its own",
    "F2": "prompts are not read; the study says what a suite is",
    "F3": "transport is the model's business",
    "F6": "a source's counters and times are read from the same run or not at all",
}  # fmt: skip
"""Quirks that no reader can meet, with the reason."""


@pytest.mark.parametrize("case", TAKEN.values(), ids=TAKEN)
def test_taken(case: tuple[str, Sequence[str], dict[str, Any], list[tuple[int, list[int]]]]) -> None:
    form, texts, more, wanted = case
    done = read(form, *texts, **more)
    assert facts(done) == wanted
    assert all(not faults_alone(parse_run(record, "", 0)[1]) for record in done.records)


@pytest.mark.parametrize("case", WARNED.values(), ids=WARNED)
def test_taken_with_a_warning(
    case: tuple[str, Sequence[str], dict[str, Any], list[tuple[int, list[int]]], str],
) -> None:
    form, texts, more, wanted, said = case
    done = read(form, *texts, **more)
    assert facts(done) == wanted
    assert re.search(said, "\n".join(done.warnings)), done.warnings


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_with_the_reason(case: tuple[str, Sequence[str], dict[str, Any], str]) -> None:
    form, texts, more, said = case
    with pytest.raises(InputError, match=said) as refused:
        read(form, *texts, **more)
    assert "would do" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            json.dumps({"runs": [{"accepted": 432, "steps": 268, "tau": 2.612}]}), "without counts", id="A18-steps"
        ),
        pytest.param(
            json.dumps({"levels": {"1": {"tau": 2.427, "acceptance": 0.28}}}), "means or totals", id="D11-tau"
        ),
    ],
)
def test_what_no_format_takes(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        recognised(Source.of_text(text), FORMATS)


@pytest.mark.parametrize("gap", [pytest.param(0.02, id="E1-one-chunk-a-round"), pytest.param(0.0002, id="E3-floor")])
def test_chunk_gaps_are_steps_only_where_they_can_be(gap: float) -> None:
    itls = [[gap] * 24, [gap, gap * 2, gap * 3] * 8]
    (record,) = read("vllm-bench", json.dumps(bench(50, [20], itls=itls))).records
    wanted = [{"step_p50_ms": 20.0, "steps": 24}, {"step_p50_ms": 40.0, "steps": 24}]
    assert record["requests"] == (wanted if gap > 0.001 else [])
    (record,) = read("aiperf", lines(aiperf([(2, 1)] * 5, 2, [1000 * gap] * 5))).records
    assert record["requests"] == ([{"step_p50_ms": 20.0, "steps": 5}] if gap > 0.001 else [])


@pytest.mark.parametrize(
    "chunks", [pytest.param(100, id="E1-a-chunk-a-token"), pytest.param(30, id="E1-merged-chunks")]
)
def test_chunks_that_are_no_rounds_give_no_step_time(chunks: int) -> None:
    assert not read("vllm-bench", json.dumps(bench(50, [20], itls=[[0.02] * chunks]))).records[0]["requests"]
    record = aiperf([(2, 1)] * 50, 2, [20.0] * chunks)
    assert not read("aiperf", lines(record)).records[0]["requests"]


@pytest.mark.parametrize("key", [pytest.param("batch", id="E8-batch-by-name")])
def test_a_key_that_is_called_batch_is_none(key: str) -> None:
    (record,) = read("vllm-bench", json.dumps(bench(10, [5], **{key: 48})), batch=None).records
    assert record["batch"] == 4


def test_every_quirk_has_a_decision() -> None:
    counts = {"A": 18, "B": 14, "C": 14, "D": 11, "E": 8, "F": 8}
    every = {f"{part}{number}" for part, most in counts.items() for number in range(1, most + 1)}
    assert len(every) == 73
    here = {name.partition("-")[0] for name in (*TAKEN, *WARNED, *REFUSED)}
    here |= {"A18", "D11", "E1", "E3", "E8", "F1", "F4"}  # the tests above, and copies in test_readers_convert
    assert every == here | set(ELSEWHERE)
    assert not here & set(ELSEWHERE)
