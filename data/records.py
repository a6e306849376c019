"""The door for run records: a row of a file becomes a run, or every fault of it is told."""

from collections.abc import Mapping
from typing import Any

from .faults import WARNING, Fault, described
from .record_counts import accepted_counts, joint_table, verified_counts, verified_total
from .record_fields import Row
from .run_record import Policy, Request, Run
from .words import DECODE, DYNAMIC, FIXED, MEAN, P50

DEEPEST_RECORD = 64  # where no study says how deep its block is
LONGEST_MS = 86_400_000.0
STEP_FIELDS = {"step_p50_ms": P50, "step_mean_ms": MEAN}


def _policy(row: Row, max_depth: int) -> Policy | None:
    if not row.required("policy"):
        return None
    value = row.row["policy"]
    wanted = '{"kind": "dynamic", "cap": c} or {"kind": "fixed", "depth": d} would do'
    if not isinstance(value, dict):
        row.fault("policy", described(value), wanted)
        return None
    kind = value.get("kind")
    if kind not in (DYNAMIC, FIXED):
        row.fault("policy.kind", described(kind), wanted)
        return None
    field = "cap" if kind == DYNAMIC else "depth"
    depth = row.count(f"policy.{field}", value.get(field), least=0 if kind == FIXED else 1)
    if depth is not None and depth > max_depth:
        row.fault(f"policy.{field}", str(depth), f"the trained block ends at {max_depth}")
        return None
    return None if depth is None else Policy(kind, depth)


def _requests(row: Row) -> tuple[str, tuple[Request, ...]]:
    field = "requests"
    if not row.required(field):
        return "", ()
    value = row.row[field]
    if not isinstance(value, list):
        row.fault(field, described(value), "a list of requests, or [] where no step time is known, would do")
        return "", ()
    requests: list[Request] = []
    kinds: set[str] = set()
    for place, entry in enumerate(value, 1):
        here = f"{field}[{place}]"
        given = [name for name in STEP_FIELDS if isinstance(entry, dict) and name in entry]
        if len(given) != 1:
            found = described(entry) if not given else "both step_p50_ms and step_mean_ms"
            row.fault(here, found, "an object with step_p50_ms, or step_mean_ms where only a mean is known, would do")
            continue
        time = entry[given[0]]
        if isinstance(time, bool) or not isinstance(time, int | float) or not 0 < time < LONGEST_MS:
            row.fault(f"{here}.{given[0]}", described(time), "a positive finite number of ms, below a day, would do")
            continue
        kinds.add(STEP_FIELDS[given[0]])
        steps = entry.get("steps")
        read = None if steps is None else row.count(f"{here}.steps", steps, least=1)
        requests.append(Request(float(time), read))
    if len(kinds) > 1:
        row.fault(field, "both p50 and mean step times", "one kind of step time in a cell would do")
    return (next(iter(kinds)) if kinds else ""), tuple(requests)


def parse_run(
    row: Mapping[str, Any], file: str, line: int, max_depth: int = DEEPEST_RECORD
) -> tuple[Run | None, list[Fault]]:
    """Check one row of a run-record file.

    Parameters
    ----------
    row
        The JSON object of the line. Fields that the schema does not name are never looked at.
    file, line
        Where the row stands, for the messages.
    max_depth
        The deepest position of the trained block.

    Returns
    -------
    run, faults
        The run, or None where any fault (not a mere warning) was found; every fault of the row.
    """
    check = Row(row, file, line)
    if check.required("schema") and (isinstance(row["schema"], bool) or row["schema"] != 1):
        check.fault("schema", described(row["schema"]), "1 would do")
    names = {field: check.name(field) for field in ("suite", "cell", "run", "worker")}
    batch = check.count("batch", row["batch"], least=1) if check.required("batch") else None
    context = check.optional("context_tokens", check.count) if check.required("context_tokens") else None
    occupied = check.optional("occupied_tokens", check.count)
    if check.required("phase") and row["phase"] != DECODE:
        check.fault("phase", described(row["phase"]), 'only rows of phase "decode" are read')
    policy = _policy(check, max_depth)
    rounds = check.count("request_rounds", row["request_rounds"]) if check.required("request_rounds") else None
    accepted = accepted_counts(check, policy, rounds, max_depth)
    verified = tokens = table = None
    if accepted is not None and rounds is not None and policy is not None:
        verified = verified_counts(check, accepted, rounds, policy)
        tokens = verified_total(check, accepted, verified, rounds, policy)
        table = joint_table(check, accepted, verified, rounds, policy)
    step_kind, requests = _requests(check)
    start = check.name("start") if row.get("start") is not None else None
    if any(fault.severity != WARNING for fault in check.faults):
        return None, check.faults
    assert batch is not None
    assert policy is not None
    assert rounds is not None
    assert accepted is not None
    run = Run(
        **names, batch=batch, context_tokens=context, occupied_tokens=occupied, policy=policy,
        request_rounds=rounds, accepted=accepted, verified_tokens=tokens, verified=verified,
        accepted_by_verified=table, step_kind=step_kind, requests=requests, start=start,
    )  # fmt: skip
    return run, check.faults
