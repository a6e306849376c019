"""What a fit costs by number of runs: compiling, sampling, and completing the draws. Run it by `make benchmarks`."""

import resource
import time

import numpy as np
import xarray as xr
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from draftdepth.models.derive import derived
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import REPORTED, Stated, sampled_variables
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings, diagnostics, divergences, sample

CELLS, DEPTH, ROUNDS, REQUESTS = 10, 5, 1500, 3
CONFIG_MS = np.array([28.8, 31.9, 34.4, 37.8, 41.6, 43.7])
SEED_OF_RUNS, SEED_OF_SAMPLING = 20261201, 7
SIZES = (50, 500, 5000)


def made_up(runs: int) -> xr.Dataset:
    """Runs at L0 of ten cells under a cap of four, with run effects."""
    rng, parsed = np.random.default_rng(SEED_OF_RUNS), []
    for number in range(runs):
        cell = number % CELLS
        logits = np.array([1.7, 1.4, 1.2, 1.0]) - 0.1 * cell + 0.1 * rng.standard_normal()
        left, counts = ROUNDS, []
        for p in 1.0 / (1.0 + np.exp(-logits)):
            left = int(rng.binomial(left, p))
            counts.append(left)
        step = (60.0 + 2.0 * cell) * np.exp(0.01 * rng.standard_normal())
        row = {
            "schema": 1, "suite": "made-up", "cell": f"c{cell}", "run": f"r{number}", "worker": "w", "batch": 1 + cell % 4,
            "context_tokens": 1000, "phase": "decode", "policy": {"kind": "dynamic", "cap": 4}, "request_rounds": ROUNDS,
            "accepted_position": counts,
            "requests": [{"step_p50_ms": float(step * np.exp(0.005 * rng.standard_normal()))} for _ in range(REQUESTS)],
        }  # fmt: skip
        run, faults = parse_run(row, "made-up", number + 1, DEPTH)
        assert run is not None, faults
        parsed.append(run)
    data = runs_dataset(parsed, DEPTH)
    return data.assign_coords(screened=("run", np.ones(runs, dtype=bool)))


def main() -> None:
    """Print a table with the ratio to the smallest size."""
    print("| runs | compile, s | sample, s | ratio | complete, s | worst ESS of 4,000 | diverged | peak MiB |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: |")
    first = 0.0
    for size in SIZES:
        evidence, priors = evidence_of(made_up(size)), Priors.stated("unknown", {})
        began = time.monotonic()
        stated = Stated.of(evidence, priors, CONFIG_MS)
        compiled = time.monotonic()
        raw = sample(stated.model, stated.program, Settings(SEED_OF_SAMPLING), SEED_OF_SAMPLING)
        sampled = time.monotonic()
        draws, _ = derived(sampled_variables(raw), evidence, priors, CONFIG_MS, 1)
        done = time.monotonic()
        found = diagnostics(draws[[name for name in REPORTED if name != "run_fixed_survival"]])
        worst = min(float(value) for name, value in found.data_vars.items() if "_ess_" in str(name))
        first = first or sampled - compiled
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {size:,} | {compiled - began:.0f} | {sampled - compiled:.0f} | {(sampled - compiled) / first:.1f} "
            f"| {done - sampled:.0f} | {worst:.0f} | {divergences(raw)} | {peak:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
