"""What a fit costs by number of runs, of cells and of positions: compiling, sampling, completing the draws, and the gate.

Each size has a process of its own, so that peaks of memory are its own. Run it by `python benchmarks/scaling.py`; the
largest takes most of an hour.
"""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import xarray as xr
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from draftdepth.models.derive import derived
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import REPORTED, Stated, sampled_variables
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings, diagnostics, divergences, sample

ROUNDS, REQUESTS = 1500, 3
LOGITS = np.array([1.7, 1.4, 1.2, 1.0])  # of the first positions; later ones are as the fourth
SEED_OF_RUNS, SEED_OF_SAMPLING = 20261201, 7


@dataclass(frozen=True, slots=True)
class Size:
    """How much is fitted."""

    runs: int
    cells: int = 10
    positions: int = 5

    @property
    def config_ms(self) -> np.ndarray:
        """H[0..K]."""
        return 28.8 + 3.0 * np.arange(self.positions + 1)


SIZES = (
    *(Size(runs) for runs in (50, 500, 5000)),
    *(Size(500, cells=cells) for cells in (50, 100)),
    *(Size(500, positions=positions) for positions in (10, 15)),
)


def made_up(size: Size) -> xr.Dataset:
    """Runs at L0 under a cap one short of the deepest position, with run effects."""
    rng, parsed = np.random.default_rng(SEED_OF_RUNS), []
    base = LOGITS[np.minimum(np.arange(size.positions - 1), len(LOGITS) - 1)]
    for number in range(size.runs):
        cell = number % size.cells
        logits = base - cell / size.cells + 0.1 * rng.standard_normal()
        left, counts = ROUNDS, []
        for p in 1.0 / (1.0 + np.exp(-logits)):
            left = int(rng.binomial(left, p))
            counts.append(left)
        step = (60.0 + 20.0 * cell / size.cells) * np.exp(0.01 * rng.standard_normal())
        row = {
            "schema": 1, "suite": "made-up", "cell": f"c{cell}", "run": f"r{number}", "worker": "w", "batch": 1 + cell % 4,
            "context_tokens": 1000, "phase": "decode", "policy": {"kind": "dynamic", "cap": len(base)}, "request_rounds": ROUNDS,
            "accepted_position": counts,
            "requests": [{"step_p50_ms": float(step * np.exp(0.005 * rng.standard_normal()))} for _ in range(REQUESTS)],
        }  # fmt: skip
        run, faults = parse_run(row, "made-up", number + 1, size.positions)
        assert run is not None, faults
        parsed.append(run)
    data = runs_dataset(parsed, size.positions)
    return data.assign_coords(screened=("run", np.ones(size.runs, dtype=bool)))


def measure(size: Size) -> tuple[float, str]:
    """Fit once: CPU time of sampling, and a row of the table."""
    evidence, priors, settings = evidence_of(made_up(size)), Priors.stated("unknown", {}), Settings(SEED_OF_SAMPLING)
    moments = [(time.monotonic(), time.process_time())]

    def done() -> None:
        moments.append((time.monotonic(), time.process_time()))

    stated = Stated.of(evidence, priors, size.config_ms)
    done()
    raw = sample(stated.model, stated.program, settings, SEED_OF_SAMPLING)
    done()
    draws, _ = derived(sampled_variables(raw), evidence, priors, size.config_ms, 1)
    done()
    found = diagnostics(draws[list(REPORTED)])
    done()
    wall, cpu = np.diff(np.array(moments), axis=0).T
    worst = min(float(value) for name, value in found.data_vars.items() if "_ess_" in str(name))
    dimensions = sum(value.size for value in stated.model.initial_point(0).values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = " | ".join(f"{c:.0f} ({w:.0f})" for c, w in zip(cpu, wall, strict=True))
    head = f"| {size.runs:,} | {size.cells} | {size.positions} | {dimensions:,} "
    return float(cpu[1]), f"{head}| {spent} | {worst:.0f} | {divergences(raw)} | {peak:,.0f}"


def main() -> None:
    """Print a table with the ratio of sampling to the first size."""
    print("Seconds are of CPU, and on the clock in brackets.")
    print(
        "| runs | cells | positions | dimensions | compile | sample | complete | gate | worst ESS of 4,000 | diverged | peak MiB | sampling |"
    )
    print("| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    first = 0.0
    for size in SIZES:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as own:
            cpu, row = own.submit(measure, size).result()
        first = first or cpu
        print(f"{row} | {cpu / first:.1f} |", flush=True)


if __name__ == "__main__":
    main()
