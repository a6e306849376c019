"""Reads llama.cpp's log: acceptance lines of single requests, or the statistics line of the server's life."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import InputError
from ..record_counts import SHORT_DRAFT_SHARE
from ..words import FIXED
from .counters import Counted, batch_of, policy_of, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import refuse, rows_of, starts_as_json
from .log_text import plain
from .rounding import Rounded, counts_of, rounds_of
from .source import Source

REQUEST, LIFE = b"draft acceptance", b"#gen drafts"
TOTALS = re.compile(r"\(\s*(\d{1,15}) accepted /\s*(\d{1,15}) generated\)")
LENGTH = re.compile(r"mean (?:acceptance length|len)\s*=\s*(\d{1,6}(?:\.\d{1,6})?)(?![\d.])")
RATES = re.compile(r"(?:acceptance rate per position|#acc rate/pos)\s*=\s*\(([0-9., ]{1,2000})\)")
LIFE_COUNTS = re.compile(r"#gen drafts\s*=\s*(\d{1,15}),.*?#gen tokens\s*=\s*(\d{1,15}), #acc tokens\s*=\s*(\d{1,15})")
KIND = re.compile(r"statistics\s+([\w-]{1,40}):")


@dataclass(slots=True)
class _Read:
    """Counters so far: of the requests, and of the server's life."""

    requests: int = 0
    without: int = 0
    rounds: int = 0
    drafted: int = 0
    accepted: list[int] = field(default_factory=list)
    life: dict[str, tuple[int, int, int, str]] = field(default_factory=dict)
    lives: list[tuple[int, int, int, str]] = field(default_factory=list)

    def take(self, rounds: int, drafted: int, counts: Sequence[int]) -> None:
        """Add one request; a vector is as long as its own longest draft."""
        self.requests += 1
        self.rounds += rounds
        self.drafted += drafted
        self.accepted += [0] * (len(counts) - len(self.accepted))
        for place, count in enumerate(counts):
            self.accepted[place] += count


def _rates(text: str, where: str) -> list[Rounded]:
    found = RATES.search(text)
    if found is None:
        return []
    written = [one.strip() for one in found[1].split(",")]
    if not all(re.fullmatch(r"\d{1,3}(\.\d{1,9})?", one, re.ASCII) for one in written):
        refuse(f"{where}: rates by position", "something that is no rate", "rates such as 0.805 would do")
    return [Rounded.of(one) for one in written]


