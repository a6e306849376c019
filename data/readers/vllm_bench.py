"""Reads results of `vllm bench serve`: its JSON (one object or JSON Lines), and the text that it prints."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from ..errors import InputError
from .counters import Counted, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import Entry, refuse, rows_of, starts_as_json, unwrapped
from .rounding import Rounded, counts_of
from .source import Source
from .vllm_bench_text import HEADING, Printed, printed_results

SPEC = "spec_decode_"
RATES = SPEC + "per_position_acceptance_rates"
WHOLE = 1e-6  # how far from whole a rate of all its digits times the rounds may be
SHORTEST_MS = 0.5  # a server step is longer; shorter gaps are chunks that were split or arrived together
FEWEST, MOST = 0.8, 1.25  # chunk gaps for each round


type _Result = tuple[int, Counted, int | None, int | None]
"""Its number, its counters, the client's limit of requests at once, and how many were open at once."""


def _counts(rates: Sequence[Any], rounds: int, total: int, where: str) -> tuple[int, ...]:
    """Counts behind rates: exact where the rates have all their digits, else where they determine them."""
    for place, rate in enumerate(rates, 1):
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            refuse(f"{where}[{place}]", "no share from 0 to 1", "fractions would do; percent is another key's unit")
    exact = [rate * rounds for rate in rates]
    if all(abs(one - round(one)) <= WHOLE for one in exact):
        return tuple(round(one) for one in exact)
    found = counts_of(
        [Rounded.of(f"{rate:.20f}" if "e" in repr(rate) else repr(rate)) for rate in rates], rounds, total
    )
    return _only(found, where, total)


def _only(found: list[tuple[int, ...]], where: str, total: int) -> tuple[int, ...]:
    if not found:
        refuse(where, "rates that no counts have", f"rates of counts that add up to {total} would do")
    if len(found) > 1:
        wanted = "all digits of the result file, or two scrapes of /metrics (the format vllm-metrics), would do"
        refuse(where, "rounded rates that do not determine the counts", wanted)
    return found[0]


def _of_json(row: Entry) -> Counted | None:
    """The counters of one result; None where it has none."""
    if row.get(SPEC + "num_drafts")[1] is None:
        if any(row.get(SPEC + name)[1] is not None for name in ("accepted_tokens", "acceptance_rate")):
            refuse(row.at(SPEC + "num_drafts"), "nothing", "a count of rounds would do")
        return None
    rounds, total = row.needed_count(SPEC + "num_drafts"), row.needed_count(SPEC + "accepted_tokens")
    rates = unwrapped(row.get(RATES)[1])
    if not isinstance(rates, list) or not rates:
        refuse(row.at(RATES), "no list of rates", "one rate a position would do; totals alone say nothing of depth")
    counts = _counts(rates, rounds, total, row.at(RATES))
    drafted = row.count(SPEC + "draft_tokens")
    return Counted(row.where, rounds, counts, total, drafted, len(counts), requests=_steps(row, rounds))


def _steps(row: Entry, rounds: int) -> list[dict[str, Any]]:
    """Median chunk gap of each request, from `--save-detailed` alone, where there is about one chunk a round."""
    lists = row.fields.get("itls")
    if not isinstance(lists, list) or not all(isinstance(one, list) for one in lists):
        return []
    gaps = [[gap for gap in one if not isinstance(gap, bool) and isinstance(gap, int | float)] for one in lists]
    if any(len(one) != len(known) or not all(0 <= gap < 86_400 for gap in known)
           for one, known in zip(lists, gaps, strict=True)):  # fmt: skip
        refuse(row.at("itls"), "something that is no time", "gaps of at least 0 s, below a day, would do")
    if not FEWEST * rounds <= sum(map(len, gaps)) <= MOST * rounds + 2 * len(gaps):
        return []
    steps = [{"step_p50_ms": 1000.0 * median(one), "steps": len(one)} for one in gaps if one]
    return [step for step in steps if step["step_p50_ms"] >= SHORTEST_MS]


