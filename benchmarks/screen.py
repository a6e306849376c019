"""Times the screen on 1,000, 10,000 and 100,000 synthetic runs against a plain nested-loop reference, in one process.

Reading is reported apart. Run it by `make benchmarks`; ratios are what to quote, machines differ.
"""

import itertools
import json
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import xarray as xr
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import Study, load_study

SEED_OF_RUNS = 20260930
RUNS_PER_CELL = 50


def write(folder: Path, runs: int) -> Study:
    rng = np.random.default_rng(SEED_OF_RUNS)
    base = load_study("sp2")
    cells = max(runs // RUNS_PER_CELL, 1)
    rows = []
    for number in range(runs):
        rounds = int(rng.integers(1200, 2600))
        counts = np.sort(rng.binomial(rounds, [0.75, 0.55, 0.4, 0.25, 0.15]))[::-1]
        times = rng.normal(73, 1, size=4)
        cell = number % cells
        rows.append(
            {
                "schema": 1, "suite": "S", "cell": f"c{cell}", "run": f"r{number}", "worker": "w", "batch": cell % 4 + 1,
                "context_tokens": 0, "phase": "decode", "policy": {"kind": "dynamic", "cap": 5},
                "request_rounds": rounds, "accepted_position": [int(n) for n in counts],
                "requests": [{"step_p50_ms": float(t)} for t in times],
            }
        )  # fmt: skip
    (folder / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = (base.folder / "study.toml").read_text()
    head = text[: text.index("[[family]]")].replace('coordinator = "coordinator"', "").replace('"results"', '"."')
    inputs = ", ".join(f'{{ file = "runs.jsonl", cell = "c{cell}", batch = {cell % 4 + 1} }}' for cell in range(cells))
    family = f'[[family]]\nsuite = "S"\nworker = "w"\nscreened_policy = {{ kind = "dynamic" }}\ninput = [{inputs}]\n'
    (folder / "study.toml").write_text(head + family)
    return load_study(str(folder))


def nested_loops(study: Study, runs: xr.Dataset) -> dict[str, list[tuple[float, float, float]]]:
    """The same figures by plain loops: per cell and depth the central rate and its envelope."""
    cost = study.cost
    h, cap = cost.config_ms, 5
    by_cell = defaultdict(list)
    accepted, rounds = runs["accepted"].values.tolist(), runs["request_rounds"].values.tolist()
    times, batches = runs["step_ms"].values.tolist(), runs["batch"].values.tolist()
    for place, cell in enumerate(runs["cell"].values.tolist()):
        by_cell[cell].append((accepted[place], rounds[place], statistics.median(times[place]), batches[place]))
    out = {}
    for cell, members in by_cell.items():
        batch = members[0][3]
        remote = cost.remote_ms[batch]
        reference = 0.25 * remote + 0.3

        def rate(
            d: int,
            vector: list[float],
            t: float,
            o: float,
            h0: float,
            m: float,
            b: int = batch,
            r: float = remote,
            e: float = reference,
        ) -> float:
            verify = t - e + m * b * (h[d] - h[cap])
            return 1000 * b * (1 + sum(vector[:d])) / (verify + (1 - o) * r + h0)

        total = sum(member[1] for member in members)
        pooled = [sum(member[0][i] for member in members) / total for i in range(5)]
        medians = [member[2] for member in members]
        grid = list(itertools.product((min(medians), max(medians)), (0, 1), (0, 0.6), (0, 1)))
        rows = []
        for d in range(6):
            low, high = float("inf"), 0.0
            for member in members:
                vector = [count / member[1] for count in member[0]]
                for at in grid:
                    value = rate(d, vector, *at)
                    reference_rate = rate(cap, vector, *at)
                    low, high = min(low, value), max(high, value)
                    _ = value / reference_rate - 1
            rows.append((rate(d, pooled, statistics.median(medians), 0.75, 0.3, 0.5), low, high))
        out[cell] = rows
    return out


def main() -> None:
    print("runs     read s   screen s   loops s   loops / screen   screen us a run   peak MiB")
    for runs in (1_000, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            study = write(Path(folder), runs)
            start = time.perf_counter()
            data = usable_inputs(study).runs
            read = time.perf_counter() - start
        spent = []
        for _ in range(3):
            start = time.perf_counter()
            ours = screen(study, data)
            spent.append(time.perf_counter() - start)
        start = time.perf_counter()
        theirs = nested_loops(study, data)
        loops = time.perf_counter() - start
        for cell, rows in theirs.items():
            at = ours.sel(cell=f"{cell}")
            np.testing.assert_allclose(np.column_stack([at["rate"], at["rate_low"], at["rate_high"]]), rows, rtol=1e-9)
        best = min(spent)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{runs:7d}  {read:6.2f}  {best:9.4f}  {loops:8.2f}  {loops / best:15.0f}  {1e6 * best / runs:16.2f}  {peak:9.0f}"
        )


if __name__ == "__main__":
    main()
