"""Makes the SYNTHETIC run records of the study `sp2`: integer counters from which the screen prints published figures.

A published cell gives six figures at its favoured depth. With the study's equations and a trial of the run medians of the
step time they fix, of each run, two numbers alone: e, the tokens a round of one request at the favoured depth, and q, its
ratio to the nominal cap's. One run carries the smallest e and the largest q, one the largest e and the smallest q, and a
third makes the pooled values right; where a single run can carry all six figures, it does. Everything else (round counts,
the shape of the survival curve, the times of single requests) is ours.

`python -m draftdepth.analysis.reconstruction FOLDER` writes `results/` and `coordinator/` below FOLDER.
"""

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from ..data.records import parse_run
from ..data.runs import runs_dataset
from ..data.study import Family, Input, Study, load_study
from ..data.words import CELL, DECODE, DEPTH, DYNAMIC, RUN
from . import equations
from .screen import screen

PUBLISHED = "published.json"
CAPS = {1: 5, 2: 5, 3: 4, 4: 4}  # nominal cap by batch, as the screen document states it
SINGLE_RUN = ("c32x3", "c32x4")  # cells whose six figures one run can carry
ROUNDS = {1: (2212,), 3: (1943, 2384, 2077)}  # ours: rounds of each run, by the number of runs
STEP_GRID_MS = np.arange(30.0, 130.0, 0.05)
SPREADS_MS = tuple(
    itertools.product((0.35, 0.6, 0.9, 1.2), repeat=2)
)  # largest and smallest median about the middle one
LARGEST_RATIO = 0.985  # so that positions beyond the favoured depth still accept something


@dataclass(frozen=True, slots=True)
class Needs:
    """The e and q that the figures ask of the runs, at trial run medians `steps_ms`."""

    steps_ms: tuple[float, ...]
    e_low: float
    e_pooled: float
    e_high: float
    q_low: float
    q_pooled: float
    q_high: float

    @property
    def room(self) -> float:
        """How far inside their own extremes the pooled values lie; negative where they cannot be pooled values."""
        e_width, q_width = self.e_high - self.e_low, self.q_high - self.q_low
        if e_width <= 0 or q_width <= 0 or self.q_high > LARGEST_RATIO:
            return -1.0
        e_at, q_at = (self.e_pooled - self.e_low) / e_width, (self.q_pooled - self.q_low) / q_width
        return min(e_at, 1 - e_at, q_at, 1 - q_at)


def _round_ms(study: Study, batch: int, depth: int, step: Any, overlap: Any, overhead: Any, slope: Any) -> Any:
    cost = study.cost
    remote = cost.remote_ms[batch]
    reference = equations.exposed_ms(remote, cost.reference_overlap, cost.reference_overhead_ms)
    config, anchor = cost.config_ms[depth], cost.config_ms[CAPS[batch]]
    verify = equations.verify_ms(step, reference, slope, batch, config, anchor)
    return equations.round_ms(verify, equations.exposed_ms(remote, overlap, overhead))


