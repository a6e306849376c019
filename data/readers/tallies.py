"""Tallies of single requests, held against each other and merged into the counts of one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..records import DEEPEST_RECORD
from .counters import Counted, survival
from .json_source import Entry, refuse, unwrapped


@dataclass(slots=True)
class Tally:
    """What one request says: rounds that accepted 0..K, its totals, and its rounds by drafted and accepted length.

    `table` is None where the request does not tell the drafted length of each round, `drafted` where there is no
    total that is to be trusted, `block` where the engine has no fixed bound.
    """

    histogram: Sequence[int]
    drafted: int | None = None
    block: int | None = None
    table: dict[int, list[int]] | None = None


@dataclass(slots=True)
class Merged:
    """Tallies of the requests of one run so far."""

    requests: int = 0
    without: int = 0
    without_table: int = 0
    rounds: list[int] = field(default_factory=list)
    drafted: int | None = 0
    block: int | None = None
    blocks: int = 0
    table: dict[int, list[int]] = field(default_factory=dict)
    times: list[dict[str, Any]] = field(default_factory=list)

    def add(self, tally: Tally, where: str) -> None:
        """Take in one more request; all of a run have one bound on the drafted length."""
        if self.blocks and tally.block != self.block:
            wanted = "one num_spec_tokens in a run would do; another run, in a file of its own, for the others"
            refuse(where, "another bound on the draft length than the request before", wanted)
        self.block, self.blocks = tally.block, 1
        self.requests += 1
        self.rounds += [0] * (len(tally.histogram) - len(self.rounds))
        for length, count in enumerate(tally.histogram):
            self.rounds[length] += count
        self.drafted = None if self.drafted is None or tally.drafted is None else self.drafted + tally.drafted
        if tally.table is None:
            self.without_table += 1
            return
        for length, row in tally.table.items():
            mine = self.table.setdefault(length, [0] * (length + 1))
            for accepted, count in enumerate(row):
                mine[accepted] += count

    def counted(self) -> Counted:
        """The counts of the run; its table only where every request has one."""
        accepted = survival(self.rounds)
        return Counted(
            "", sum(self.rounds), accepted, sum(accepted), self.drafted, self.block,
            None if self.without_table else self.table, self.times,
        )  # fmt: skip

    def said(self) -> list[str]:
        """What a reader should know of the requests."""
        said = []
        if self.without:
            said.append(f"{self.without} requests hold no counters: missing is not zero")
        if 0 < self.without_table < self.requests:
            said.append(f"{self.without_table} of {self.requests} requests lack drafted lengths: used for none")
        if self.block is None:
            said.append("the requests tell no bound on the draft length: the option policy_depth stands for it")
        return said


def histogram_of(entry: Entry, *names: str) -> tuple[int, ...]:
    """Rounds that accepted exactly 0..K; a sparse object is filled up with zeros.

    Raises
    ------
    InputError
        It is missing, or no histogram.
    """
    name, value = entry.get(*names)
    value = unwrapped(value)
    if isinstance(value, dict):
        if not all(is_length(key) for key in value):
            refuse(entry.at(name), "keys that are no accepted lengths", f"0 to {DEEPEST_RECORD} would do")
        if len({int(key) for key in value}) != len(value):
            refuse(entry.at(name), "one length twice", "each length once would do")
        filled = {int(key): count for key, count in value.items()}
        value = [filled.get(length, 0) for length in range(max(filled, default=0) + 1)]
        counts = Entry({name: value}, entry.where).counts(name)
    else:
        counts = entry.counts(*names)
    if not counts:
        refuse(entry.at(name), "nothing", "rounds by accepted length would do; totals alone say nothing of depth")
    if len(counts) > DEEPEST_RECORD + 1:
        refuse(entry.at(name), f"{len(counts)} lengths", f"at most {DEEPEST_RECORD + 1} would do")
    return counts


def agree(entry: Entry, histogram: Sequence[int], rounds: int | None, accepted: int | None) -> None:
    """Hold a histogram against the totals beside it: a vector of survival would not add up to them.

    Raises
    ------
    InputError
        They differ.
    """
    summed, weighted = sum(histogram), sum(length * count for length, count in enumerate(histogram))
    if rounds is not None and summed != rounds:
        wanted = f"{rounds} would do"
        if histogram[0] == rounds or list(histogram) == sorted(histogram, reverse=True):
            wanted += "; counts of at least i accepted tokens are no histogram"
        refuse(f"{entry.where or 'text'}: histogram", f"{summed} rounds", wanted)
    if accepted is not None and weighted != accepted:
        wanted = f"{accepted} would do"
        if weighted < accepted:
            wanted += "; a last bucket of that length or more is no length"
        refuse(f"{entry.where or 'text'}: histogram", f"{weighted} accepted tokens", wanted)


def table_of(
    entry: Entry, histogram: Sequence[int], by_length: str, drafts: str, accepts: str
) -> dict[int, list[int]] | None:
    """Rounds by drafted and accepted length: from arrays of each step, or a histogram for each drafted length.

    Returns
    -------
    dict or None
        Row v has v + 1 counts; None where the request has neither.

    Raises
    ------
    InputError
        More was accepted than drafted, the arrays differ in length, or the sums are not those of the histogram.
    """
    drafted, accepted = entry.counts(drafts), entry.counts(accepts)
    rows: Mapping[str, Any] | None = entry.fields.get(by_length)
    table: dict[int, list[int]] = {}
    if drafted is not None and accepted is not None:
        if len(drafted) != len(accepted):
            refuse(entry.at(drafts), f"{len(drafted)} steps", f"{len(accepted)} ({accepts}) would do")
        for place, (length, taken) in enumerate(zip(drafted, accepted, strict=True), 1):
            if length > DEEPEST_RECORD or taken > length:
                refuse(f"{entry.at(accepts)}[{place}]", str(taken), f"at most {min(length, DEEPEST_RECORD)} would do")
            table.setdefault(length, [0] * (length + 1))[taken] += 1
    elif rows is not None:
        table = _rows(entry, by_length)
    else:
        return None
    sums = [sum(row[length] for row in table.values() if len(row) > length) for length in range(DEEPEST_RECORD + 1)]
    if sums[: len(histogram)] != list(histogram) or any(sums[len(histogram) :]):
        name = by_length if drafted is None or accepted is None else accepts
        refuse(entry.at(name), "other rounds by accepted length", "those of the histogram would do")
    return table


def _rows(entry: Entry, name: str) -> dict[int, list[int]]:
    table: dict[int, list[int]] = {}
    rows = entry.entry(name)
    for key in rows.fields if rows is not None else ():
        if not is_length(key) or rows is None:
            refuse(entry.at(name), "a key that is no drafted length", f"0 to {DEEPEST_RECORD} would do")
        row, length = rows.counts(key) or (), int(key)
        if any(row[length + 1 :]):
            refuse(f"{rows.where}.{length}", "rounds that accepted more than was drafted", "at most that would do")
        if length in table:
            refuse(entry.at(name), "one drafted length twice", "each length once would do")
        table[length] = [*row[: length + 1], *[0] * (length + 1 - len(row))]
    return table


def is_length(key: str) -> bool:
    """Whether a key is a drafted length."""
    return key.isascii() and key.isdecimal() and len(key) <= 4 and int(key) <= DEEPEST_RECORD
