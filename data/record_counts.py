"""The counts of one row, held against each other and against its policy."""

from collections.abc import Sequence

from .faults import WARNING, described
from .record_fields import Row
from .run_record import Policy
from .words import FIXED

SHORT_DRAFT_SHARE = 0.01  # short last drafts of a fixed run; more is another policy


def _non_increasing(row: Row, field: str, counts: Sequence[int], first: int) -> None:
    before, place_before = first, "request_rounds"
    for place, count in enumerate(counts, 1):
        if count > before:
            row.fault(f"{field}[{place}]", str(count), f"at most {before} would do ({place_before})")
        before, place_before = count, f"{field}[{place}]"


def accepted_counts(row: Row, policy: Policy | None, rounds: int | None, max_depth: int) -> tuple[int, ...] | None:
    """Rounds that accepted each position, or None where they cannot be read."""
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


def _nothing_beyond(row: Row, field: str, counts: Sequence[int], policy: Policy) -> None:
    for place in range(policy.depth + 1, len(counts) + 1):
        if counts[place - 1]:
            row.fault(f"{field}[{place}]", str(counts[place - 1]), f"0 beyond the policy's {policy.depth} would do")


def verified_counts(row: Row, accepted: Sequence[int], rounds: int, policy: Policy) -> tuple[int, ...] | None:
    """Rounds that verified each position, or None where they are not told or cannot be read."""
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


def verified_total(
    row: Row, accepted: Sequence[int], verified: Sequence[int] | None, rounds: int, policy: Policy
) -> int | None:
    """Verified tokens of the whole run, or None where they are not told or cannot be read."""
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


def joint_table(
    row: Row, accepted: Sequence[int], verified: Sequence[int] | None, rounds: int, policy: Policy
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
    row: Row,
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
