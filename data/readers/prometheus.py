"""Counters of speculation in Prometheus text: one set for each engine of a model, checked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import InputError
from ..faults import described
from ..record_fields import LARGEST_COUNT
from ..records import DEEPEST_RECORD
from .json_source import refuse, shown

SERIES = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)\s*(?:\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?\s*\|?\s*(\S+)")
LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")
PREFIX = "vllm:spec_decode_num_"
TOTALS = {"drafts": "rounds", "draft_tokens": "drafted", "accepted_tokens": "accepted"}
BY_POSITION = "accepted_tokens_per_pos"
OTHER_ENGINES = (b"sglang:spec_", b"llamacpp:", b"trtllm_")
SAME_COUNTERS = {"tp_rank", "pp_rank"}  # ranks of one engine that repeat its counters
MOST_SERIES = 100_000


@dataclass(slots=True)
class EngineCounters:
    """Counters of one engine; None where the text has no such series."""

    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    positions: dict[int, int] = field(default_factory=dict)
    created: dict[str, float] = field(default_factory=dict)

    def silent(self) -> bool:
        """Whether its totals are there and say that nothing was drafted yet."""
        return self.rounds == 0 and not self.accepted


@dataclass(slots=True)
class Scrape:
    """One scrape: the counters of each engine of one model, and when the process started, where the text says it."""

    engines: dict[str, EngineCounters] = field(default_factory=dict)
    process_start: float | None = None

    def born(self) -> float | None:
        """When the process started or its first counter was born, in seconds; None where the text does not say."""
        births = [born for engine in self.engines.values() for born in engine.created.values()]
        return self.process_start if self.process_start is not None else min(births, default=None)


def scrape_of(lines: Iterable[bytes], model: str | None, said: list[str]) -> Scrape:
    """Read one scrape line by line; lines of other series are passed over.

    Parameters
    ----------
    lines
        The text.
    model
        The `model_name` that is meant, None where there is only one.
    said
        Takes what a reader should know.

    Raises
    ------
    InputError
        There are no counters of speculation, a value is no count, or a series stands there twice.
    """
    found: dict[str, Scrape] = {}
    start: float | None = None
    seen: dict[tuple[str, ...], int] = {}
    others: set[str] = set()
    for line in lines:
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("process_start_time_seconds"):
            start = _real(text.split()[-1])
        if not text.startswith("vllm:spec_decode"):
            others |= {"vllm:"} if text.startswith("vllm:") else set()
            others |= {one.decode() for one in OTHER_ENGINES if text.startswith(one.decode())}
            continue
        read = _series(text)
        if read is not None:
            _take(found, seen, *read, said)
            if len(seen) > MOST_SERIES:
                refuse("series", f"more than {MOST_SERIES}", "the scrape of one server would do")
        else:
            others.add("V0")
    scrape = _of_model(found, model, others)
    scrape.process_start = start
    return scrape


def _series(text: str) -> tuple[str, dict[str, str], str] | None:
    """Name without prefix and ending, labels in any order, and the value; None for names that V1 does not have."""
    matched = SERIES.match(text)
    if matched is None:
        refuse("series", "a line that no scrape has", "name{labels} value would do")
    name, labels, value = matched.groups()
    if not name.startswith(PREFIX):
        return None
    name = name.removeprefix(PREFIX).removesuffix("_total")
    if name.removesuffix("_created") not in {*TOTALS, BY_POSITION}:
        return None
    return name, dict(LABEL.findall(labels or "")), value


def _take(
    found: dict[str, Scrape],
    seen: dict[tuple[str, ...], int],
    name: str,
    labels: dict[str, str],
    value: str,
    said: list[str],
) -> None:
    position, model = labels.pop("position", None), labels.pop("model_name", "")
    rank = [labels.pop(one) for one in sorted(SAME_COUNTERS & set(labels))]
    key = ",".join(f"{label}={labels[label]}" for label in sorted(labels))
    engine = found.setdefault(model, Scrape()).engines.setdefault(key, EngineCounters())
    if name.endswith("_created"):  # when the series was born, not a counter
        engine.created[f"{name} {position}"] = _real(value)
        return
    count = _count(name, value)
    identity = (model, key, name, position or "")
    if identity in seen:
        if not rank or seen[identity] != count:
            refuse(name, "one series twice", "each series once would do; label values tell ranks apart")
        if (warning := "series of several ranks repeat each other: taken once") not in said:
            said.append(warning)
        return
    seen[identity] = count
    if name != BY_POSITION:
        setattr(engine, TOTALS[name], count)
        return
    if position is None or not re.fullmatch(r"\d{1,4}", position, re.ASCII):
        refuse(f"{name}.position", "no whole number", "positions 0, 1 and so on would do")
    if int(position) >= DEEPEST_RECORD:
        refuse(f"{name}.position", position, f"positions below {DEEPEST_RECORD} would do")
    engine.positions[int(position)] = count


def _of_model(found: dict[str, Scrape], model: str | None, others: set[str]) -> Scrape:
    counting = {
        name: scrape for name, scrape in found.items() if any(one.rounds is not None for one in scrape.engines.values())
    }
    if not counting:
        refuse("series", *_without_rounds(bool(found), others))
    if model is not None:
        if model not in counting:
            refuse("model_name", _listed(counting), "the option select takes one of these")
        return counting[model]
    if len(counting) > 1:
        refuse("model_name", _listed(counting), "the option select would name the one that is meant")
    return next(iter(counting.values()))


def _without_rounds(some: bool, others: set[str]) -> tuple[str, str]:
    if some or "V0" in others:
        return "no num_drafts", "a vLLM of the V1 engine would do: V0 has totals alone"
    if "sglang:spec_" in others:
        return "SGLang's gauges", "per-request meta_info would do; a mean alone says nothing of positions"
    if "llamacpp:" in others:
        return "llama.cpp's metrics", "its log lines have rates by position: the format llamacpp would do"
    if "trtllm_" in others:
        return "TensorRT-LLM's metrics", "per-request payloads have a histogram: the format vllm-requests would do"
    if "vllm:" in others:
        wanted = "a server with speculation on would do; missing is not zero"
        return "vLLM's metrics without spec_decode counters", wanted
    return "no vllm:spec_decode counters", "the text of the server's /metrics would do"


def _listed(scrapes: Iterable[str]) -> str:
    names = sorted(shown(name) for name in scrapes)
    return f"{len(names)} models: {', '.join(names[:8])}"


def _count(name: str, written: str) -> int:
    value = _real(written)
    if not 0 <= value <= LARGEST_COUNT or value != int(value):
        refuse(name, described(value), "a whole number of at least 0 would do")
    return int(value)


def _real(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise InputError("value: found something that is no number; name{labels} value would do") from None
