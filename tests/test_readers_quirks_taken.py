"""Real quirks of acceptance metrics that a reader takes as they are, by their numbers."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from draftdepth.data.faults import faults_alone
from draftdepth.data.records import parse_run

from .reader_examples import (
    BORN,
    DYNAMIC,
    HALVES,
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
    window,
)

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
        "vllm-metrics", [f"{BORN}1.7863175205107226e+09\n" + scrape(100, HALVES)], {}, [(100, HALVES)],
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


@pytest.mark.parametrize("case", TAKEN.values(), ids=TAKEN)
def test_taken(case: tuple[str, Sequence[str], dict[str, Any], list[tuple[int, list[int]]]]) -> None:
    form, texts, more, wanted = case
    done = read(form, *texts, **more)
    assert facts(done) == wanted
    assert all(not faults_alone(parse_run(record, "", 0)[1]) for record in done.records)
