"""What a run record holds once it is checked: one repetition of one cell, its policy and its requests."""

from dataclasses import dataclass

from .words import FIXED, Level


@dataclass(frozen=True, slots=True)
class Policy:
    """A dynamic policy with its nominal cap, or a fixed depth; `depth` is the cap or the depth."""

    kind: str
    depth: int


@dataclass(frozen=True, slots=True)
class Request:
    """A request's step time in ms and the number of steps it stands on, when that is known."""

    step_ms: float
    steps: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of one cell, counts in rounds, positions from 1."""

    suite: str
    cell: str
    run: str
    worker: str
    batch: int
    context_tokens: int | None
    occupied_tokens: int | None
    policy: Policy
    request_rounds: int
    accepted: tuple[int, ...]
    verified_tokens: int | None
    verified: tuple[int, ...] | None
    accepted_by_verified: tuple[tuple[int, ...], ...] | None
    step_kind: str
    requests: tuple[Request, ...]
    start: str | None

    @property
    def level(self) -> Level:
        """The rung of the ladder of evidence that this run stands on."""
        if self.policy.kind == FIXED:
            return Level.L4
        if self.accepted_by_verified is not None:
            return Level.L3
        if self.verified is not None:
            return Level.L2
        return Level.L1 if self.verified_tokens is not None else Level.L0
