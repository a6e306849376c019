"""What every reader takes and gives: options for what a format lacks, records, warnings and notes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..record_fields import LONGEST_NAME
from ..records import DEEPEST_RECORD
from ..words import DYNAMIC, FIXED
from .source import Source


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """What the caller declares of a source, because its format does not say it; nothing here is ever guessed.

    Parameters
    ----------
    suite, worker
        The suite (one prompt set on one target) and the hardware group of the runs.
    cell
        Name of the one cell of the source; without it the reader names cells by their batch.
    batch
        Requests that decode together, where the source does not say it.
    context_tokens
        Nominal context in tokens, 0 for a suite's short prompts, None where it is not known.
    policy_kind, policy_depth
        `fixed` or `dynamic`, and its depth or cap in positions.
    confidence_threshold
        The verifier's confidence threshold, in (0, 1); a threshold makes the policy dynamic.
    draft_tokens_are_verified
        Declares that nothing is truncated after drafting, so that drafted tokens of a dynamic policy are
        verified tokens.
    run_prefix
        Stands before each run's name, so that sources of one cell do not collide.
    start
        Name of the server start that the runs share.
    select
        The one part of a source with several that is meant, such as the name of a prompt.

    Raises
    ------
    InputError
        An option has no usable value, or two options contradict each other.
    """

    suite: str
    worker: str
    cell: str | None = None
    batch: int | None = None
    context_tokens: int | None = None
    policy_kind: str | None = None
    policy_depth: int | None = None
    confidence_threshold: float | None = None
    draft_tokens_are_verified: bool = False
    run_prefix: str = ""
    start: str | None = None
    select: str | None = None

    def __post_init__(self) -> None:
        """Check the options against each other, so that no reader has to."""
        for option, name in (
            ("suite", self.suite),
            ("worker", self.worker),
            ("cell", self.cell),
            ("start", self.start),
        ):
            if name is not None and not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
                raise InputError(f"{option}: a printable name of 1 to {LONGEST_NAME} characters would do")
        for option, number, least in (
            ("batch", self.batch, 1),
            ("context_tokens", self.context_tokens, 0),
            ("policy_depth", self.policy_depth, 1),
        ):
            if number is not None and number < least:
                raise InputError(f"{option}: found {number}; a whole number of at least {least} would do")
        if self.policy_depth is not None and self.policy_depth > DEEPEST_RECORD:
            raise InputError(f"policy_depth: found {self.policy_depth}; at most {DEEPEST_RECORD} would do")
        if self.policy_kind not in (None, FIXED, DYNAMIC):
            raise InputError(f"policy_kind: found another word; {FIXED} or {DYNAMIC} would do")
        threshold = self.confidence_threshold
        if threshold is not None and not 0 < threshold < 1:
            raise InputError(f"confidence_threshold: found {threshold}; a number between 0 and 1 would do")
        if threshold is not None and self.policy_kind == FIXED:
            raise InputError("policy_kind: found fixed beside a confidence threshold; a threshold is a dynamic policy")

    @property
    def declared_kind(self) -> str | None:
        """The kind of policy that the caller declared, None where nothing was said."""
        return DYNAMIC if self.confidence_threshold is not None else self.policy_kind


@dataclass(slots=True)
class Conversion:
    """What sources became.

    `records` are objects of the run-record schema, in the order of the sources; `warnings` are what a reader should
    know of their worth; `notes` say what the format gave and what it could not; `counts` are the numbers behind
    them, by name.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, part: "Conversion", name: str) -> None:
        """Take in what another source became; its name stands before what was said of it."""
        before = f"{name}: " if name else ""
        self.records += part.records
        self.warnings += [before + warning for warning in part.warnings]
        self.notes += [before + note for note in part.notes]
        for key, count in part.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count


type Reader = Callable[[Sequence[Source], ReaderOptions], Conversion]


@dataclass(frozen=True, slots=True)
class Format:
    """One readable format: its name, one line on it, the evidence it holds, what it lacks, and its two functions.

    `convert` takes all sources of one command in their order: most formats read one after another, some read them
    in pairs. `recognises` looks at one source and raises nothing but what opening it raises.
    """

    name: str
    summary: str
    evidence: str
    lacks: str
    convert: Reader
    recognises: Callable[[Source], bool]


def each(one: Callable[[Source, int, ReaderOptions], Conversion], parts: str = "") -> Reader:
    """Read source after source with a function of a source, its number from 1, and the options.

    `parts` says what `select` can take of a source; where it is empty there is nothing to select.
    """

    def convert(sources: Sequence[Source], options: ReaderOptions) -> Conversion:
        if options.select is not None and not parts:
            raise InputError("select: found a part where this format has none; the command without it would do")
        whole = Conversion()
        for number, source in enumerate(sources, 1):
            try:
                part = one(source, number, options)
            except InputError as error:
                raise named(error, source) from error
            whole.add(part, source.name)
        return whole

    return convert


def named(error: InputError, source: Source) -> InputError:
    """The same error with the source's name before it."""
    return InputError(f"{source.name}: {error}") if source.name else error
