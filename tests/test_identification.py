"""The published figures of the single-run cells identify the equations: other readings of them cannot print the six.

With one run there are three unknowns: e and its ratio q to the cap's, and T. At a given T each figure confines e (the
rate and its envelope) or q (the gains) to an interval; the figures can be printed only if all three of each kind meet at
the same T. T is scanned, with the ends of every interval widened by what they can move between two grid points.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STUDY = Path(__file__).parents[1] / "data" / "studies" / "sp2"
CELLS = {
    cell["file"]: cell for cell in json.loads((STUDY / "published.json").read_text(encoding="utf-8"))["cells"]
}  # fmt: skip
H = [28.79, 31.86, 34.44, 37.76, 41.56, 43.68]
N_OUT5 = {3: 2.8961, 4: 3.7219}
N_OUT4 = {3: 2.8196, 4: 3.2798}
HALF = 0.05  # half of the last printed digit
STEP_MS = 0.002
T_RANGE_MS = (20.0, 200.0)  # single-token steps of 5 ms to rates below 1 token a round are beyond any server

type Reference = Callable[[float, float, float], float]


def fixed(remote: float, overlap: float, overhead: float) -> float:
    return 0.25 * remote + 0.30


def tied(remote: float, overlap: float, overhead: float) -> float:
    return (1 - overlap) * remote + overhead


def feasible(cell: dict[str, Any], remote_ms: dict[int, float], reference: Reference) -> list[float]:
    """The T at which one run can print all six figures."""
    batch, depth, cap = cell["batch"], cell["favoured_depth"], 4
    remote = remote_ms[batch]

    def duration(d: int, t: float, overlap: float, overhead: float, m: float) -> float:
        verify = t - reference(remote, overlap, overhead) + m * batch * (H[d] - H[cap])
        return verify + (1 - overlap) * remote + overhead

    grid = list(itertools.product((0.0, 1.0), (0.0, 0.6), (0.0, 1.0)))
    centre = (0.75, 0.30, 0.5)
    rates = [cell["rate"], *cell["rate_envelope"]]
    gains = [1 + percent / 100 for percent in (cell["gain_pct"], *cell["gain_envelope_pct"])]
    found = []
    for place in range(int((T_RANGE_MS[1] - T_RANGE_MS[0]) / STEP_MS)):
        t = T_RANGE_MS[0] + place * STEP_MS
        rounds = [duration(depth, t, *at) for at in grid]
        if min(rounds) <= 0:
            continue
        relative = [duration(cap, t, *at) / duration(depth, t, *at) for at in grid]
        central = duration(depth, t, *centre)
        slack = 1 + 2 * STEP_MS / min(rounds)  # a step in T moves no round by more than this share
        e = [(rate - HALF) * r / slack for rate, r in zip(rates, (central, max(rounds), min(rounds)), strict=True)]
        e_top = [(rate + HALF) * r * slack for rate, r in zip(rates, (central, max(rounds), min(rounds)), strict=True)]
        shares = (duration(cap, t, *centre) / central, min(relative), max(relative))
        q = [(gain - HALF / 100) / share / slack for gain, share in zip(gains, shares, strict=True)]
        q_top = [(gain + HALF / 100) / share * slack for gain, share in zip(gains, shares, strict=True)]
        if max(e) <= min(e_top) and max(q) <= min(q_top):
            found.append(t)
    return found


@pytest.mark.parametrize(("name", "low", "high"), [("c32x3", 73.1, 73.3), ("c32x4", 87.5, 88.0)])
def test_with_the_study_s_equations_one_run_can_print_the_six(name: str, low: float, high: float) -> None:
    found = feasible(CELLS[name], N_OUT5, fixed)
    assert found
    assert min(found) == pytest.approx(low, abs=0.15)
    assert max(found) == pytest.approx(high, abs=0.15)


@pytest.mark.parametrize("name", ["c32x3", "c32x4"])
def test_no_single_run_can_when_e_ref_moves_with_overlap_and_overhead(name: str) -> None:
    assert feasible(CELLS[name], N_OUT5, tied) == []


@pytest.mark.parametrize("name", ["c32x3", "c32x4"])
def test_no_single_run_can_with_the_n_out4_times(name: str) -> None:
    assert feasible(CELLS[name], N_OUT4, fixed) == []
