"""The records of `sp2` print the published figures, by an evaluation of the test's own, and come from the script."""

import hashlib
import itertools
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from draftdepth.analysis.reconstruction import CAPS, reconstruct
from draftdepth.data.study import load_study

STUDY = Path(__file__).parents[1] / "data" / "studies" / "sp2"
CELLS = json.loads((STUDY / "published.json").read_text(encoding="utf-8"))["cells"]
H = [28.79, 31.86, 34.44, 37.76, 41.56, 43.68]
D = {1: 2.0275, 2: 2.5122, 3: 2.8961, 4: 3.7219}


def _rows(cell: dict[str, Any]) -> list[dict[str, Any]]:
    name = "coordinator/K1/R1-c32" if cell["suite"] == "K1" else f"results/W5-E1p/W5-E1p-{cell['file']}"
    return [json.loads(line) for line in (STUDY / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell['suite']}-{cell['file']}")
def test_the_records_print_the_six_figures_and_the_favoured_depth(cell: dict[str, Any]) -> None:
    rows, batch, best = _rows(cell), cell["batch"], cell["favoured_depth"]
    cap, remote = (5 if batch <= 2 else 4), D[batch]

    def rate(d: int, s: list[float], t: float, overlap: float, overhead: float, m: float) -> float:
        v = t - (0.25 * remote + 0.30) + m * batch * (H[d] - H[cap])
        tokens = batch * (1 + sum(s[:d]))
        return float(1000 * tokens / (v + (1 - overlap) * remote + overhead))

    vectors = [[count / row["request_rounds"] for count in row["accepted_position"]] for row in rows]
    total = sum(row["request_rounds"] for row in rows)
    pooled = [sum(row["accepted_position"][i] for row in rows) / total for i in range(5)]
    medians = [statistics.median(q["step_p50_ms"] for q in row["requests"]) for row in rows]
    central = {d: rate(d, pooled, statistics.median(medians), 0.75, 0.3, 0.5) for d in range(6)}
    grid = list(itertools.product(vectors, (min(medians), max(medians)), (0, 1), (0, 0.6), (0, 1)))
    rates = [rate(best, *at) for at in grid]
    gains = [rate(best, *at) / rate(cap, *at) - 1 for at in grid]
    assert max(range(1, 6), key=lambda d: central[d]) == best
    assert [round(x, 1) for x in (central[best], min(rates), max(rates))] == [cell["rate"], *cell["rate_envelope"]]
    shown = [round(100 * x, 1) for x in (central[best] / central[cap] - 1, min(gains), max(gains))]
    assert shown == [cell["gain_pct"], *cell["gain_envelope_pct"]]


def test_the_two_cells_of_a_single_run_have_one() -> None:
    runs = {(cell["suite"], cell["file"]): len(_rows(cell)) for cell in CELLS}
    assert runs == {
        ("W5-E1p", "short"): 3, ("W5-E1p", "c32"): 3, ("W5-E1p", "c32x3"): 1, ("W5-E1p", "c32x4"): 1,
        ("W5-E1p", "c150"): 3, ("K1", "R1"): 3,
    }  # fmt: skip


def test_the_records_are_what_the_script_makes() -> None:
    made = reconstruct(load_study("sp2"))
    committed = {name: (STUDY / name).read_text(encoding="utf-8") for name in made}
    assert made == committed
    listed = {path.relative_to(STUDY).as_posix() for path in STUDY.rglob("*.jsonl")}
    assert listed == set(made)
    assert {CAPS[cell["batch"]] for cell in CELLS} == {4, 5}


def test_the_card_lists_every_file_with_its_hash_and_says_synthetic() -> None:
    card = (STUDY / "CARD.md").read_text(encoding="utf-8")
    assert card.splitlines()[0].endswith("SYNTHETIC")
    for path in STUDY.rglob("*.jsonl"):
        rows = path.read_text().count("\n")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert f"| `{path.relative_to(STUDY).as_posix()}` | {rows} | `{digest}` |" in card
