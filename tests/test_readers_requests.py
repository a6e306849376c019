"""Payloads of single requests and results of benches: tables, places, and what contradicts itself."""

import json

import pytest
from draftdepth.data.errors import InputError

from .reader_examples import aiperf, bench, lines, meta, payload, printed, read, trtllm


def test_per_step_arrays_are_the_joint_table() -> None:
    first, second = [(2, 1), (0, 0), (1, 1)], [(3, 3), (3, 0), (2, 1), (1, 0)]
    wanted = {
        "request_rounds": 7, "accepted_position": [4, 1, 1], "verified_tokens": 12, "verified_position": [6, 4, 2],
        "accepted_by_verified": {"0": [1], "1": [1, 1], "2": [0, 2, 0], "3": [1, 0, 0, 1]},
    }  # fmt: skip
    for detail in ("steps", "lengths"):
        (record,) = read(
            "vllm-requests", lines(payload(first, 3, detail), payload(second, 3, detail)), policy_kind="dynamic"
        ).records
        assert record | wanted == record
    mixed = read("vllm-requests", lines(payload(first, 3, "steps"), payload(second, 3, "")), policy_kind="dynamic")
    assert "accepted_by_verified" not in mixed.records[0]
    assert "1 of 2 requests lack drafted lengths" in "\n".join(mixed.warnings)
    (record,) = read("aiperf", lines(aiperf(first, 3), aiperf(second, 3)), policy_kind="dynamic").records
    assert record | wanted == record
    other = read("vllm-requests", lines(payload(first, 3, "")), policy_kind="dynamic", draft_tokens_are_verified=True)
    assert other.records[0]["verified_tokens"] == 3


def test_tables_are_held_against_histogram_and_totals() -> None:
    steps = [(2, 1), (0, 0), (1, 1)]
    for fields, said in (
        ({"per_step_accepted": [2, 0, 0]}, "other rounds by accepted length"),
        ({"per_step_accepted": [1, 1, 1]}, r"per_step_accepted\[2\]: found 1; at most 0"),
        ({"per_step_drafted": [2, 0]}, "per_step_drafted: found 2 steps; 3"),
        ({"num_draft_tokens": 4}, "num_draft_tokens: found 4; 3, the sum"),
        ({"num_spec_tokens": 1}, "num_spec_tokens: found 1; at least 2"),
        ({"num_accepted_draft_tokens": 1}, "2 accepted tokens; 1"),
    ):
        with pytest.raises(InputError, match=said):
            read("vllm-requests", lines(payload(steps, 2, **fields)), policy_kind="dynamic")
    by_length = "acceptance_histogram_by_draft_length"
    for rows, said in (
        ({"2": [0, 1, 0], "1": [0, 1]}, "other rounds"),
        ({"2": [0, 1], "1": [0, 1, 1]}, "more than was drafted"),
        ({"x": [1]}, "no drafted length"),
        ({"2": [0, 1], "02": [1]}, "one drafted length twice"),
    ):
        with pytest.raises(InputError, match=said):
            read("vllm-requests", lines(payload(steps, 2, "", **{by_length: rows})), policy_kind="dynamic")


def test_payloads_are_found_where_servers_put_them() -> None:
    whole = payload([(2, 1), (2, 2)], 2)
    inner = whole["metrics"]["speculative_decoding"]
    for text in (
        lines(whole), json.dumps(whole, indent=1), json.dumps([whole]), lines(inner), lines({"response": {"body": whole}}),
        f"data: {json.dumps(whole)}\n\ndata: [DONE]\n", "\ufeff" + lines(whole),
    ):  # fmt: skip
        assert read("vllm-requests", text).records[0]["accepted_position"] == [2, 1]
    with pytest.raises(InputError, match="another bound on the draft length"):
        read("vllm-requests", lines(whole, payload([(3, 1)], 3)))
    with pytest.raises(InputError, match=r"line 2: .*the format sglang"):
        read("vllm-requests", lines(whole, meta([1, 2])))
    with pytest.raises(InputError, match="payloads of two engines"):
        read("vllm-requests", lines(whole, trtllm([1, 2])))
    assert read("vllm-requests", lines(whole, trtllm([1, 2])), select="trtllm").records[0]["request_rounds"] == 3


def test_results_that_are_printed_are_selected_by_number() -> None:
    text = printed(11043, [8411, 6800, 5660]) + printed(500, [400, 200])
    (record,) = read("vllm-bench", text, select="2", batch=None).records
    assert (record["run"], record["batch"], record["accepted_position"]) == ("run1-2", 4, [400, 200])
    with pytest.raises(InputError, match="result 1: per-position acceptance"):
        read("vllm-bench", text)


def test_rates_of_a_result_are_held_against_all_their_digits() -> None:
    rates = "spec_decode_per_position_acceptance_rates"
    assert read("vllm-bench", json.dumps(bench(100, [60, 30], **{rates: [0.6, 0.3]}))).records
    assert read("vllm-bench", json.dumps(bench(300, [200, 100], **{rates: [0.667, 0.333]}))).records
    assert read("vllm-bench", json.dumps(bench(10**6, [2], **{rates: [2e-06]}))).records
    for wrong in ([0.6666, 0.333], [0.66733333333, 0.333333333333]):
        with pytest.raises(InputError, match="rates that no counts have"):
            read("vllm-bench", json.dumps(bench(300, [200, 100], **{rates: wrong})))