def _of_text(printed: Printed) -> Counted:
    rounds, total = printed.rounds, printed.accepted
    where = f"{printed.where}: per-position acceptance"
    if not printed.rates:
        refuse(where, "nothing", "one rate a position would do; totals alone say nothing of depth")
    found = counts_of(printed.rates, rounds, total)
    if any(rate.value > 1 for rate in printed.rates):
        refuse(where, "a rate above 100 percent", "rates from 0 to 100 would do")
    return Counted(printed.where, rounds, _only(found, where, total), total, printed.drafted, len(printed.rates))


def _batch(options: ReaderOptions, found: int | None, seen: int | None, where: str, done: Conversion) -> int:
    """The option, or the client's limit of requests at once, which is a label: what ran at once may differ."""
    batch = options.batch or found
    if batch is None:
        refuse(f"{where}: max_concurrency" if where else "max_concurrency", "nothing",
               "the option batch would say how many requests decode together")  # fmt: skip
    if found not in (None, batch):
        done.warnings.append(f"max_concurrency is {found}, the option batch {batch}: the option counts")
    if seen not in (None, batch):
        done.warnings.append(f"up to {seen} requests were open at once at batch {batch}: batch is a label")
    return batch


def _meant(place: int, options: ReaderOptions) -> bool:
    return options.select is None or int(options.select) == place


def _json_results(source: Source, options: ReaderOptions, done: Conversion) -> Iterator[_Result]:
    for place, row in enumerate(rows_of(source), 1):
        if not _meant(place, options):
            continue
        if "completed" not in row.fields and SPEC + "num_drafts" not in row.fields:
            found = "totals without counts by position" if "buckets" in row.fields else "no result of bench serve"
            refuse(row.where or "text", found, "the JSON that vllm bench serve --save-result writes would do")
        completed, failed = row.count("completed"), row.count("failed")
        counted = _of_json(row)
        if failed:
            done.warnings.append(f"{failed} of {(completed or 0) + failed} requests failed")
        if counted is None:
            reason = "no request was completed" if completed == 0 else "speculation was off, or nothing was drafted"
            done.warnings.append(f"{row.where or 'the result'} holds no counters: {reason}; missing is not zero")
            continue
        yield place, counted, row.count("max_concurrency", least=1), row.count("max_concurrent_requests")


def _text_results(source: Source, options: ReaderOptions) -> Iterator[_Result]:
    for place, printed in enumerate(printed_results(source), 1):
        if _meant(place, options):
            yield place, _of_text(printed), printed.batch, None


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn one result file into run records, one a result.

    Parameters
    ----------
    source
        The result's JSON, JSON Lines of appended results, or the printed text.
    number
        Its place among the sources, for the runs' names.
    options
        What the result does not say; `select` is the number of the one result that is meant.

    Raises
    ------
    InputError
        Rounded rates do not determine the counts, or a result contradicts itself.
    """
    done = Conversion()
    if options.select is not None and not (options.select.isascii() and options.select.isdecimal()):
        refuse("select", "no number of a result", "1, 2 and so on would do")
    whole = _json_results(source, options, done) if starts_as_json(source) else _text_results(source, options)
    for place, counted, found, seen in whole:
        batch = _batch(options, found, seen, counted.where, done)
        done.records.append(record_of(counted, options, batch, f"run{number}-{place}", done))
    if not any(record["requests"] for record in done.records):
        done.notes.append(
            "no step time: quantiles over all requests' chunks are none; itls of --save-detailed would give them"
        )
    return done


def recognises(source: Source) -> bool:
    """Whether its first result is one of `vllm bench serve`, or its text has the heading of one."""
    try:
        if not starts_as_json(source):
            return source.holds(HEADING)
        row = next(iter(rows_of(source)))
    except (InputError, StopIteration):
        return False
    if "accept_length" in row.fields:  # SGLang's bench has the same other fields
        return False
    return SPEC + "num_drafts" in row.fields or {"completed", "mean_tpot_ms", "max_concurrency"} <= set(row.fields)


VLLM_BENCH = Format(
    name="vllm-bench",
    summary="vllm bench serve: result JSON (also appended), or the text that it prints",
    evidence="L4 at a fixed depth; L0 under a dynamic policy, L1 where drafted tokens are declared verified; p50 step "
    "times only from the itls of --save-detailed",
    lacks="suite, worker, context, policy, start; batch is max_concurrency unless it is given",
    convert=each(convert, parts="a result"),
    recognises=recognises,
)
