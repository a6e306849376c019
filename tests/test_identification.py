"""The published figures identify the equations: other readings of them cannot print the six figures of a single run.

With one run there are three unknowns: T, e (tokens a round of one request at the favoured depth) and q (e over the same at
the cap). At a given T each rate confines e to an interval, and each gain q. Over a short piece of T every round moves one
way and so does a ratio of two rounds, so the values at the piece's two ends enclose all of it: where the enclosures do not
meet, no T of the piece can print the figures. All T that any e from 1 to 1 + d allows are covered.
"""

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDY = Path(__file__).parents[1] / "data" / "studies" / "sp2"
CELLS = {cell["file"]: cell for cell in json.loads((STUDY / "published.json").read_text(encoding="utf-8"))["cells"]}
H = [28.79, 31.86, 34.44, 37.76, 41.56, 43.68]
N_OUT5 = {1: 2.0275, 2: 2.5122, 3: 2.8961, 4: 3.7219}
N_OUT4 = {1: 2.0002, 2: 2.4433, 3: 2.8196, 4: 3.2798}
GRID = list(itertools.product((0.0, 1.0), (0.0, 0.6), (0.0, 1.0)))
CENTRE = (0.75, 0.30, 0.5)
HALF = 0.05  # half of the last printed digit
PIECE_MS = 0.0005
TOUCH = 1e-12  # for rounding of the arithmetic: it only ever keeps a T

type Reference = Callable[[float, float, float], float]


def fixed(remote: float, overlap: float, overhead: float) -> float:
    return 0.25 * remote + 0.30


def tied(remote: float, overlap: float, overhead: float) -> float:
    return (1 - overlap) * remote + overhead


def beyond_step(batch: int, d: int, remote: float, reference: Reference, at: tuple[float, float, float]) -> float:
    """round(d) - T: every round is T plus what depends on the assumptions alone."""
    overlap, overhead, m = at
    cap = 5 if batch <= 2 else 4
    verify = m * batch * (H[d] - H[cap]) - reference(remote, overlap, overhead)
    return verify + (1 - overlap) * remote + overhead


def feasible(cell: dict[str, Any], remote_ms: dict[int, float], reference: Reference) -> Any:
    """Starts of the pieces of T in which one run may print all six figures."""
    batch, depth = cell["batch"], cell["favoured_depth"]
    of = {
        d: [beyond_step(batch, d, remote_ms[batch], reference, at) for at in (CENTRE, *GRID)]
        for d in (depth, 5 if batch <= 2 else 4)
    }
    (centre, *at_depth), (cap_centre, *at_cap) = of.values()
    shortest = 1000 * batch / (cell["rate"] + HALF) - centre  # e = 1
    longest = 1000 * batch * (1 + depth) / (cell["rate"] - HALF) - centre
    left = np.arange(shortest - PIECE_MS, longest + PIECE_MS, PIECE_MS)
    right = left + PIECE_MS
    assert left[0] + min(at_depth + at_cap) > 0

    def ratio(new: float, old: float) -> tuple[Any, Any]:
        ends = (left + new) / (left + old), (right + new) / (right + old)
        return np.minimum(*ends), np.maximum(*ends)

    def meet(enclosures: list[tuple[Any, Any]]) -> Any:
        low, high = (np.array(ends) for ends in zip(*enclosures, strict=True))
        return low.max(axis=0) <= high.min(axis=0) + TOUCH

    rates = zip((cell["rate"], *cell["rate_envelope"]), (centre, max(at_depth), min(at_depth)), strict=True)
    e = [
        ((rate - HALF) * (left + more) / 1000 / batch, (rate + HALF) * (right + more) / 1000 / batch)
        for rate, more in rates
    ]
    low, high = (np.array(ends) for ends in zip(*map(ratio, at_cap, at_depth), strict=True))
    shares = [ratio(cap_centre, centre), (low.min(axis=0), high.min(axis=0)), (low.max(axis=0), high.max(axis=0))]
    gains = (1 + percent / 100 for percent in (cell["gain_pct"], *cell["gain_envelope_pct"]))
    q = [
        ((gain - HALF / 100) / most, (gain + HALF / 100) / least)
        for gain, (least, most) in zip(gains, shares, strict=True)
    ]
    return left[meet(e) & meet(q)]


