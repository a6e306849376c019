"""Makes the SYNTHETIC run records of the study `sp2`: whole counters from which the screen prints published figures.

A published cell gives six figures at its favoured depth d: the rate, the gain against the nominal cap c, and the ends of
their envelopes. At given step times they speak of two numbers of a run alone: e = 1 + S_1 + ... + S_d, and q, which is e
over the same sum to c. A lone run has one e and one q for all six, so its step time is solved for as well. Of three runs
one carries the smallest e with the largest q, one the largest e with the smallest q, and one makes the pooled values right.
Step times of three runs, round counts, the shape of a survival curve and the times of single requests are ours.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from ..data.inputs import Inputs
from ..data.study import Study
from ..data.words import CELL, DECODE, DEPTH, DYNAMIC, RUN
from . import equations
from .grouping import Floats
from .screen import screen

PUBLISHED = "published.json"
CAPS = {1: 5, 2: 5, 3: 4, 4: 4}  # nominal cap by batch, as the screen document states it
INFERRED = {"R1": "R1-c32"}  # the document has batch 2 in K1 alone, and lacks it at short and at 150K
HALF_DIGIT = 0.05  # figures have one decimal
PERCENT = 100.0
ROUNDS = (1943, 2384, 2077)
LONE_ROUNDS = range(1200, 2601)  # the count that meets the figures best is taken
LONE_STEPS_MS = np.arange(60.0, 100.0, 0.01)
STEPS_MS = {  # smallest, middle and largest run median; more context is given slower steps
    "short": (38.3, 38.5, 38.7), "c32": (38.8, 39.0, 39.8), "c150": (39.2, 39.6, 39.8), "R1-c32": (63.8, 65.0, 66.2),
}  # fmt: skip
REQUESTS_MS = {1: (-0.41, 0.0, 0.28), 2: (-0.17, 0.17), 3: (-0.41, 0.0, 0.28), 4: (-0.52, -0.17, 0.17, 0.39)}
"""Each request's time against its run's median, by batch; three requests follow each other at batch 1."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A published cell: where its records belong, and its figures, each (central, low, high)."""

    suite: str
    name: str
    worker: str
    file: str
    batch: int
    context_tokens: int | None
    cap: int
    depth: int
    rate: tuple[float, float, float]
    gain_pct: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Target:
    """What one run has to hold: its median step time, e, and the same sum to the cap."""

    step_ms: float
    to_depth: float
    to_cap: float


def published_cells(study: Study) -> list[Cell]:
    """Read the published figures and find the input of the study that each cell belongs to."""
    told = json.loads((study.folder / PUBLISHED).read_text(encoding="utf-8"))
    cells = []
    for cell in told["cells"]:
        family = next(family for family in study.families if family.suite == cell["suite"])
        entry = next(entry for entry in family.inputs if entry.cell == INFERRED.get(cell["file"], cell["file"]))
        cells.append(
            Cell(
                family.suite, entry.cell, family.worker, f"{study.roots[family.root]}/{entry.file}", cell["batch"],
                cell["context_tokens"], CAPS[cell["batch"]], cell["favoured_depth"],
                (cell["rate"], *cell["rate_envelope"]), (cell["gain_pct"], *cell["gain_envelope_pct"]),
            )
        )  # fmt: skip
    return cells


def _coefficients(study: Study, cell: Cell, low_ms: Any, central_ms: Any, high_ms: Any) -> tuple[list[Any], list[Any]]:
    """What e and q are multiplied by in the (central, low, high) rate and in one plus the gain."""
    remote = study.cost.remote_ms[cell.batch]
    reference = equations.exposed_ms(remote, study.cost.reference_overlap, study.cost.reference_overhead_ms)

    def pair(step: Any, overlap: float, overhead: float, slope: float) -> tuple[Any, Any]:
        exposed = equations.exposed_ms(remote, overlap, overhead)
        anchor = study.cost.config_ms[cell.cap]
        depth, cap = (
            equations.round_ms(
                equations.verify_ms(step, reference, slope, cell.batch, study.cost.config_ms[at], anchor), exposed
            )
            for at in (cell.depth, cell.cap)
        )
        return equations.rate(cell.batch, depth), cap / depth

    ranges = (study.overlap, study.overhead_ms, study.row_slope)
    corners = product((low_ms, high_ms), *((entry.low, entry.high) for entry in ranges))
    central = pair(central_ms, *(entry.central for entry in ranges))
    rates, ratios = (np.array(values) for values in zip(*(pair(*corner) for corner in corners), strict=True))
    return [central[0], rates.min(axis=0), rates.max(axis=0)], [central[1], ratios.min(axis=0), ratios.max(axis=0)]


def _windows(coefficients: Sequence[Floats], figures: Floats, half: float) -> tuple[Floats, Floats]:
    """Middle and half width, at each step time, of the values that print all three figures; negative: there is none."""
    at = np.array(coefficients)
    low = ((figures - half)[:, None] / at).max(axis=0)
    high = ((figures + half)[:, None] / at).min(axis=0)
    return (low + high) / 2, (high - low) / 2


def _lone_target(study: Study, cell: Cell) -> tuple[Target, float, float]:
    """The step time at which one run has most room for all six figures, its e and q; and the half widths of both."""
    rates, ratios = _coefficients(study, cell, LONE_STEPS_MS, LONE_STEPS_MS, LONE_STEPS_MS)
    e, e_half = _windows(rates, np.array(cell.rate), HALF_DIGIT)
    q, q_half = _windows(ratios, 1 + np.array(cell.gain_pct) / PERCENT, HALF_DIGIT / PERCENT)
    best = int(np.argmax(np.minimum(e_half / e, q_half / q)))
    step = round(float(LONE_STEPS_MS[best]), 2)
    return Target(step, float(e[best]), float(e[best] / q[best])), float(e_half[best]), float(q_half[best])


