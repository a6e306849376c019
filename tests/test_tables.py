"""`TABLES.md` as a person reads it: what stands under a head is what the head says."""

from itertools import accumulate
from pathlib import Path

from .builders import record, write_study
from .called import run
from .page.reading import markdown_tables


def test_tokens_a_round_are_said_to_be_those_of_the_whole_batch_and_are(tmp_path: Path) -> None:
    rows = [record(), record(run="f1", policy={"kind": "fixed", "depth": 3}, accepted_position=[1200, 900, 640])]
    run("screen", write_study(tmp_path / "study", {"c": 3}, rows), "--out-dir", tmp_path / "out")
    text = (tmp_path / "out" / "TABLES.md").read_text(encoding="utf-8")
    assert "tokens a round are those of all requests of the batch together" in text
    tables = {rows[0][1]: rows for rows in markdown_tables(text) if "tokens a round" in " ".join(rows[0])}
    depths, arms = tables["tokens a round, whole batch"], tables["policy"]
    by_hand = [f"{3 * (1480 + total) / 1480:.3f}" for total in accumulate([0, 1110, 814, 560, 330, 0])]
    assert [row[1] for row in depths[1:7]] == by_hand
    assert arms[1][arms[0].index("tokens a round, whole batch (MEASURED)")] == f"{3 * (1480 + 2740) / 1480:.3f}"
