"""The run record: one repetition of one cell, checked at the door and never again after it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .faults import WARNING, Fault, described
from .words import DECODE, DYNAMIC, FIXED, MEAN, P50, Level

LARGEST_COUNT = 10**15  # far above any counter, and exact in a float
LONGEST_NAME = 120
DEEPEST_RECORD = 64  # where no study says how deep its block is
LONGEST_MS = 86_400_000.0
_TOO_LARGE = f"no counter reaches {LARGEST_COUNT:.0e}"
SHORT_DRAFT_SHARE = 0.01  # short last drafts of a fixed run; more is another policy
STEP_FIELDS = {"step_p50_ms": P50, "step_mean_ms": MEAN}


@dataclass(frozen=True, slots=True)
class Policy:
    """A dynamic policy with its nominal cap, or a fixed depth; `depth` is the cap or the depth."""

    kind: str
    depth: int


@dataclass(frozen=True, slots=True)
class Request:
    """A request's step time in ms and the number of steps it stands on, when that is known."""

    step_ms: float
    steps: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of one cell, counts in rounds, positions from 1."""

    suite: str
    cell: str
    run: str
    worker: str
    batch: int
    context_tokens: int | None
    occupied_tokens: int | None
    policy: Policy
    request_rounds: int
    accepted: tuple[int, ...]
    verified_tokens: int | None
    verified: tuple[int, ...] | None
    accepted_by_verified: tuple[tuple[int, ...], ...] | None
    step_kind: str
    requests: tuple[Request, ...]
    start: str | None

    @property
    def level(self) -> Level:
        """The rung of the ladder of evidence that this run stands on."""
        if self.policy.kind == FIXED:
            return Level.L4
        if self.accepted_by_verified is not None:
            return Level.L3
        if self.verified is not None:
            return Level.L2
        return Level.L1 if self.verified_tokens is not None else Level.L0


class _Row:
    """Checks the fields of one row and keeps every fault that it meets."""

    def __init__(self, row: Mapping[str, Any], file: str, line: int) -> None:
        self.row, self.file, self.line = row, file, line
        self.faults: list[Fault] = []

    def fault(self, field: str, found: str, wanted: str, severity: str = "fault") -> None:
        self.faults.append(Fault(self.file, self.line, field, found, wanted, severity))

    def required(self, field: str) -> bool:
        if field not in self.row:
            self.fault(field, "nothing", "every run needs this field")
        return field in self.row

    def name(self, field: str) -> str:
        if not self.required(field):
            return ""
        value = self.row[field]
        if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
            return value
        self.fault(field, described(value), f"a printable name of 1 to {LONGEST_NAME} characters would do")
        return ""

    def count(self, field: str, value: object, least: int = 0) -> int | None:
        """A whole number; an integral float is read as one."""
        wanted = f"a whole number of at least {least} would do"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(field, described(value), wanted)
        elif not least <= value <= LARGEST_COUNT or value != int(value):
            self.fault(field, described(value), _TOO_LARGE if value > LARGEST_COUNT else wanted)
        else:
            return int(value)
        return None

    def counts(self, field: str, value: object) -> tuple[int, ...] | None:
        if not isinstance(value, list):
            self.fault(field, described(value), "a list of counts, one a position, would do")
            return None
        read = [self.count(f"{field}[{place}]", entry) for place, entry in enumerate(value, 1)]
        return None if None in read else tuple(entry for entry in read if entry is not None)

    def optional(self, field: str, read: Callable[[str, object], Any]) -> Any:
        value = self.row.get(field)
        return None if value is None else read(field, value)


def _policy(row: _Row, max_depth: int) -> Policy | None:
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


def _non_increasing(row: _Row, field: str, counts: Sequence[int], first: int) -> None:
    before, place_before = first, "request_rounds"
    for place, count in enumerate(counts, 1):
        if count > before:
            row.fault(f"{field}[{place}]", str(count), f"at most {before} would do ({place_before})")
        before, place_before = count, f"{field}[{place}]"


def _accepted(row: _Row, policy: Policy | None, rounds: int | None, max_depth: int) -> tuple[int, ...] | None:
    field = "accepted_position"
    counts = row.counts(field, row.row[field]) if row.required(field) else None
    if counts is None:
        return None
    if rounds is not None:
        _non_increasing(row, field, counts, rounds)
    if len(counts) > max_depth:
        row.fault(field, f"{len(counts)} positions", f"at most {max_depth} (the trained block) would do")
    if policy is not None:
        if len(counts) < policy.depth:
            row.fault(field, f"{len(counts)} positions", f"one for each of the {policy.depth} positions would do")
        _nothing_beyond(row, field, counts, policy)
    return counts


def _nothing_beyond(row: _Row, field: str, counts: Sequence[int], policy: Policy) -> None:
    for place in range(policy.depth + 1, len(counts) + 1):
        if counts[place - 1]:
            row.fault(f"{field}[{place}]", str(counts[place - 1]), f"0 beyond the policy's {policy.depth} would do")


def _verified(row: _Row, accepted: Sequence[int], rounds: int, policy: Policy) -> tuple[int, ...] | None:
    field = "verified_position"
    counts: tuple[int, ...] | None = row.optional(field, row.counts)
    if counts is None:
        return None
    if len(counts) != len(accepted):
        row.fault(field, f"{len(counts)} positions", f"as many as accepted_position ({len(accepted)}) would do")
        return None
    _non_increasing(row, field, counts, rounds)
    _nothing_beyond(row, field, counts, policy)
    for place, (seen, taken) in enumerate(zip(counts, accepted, strict=True), 1):
        if seen < taken:
            row.fault(f"{field}[{place}]", str(seen), f"at least accepted_position[{place}] = {taken} would do")
    return counts


def _verified_tokens(
    row: _Row, accepted: Sequence[int], verified: Sequence[int] | None, rounds: int, policy: Policy
) -> int | None:
    field = "verified_tokens"
    total: int | None = row.optional(field, row.count)
    if total is None:
        return None
    if verified is not None and total != sum(verified):
        row.fault(field, str(total), f"the sum of verified_position ({sum(verified)}) would do")
    elif total < sum(accepted):
        row.fault(field, str(total), f"at least the accepted tokens ({sum(accepted)}) would do")
    full = policy.depth * rounds
    if total > full:
        row.fault(field, str(total), f"at most {policy.depth} positions x {rounds} rounds = {full} would do")
    elif policy.kind == FIXED and total < full:
        small = full - total <= SHORT_DRAFT_SHARE * full
        wanted = (
            f"{full} would be every position in every round; short last drafts are taken as they are"
            if small
            else f"{full} would do: a fixed depth verifies every position of every round"
        )
        row.fault(field, str(total), wanted, WARNING if small else "fault")
    return total


def _table(
    row: _Row, accepted: Sequence[int], verified: Sequence[int] | None, rounds: int, policy: Policy
) -> tuple[tuple[int, ...], ...] | None:
    """Rounds by verified depth v (rows 0..K) and accepted length (columns 0..v)."""
    field = "accepted_by_verified"
    value = row.row.get(field)
    if value is None:
        return None
    if not isinstance(value, dict) or any(
        not (key.isascii() and key.isdecimal()) or int(key[:9]) > len(accepted) or str(int(key[:9])) != key
        for key in value
    ):
        row.fault(field, described(value), f'an object with keys "0" to "{len(accepted)}" would do')
        return None
    table: list[tuple[int, ...]] = []
    for depth in range(len(accepted) + 1):
        counts = row.counts(f"{field}.{depth}", value.get(str(depth), [0] * (depth + 1)))
        if counts is None:
            return None
        if len(counts) != depth + 1:
            row.fault(f"{field}.{depth}", f"{len(counts)} counts", f"one for each length 0 to {depth} would do")
            return None
        table.append(counts + (0,) * (len(accepted) - depth))
    _table_agrees(row, field, table, accepted, verified, rounds, policy)
    return tuple(table)


def _table_agrees(
    row: _Row,
    field: str,
    table: Sequence[Sequence[int]],
    accepted: Sequence[int],
    verified: Sequence[int] | None,
    rounds: int,
    policy: Policy,
) -> None:
    sums = [sum(counts) for counts in table]
    if sum(sums) != rounds:
        row.fault(field, f"{sum(sums)} rounds", f"request_rounds = {rounds} would do")
    for place, taken in enumerate(accepted, 1):
        tail = sum(sum(counts[place:]) for counts in table)
        if tail != taken:
            row.fault(field, f"{tail} rounds that accepted {place}", f"accepted_position[{place}] = {taken} would do")
        seen = sum(sums[place:])
        if verified is not None and seen != verified[place - 1]:
            row.fault(
                field, f"{seen} rounds verified to {place}", f"{verified[place - 1]} (verified_position) would do"
            )
    for depth in range(policy.depth + 1, len(table)):
        if sums[depth]:
            row.fault(f"{field}.{depth}", f"{sums[depth]} rounds", f"none beyond the policy's {policy.depth} would do")


def _requests(row: _Row) -> tuple[str, tuple[Request, ...]]:
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
    check = _Row(row, file, line)
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
    accepted = _accepted(check, policy, rounds, max_depth)
    verified = tokens = table = None
    if accepted is not None and rounds is not None and policy is not None:
        verified = _verified(check, accepted, rounds, policy)
        tokens = _verified_tokens(check, accepted, verified, rounds, policy)
        table = _table(check, accepted, verified, rounds, policy)
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
