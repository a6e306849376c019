"""One word for one thing: dim names, labels, policies and levels of evidence, spelled here alone."""

from enum import StrEnum

RUN = "run"
CELL = "cell"
POSITION = "position"
DEPTH = "depth"
REQUEST = "request"
VERIFIED_DEPTH = "verified_depth"
ACCEPTED_LENGTH = "accepted_length"
COMBINATION = "combination"
END = "end"
ESTIMAND = "estimand"
SCENARIO = "scenario"
CHAIN = "chain"
DRAW = "draw"

LOW, HIGH = "low", "high"

DYNAMIC, FIXED = "dynamic", "fixed"
PRIMARY, REFERENCE = "primary", "reference"
DECODE = "decode"

P50, MEAN = "p50", "mean"
"""What a request's step time is: the median gap of its server events, or only their mean."""


class Label(StrEnum):
    """What a number is; every number that leaves the program carries one."""

    MEASURED = "MEASURED"
    """Counted or timed."""
    ESTIMATED = "ESTIMATED"
    """Computed from measurements through assumptions."""
    ASSUMED = "ASSUMED"
    """A prior or a setting."""
    EXTRAPOLATED = "EXTRAPOLATED"
    """No exposure in this cell: only the hierarchy speaks."""
    UNSUPPORTED = "UNSUPPORTED"
    """Deeper than the trained block: no number, a reason instead."""


class Level(StrEnum):
    """The ladder of evidence that a run's counters stand on."""

    L0 = "L0"
    """Accepted counts and rounds under a dynamic policy."""
    L1 = "L1"
    """And the total of verified draft tokens."""
    L2 = "L2"
    """And the rounds in which each position was verified."""
    L3 = "L3"
    """And the joint table of verified depth and accepted length."""
    L4 = "L4"
    """A fixed depth: every position up to it was verified in every round."""
