"""Real quirks of acceptance metrics, by their numbers: each has a decided behaviour; here those of step times."""

import json

import pytest

from .reader_examples import aiperf, bench, lines, read
from .test_readers_quirks_refused import REFUSED
from .test_readers_quirks_taken import TAKEN
from .test_readers_quirks_warned import WARNED

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
