"""Reads per-request payloads with acceptance histograms: vLLM's speculative_decoding, and TensorRT-LLM's."""

from ..errors import InputError
from .counters import batch_of, record_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import Entry, refuse, rows_of, starts_as_json
from .source import Source
from .tallies import Merged, Tally, agree, histogram_of, table_of

VLLM, TRTLLM = "vllm", "trtllm"
HISTOGRAM = "acceptance_histogram"
BY_LENGTH, DRAFTS, ACCEPTS = "acceptance_histogram_by_draft_length", "per_step_drafted", "per_step_accepted"
FOREIGN = {"timings": "llama.cpp's timings: the format llamacpp", "meta_info": "SGLang's meta_info: the format sglang"}


def _payload(row: Entry) -> tuple[str, Entry] | None:
    """The engine's object in one row, wherever the row keeps it; None where the row has none."""
    for place in _places(row):
        if (metrics := place.fields.get("metrics")) is not None and isinstance(metrics, dict):
            inner = Entry(metrics, place.at("metrics")).entry("speculative_decoding")
            if inner is not None:
                return VLLM, inner
        if isinstance(place.fields.get("speculative_decoding"), dict):
            inner = place.entry("speculative_decoding")
            return None if inner is None else (VLLM, inner)
        if isinstance(place.fields.get("trtllm"), dict) and (inner := place.entry("trtllm")) is not None:
            return TRTLLM, inner
        if {"num_spec_steps", "num_draft_tokens"} <= set(place.fields):
            return VLLM, place
        if {"num_spec_steps", "total_draft_tokens"} <= set(place.fields):
            return TRTLLM, place
    return None


def _places(row: Entry) -> list[Entry]:
    """A row itself, and the bodies that batch outputs wrap around a response."""
    places = [row]
    for name in ("response", "body"):
        if isinstance(places[-1].fields.get(name), dict):
            inner = places[-1].entry(name)
            places += [inner] if inner is not None else []
    return places


def _vllm(payload: Entry) -> Tally:
    rounds = payload.needed_count("num_spec_steps")
    drafted, block = payload.count("num_draft_tokens"), payload.count("num_spec_tokens", least=1)
    if payload.fields.get(HISTOGRAM) is None and payload.fields.get(ACCEPTS) is not None:
        steps = payload.counts(ACCEPTS) or ()
        filled = {str(length): steps.count(length) for length in set(steps)} or {"0": 0}
        histogram = histogram_of(Entry({HISTOGRAM: filled}, payload.where), HISTOGRAM)
    else:
        histogram = histogram_of(payload, HISTOGRAM)
    agree(payload, histogram, rounds, payload.count("num_accepted_draft_tokens"))
    table = table_of(payload, histogram, BY_LENGTH, DRAFTS, ACCEPTS)
    _within(payload, histogram, block, table)
    if table is not None:
        summed = sum(length * sum(row) for length, row in table.items())
        if drafted not in (None, summed):
            wanted = f"{summed}, the sum of the drafted lengths, would do"
            refuse(payload.at("num_draft_tokens"), str(drafted), wanted)
        drafted = summed
    return Tally(histogram, drafted, block, table)


def _trtllm(payload: Entry) -> Tally:
    histogram = histogram_of(payload, HISTOGRAM)
    agree(payload, histogram, payload.needed_count("num_spec_steps"), payload.count("total_accepted_draft_tokens"))
    block = payload.count("num_spec_tokens", least=1)
    _within(payload, histogram, block, None)
    return Tally(histogram, payload.count("total_draft_tokens"), block)


def _within(payload: Entry, histogram: tuple[int, ...], block: int | None, table: dict[int, list[int]] | None) -> None:
    if block is None:
        return
    deepest = max([*(table or {}), *(length for length, count in enumerate(histogram) if count)], default=0)
    if deepest > block:
        refuse(payload.at("num_spec_tokens"), str(block), f"at least {deepest}, the longest that was seen, would do")


def convert(source: Source, number: int, options: ReaderOptions) -> Conversion:
    """Turn the payloads of one file (a request each) into one run record.

    Parameters
    ----------
    source
        JSON Lines of responses or of their payloads, one response, or a list.
    number
        Its place among the sources, for the run's name.
    options
        What the payloads do not say; `select` is `vllm` or `trtllm` where a file mixes engines.

    Raises
    ------
    InputError
        A payload contradicts itself, or requests of different bounds or engines are mixed.
    """
    if options.select not in (None, VLLM, TRTLLM):
        refuse("select", "another word", f"{VLLM} or {TRTLLM} would do")
    merged, engines, others = Merged(), set[str](), 0
    for row in rows_of(source):
        found = _payload(row)
        if found is None:
            for name, wanted in FOREIGN.items():
                if name in row.fields and options.select is None:
                    refuse(row.where or "text", wanted.partition(":")[0], f"{wanted.partition(': ')[2]} would do")
            others += any(name in row.fields for name in FOREIGN)
            merged.without += not any(name in row.fields for name in FOREIGN)
            continue
        engine, payload = found
        if options.select not in (None, engine):
            others += 1
            continue
        engines.add(engine)
        if len(engines) > 1:
            refuse(row.where, "payloads of two engines", f"the option select ({VLLM} or {TRTLLM}) would do")
        merged.add(_vllm(payload) if engine == VLLM else _trtllm(payload), payload.where or "text")
    if not merged.requests:
        refuse("text", f"no speculative_decoding in {merged.without + others} rows",
               "responses of a server that reports per-request spec decode metrics would do")  # fmt: skip
    done = Conversion(counts={"requests": merged.requests, "without_counters": merged.without, "other_engines": others})
    if TRTLLM in engines:  # its draft total is made from the largest length or padded: an upper bound
        done.warnings.append("TensorRT-LLM's draft tokens may be padded: an upper bound, not verified tokens")
        merged.drafted = merged.drafted if options.declared_kind == "fixed" else None
    done.records.append(record_of(merged.counted(), options, batch_of(options, "batch"), f"run{number}", done))
    done.warnings += merged.said() + ([f"{others} rows of another engine are left out"] if others else [])
    done.notes.append(f"{merged.requests} requests make one run; the payloads hold no step time")
    return done


def recognises(source: Source) -> bool:
    """Whether the first row of JSON that is looked at holds a payload."""
    try:
        return starts_as_json(source) and any(
            _payload(row) is not None for _, row in zip(range(100), rows_of(source), strict=False)
        )
    except InputError:
        return False


VLLM_REQUESTS = Format(
    name="vllm-requests",
    summary="per-request payloads (metrics.speculative_decoding; TensorRT-LLM's too): JSON Lines, a file is a run",
    evidence="L4 at a fixed depth; under a dynamic policy L3 with drafted lengths (per-step arrays or histograms by "
    "draft length), else L0, L1 where drafted tokens are declared verified",
    lacks="suite, worker, batch, context, policy kind, start; it has no step times",
    convert=each(convert, parts="an engine"),
    recognises=recognises,
)
