"""Real quirks of acceptance metrics that a reader takes and tells of, by their numbers."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from .reader_examples import DYNAMIC, HALVES, bench, facts, lines, read, scrape, trtllm, window


def dspark(**spec: Any) -> str:
    counters = {"num_drafts": 100, "draft_tokens": 300, "accepted_tokens": 105, "accepted_tokens_per_position": HALVES}
    one = {"concurrency": 4, "streams": [], "spec_decode": counters | spec}
    return json.dumps({"trials": [one, one | {"spec_decode": None}]})


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


@pytest.mark.parametrize("case", WARNED.values(), ids=WARNED)
def test_taken_with_a_warning(
    case: tuple[str, Sequence[str], dict[str, Any], list[tuple[int, list[int]]], str],
) -> None:
    form, texts, more, wanted, said = case
    done = read(form, *texts, **more)
    assert facts(done) == wanted
    assert re.search(said, "\n".join(done.warnings)), done.warnings
