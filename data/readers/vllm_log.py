"""Reads the SpecDecoding lines of a vLLM server's log, line by line: each is a window, and windows are summed."""

import re
from dataclasses import dataclass, field

from ..errors import InputError
from ..record_counts import SHORT_DRAFT_SHARE
from ..words import FIXED
from .counters import Counted, batch_of, policy_of, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import refuse
from .log_text import plain, span_of, time_of
from .rounding import Rounded, counts_of, rounds_of
from .source import Source

MARK, OLD_MARK = b"SpecDecoding metrics:", b"Speculative metrics:"
STARTED = b"API server version"
ACCEPTED = re.compile(r"\bAccepted: (\d{1,15}) tokens")
DRAFTED = re.compile(r"\bDrafted: (\d{1,15}) tokens")
LENGTH = re.compile(r"Mean acceptance length: (\d{1,6}(?:\.\d{1,6})?)(?![\d.])")
BY_POSITION = re.compile(r"Per-position acceptance rate: ((?:\d(?:\.\d{1,9})?(?:, ?)?)+)")
DEPTH = re.compile(r"Current speculative depth: (\d{1,4})")
SENDER = re.compile(r"\((\w{1,40} pid=\d{1,9})\)")
RUNNING = re.compile(rb"Running: (\d{1,6}) reqs")