def figures(batch: int, depth: int, t: float, e: float, q: float, remote: float, reference: Reference) -> list[float]:
    """The six unrounded figures of one run, in the order of the published file."""

    def rate(d: int, tokens: float, at: tuple[float, float, float]) -> float:
        return 1000 * batch * tokens / (t + beyond_step(batch, d, remote, reference, at))

    cap = 5 if batch <= 2 else 4
    rates = [rate(depth, e, at) for at in (CENTRE, *GRID)]
    gains = [100 * (rate(depth, e, at) / rate(cap, e / q, at) - 1) for at in (CENTRE, *GRID)]
    return [rates[0], min(rates[1:]), max(rates[1:]), gains[0], min(gains[1:]), max(gains[1:])]


def printed(cell: dict[str, Any]) -> list[float]:
    return [cell["rate"], *cell["rate_envelope"], cell["gain_pct"], *cell["gain_envelope_pct"]]


@pytest.mark.parametrize(
    ("name", "t", "e", "q"), [("c32x3", 73.23, 2.50095, 0.94943), ("c32x4", 87.6, 2.5161, 0.94083)]
)
def test_with_the_study_s_equations_one_run_can_print_the_six(name: str, t: float, e: float, q: float) -> None:
    cell = CELLS[name]
    shown = figures(cell["batch"], cell["favoured_depth"], t, e, q, N_OUT5[cell["batch"]], fixed)
    assert [round(figure, 1) for figure in shown] == printed(cell)
    found = feasible(cell, N_OUT5, fixed)
    assert found.min() < t < found.max()
    assert found.max() - found.min() < 0.6


@pytest.mark.parametrize("name", ["short", "c32", "c150", "R1"])
def test_the_other_cells_need_more_than_one_run(name: str) -> None:
    assert feasible(CELLS[name], N_OUT5, fixed).size == 0


@pytest.mark.parametrize("remote_ms", [N_OUT5, N_OUT4], ids=["n_out5", "n_out4"])
@pytest.mark.parametrize("name", ["c32x3", "c32x4"])
def test_no_single_run_can_when_e_ref_moves_with_overlap_and_overhead(name: str, remote_ms: dict[int, float]) -> None:
    assert feasible(CELLS[name], remote_ms, tied).size == 0


def test_the_n_out4_times_are_ruled_out_by_one_cell_and_all_but_by_the_other() -> None:
    assert feasible(CELLS["c32x4"], N_OUT4, fixed).size == 0
    left = feasible(CELLS["c32x3"], N_OUT4, fixed)
    assert left.size
    assert 73.105 < left.min() < left.max() < 73.125  # no time of one decimal, and a tenth of what n_out5 leaves
    assert left.max() - left.min() < 0.1 * np.ptp(feasible(CELLS["c32x3"], N_OUT5, fixed))


def test_the_sliver_that_the_n_out4_times_leave_is_real() -> None:
    accepted, to_cap, rounds = 2388, 2388 + 213, 1596
    e, q = 1 + accepted / rounds, (rounds + accepted) / (rounds + to_cap)
    shown = figures(3, 3, 73.116, e, q, N_OUT4[3], fixed)
    assert [round(figure, 1) for figure in shown] == printed(CELLS["c32x3"])


@pytest.mark.parametrize("reference", [fixed, tied])
def test_the_scan_finds_every_run_that_there_is(reference: Reference) -> None:
    chance = random.Random(20260917)
    for _ in range(12):
        batch, depth = chance.choice([3, 4]), chance.choice([1, 2, 3])
        t, e, q = chance.uniform(60, 100), 1 + depth * chance.uniform(0.5, 0.8), chance.uniform(0.8, 0.97)
        shown = [round(figure, 1) for figure in figures(batch, depth, t, e, q, N_OUT5[batch], reference)]
        cell = {
            "batch": batch, "favoured_depth": depth, "rate": shown[0], "rate_envelope": shown[1:3],
            "gain_pct": shown[3], "gain_envelope_pct": shown[4:],
        }  # fmt: skip
        found = feasible(cell, N_OUT5, reference)
        assert np.abs(found + PIECE_MS / 2 - t).min() <= PIECE_MS
