"""Real quirks of acceptance metrics that a reader refuses with the reason, by their numbers."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.readers import FORMATS, Source, recognised

from .reader_examples import (
    BORN,
    DYNAMIC,
    FIXED,
    HALVES,
    SECRET,
    aiperf,
    bench,
    lines,
    llama,
    meta,
    payload,
    printed,
    read,
    scrape,
    trtllm,
    window,
)

V0_LINE = (
    "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, "
    "Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted "
    "tokens: 10616.\n"
)


V0_METRICS = 'vllm:spec_decode_num_accepted_tokens_total{m="a"} 5.0\nvllm:spec_decode_efficiency{m="a"} 0.5\n'


def without_rates(rounds: int, accepted: int) -> str:
    return json.dumps({"timings": {"draft_n": rounds, "draft_n_accepted": accepted, "predicted_n": 200}})


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
        "vllm-metrics", [f"{BORN}1e9\n" + scrape(1, [0, 0, 0]), f"{BORN}2e9\n" + scrape(100, HALVES)], {},
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