def _request(text: str, where: str, read: _Read, options: ReaderOptions) -> None:
    totals, rates, written = TOTALS.search(text), _rates(text, where), LENGTH.search(text)
    if totals is None:
        return
    accepted, drafted = int(totals[1]), int(totals[2])
    if accepted > drafted:
        refuse(where, f"{accepted} accepted of {drafted} drafted tokens", f"at most {drafted} accepted would do")
    if drafted == 0:
        return  # nothing was drafted for it
    if not rates or written is None:
        read.without += 1
        return
    kind, depth = policy_of(options, None, len(rates), f"{where}: policy")
    least = -(-drafted // max(depth, 1))
    allowed = rounds_of(Rounded.of(written[1]), 1, accepted, least)
    if kind == FIXED:
        allowed = range(least, int(drafted / (max(depth, 1) * (1 - SHORT_DRAFT_SHARE))) + 2)
    if allowed is None or len(allowed) > 1000:
        refuse(where, "rounded rates that do not determine the rounds", _WANTED)
    length = Rounded.of(written[1])
    found = [
        (rounds, counts)
        for rounds in allowed
        if abs(1 + accepted / rounds - length.value) <= length.half + 1e-9
        for counts in counts_of(rates, rounds, accepted)
    ]
    if not found:
        wanted = "counts that add up to the accepted tokens, and drafts no longer than the policy's, would do"
        refuse(f"{where}: rates by position", "no counts that fit the totals", wanted)
    if len(found) > 1:
        refuse(where, "rounded rates that do not determine the counts", _WANTED)
    read.take(found[0][0], drafted, found[0][1])


_WANTED = "shorter requests, whose rates of three decimals determine the counts, would do"


def _life(text: str, where: str, read: _Read) -> None:
    """Keep the latest statistics line of each drafter; a count that goes back is another server's life."""
    counts, kind = LIFE_COUNTS.search(text), KIND.search(text)
    if counts is None:
        return
    name = kind[1] if kind else ""
    now = (int(counts[1]), int(counts[2]), int(counts[3]), text)
    before = read.life.get(name)
    if before is not None and now[0] < before[0]:
        read.lives.append(before)
    read.life[name] = now
    if len(read.life) > 16:
        refuse(where, "statistics of many drafters", "the log of one server would do")


def _lifetime(read: _Read, done: Conversion) -> None:
    """The server's lives in place of requests without rates; rounds stand in them as they are."""
    if len(read.life) > 1:
        refuse(
            "statistics", f"lines of {len(read.life)} drafters", "one drafter would do: their rounds are not told apart"
        )
    for rounds, drafted, accepted, text in [*read.lives, *read.life.values()]:
        rates = _rates(text, "statistics")
        if not rates:
            refuse("statistics", "no rates by position", _NEW)
        found = counts_of(rates, rounds, accepted)
        if len(found) != 1:
            what = "do not determine the counts" if found else "do not fit the totals"
            refuse("statistics: rates by position", f"rates that {what}", _WANTED)
        read.take(rounds, drafted, found[0])
    done.warnings.append(
        f"counters since the server's start ({len(read.lives) + 1} starts), warm-up included: the lines of single "
        "requests have no rates"
    )


_NEW = "the log of a llama.cpp that writes acceptance rates per position would do; totals say nothing of depth"


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn one log into one run record.

    Parameters
    ----------
    source
        The server's log, read in constant memory.
    number
        Its place among the sources, for the run's name.
    options
        What the log does not say. `policy_depth` is needed: a vector is as long as the longest draft seen.

    Raises
    ------
    InputError
        Only totals are there, or rates of three decimals do not determine the counts.
    """
    if starts_as_json(source):
        _refuse_json(source)
    read = _Read()
    for place, line in source.marked(REQUEST, LIFE):
        for text in plain(line):
            if LIFE.decode() in text:
                _life(text, f"line {place}", read)
            elif REQUEST.decode() in text:
                _request(text, f"line {place}", read, options)
    done = Conversion(counts={"requests": read.requests, "without_rates": read.without})
    if read.without and read.requests:
        refuse("log", f"{read.without} requests without rates beside {read.requests} with them", _NEW)
    if not read.requests:
        if not read.life:
            refuse("log", f"{read.without} lines of totals" if read.without else "no draft acceptance line", _NEW)
        _lifetime(read, done)
    done.warnings += _beyond(read, options)
    counted = Counted("", read.rounds, read.accepted, sum(read.accepted), read.drafted)
    done.records.append(record_of(counted, options, batch_of(options, "batch"), f"run{number}", done))
    done.notes.append("all requests make one run; times of whole phases are no step times")
    return done


def _beyond(read: _Read, options: ReaderOptions) -> list[str]:
    depth = options.policy_depth
    if depth is None or len(read.accepted) == depth:
        return []
    return [f"{len(read.accepted)} positions were seen at policy_depth {depth}: a vector's length is no setting"]


def _refuse_json(source: Source) -> None:
    """Timings and results in JSON have totals alone."""
    for row in rows_of(source):
        if _has(row.fields, 0):
            refuse(row.where or "text", "draft_n and draft_n_accepted alone: no rounds, no positions", _NEW)
    refuse("text", "JSON without draft counters", _NEW)


def _has(value: object, depth: int) -> bool:
    if isinstance(value, dict) and depth < 8:
        return "draft_n" in value or any(_has(one, depth + 1) for one in value.values())
    return isinstance(value, list) and depth < 8 and any(_has(one, depth + 1) for one in value)


def recognises(source: Source) -> bool:
    """Whether it is a log with draft acceptance lines, or JSON with llama.cpp's draft counters."""
    try:
        if starts_as_json(source):
            return any(_has(row.fields, 0) for _, row in zip(range(100), rows_of(source), strict=False))
        return any(b"generated)" in line or LIFE in line for _, line in source.marked(REQUEST, LIFE))
    except InputError:
        return False


LLAMACPP = Format(
    name="llamacpp",
    summary="llama.cpp's server log with acceptance rates per position (a log is a run)",
    evidence="L4 at a fixed depth; L0 under a dynamic policy (p_min), L1 where drafted tokens are declared verified",
    lacks="suite, worker, batch, context, policy and its depth, start; it has no step times. Timings JSON and old logs "
    "have totals alone and are refused",
    convert=each(convert),
    recognises=recognises,
)
