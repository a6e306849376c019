"""Reads the JSON of the DSpark decode bench: counters of each trial and the chunk times of its streams."""

from typing import Any

from ..errors import InputError
from ..faults import faults_alone
from ..record_counts import SHORT_DRAFT_SHARE
from ..records import parse_run
from ..words import DECODE, DYNAMIC, FIXED
from .dspark_trials import selected, trials_of
from .form import Conversion, Format, ReaderOptions, each
from .json_source import Entry, parsed, refuse, starts_as_json
from .source import Source

ROUNDS = ("num_drafts", "drafts")
DRAFTED = ("draft_tokens", "num_draft_tokens")
ACCEPTED = ("accepted_tokens", "accepted", "num_accepted_tokens")
BY_POSITION = ("accepted_tokens_per_position", "accepted_per_position")
LEAST_CHUNK_SHARE = 0.8
"""A stream with fewer chunks than this share of what its rounds make lost or merged server events: no step time."""


def _counters(trial: Entry) -> Entry | None:
    """The counters of a trial; None where speculation was off or its counters were not recorded."""
    spec = trial.entry("spec_decode")
    if spec is None or not spec.fields:
        return None
    known = [name for name in (*ROUNDS, *ACCEPTED, *BY_POSITION) if name in spec.fields]
    enabled = spec.get("enabled")[1]
    if enabled is None:
        return None if known and all(spec.fields[name] is None for name in known) else spec
    if not isinstance(enabled, bool):
        refuse(spec.at("enabled"), "something that is not true or false", "true or false would do")
    if not enabled and spec.count(*ROUNDS):
        refuse(spec.at("enabled"), "false beside rounds", "counters of a run that speculates would do")
    return spec if enabled else None


def _acceptance(spec: Entry, said: list[str]) -> tuple[int, tuple[int, ...]]:
    """Rounds and accepted counts by position, held against each other and against the accepted total."""
    rounds = spec.needed_count(*ROUNDS)
    name, _ = spec.get(*BY_POSITION)
    accepted = spec.counts(*BY_POSITION)
    if not accepted:
        refuse(spec.at(name), "nothing", "one count for each position would do; totals alone say nothing of depth")
    before, place_before = rounds, spec.get(*ROUNDS)[0]
    for place, count in enumerate(accepted, 1):
        if count > before:
            refuse(f"{spec.at(name)}[{place}]", str(count), f"at most {before} would do ({place_before})")
        before, place_before = count, f"{name}[{place}]"
    total = spec.count(*ACCEPTED)
    if total is None:
        said.append(f"{spec.at(ACCEPTED[0])}: nothing there to hold the sum of the positions against")
    elif total != sum(accepted):
        refuse(spec.at(name), f"a sum of {sum(accepted)}", f"{total} ({spec.get(*ACCEPTED)[0]}) would do")
    return rounds, accepted


def _policy(spec: Entry, positions: int, options: ReaderOptions) -> tuple[str, int]:
    depth = options.policy_depth or positions
    if depth > positions:
        refuse(spec.at(BY_POSITION[0]), f"{positions} positions", f"one for each of the {depth} declared would do")
    return options.declared_kind or FIXED, depth


def _verified(
    spec: Entry, policy: tuple[str, int], rounds: int, accepted: int, options: ReaderOptions, said: list[str]
) -> int | None:
    """Verified draft tokens, where the drafted ones are known to be that."""
    kind, depth = policy
    name, _ = spec.get(*DRAFTED)
    drafted, full, where = spec.count(*DRAFTED), depth * rounds, spec.at(name)
    if drafted is None:
        if options.declared_kind is None:
            refuse(where, "nothing", "the option policy_kind would say whether the depth was fixed")
        if options.draft_tokens_are_verified:
            refuse(where, "nothing", "the drafted tokens that are declared verified would do")
        said.append(f"{where}: nothing there to hold the {kind} depth against")
        return None
    if not accepted <= drafted <= full:
        wanted = f"{accepted} (accepted) to {full} ({depth} positions x {rounds} rounds) would do"
        refuse(where, str(drafted), wanted)
    if kind == DYNAMIC:
        if options.draft_tokens_are_verified:
            return drafted
        if drafted < full:
            said.append(
                f"{where}: {full - drafted} tokens short of {full}: used as verified only where that is declared"
            )
        return None
    if full - drafted > SHORT_DRAFT_SHARE * full:
        refuse(where, str(drafted), f"{full} would do at fixed depth {depth}; else the option policy_kind is dynamic")
    if drafted < full:
        said.append(f"{where}: {full - drafted} tokens short of {full}: taken for short last drafts")
    return drafted


def _requests(trial: Entry, rounds: int, batch: int, counts: dict[str, int], said: list[str]) -> list[dict[str, Any]]:
    """Mean step time of each stream: 1000 * decode_s / (chunks - 1), since each round sends one chunk."""
    streams = trial.entries("streams") or []
    if streams and len(streams) != batch:
        said.append(f"{trial.at('streams')}: {len(streams)} streams at concurrency {batch}")
    requests: list[dict[str, Any]] = []
    for stream in streams:
        chunks, decode_s = stream.count("chunks"), stream.seconds("decode_s")
        enough = chunks is not None and chunks > 1 and chunks >= LEAST_CHUNK_SHARE * (rounds / batch + 1)
        if chunks is None or decode_s is None or not enough:
            continue
        requests.append({"step_mean_ms": 1000.0 * decode_s / (chunks - 1), "steps": chunks - 1})
    counts["streams"] += len(streams)
    counts["streams_without_step_time"] += len(streams) - len(requests)
    return requests