def _needs(study: Study, cell: dict[str, Any], steps: tuple[float, ...]) -> Needs:
    """Invert the screen: the e and q of the figures, at given run medians (smallest, middle, largest)."""
    batch, depth = cell["batch"], cell["favoured_depth"]
    ends = [(entry.low, entry.high) for entry in (study.overlap, study.overhead_ms, study.row_slope)]
    grid = np.array(list(itertools.product((steps[0], steps[-1]), *ends))).T
    at_depth, at_cap = (_round_ms(study, batch, d, *grid) for d in (depth, CAPS[batch]))
    middle = (steps[len(steps) // 2], study.overlap.central, study.overhead_ms.central, study.row_slope.central)
    central, central_cap = (_round_ms(study, batch, d, *middle) for d in (depth, CAPS[batch]))
    relative = at_cap / at_depth
    rate_low, rate_high = cell["rate_envelope"]
    gain_low, gain_high = (1 + percent / 100 for percent in cell["gain_envelope_pct"])
    per_request = equations.MS_PER_S * batch
    return Needs(
        steps_ms=steps,
        e_low=rate_low * at_depth.max() / per_request,
        e_pooled=cell["rate"] * central / per_request,
        e_high=rate_high * at_depth.min() / per_request,
        q_low=gain_low / relative.min(),
        q_pooled=(1 + cell["gain_pct"] / 100) * central / central_cap,
        q_high=gain_high / relative.max(),
    )


def _trials(study: Study, cell: dict[str, Any]) -> Iterator[Needs]:
    """Trial run medians, those with the most room first; for a single run, those whose figures agree best."""
    if cell["file"] in SINGLE_RUN:
        lone = [_needs(study, cell, (float(step),)) for step in STEP_GRID_MS]
        yield from sorted(lone, key=lambda n: (n.e_high - n.e_low) ** 2 + (n.q_high - n.q_low) ** 2)[:40]
        return
    found = [
        _needs(study, cell, (float(step - below), float(step), float(step + above)))
        for step in STEP_GRID_MS[::5]
        for below, above in SPREADS_MS
    ]
    yield from sorted((needs for needs in found if needs.room > 0.1), key=lambda needs: -needs.room)


def _run_targets(needs: Needs) -> list[tuple[float, float]]:
    """(e, tokens at the cap) of each run."""
    if len(needs.steps_ms) == 1:
        e, q = (
            np.mean([needs.e_low, needs.e_pooled, needs.e_high]),
            np.mean([needs.q_low, needs.q_pooled, needs.q_high]),
        )
        return [(float(e), float(e / q))]
    first, middle, last = ROUNDS[3]
    outer = [(needs.e_low, needs.e_low / needs.q_high), (needs.e_high, needs.e_high / needs.q_low)]
    total = first + middle + last
    pooled = (needs.e_pooled, needs.e_pooled / needs.q_pooled)
    rest = [(total * pooled[i] - first * outer[0][i] - last * outer[1][i]) / middle for i in (0, 1)]
    return [outer[0], (rest[0], rest[1]), outer[1]]


def _survival(e: float, at_cap: float, depth: int, cap: int) -> np.ndarray | None:
    """A smooth prefix survival with the two sums, hazards expit(a + b i); None where there is none."""

    def curve(shape: np.ndarray) -> np.ndarray:
        return np.cumprod(expit(shape[0] + shape[1] * np.arange(cap)))

    def miss(shape: np.ndarray) -> list[float]:
        survival = curve(shape)
        return [1 + survival[:depth].sum() - e, 1 + survival.sum() - at_cap]

    found = least_squares(miss, x0=[0.7, 0.0], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return curve(found.x) if found.cost < 1e-16 else None


def _requests(step_ms: float, rounds: int, batch: int) -> list[dict[str, Any]]:
    """Requests whose median is the run's: pairs the same distance to both sides, and the median itself if odd."""
    count = batch if batch > 1 else 3
    offsets = [0.35 * (place - (count - 1) / 2) for place in range(count)]
    shares = [rounds // count + (place < rounds % count) for place in range(count)]
    return [
        {"step_p50_ms": round(step_ms + offset, 3), "steps": steps}
        for offset, steps in zip(offsets, shares, strict=True)
    ]


def _records(cell: dict[str, Any], family: Family, entry: Input, needs: Needs) -> list[dict[str, Any]] | None:
    batch, cap = cell["batch"], CAPS[cell["batch"]]
    rows: list[dict[str, Any]] = []
    for number, (e, at_cap) in enumerate(_run_targets(needs)):
        survival = _survival(e, at_cap, cell["favoured_depth"], cap)
        if survival is None:
            return None
        rounds = ROUNDS[len(needs.steps_ms)][number]
        counts = [int(count) for count in np.rint(survival * rounds)]
        rows.append(
            {
                "schema": 1, "suite": family.suite, "cell": entry.cell, "run": f"r{number + 1}", "worker": family.worker,
                "batch": batch, "context_tokens": cell["context_tokens"], "phase": DECODE,
                "policy": {"kind": DYNAMIC, "cap": cap}, "request_rounds": rounds,
                "accepted_position": counts + [0] * (5 - cap),
                "requests": _requests(needs.steps_ms[number], rounds, batch),
            }
        )  # fmt: skip
    return rows


def printed(study: Study, cell: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the screen prints of one cell's records: the six figures at one decimal, and the favoured depth."""
    runs = [parse_run(row, cell["file"], number, study.max_depth)[0] for number, row in enumerate(rows, 1)]
    data = runs_dataset([run for run in runs if run is not None], study.max_depth)
    data = data.assign_coords(screened=(RUN, [True] * len(rows)))
    at = screen(study, data).isel({CELL: 0})
    favoured = int(at["favoured_depth"])
    row = at.sel({DEPTH: favoured})
    shown = {name: round(float(row[name]), 1) for name in ("rate", "rate_low", "rate_high")}
    gains = {name: round(100 * float(row[name]), 1) for name in ("gain", "gain_low", "gain_high")}
    return {
        "favoured_depth": favoured,
        "rate": shown["rate"],
        "rate_envelope": [shown["rate_low"], shown["rate_high"]],
        "gain_pct": gains["gain"],
        "gain_envelope_pct": [gains["gain_low"], gains["gain_high"]],
    }


def reconstruct_cell(study: Study, cell: dict[str, Any], family: Family, entry: Input) -> list[dict[str, Any]]:
    """Find records of one published cell.

    Parameters
    ----------
    study
        The study `sp2`, for its cost table and ranges.
    cell
        The published figures of the cell.
    family, entry
        Where its records belong.

    Returns
    -------
    list
        Run records (schema 1) from which the screen prints every figure of the cell.

    Raises
    ------
    RuntimeError
        No trial of run medians gives such records.
    """
    for needs in _trials(study, cell):
        rows = _records(cell, family, entry, needs)
        if rows is not None and printed(study, cell, rows).items() <= cell.items():
            return rows
    raise RuntimeError(f"no records print the figures of {cell['suite']}/{cell['file']}")


def reconstruct(study: Study) -> dict[str, str]:
    """Make every record file of the published cells: path below the study, and text."""
    published = json.loads((study.folder / PUBLISHED).read_text(encoding="utf-8"))
    files: dict[str, str] = {}
    for cell in published["cells"]:
        family = next(family for family in study.families if family.suite == cell["suite"])
        name = "R1-c32" if cell["file"] == "R1" else cell["file"]  # the document has batch 2 in K1 at 32K alone
        entry = next(entry for entry in family.inputs if entry.cell == name)
        rows = reconstruct_cell(study, cell, family, entry)
        files[f"{study.roots[family.root]}/{entry.file}"] = "".join(json.dumps(row) + "\n" for row in rows)
    return files


def main() -> None:
    """Write the record files below the folder that the first argument names."""
    for name, text in reconstruct(load_study("sp2")).items():
        path = Path(sys.argv[1]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
