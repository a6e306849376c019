"""Reads vLLM's Prometheus text: a scrape before and one after the load, or one alone as a lifetime."""

from collections.abc import Iterable, Sequence

from ..errors import InputError
from .counters import Counted, batch_of, record_of
from .form import Conversion, Format, ReaderOptions, named
from .json_source import refuse
from .prometheus import OTHER_ENGINES, Scrape, scrape_of
from .scrape_pair import counted_between
from .source import Source


def convert(sources: Sequence[Source], options: ReaderOptions) -> Conversion:
    """Turn scrapes into run records: before, after, before, after and so on, or one alone.

    Parameters
    ----------
    sources
        Prometheus texts in the order in which they were taken.
    options
        What the text does not say; `select` names the model where a server has several.

    Returns
    -------
    Conversion
        One record a pair; of one scrape alone, one record that is called `lifetime`.

    Raises
    ------
    InputError
        The counters went back (the server was started anew), are cut off, or contradict each other.
    """
    if len(sources) > 1 and len(sources) % 2:
        refuse("scrapes", f"{len(sources)}", "one before and one after each run, or one alone, would do")
    done = Conversion()
    scrapes = []
    for source in sources:
        try:
            scrapes.append(scrape_of(source.lines(), options.select, done.warnings))
        except InputError as error:
            raise named(error, source) from error
    if len(scrapes) == 1:
        add_run(None, scrapes[0], options, "lifetime", sources[0].name, done)
        done.warnings.append(
            "one scrape alone: these are the counters of the server's lifetime, warm-up and all other load included"
        )
    for number in range(len(scrapes) // 2):
        before, after = scrapes[2 * number : 2 * number + 2]
        add_run(before, after, options, f"run{number + 1}", sources[2 * number + 1].name, done)
    done.notes.append("the counters hold no step time")
    return done


def add_run(
    before: Scrape | None, after: Scrape, options: ReaderOptions, run: str, where: str, done: Conversion
) -> None:
    """Add the record of what happened between two scrapes, or until one; all engines are summed."""
    counted = counted_between(before, after, where)
    batch = batch_of(options, counted.at("batch"))
    done.records.append(record_of(counted, options, batch, run, done))
    done.notes += _engines(before, after, counted)


def _engines(before: Scrape | None, after: Scrape, counted: Counted) -> Iterable[str]:
    if len(after.engines) < 2:
        return
    born = before.engines if before else {}
    shares = [
        (engine.rounds or 0) - ((born[key].rounds or 0) if key in born else 0) for key, engine in after.engines.items()
    ]
    yield f"{counted.at('engines')}: {len(shares)} are summed, with {min(shares)} to {max(shares)} rounds each"


def recognises(source: Source) -> bool:
    """Whether this is Prometheus text of vLLM, or of an engine that counts speculation without positions."""
    marks = (b"vllm:", *OTHER_ENGINES)
    try:
        return any(b"{" in line and line.lstrip().startswith(marks) for _, line in source.marked(*marks))
    except InputError:
        return False


VLLM_METRICS = Format(
    name="vllm-metrics",
    summary="Prometheus text of a vLLM server: PATHs are scrapes before, after (, before, after ...), or one alone",
    evidence="L4 at a fixed depth; L0 under a dynamic policy, L1 where drafted tokens are declared verified",
    lacks="suite, worker, batch, context, policy, start; it has no step times",
    convert=convert,
    recognises=recognises,
)
