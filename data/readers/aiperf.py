"""Reads AIPerf's profile export records: each request's acceptance, and its chunk gaps where they are steps."""

from statistics import median
from typing import Any

from ..errors import InputError
from ..records import LONGEST_MS
from .counters import batch_of, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import Entry, refuse, rows_of, starts_as_json
from .source import Source
from .tallies import Merged, Tally, agree, histogram_of, table_of

ACCEPTANCE = "spec_decode_acceptance"
POOLED = "pooled_spec_decode_acceptance_histogram"
GAPS = "inter_chunk_latency"
SHORTEST_MS = 0.5  # a server step is longer; shorter gaps are chunks that were split or arrived together
FEWEST, MOST = 0.8, 1.25  # chunk gaps for each round: one event a round, prefill and plain steps aside


def _tally(entry: Entry) -> Tally:
    histogram = histogram_of(entry, "acceptance_histogram")
    rounds = entry.needed_count("num_spec_steps")
    agree(entry, histogram, rounds, entry.needed_count("num_accepted_draft_tokens"))
    table = table_of(entry, histogram, "acceptance_histogram_by_draft_length", "per_step_drafted", "per_step_accepted")
    drafted, block = entry.needed_count("num_draft_tokens"), entry.count("num_spec_tokens")
    if table is not None and drafted != (summed := sum(length * sum(row) for length, row in table.items())):
        refuse(entry.at("num_draft_tokens"), str(drafted), f"{summed}, the sum of per_step_drafted, would do")
    deepest = max(length for length, count in enumerate([1, *histogram[1:]]) if count)
    if block is not None and max(deepest, *(table or {0: []})) > block:
        refuse(entry.at("num_spec_tokens"), str(block), "at least the longest draft that was seen would do")
    return Tally(histogram, drafted, block or None, table)


def _step(row: Entry, rounds: int) -> dict[str, Any] | None:
    """The median gap of a request's chunks, where there is about one chunk a round."""
    metrics = row.entry("metrics")
    metric = metrics.entry(GAPS) if metrics is not None else None
    if metric is None or not isinstance(metric.fields.get("value"), list):
        return None
    gaps = metric.fields["value"]
    if metric.text("unit") != "ms":
        refuse(metric.at("unit"), "another unit", "ms would do")
    for gap in gaps:
        if isinstance(gap, bool) or not isinstance(gap, int | float) or not 0 <= gap < LONGEST_MS:
            refuse(metric.at("value"), "something that is no time", "gaps of at least 0 ms, below a day, would do")
    if not rounds or not FEWEST * rounds <= len(gaps) <= MOST * rounds + 2:
        return None
    middle = float(median(gaps))
    return {"step_p50_ms": middle, "steps": len(gaps)} if middle >= SHORTEST_MS else None


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn one `profile_export.jsonl` into one run record; warm-up requests and failed ones are left out.

    Parameters
    ----------
    source
        The records export (`--export-level records`).
    number
        Its place among the sources, for the run's name.
    options
        What the records do not say.

    Raises
    ------
    InputError
        It is the summary alone, a record contradicts itself, or no record has acceptance.
    """
    merged, warm, failed = Merged(), 0, 0
    for row in rows_of(source):
        if POOLED in row.fields:
            wanted = "profile_export.jsonl, which --export-level records writes, would do"
            refuse(row.where or "text", "the pooled summary, whose last bucket may be open", wanted)
        metadata = row.entry("metadata")
        if metadata is not None and metadata.text("benchmark_phase") == "warmup":
            warm += 1
            continue
        if row.fields.get("error") is not None:
            failed += 1
            continue
        acceptance = row.entry(ACCEPTANCE)
        if acceptance is None:
            merged.without += 1
            continue
        tally = _tally(acceptance)
        merged.add(tally, acceptance.where)
        if (step := _step(row, sum(tally.histogram))) is not None:
            merged.times.append(step)
    if not merged.requests:
        found = f"no {ACCEPTANCE} in {merged.without} records ({warm} of warm-up, {failed} failed beside them)"
        refuse("text", found, "records of a server that reports per-request spec decode metrics would do")
    done = Conversion(counts={"requests": merged.requests, "warm_up": warm, "failed": failed})
    done.records.append(record_of(merged.counted(), options, batch_of(options, "batch"), f"run{number}", done))
    done.warnings += merged.said()
    for count, what in ((warm, "of warm-up"), (failed, "that failed")):
        done.warnings += [f"{count} requests {what} are left out"] if count else []
    done.notes.append(f"{merged.requests} requests make one run; {len(merged.times)} have chunk gaps that are steps")
    return done


def recognises(source: Source) -> bool:
    """Whether its first rows are AIPerf's records or its summary."""
    try:
        return starts_as_json(source) and any(
            {"metadata", "metrics"} <= set(row.fields) or ACCEPTANCE in row.fields or POOLED in row.fields
            for _, row in zip(range(100), rows_of(source), strict=False)
        )
    except InputError:
        return False


AIPERF = Format(
    name="aiperf",
    summary="AIPerf's profile_export.jsonl with spec_decode_acceptance (a file is a run)",
    evidence="L4 at a fixed depth; under a dynamic policy L3 with per-step arrays, else L0, L1 where drafted tokens are "
    "declared verified; p50 step times where inter_chunk_latency has about one chunk a round",
    lacks="suite, worker, batch, context, policy kind, start",
    convert=each(convert),
    recognises=recognises,
)
