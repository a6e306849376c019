"""Every fault of a record is found, placed and said, and nothing else is read."""

from typing import Any

import pytest
from draftdepth.data.faults import Fault, faults_alone, warnings_alone
from draftdepth.data.records import parse_run
from draftdepth.data.run_record import Run

from .builders import record


def _read(**changes: Any) -> tuple[Run | None, list[Fault]]:
    return parse_run(record(**changes), "f.jsonl", 7, max_depth=5)


TABLE = {"0": [100], "1": [50, 50], "2": [10, 20, 70]}
OF_TABLE: dict[str, Any] = {
    "request_rounds": 300,
    "accepted_position": [140, 70],
    "policy": {"kind": "dynamic", "cap": 2},
    "accepted_by_verified": TABLE,
}


def test_a_good_record_has_no_fault() -> None:
    run, faults = _read(verified_tokens=4890, verified_position=[1480, 1402, 1180, 828, 0])
    assert faults == []
    assert run is not None
    assert (run.accepted, run.verified_tokens, run.level) == ((1110, 814, 560, 330, 0), 4890, "L2")


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, "L0"),
        ({"verified_tokens": 4890}, "L1"),
        ({"verified_position": [1480, 1402, 1180, 828, 0]}, "L2"),
        (OF_TABLE, "L3"),
        ({"policy": {"kind": "fixed", "depth": 4}}, "L4"),
    ],
)
def test_the_level_is_what_the_record_holds(changes: dict[str, Any], level: str) -> None:
    run, faults = _read(**changes)
    assert faults == []
    assert run is not None
    assert run.level == level


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"schema": 2}, "schema", "2"),
    ({"suite": ...}, "suite", "nothing"),
    ({"suite": ""}, "suite", "a text of 0"),
    ({"cell": "a\x1b[2Jb"}, "cell", "a text of 6"),
    ({"run": 3}, "run", "3"),
    ({"batch": 0}, "batch", "0"),
    ({"batch": True}, "batch", "true"),
    ({"batch": "3"}, "batch", "a text of 1"),
    ({"batch": 2.5}, "batch", "2.5"),
    ({"context_tokens": ...}, "context_tokens", "nothing"),
    ({"context_tokens": -1}, "context_tokens", "-1"),
    ({"phase": 3}, "phase", "3"),
    ({"policy": "dynamic"}, "policy", "a text of 7"),
    ({"policy": {"kind": "adaptive", "cap": 4}}, "policy.kind", "a text of 8"),
    ({"policy": {"kind": "dynamic"}}, "policy.cap", "null"),
    ({"policy": {"kind": "dynamic", "cap": 6}}, "policy.cap", "6"),
    ({"request_rounds": -1}, "request_rounds", "-1"),
    ({"request_rounds": 10**30}, "request_rounds", "a whole number"),
    ({"request_rounds": 1000}, "accepted_position[1]", "1110"),
    ({"accepted_position": [1110, 814, 815, 330, 0]}, "accepted_position[3]", "815"),
    ({"accepted_position": [1110, 814, 560, 330, 2]}, "accepted_position[5]", "2"),
    ({"accepted_position": [1110, 814, 560]}, "accepted_position", "3 positions"),
    ({"accepted_position": [1110, 814, 560, 330, 0, 0]}, "accepted_position", "6 positions"),
    ({"accepted_position": {"1": 3}}, "accepted_position", "an object of 1"),
    ({"accepted_position": [1110, True, 560, 330, 0]}, "accepted_position[2]", "true"),
    ({"policy": {"kind": "fixed", "depth": 3}}, "accepted_position[4]", "330"),
    ({"verified_position": [1480, 813, 800, 700, 0]}, "verified_position[2]", "813"),
    ({"verified_position": [1480, 1402, 1403, 828, 0]}, "verified_position[3]", "1403"),
    ({"verified_position": [1480, 1402]}, "verified_position", "2 positions"),
    ({"verified_position": [1480, 1402, 1180, 828, 0], "verified_tokens": 4889}, "verified_tokens", "4889"),
    ({"verified_tokens": 2000}, "verified_tokens", "2000"),
    ({"verified_tokens": 5921}, "verified_tokens", "5921"),
    ({"policy": {"kind": "fixed", "depth": 4}, "verified_tokens": 5800}, "verified_tokens", "5800"),
    (OF_TABLE | {"request_rounds": 301}, "accepted_by_verified", "300 rounds"),
    (OF_TABLE | {"accepted_position": [141, 70]}, "accepted_by_verified", "140 rounds"),
    (OF_TABLE | {"verified_position": [200, 101]}, "accepted_by_verified", "100 rounds"),
    (OF_TABLE | {"accepted_by_verified": {"x": [1]}}, "accepted_by_verified", "an object of 1"),
    (OF_TABLE | {"accepted_by_verified": {"²": [1]}}, "accepted_by_verified", "an object of 1"),
    (OF_TABLE | {"accepted_by_verified": TABLE | {"1": [100]}}, "accepted_by_verified.1", "1 counts"),
    ({"request_rounds": 10**400}, "request_rounds", "a whole number"),
    ({"request_rounds": float("inf")}, "request_rounds", "inf"),
    ({"requests": [{"step_p50_ms": 10**400}]}, "requests[1].step_p50_ms", "a whole number"),
    ({"requests": ...}, "requests", "nothing"),
    ({"requests": [3.0]}, "requests[1]", "3.0"),
    ({"requests": [{"step_p50_ms": 0}]}, "requests[1].step_p50_ms", "0"),
    ({"requests": [{"step_p50_ms": float("nan")}]}, "requests[1].step_p50_ms", "nan"),
    ({"requests": [{"step_p50_ms": "fast"}]}, "requests[1].step_p50_ms", "a text of 4"),
    ({"requests": [{"step_p50_ms": 3, "steps": 0}]}, "requests[1].steps", "0"),
    ({"requests": [{"step_p50_ms": 3, "step_mean_ms": 3}]}, "requests[1]", "both"),
    ({"requests": [{"step_p50_ms": 3}, {"step_mean_ms": 3}]}, "requests", "both"),
    ({"start": 3}, "start", "3"),
]


