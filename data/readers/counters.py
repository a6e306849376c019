"""Counters of one run, held against each other, and the record that they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..faults import faults_alone
from ..record_counts import SHORT_DRAFT_SHARE
from ..records import parse_run
from ..words import DECODE, DYNAMIC, FIXED
from .form import Conversion, ReaderOptions
from .json_source import refuse

FEW_ROUNDS = 20  # below this the shape of a histogram says nothing


@dataclass(slots=True)
class Counted:
    """What a source counted of one run.

    Parameters
    ----------
    where
        Its place in the source, for messages; may be empty.
    rounds
        Target verifications of single requests.
    accepted
        Rounds in which positions 1..i were all accepted.
    total
        Accepted tokens as the source says them, None where it does not.
    drafted
        Draft tokens, None where the source does not say.
    block
        Positions of the source's own setting, None where it tells none: the length of a vector is no setting.
    table
        Rounds by drafted length and accepted length, None where not every round is in it.
    requests
        Step times of requests, as the record has them.
    """

    where: str
    rounds: int
    accepted: Sequence[int]
    total: int | None = None
    drafted: int | None = None
    block: int | None = None
    table: Mapping[int, Sequence[int]] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)

    def at(self, name: str) -> str:
        """The place of a counter, for messages."""
        return f"{self.where}: {name}" if self.where else name


def survival(histogram: Sequence[int]) -> tuple[int, ...]:
    """Rounds that accepted at least i = 1..K, from rounds that accepted exactly 0..K."""
    return tuple(sum(histogram[place:]) for place in range(1, len(histogram)))


def policy_of(options: ReaderOptions, block: int | None, positions: int, where: str) -> tuple[str, int]:
    """The declared policy; its depth from the option, or from the source's own setting.

    Raises
    ------
    InputError
        Nothing declares the kind or the depth, or they contradict the source.
    """
    kind = options.declared_kind
    if kind is None:
        refuse(where, "no word on the policy", "the option policy_kind (fixed or dynamic) would do")
    depth = options.policy_depth or block
    if depth is None:
        refuse(where, "no word on the depth", "the option policy_depth would do; the length of a vector is no depth")
    if block is not None and depth > block:
        refuse(where, f"{block} positions", f"one for each of the {depth} of the option policy_depth would do")
    return kind, max(depth, 1) if kind == DYNAMIC else depth


def batch_of(options: ReaderOptions, where: str) -> int:
    """The declared batch."""
    if options.batch is None:
        refuse(where, "no word on the batch", "the option batch would say how many requests decode together")
    return options.batch


def record_of(counted: Counted, options: ReaderOptions, batch: int, run: str, done: Conversion) -> dict[str, Any]:
    """Make the record of one run; what a reader should know of its worth goes to the conversion's warnings.

    Raises
    ------
    InputError
        The counters contradict each other or the declared policy.
    """
    counted = _without_bonus(counted, done)
    _agree(counted)
    kind, depth = policy_of(options, counted.block, len(counted.accepted), counted.at("policy"))
    accepted = [*counted.accepted, *[0] * (depth - len(counted.accepted))]
    record: dict[str, Any] = {
        "schema": 1,
        "suite": options.suite,
        "cell": options.cell or f"c{batch}",
        "run": f"{options.run_prefix}{run}",
        "worker": options.worker,
        "batch": batch,
        "context_tokens": options.context_tokens,
        "phase": DECODE,
        "policy": {"kind": kind, "cap" if kind == DYNAMIC else "depth": depth},
        "request_rounds": counted.rounds,
        "accepted_position": accepted,
    }
    record |= _verified(counted, kind, depth, options, done)
    if options.start is not None:
        record["start"] = options.start
    record["requests"] = counted.requests
    for fault in faults_alone(parse_run(record, "", 0)[1]):  # the door of every record
        refuse(counted.at(fault.field), fault.found, fault.wanted)
    done.warnings += _worth(counted, kind, depth)
    return record


def _without_bonus(counted: Counted, done: Conversion) -> Counted:
    """Leave out a first position that every round has and the accepted tokens do not: it is the bonus token."""
    accepted, rounds = list(counted.accepted), counted.rounds
    if not (rounds and len(accepted) > 1 and accepted[0] == rounds and counted.total == sum(accepted) - rounds):
        return counted
    done.warnings.append(f"{counted.at('accepted by position')}: the first one is the bonus token: left out")
    block = counted.block - 1 if counted.block == len(accepted) else counted.block
    return replace(counted, accepted=accepted[1:], block=block)


def _agree(counted: Counted) -> None:
    """Identities that hold of every engine's counters."""
    before, name = counted.rounds, "rounds"
    for place, count in enumerate(counted.accepted, 1):
        if count > before:
            refuse(counted.at(f"accepted at position {place}"), str(count), f"at most {before} ({name}) would do")
        before, name = count, f"position {place}"
    total, summed = counted.total, sum(counted.accepted)
    if total is not None and total != summed:
        wanted = f"{total} (accepted tokens) would do"
        if summed and total > summed and total % summed == 0:
            wanted += f"; positions of one engine out of {total // summed} would look like this"
        elif total > summed:
            wanted += "; a vector that was cut off is no row of zeros"
        refuse(counted.at("accepted by position"), f"a sum of {summed}", wanted)
    if counted.drafted is not None and counted.drafted < summed:
        refuse(counted.at("draft tokens"), str(counted.drafted), f"at least {summed} (accepted tokens) would do")