def _three_targets(study: Study, cell: Cell) -> list[Target]:
    """The extremes of e and q on the outer runs; the middle run takes what the pooled values leave."""
    steps = STEPS_MS[cell.name]
    rates, ratios = _coefficients(study, cell, steps[0], steps[1], steps[2])
    e, e_low, e_high = np.array(cell.rate) / rates
    q, q_low, q_high = (1 + np.array(cell.gain_pct) / PERCENT) / ratios
    pooled, first, last = (np.array(sums) for sums in ((e, e / q), (e_low, e_low / q_high), (e_high, e_high / q_low)))
    middle = (sum(ROUNDS) * pooled - ROUNDS[0] * first - ROUNDS[2] * last) / ROUNDS[1]
    each = zip(steps, (first, middle, last), strict=True)
    return [Target(step, float(to_depth), float(to_cap)) for step, (to_depth, to_cap) in each]


def _survival(cell: Cell, target: Target) -> Floats:
    """Prefix survival at the positions 1..cap with the target's two sums; the logit hazard is a line in the position."""

    def curve(line: Floats) -> Floats:
        return np.cumprod(expit(line[0] + line[1] * np.arange(cell.cap)))

    def miss(line: Floats) -> list[float]:
        survival = curve(line)
        return [1 + survival[: cell.depth].sum() - target.to_depth, 1 + survival.sum() - target.to_cap]

    return curve(least_squares(miss, x0=[0.7, 0.0], xtol=1e-14, ftol=1e-14, gtol=1e-14).x)


def _counts(survival: Floats, rounds: int) -> Floats:
    """Whole accepted counts; the running sums are rounded, since the screen sees nothing else of them."""
    return np.diff(np.rint(rounds * np.cumsum(survival)), prepend=0.0)


def _lone_rounds(cell: Cell, target: Target, survival: Floats, e_half: float, q_half: float) -> int:
    """The round count whose whole counters come nearest to e and q, each in its half width."""

    def miss(rounds: int) -> float:
        counts = _counts(survival, rounds)
        e, to_cap = (1 + counts[:end].sum() / rounds for end in (cell.depth, cell.cap))
        return float(max(abs(e - target.to_depth) / e_half, abs(e / to_cap - target.to_depth / target.to_cap) / q_half))

    return min(LONE_ROUNDS, key=miss)


def _record(study: Study, cell: Cell, number: int, target: Target, survival: Floats, rounds: int) -> dict[str, Any]:
    offsets = REQUESTS_MS[cell.batch]
    steps = [rounds // len(offsets) + (place < rounds % len(offsets)) for place in range(len(offsets))]
    counts = [int(count) for count in _counts(survival, rounds)]
    return {
        "schema": 1, "suite": cell.suite, CELL: cell.name, RUN: f"r{number}", "worker": cell.worker,
        "batch": cell.batch, "context_tokens": cell.context_tokens, "phase": DECODE,
        "policy": {"kind": DYNAMIC, "cap": cell.cap}, "request_rounds": rounds,
        "accepted_position": counts + [0] * (study.max_depth - cell.cap),
        "requests": [
            {"step_p50_ms": round(target.step_ms + offset, 2), "steps": count}
            for offset, count in zip(offsets, steps, strict=True)
        ],
    }  # fmt: skip


def _cell_records(study: Study, cell: Cell) -> Iterator[dict[str, Any]]:
    if cell.name in STEPS_MS:
        for number, (target, rounds) in enumerate(zip(_three_targets(study, cell), ROUNDS, strict=True), 1):
            yield _record(study, cell, number, target, _survival(cell, target), rounds)
    else:
        target, e_half, q_half = _lone_target(study, cell)
        survival = _survival(cell, target)
        yield _record(study, cell, 1, target, survival, _lone_rounds(cell, target, survival, e_half, q_half))


def reconstruct(study: Study) -> dict[str, str]:
    """Make the record files of every published cell.

    Parameters
    ----------
    study
        The study `sp2`: its published figures, cost table and ranges.

    Returns
    -------
    dict
        Text of each file (JSON Lines, one run a line) by its path below the study.
    """
    return {
        cell.file: "".join(json.dumps(row) + "\n" for row in _cell_records(study, cell))
        for cell in published_cells(study)
    }


def misprints(study: Study, inputs: Inputs) -> list[str]:
    """What the screen prints of records otherwise than it was published, one sentence a cell."""
    cells = screen(study, inputs.runs)
    said = []
    for cell in published_cells(study):
        row = cells.sel({CELL: f"{cell.suite}/{cell.name}"})
        at = row.sel({DEPTH: cell.depth})
        rate = tuple(round(float(at[name]), 1) for name in ("rate", "rate_low", "rate_high"))
        gain = tuple(round(PERCENT * float(at[name]), 1) for name in ("gain", "gain_low", "gain_high"))
        found = (int(row["favoured_depth"]), rate, gain)
        if found != (cell.depth, cell.rate, cell.gain_pct):
            said.append(f"{cell.suite}/{cell.name} prints {found}, not {(cell.depth, cell.rate, cell.gain_pct)}")
    return said
