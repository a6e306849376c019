"""Mutated inputs of every format: nothing but our own refusal, and no record that cannot be."""

import copy
import json
import random
from collections import Counter
from typing import Any

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.faults import faults_alone
from draftdepth.data.readers import FORMATS, Source, recognised
from draftdepth.data.records import parse_run

from .reader_examples import (
    aiperf,
    bench,
    lines,
    llama,
    meta,
    options,
    payload,
    printed,
    scrape,
    statistics,
    trtllm,
    window,
)

STEPS = [(2, 1), (0, 0), (1, 1), (2, 2), (2, 0)]
SEEDS: list[tuple[str, str]] = [
    ("vllm-metrics", scrape(100, [60, 30]) + scrape(40, [20, 5], engine="1")),
    ("vllm-log", window(100, [60, 30]) + "\x1b[0m" + window(44, [44, 35], field="Current speculative depth: 2, ")),
    ("vllm-requests", lines(payload(STEPS, 2), payload(STEPS, 2, "lengths"), payload(STEPS, 2, ""))),
    ("vllm-requests", lines(trtllm([8, 0, 6]))),
    ("vllm-bench", lines(bench(100, [60, 30], itls=[[0.02] * 100]), bench(9, [5, 1]))),
    ("vllm-bench", printed(500, [400, 200])),
    ("aiperf", lines(aiperf(STEPS, 2, [20.0] * 5), aiperf(STEPS, 2))),
    ("llamacpp", llama(87, [70, 55], 172) + llama(50, [40, 20], task=1) + statistics(137, [110, 75])),
    ("llamacpp", llama(10, [5, 1], rates=False) + statistics(206, [173, 138])),
    ("sglang", lines(meta([2, 4, 4]), meta([0, 1, 9]))),
    ("dspark-bench", json.dumps({"trials": [{"concurrency": 4, "streams": [{"chunks": 4, "decode_s": 0.5}], "spec_decode": {
        "num_drafts": 9, "draft_tokens": 18, "accepted_tokens": 9, "accepted_tokens_per_position": [6, 3]}}]})),
]  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 0.5, 1e300, -0.0, 10**30, float("nan"), float("inf"), "", "x", "[1]", "{", [], {},
    [0], [3, 2, 1], [[1]], {"0": 1}, {"-1": 1}, {"99": 1}, {"²": 1}, "n/a",
]  # fmt: skip
SNIPPETS = [
    "\n",
    "\r",
    "\x00",
    "\ud800",
    "{",
    "}",
    '"',
    ",",
    ":",
    "-",
    "e9",
    "9" * 30,
    "nan",
    "inf",
    "0.",
    "²",
    "\x1b[",
    "=",
    "|",
]


def _characters(draw: random.Random, text: str) -> str:
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(text) + 1)
        end = min(len(text), place + draw.choice([0, 1, 1, 2, 9, 80]))
        match draw.randrange(4):
            case 0:
                text = text[:place] + text[end:]
            case 1:
                text = text[:place] + draw.choice(SNIPPETS) + text[end:]
            case 2:
                text = text[:place] + text[place:end] * 3 + text[end:]
            case _:
                text = "".join(
                    str(draw.randint(0, 9)) if char.isdigit() and place <= at < end else char
                    for at, char in enumerate(text)
                )
    return text


def _values(draw: random.Random, text: str) -> str:
    rows = [json.loads(line) for line in text.splitlines()]
    for _ in range(draw.randint(1, 3)):
        place: Any = rows
        while place:
            key = draw.choice(sorted(place)) if isinstance(place, dict) else draw.randrange(len(place))
            if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.8:
                place = place[key]
                continue
            if draw.random() < 0.2:
                del place[key]
            elif isinstance(place[key], int) and draw.random() < 0.4:
                place[key] += draw.choice([-1, 1])
            else:
                place[key] = copy.deepcopy(draw.choice(ODD))
            break
    return lines(*rows)


def _mutated(draw: random.Random, text: str) -> bytes:
    change = _values if text.startswith("{") and draw.random() < 0.6 else _characters
    text = change(draw, text)
    data = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.05:
        place = draw.randrange(len(data) + 1)
        data = data[:place] + bytes(draw.randrange(256) for _ in range(3)) + data[place:]
    return b"\xef\xbb\xbf" + data if draw.random() < 0.02 else data


def _outcome(draw: random.Random, form: str, text: str) -> str:
    sources = [Source.of_text(_mutated(draw, text))]
    if form == "vllm-metrics" and draw.random() < 0.5:
        sources.insert(0, Source.of_text(_mutated(draw, scrape(10, [5, 1]) + scrape(4, [2, 0], engine="1"))))
    more = {
        "policy_kind": draw.choice(["fixed", "dynamic"]),
        "policy_depth": 2 if form in ("llamacpp", "sglang") else draw.choice([None, None, None, 1, 2, 3]),
        "draft_tokens_are_verified": draw.random() < 0.2,
    }
    try:
        if draw.random() < 0.1:
            recognised(sources[-1], FORMATS)
        done = FORMATS[form].convert(sources, options(**more))
    except InputError as error:
        return "refused" if "\n" not in str(error) else "refused in several lines"
    for record in done.records:
        run, faults = parse_run(record, "", 0)
        assert not faults_alone(faults)
        assert run is not None
        counts = [run.request_rounds, *run.accepted, 0]
        assert counts == sorted(counts, reverse=True)
        json.dumps(record, allow_nan=False)
    return "read" if done.records else "nothing"


def _mutations(count: int, seed: int) -> Counter[tuple[str, str]]:
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        draw = random.Random(seed * 1_000_003 + number)
        form, text = SEEDS[number % len(SEEDS)]
        outcomes[form, _outcome(draw, form, text)] += 1
    return outcomes


def test_some_mutations_bring_no_traceback() -> None:
    assert _mutations(440, 1).total() == 440


@pytest.mark.slow
def test_ten_thousand_mutations_bring_no_traceback_and_no_record_that_cannot_be() -> None:
    outcomes = _mutations(10_000, 7)
    assert {what for _, what in outcomes} == {"refused", "read", "nothing"}
    for form in FORMATS:  # the mutations are neither so mild nor so wild that they try nothing
        assert outcomes[form, "refused"] > 100
        assert outcomes[form, "read"] > 30