def _record(
    trial: Entry, spec: Entry, batch: int, number: int, options: ReaderOptions, done: Conversion
) -> dict[str, Any]:
    rounds, accepted = _acceptance(spec, done.warnings)
    kind, depth = _policy(spec, len(accepted), options)
    verified = _verified(spec, (kind, depth), rounds, sum(accepted), options, done.warnings)
    if rounds and not any(accepted):
        done.warnings.append(f"{spec.where}: nothing accepted in {rounds} rounds: perhaps nothing was drafted")
    record: dict[str, Any] = {
        "schema": 1,
        "suite": options.suite,
        "cell": options.cell or f"c{batch}",
        "run": f"{options.run_prefix}trial{number}",
        "worker": options.worker,
        "batch": batch,
        "context_tokens": options.context_tokens,
        "phase": DECODE,
        "policy": {"kind": kind, "cap" if kind == DYNAMIC else "depth": depth},
        "request_rounds": rounds,
        "accepted_position": list(accepted),
    }
    if verified is not None:
        record["verified_tokens"] = verified
    if options.start is not None:
        record["start"] = options.start
    record["requests"] = _requests(trial, rounds, batch, done.counts, done.warnings)
    for fault in faults_alone(parse_run(record, "", 0)[1]):  # the door of every record: nothing leaves that it refuses
        refuse(f"{trial.where or 'text'} as {fault.field}", fault.found, fault.wanted)
    return record


def _batch(head: Entry, trial: Entry, options: ReaderOptions) -> int:
    found = trial.count("concurrency", least=1) or head.count("concurrency", least=1)
    if found is None and options.batch is None:
        refuse(trial.at("concurrency"), "nothing", "the option batch would say how many requests decode together")
    if found is not None and options.batch not in (None, found):
        refuse(trial.at("concurrency"), str(found), f"{options.batch} would do, as the option batch declares")
    return found or options.batch or 1


def convert(origin: Source, _: int, options: ReaderOptions) -> Conversion:
    """Turn the JSON of one bench file into run records, one a trial.

    Parameters
    ----------
    origin
        The whole file.
    options
        What the file does not say; suite, worker and, for a confidence threshold, the dynamic policy.

    Returns
    -------
    Conversion
        Records in the order of the file. Trials without counters give no record and a warning: missing is not zero.

    Raises
    ------
    InputError
        Anything that no record could honestly be made of, in one line that repeats no text of the file.
    """
    source, bare = parsed(origin.text())
    head, found = trials_of(source)
    trials = selected(head, found, options.select)
    done = Conversion(counts={"streams": 0, "streams_without_step_time": 0, "without_counters": 0, "copies": 0})
    numbers: dict[int, set[int]] = {}
    counters: dict[object, str] = {}
    for trial in trials:
        batch = _batch(head, trial, options)
        if options.cell is not None and numbers and batch not in numbers:
            refuse(trial.at("concurrency"), str(batch), "one concurrency would do for the one cell that is named")
        taken = numbers.setdefault(batch, set())
        number = trial.count("trial")
        number = len(taken) + 1 if number is None else number
        if number in taken:
            refuse(trial.at("trial"), f"trial {number} twice at concurrency {batch}", "each trial once would do")
        taken.add(number)
        spec = _counters(trial)
        if spec is None:
            done.counts["without_counters"] += 1
            continue
        record = _record(trial, spec, batch, number, options, done)
        key = (batch, record["request_rounds"], tuple(record["accepted_position"]))
        if record["request_rounds"] and key in counters:
            done.counts["copies"] += 1
            done.warnings.append(f"{trial.where}: the same counters as {counters[key]}: a copy is not new evidence")
        counters.setdefault(key, trial.where)
        done.records.append(record)
    _say(done, len(trials), bare)
    return done


def _say(done: Conversion, trials: int, bare: int) -> None:
    if missing := done.counts["without_counters"]:
        done.warnings.append(f"{missing} of {trials} trials hold no counters and give no record: missing is not zero")
    if bare:
        done.warnings.append(f"{bare} bare NaN or Infinity in fields that are not read: no strict JSON")
    lost, streams = done.counts["streams_without_step_time"], done.counts["streams"]
    done.notes.append(
        f"{lost} of {streams} streams give no step time: fewer than {LEAST_CHUNK_SHARE:.0%} of the chunks that "
        "rounds / concurrency + 1 expects, or no decode time"
    )
    done.notes.append("step times are means over a stream, not medians")


def recognises(source: Source) -> bool:
    """Whether this is a file of the bench: trials with streams that count chunks, or with its counter object."""
    try:
        if not starts_as_json(source):
            return False
        _, trials = trials_of(parsed(source.text())[0])
        spec = any(trial.entry("spec_decode") is not None for trial in trials)
        chunked = any("chunks" in stream.fields for trial in trials for stream in trial.entries("streams") or [])
    except InputError:
        return False
    return spec or chunked


DSPARK_BENCH = Format(
    name="dspark-bench",
    summary="JSON of the DSpark decode bench (trials, cases or results with spec_decode and streams)",
    evidence="L4 at a fixed depth; L0 under a confidence threshold, L1 where drafted tokens are declared verified",
    lacks="suite, worker, context, start, and whether a confidence threshold was on; step times are means",
    convert=each(convert, parts="a prompt"),
    recognises=recognises,
)
