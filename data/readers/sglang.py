"""Reads SGLang's per-request meta_info; says what cannot be done with its benches, logs and server info."""

from ..errors import InputError
from .counters import batch_of, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import Entry, refuse, rows_of, starts_as_json
from .source import Source
from .tallies import Merged, Tally, agree, histogram_of

HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
ROUNDS, CORRECT = "spec_verify_ct", ("spec_num_correct_drafts", "spec_accepted_drafts")
PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts")
MEANS = ("avg_spec_accept_length", "accept_length", "spec_accept_length", "acc_length")
SETTINGS = ("speculative_num_steps", "speculative_num_draft_tokens", "dspark_block_size")
TEXT = (b"Accept length:", b"accept len:", b"gen throughput (token/s)")
WANTED = (
    "responses with meta_info.spec_accept_histogram would do: a mean accept length has no rounds and no positions, so "
    "no depth but the one that was run can be told from it"
)


def _tally(meta: Entry) -> Tally:
    histogram = histogram_of(meta, *HISTOGRAM)
    rounds, correct = meta.count(ROUNDS), meta.count(*CORRECT)
    agree(meta, histogram, rounds, correct)
    proposed, completion = meta.count(*PROPOSED), meta.count("completion_tokens")
    summed = sum(histogram)
    accepted = sum(length * count for length, count in enumerate(histogram))
    if completion is not None and completion > accepted + summed + 1:
        wanted = f"at most {accepted + summed + 1} (accepted drafts, a bonus a round, one of prefill) would do"
        refuse(meta.at("completion_tokens"), str(completion), wanted)
    rate = meta.fields.get("spec_accept_rate")
    if isinstance(rate, int | float) and not isinstance(rate, bool) and not 0 <= rate <= 1:
        refuse(meta.at("spec_accept_rate"), "a rate beyond 0 to 1", "drafts without the bonus token would do")
    return Tally(histogram, proposed, None)


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn the responses of one file into one run record, where they have histograms.

    Parameters
    ----------
    source
        JSON Lines of responses with `meta_info`, or of `meta_info` alone.
    number
        Its place among the sources, for the run's name.
    options
        What the responses do not say. `policy_depth` is the number of steps, not of nodes of a tree.

    Raises
    ------
    InputError
        The source has means alone, drafts are trees, or a response contradicts itself.
    """
    if not starts_as_json(source):
        refuse("text", "an accept length alone", WANTED)
    merged = Merged()
    for row in rows_of(source):
        _no_means(row)
        meta = row.entry("meta_info") or (row if any(name in row.fields for name in HISTOGRAM) else None)
        if meta is None or all(meta.fields.get(name) is None for name in HISTOGRAM):
            merged.without += 1
            continue
        merged.add(_tally(meta), meta.where or "text")
    if not merged.requests:
        refuse("text", f"no histogram of accepted drafts in {merged.without} rows", WANTED)
    done = Conversion(counts={"requests": merged.requests, "without_counters": merged.without})
    full = (options.policy_depth or 0) * sum(merged.rounds)
    if options.policy_depth is not None and merged.drafted is not None and merged.drafted > full:
        wanted = (
            f"at most {full} would do: of a tree the steps count as positions, not the nodes, and a chain is needed"
        )
        refuse("spec_num_proposed_drafts", str(merged.drafted), wanted)
    done.records.append(record_of(merged.counted(), options, batch_of(options, "batch"), f"run{number}", done))
    done.warnings += merged.said()
    done.notes.append(f"{merged.requests} requests make one run; meta_info holds no step time")
    return done


def _no_means(row: Entry) -> None:
    for place in _objects(row):
        settings = [place.fields[name] for name in SETTINGS if place.fields.get(name) is not None]
        if any(name in place.fields for name in MEANS) and not any(name in place.fields for name in HISTOGRAM):
            refuse(row.where or "text", "a mean accept length, over the server's life or a whole bench", WANTED)
        if len(settings) > 1:
            refuse(row.where or "text", f"{len(settings)} settings of the depth and no histogram", WANTED)


def _objects(row: Entry) -> list[Entry]:
    found = [row]
    for name in ("meta_info", "internal_states"):
        value = row.fields.get(name)
        inner = value if isinstance(value, list) else [value]
        found += [Entry(one, row.at(name)) for one in inner[:64] if isinstance(one, dict)]
    return found


def recognises(source: Source) -> bool:
    """Whether it is SGLang's: responses, server info, results of its bench, or its log."""
    try:
        if not starts_as_json(source):
            return source.holds(*TEXT)
        names = {*HISTOGRAM, *MEANS, "spec_verify_ct", *SETTINGS}
        return any(
            names & set(place.fields)
            for _, row in zip(range(100), rows_of(source), strict=False)
            for place in _objects(row)
        )
    except InputError:
        return False


SGLANG = Format(
    name="sglang",
    summary="SGLang's responses with meta_info.spec_accept_histogram; its benches, logs and server info are refused",
    evidence="L4 at a fixed depth; L0 under a dynamic policy, L1 where drafted tokens are declared verified. An accept "
    "length alone has no rounds and no positions: nothing can be made of it",
    lacks="suite, worker, batch, context, policy and its depth, start; it has no step times",
    convert=each(convert),
    recognises=recognises,
)