@dataclass(slots=True)
class _Summed:
    """Windows so far."""

    rounds: int = 0
    drafted: int = 0
    accepted: list[int] = field(default_factory=list)
    windows: int = 0
    untouched: int = 0
    without_bonus: int = 0
    copies: int = 0
    starts: int = 0
    depths: set[int] = field(default_factory=set)
    senders: set[str] = field(default_factory=set)
    running: tuple[int, int] | None = None


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn one log into one run record: counts of all its windows, or of those in the span that `select` names.

    Parameters
    ----------
    source
        The log; it is read in constant memory.
    number
        Its place among the sources, for the run's name.
    options
        What the log does not say. `select` is a span such as `07-18 20:26:00..07-18 20:29:00`.

    Raises
    ------
    InputError
        Rates of three decimals do not determine the counts of a window, or a window contradicts itself or the
        declared policy.
    """
    summed, old, last = _Summed(), 0, ""
    span = span_of(options.select)
    inside = span is None
    for place, line in source.marked(MARK, OLD_MARK, b"Running: ", STARTED):
        for text in plain(line):
            when = time_of(text)
            inside = span is None or (when is not None and span[0] <= when <= span[1])
            if not inside:
                continue
            if OLD_MARK.decode() in text:
                old += 1
            elif MARK.decode() in text:
                copy = when is not None and text == last  # two handlers of one logger
                summed.copies += copy
                if not copy:
                    _window(text, f"line {place}", summed, options)
                last = text
            else:
                _around(text, summed)
    return _conversion(summed, old, number, options)


def _around(text: str, summed: _Summed) -> None:
    summed.starts += STARTED.decode() in text
    if found := RUNNING.search(text.encode()):
        count = int(found[1])
        low, high = summed.running or (count, count)
        summed.running = (min(low, count), max(high, count))


def _window(text: str, where: str, summed: _Summed, options: ReaderOptions) -> None:
    """Add one window."""
    taken = [pattern.search(text) for pattern in (ACCEPTED, DRAFTED)]
    if taken[0] is None or taken[1] is None:
        refuse(where, "no Accepted and Drafted tokens", "a whole SpecDecoding line would do")
    accepted, drafted = (int(one[1]) for one in taken if one is not None)
    if sender := SENDER.search(text):
        summed.senders.add(sender[1]) if len(summed.senders) < 64 else None
    if depth := DEPTH.search(text):
        summed.depths.add(int(depth[1])) if len(summed.depths) < 64 else None
    if drafted == accepted == 0 and LENGTH.search(text) is None:
        return  # an idle window, whose mean is nan
    by_position = BY_POSITION.search(text)
    if by_position is None:
        refuse(where, "no rates by position", "the lines of vLLM 0.9 or later would do; totals say nothing of depth")
    rates = [Rounded.of(one.strip()) for one in by_position[1].rstrip(", ").split(",")]
    if summed.windows and len(rates) != len(summed.accepted):
        wanted = f"{len(summed.accepted)}, as windows before have, would do; select FROM..TO takes a part of the log"
        refuse(where, f"{len(rates)} positions", wanted)
    rounds, counts, bonus = _determined(text, where, accepted, drafted, rates, options)
    summed.windows += 1
    summed.rounds += rounds
    summed.drafted += drafted
    summed.without_bonus += not bonus
    summed.untouched += accepted == 0
    summed.accepted = [a + b for a, b in zip(summed.accepted or [0] * len(counts), counts, strict=True)]


def _determined(
    text: str, where: str, accepted: int, drafted: int, rates: list[Rounded], options: ReaderOptions
) -> tuple[int, tuple[int, ...], int]:
    """Rounds and counts of a window, where what is printed leaves one choice; and whether its mean has the bonus."""
    kind, depth = policy_of(options, len(rates), len(rates), f"{where}: policy")
    if accepted > drafted:
        refuse(where, f"{accepted} accepted of {drafted} drafted tokens", f"at most {drafted} accepted would do")
    written = LENGTH.search(text)
    length = Rounded.of(written[1]) if written else None
    bonus = 1 if length is None else _bonus(length, rates, where)
    least = max(-(-drafted // max(depth, 1)), 1)
    allowed: range | None = None if length is None else rounds_of(length, bonus, accepted, least)
    if kind == FIXED:  # every draft is as long as the depth, but for a few that the end of an output cut short
        whole = drafted % max(depth, 1) == 0
        allowed = range(least, (least if whole else int(drafted / (depth * (1 - SHORT_DRAFT_SHARE))) + 1) + 1)
    if allowed is None or len(allowed) > 1000:
        refuse(where, *_open("the rounds"))
    found = [
        (rounds, counts)
        for rounds in allowed
        if length is None or abs(bonus + accepted / rounds - length.value) <= length.half + 1e-9
        for counts in counts_of(rates, rounds, accepted)
    ]
    if not found:
        wanted = "counts by position that add up to Accepted would do: a cut vector, or one engine of several"
        refuse(f"{where}: rates by position", f"no counts that are accepted {accepted} times in all", wanted)
    if len(found) > 1:
        refuse(where, *_open(f"the counts of about {found[0][0]} rounds"))
    return (*found[0], bonus)


def _open(what: str) -> tuple[str, str]:
    return (
        f"rounded rates that do not determine {what}",
        "two scrapes of /metrics (the format vllm-metrics) would do; select FROM..TO takes a part of the log",
    )


def _bonus(length: Rounded, rates: list[Rounded], where: str) -> int:
    """1 where the printed mean length holds the bonus token, 0 where it does not: told by the rates, not by a name."""
    summed = sum(rate.value for rate in rates)
    reach = length.half + sum(rate.half for rate in rates)
    fits = [bonus for bonus in (1, 0) if abs(length.value - bonus - summed) <= reach]
    if len(fits) != 1:
        wanted = "the sum of the rates by position, or 1 more, would do"
        refuse(f"{where}: Mean acceptance length", f"{length.value}", wanted)
    return fits[0]


def _conversion(summed: _Summed, old: int, number: int, options: ReaderOptions) -> Conversion:
    if not summed.windows:
        if old:
            found = f"{old} lines of the V0 engine: totals since its start, without rounds and positions"
            refuse("log", found, "a log or scrapes of a V1 engine would do")
        part = "in the span that select names" if options.select else "at all"
        refuse("log", f"no SpecDecoding line {part}", "a log of a server with speculation and log stats on would do")
    done = Conversion(counts={"windows": summed.windows, "copies": summed.copies})
    counted = Counted("", summed.rounds, summed.accepted, sum(summed.accepted), summed.drafted, len(summed.accepted))
    done.records.append(record_of(counted, options, batch_of(options, "batch"), f"run{number}", done))
    done.warnings += _said(summed, old, options)
    done.notes.append(f"{summed.windows} windows are summed, warm-up included; select FROM..TO takes a part")
    done.notes.append("the lines hold no step time")
    return done


def _said(summed: _Summed, old: int, options: ReaderOptions) -> list[str]:
    said = []
    if old:
        said.append(f"{old} lines of the V0 engine are left out: they have no positions")
    if summed.untouched and any(summed.accepted):
        said.append(f"{summed.untouched} of {summed.windows} windows accepted nothing: perhaps not drafted in them")
    if summed.without_bonus:
        said.append(f"the mean acceptance length of {summed.without_bonus} windows has no bonus token: not used as one")
    if summed.copies:
        said.append(f"{summed.copies} lines repeat the one before to the letter: counted once")
    if len(summed.senders) > 1:
        said.append(f"lines of {len(summed.senders)} processes are summed")
    if summed.starts > 1:
        said.append(f"the log tells of {summed.starts} server starts; select FROM..TO takes one of them")
    if summed.depths and (len(summed.depths) > 1 or summed.depths != {len(summed.accepted)}):
        low, high = min(summed.depths), max(summed.depths)
        said.append(f"the log says a current depth of {low} to {high}: a depth that changes is a dynamic policy")
    if summed.running is not None and summed.running != (options.batch, options.batch):
        said.append(f"between {summed.running[0]} and {summed.running[1]} requests ran at once: batch is a label")
    return said


def recognises(source: Source) -> bool:
    """Whether any line is one of vLLM's on speculation."""
    try:
        return source.holds(MARK, OLD_MARK)
    except InputError:
        return False


VLLM_LOG = Format(
    name="vllm-log",
    summary="SpecDecoding metrics lines of a vLLM server's log (a window each; one log is one run)",
    evidence="L4 at a fixed depth; L0 under a dynamic policy, L1 where drafted tokens are declared verified; refused "
    "where rounded rates do not determine the counts (more than about 1,000 rounds a window)",
    lacks="suite, worker, batch, context, policy, start; it has no step times",
    convert=each(convert, parts="a span of time"),
    recognises=recognises,
)