@pytest.mark.parametrize(("changes", "field", "found"), FAULTS)
def test_a_fault_is_placed_and_said(changes: dict[str, Any], field: str, found: str) -> None:
    run, faults = _read(**changes)
    assert run is None
    assert [(fault.field, found in fault.found) for fault in faults if fault.field == field] == [(field, True)]
    assert str(faults[0]).startswith("f.jsonl:7: ")
    assert all(fault.wanted for fault in faults)


def test_all_faults_of_a_row_are_told_at_once() -> None:
    _, faults = _read(batch=0, request_rounds="many", requests=[{"step_p50_ms": -1}], policy=None)
    assert {fault.field for fault in faults} == {"batch", "request_rounds", "policy", "requests[1].step_p50_ms"}


def test_zero_rounds_and_integral_floats_are_legal() -> None:
    run, faults = _read(request_rounds=0.0, accepted_position=[0, 0, 0, 0, 0.0])
    assert faults == []
    assert run is not None
    assert run.request_rounds == 0


def test_a_short_last_draft_of_a_fixed_run_is_a_warning() -> None:
    run, faults = _read(policy={"kind": "fixed", "depth": 4}, verified_tokens=5900)
    assert run is not None
    assert faults_alone(faults) == []
    assert [fault.field for fault in warnings_alone(faults)] == ["verified_tokens"]


def test_no_text_of_a_row_reaches_a_message() -> None:
    secret = "the patient's name is"
    for field in record():
        _, faults = _read(**{field: [secret], "prompt": secret})
        assert secret not in "".join(map(str, faults))
        _, faults = _read(**{field: {secret: secret}})
        assert secret not in "".join(map(str, faults))