def _verified(counted: Counted, kind: str, depth: int, options: ReaderOptions, done: Conversion) -> dict[str, Any]:
    """What is known of verified positions, as far as the policy and the options let it be known."""
    drafted, full = counted.drafted, depth * counted.rounds
    where = counted.at("draft tokens")
    if drafted is not None and drafted > full:
        refuse(where, str(drafted), f"at most {full} ({depth} positions x {counted.rounds} rounds) would do")
    if kind == FIXED:
        if drafted is None:
            done.warnings.append(f"{where}: nothing there to hold the fixed depth against")
            return {}
        if full - drafted > SHORT_DRAFT_SHARE * full:
            refuse(where, str(drafted), f"{full} would do at fixed depth {depth}; else policy_kind is dynamic")
        if drafted < full:
            done.warnings.append(f"{where}: {full - drafted} short of {full}: taken for short last drafts")
        return {"verified_tokens": drafted}
    if drafted is None:
        if options.draft_tokens_are_verified:
            refuse(where, "nothing", "the drafted tokens that are declared verified would do")
        return {}
    if drafted == full and counted.rounds and not options.draft_tokens_are_verified:
        done.warnings.append(
            f"{where}: every draft is full under a dynamic policy: what was cut after drafting does not show, so "
            "nothing is taken as verified"
        )
        return {}
    if counted.table is not None:
        return _from_table(counted.table, depth)
    if options.draft_tokens_are_verified:
        return {"verified_tokens": drafted}
    done.warnings.append(f"{where}: {full - drafted} short of {full}: used as verified only where that is declared")
    return {}


def _from_table(table: Mapping[int, Sequence[int]], depth: int) -> dict[str, Any]:
    seen = [sum(sum(row) for length, row in table.items() if length >= place) for place in range(1, depth + 1)]
    return {
        "verified_tokens": sum(seen),
        "verified_position": seen,
        "accepted_by_verified": {str(length): list(table[length]) for length in sorted(table)},
    }


def _worth(counted: Counted, kind: str, depth: int) -> list[str]:
    """What the numbers themselves give away."""
    rounds, accepted = counted.rounds, [*counted.accepted]
    said = []
    if not rounds:
        said.append(f"{counted.at('rounds')}: none: a run without a round counts for nothing")
    elif rounds < FEW_ROUNDS:
        said.append(f"{counted.at('rounds')}: only {rounds}")
    if rounds and not any(accepted):
        said.append(f"{counted.at('accepted by position')}: nothing accepted in {rounds} rounds: perhaps not drafted")
    deepest = accepted[depth - 1] if len(accepted) >= depth else 0
    if kind == FIXED and depth > 2 and rounds >= FEW_ROUNDS and 0 < deepest == accepted[0] < rounds:
        said.append(
            f"{counted.at('accepted by position')}: drafts were accepted whole or not at all: a replay after a "
            "rollback looks like this"
        )
    if kind == DYNAMIC and any(accepted) and not deepest:
        last = max(place for place, count in enumerate(accepted, 1) if count)
        said.append(
            f"{counted.at('accepted by position')}: zeros beyond position {last}, which may never have been drafted"
        )
    return said
