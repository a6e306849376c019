"""The worst-case bounds against linear programs over joint tables of verified depth and accepted length."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draftdepth.analysis.bounds import run_bounds
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from scipy.optimize import linprog

from .builders import record
from .test_screen import screened

RNG = np.random.default_rng(20260901)


def random_table(cap: int) -> np.ndarray:
    """Rounds by verified depth and accepted length, a <= v <= cap."""
    counts = RNG.integers(0, 60, size=(cap + 1, cap + 1)) * (RNG.random((cap + 1, cap + 1)) < 0.7)
    counts[cap, 0] += 1
    return np.tril(counts)


def of_table(table: np.ndarray, level: str, deepest: int) -> dict[str, Any]:
    """The record of a joint table, with what the level of evidence holds."""
    cap = len(table) - 1
    rounds = int(table.sum())
    accepted = [int(table[:, i:].sum()) for i in range(1, cap + 1)] + [0] * (deepest - cap)
    verified = [int(table[i:].sum()) for i in range(1, cap + 1)] + [0] * (deepest - cap)
    row = record(policy={"kind": "dynamic", "cap": cap}, request_rounds=rounds, accepted_position=accepted)
    if level == "L1":
        row["verified_tokens"] = sum(verified)
    if level == "L2":
        row["verified_position"] = verified
    if level == "L3":
        row["accepted_by_verified"] = {str(v): [int(n) for n in table[v, : v + 1]] for v in range(cap + 1)}
    return row


def by_program(row: dict[str, Any], level: str, deepest: int, worth: Any) -> float:
    """The most that rounds could have accepted if nothing had been masked.

    Over all joint tables (v, a) that agree with the counters, where each round with a = v may hide any number of
    further acceptances.
    """
    cap, rounds = row["policy"]["cap"], row["request_rounds"]
    pairs = [(v, a) for v in range(cap + 1) for a in range(v + 1)]
    value = np.array([worth(deepest if v == a else a) for v, a in pairs])
    survival = [rounds, *row["accepted_position"], 0]
    equal = [[float(a == k) for _, a in pairs] for k in range(cap + 1)]
    right = [survival[k] - survival[k + 1] if k < cap else survival[cap] for k in range(cap + 1)]
    if level == "L1":
        equal.append([float(v) for v, _ in pairs])
        right.append(row["verified_tokens"])
    if level == "L2":
        seen = [rounds, *row["verified_position"]]
        for k in range(cap + 1):
            equal.append([float(v == k) for v, _ in pairs])
            right.append(seen[k] - (seen[k + 1] if k < cap else 0))
    if level == "L3":
        for place, (v, a) in enumerate(pairs):
            equal.append([float(other == place) for other in range(len(pairs))])
            right.append(row["accepted_by_verified"][str(v)][a])
    found = linprog(-value, A_eq=np.array(equal), b_eq=np.array(right, dtype=float), method="highs")
    assert found.status == 0, found.message
    return float(-found.fun / rounds)


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
@pytest.mark.parametrize("cap", [3, 4, 5])
def test_bounds_are_the_optimum_of_the_linear_program(level: str, cap: int) -> None:
    deepest = 5
    for _ in range(12):
        row = of_table(random_table(cap), level, deepest)
        run, faults = parse_run(row, "f", 1, deepest)
        assert run is not None, faults
        low, high = (ends[0] for ends in run_bounds(runs_dataset([run], deepest)))
        survival = np.array(row["accepted_position"]) / row["request_rounds"]
        np.testing.assert_allclose(low, [*survival, *np.cumsum(survival)], atol=1e-12)
        for i in range(1, deepest + 1):
            position = by_program(row, level, deepest, lambda length, i=i: float(length >= i))
            tokens = by_program(row, level, deepest, lambda length, i=i: float(min(length, i)))
            assert high[i - 1] == pytest.approx(position, abs=1e-9)
            assert high[deepest + i - 1] == pytest.approx(tokens, abs=1e-9)


def test_the_token_bound_of_a_total_is_tighter_than_the_sum_of_its_positions() -> None:
    row = of_table(np.diag([30, 30, 30, 30, 30, 30]) + np.tril(np.full((6, 6), 5)), "L1", 5)
    run, _ = parse_run(row, "f", 1, 5)
    assert run is not None
    _, high = run_bounds(runs_dataset([run], 5))
    assert high[0, 8] < high[0, :4].sum() - 0.1


def test_a_fixed_run_is_a_point_to_its_depth_and_bounded_by_it_beyond() -> None:
    row = record(policy={"kind": "fixed", "depth": 3}, accepted_position=[1110, 814, 560])
    run, _ = parse_run(row, "f", 1, 5)
    assert run is not None
    low, high = run_bounds(runs_dataset([run], 5))
    s = np.array([1110, 814, 560]) / 1480
    np.testing.assert_allclose(low[0, :5], [*s, 0, 0])
    np.testing.assert_allclose(high[0, :5], [*s, s[2], s[2]])


def test_runs_of_a_cell_are_averaged_with_their_rounds(tmp_path: Path) -> None:
    rows = [record(), record(run="r2", request_rounds=740, accepted_position=[370, 0, 0, 0], verified_tokens=740)]
    bound = screened(tmp_path, rows)[2]["survival_bound"].isel(cell=0).sel(position=2)
    # the second run: V = 1 on average, budget 3 a round; a = 1 first (cost 3 each, at most .5), then a = 0 (cost 4)
    second = 0.5 + (3.0 - 0.5 * 3) / 4
    np.testing.assert_allclose(bound.values, [814 / 2220, (1480 * 1.0 + 740 * second) / 2220])
