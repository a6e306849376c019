"""`plan` and `validate --plan` as a user meets them, on a stored result of made-up draws."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from draftdepth.reports.command import main
from draftdepth.reports.plan_json import fingerprint

from .builders import FAMILY, record, write_lines
from .plan_examples import example_study, plan_text, ready

HOSTILE = "<b>|`x` ![y](z) & 100 $a_b$"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("planned")
    study, posterior = ready(folder, hostile=HOSTILE)
    result = run("plan", study, "--posterior", posterior, "--out-dir", folder / "out")
    assert result.exit_code == 0, result.output
    return study, posterior, folder / "out"


def _document(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "plan.json").read_text())
    return document


def test_a_plan_writes_its_files_and_says_what_to_do(planned: tuple[Path, Path, Path]) -> None:
    _, _, out = planned
    assert sorted(path.name for path in out.iterdir()) == [
        "PLAN.md",
        "plan.json",
        "plan_assurance.svg",
        "plan_loss.svg",
    ]
    document = _document(out)
    assert [row["label"] for row in document["comparisons"]] == ["ESTIMATED", "ASSUMED"]
    fixed = document["comparisons"][0]
    assert fixed["why"] == "goal reached"
    assert fixed["design"]["assurance"] - fixed["design"]["assurance_error"] >= 0.4
    for name in ("assurance", "wrong", "undecided", "false_change", "half_width", "loss_after", "evsi"):
        assert fixed["design"][f"{name}_error"] > 0
    assert [row["level"] for row in fixed["logging"]] == ["L0", "L1", "L2", "L3"]
    assert document["comparisons"][1]["logging"] == []
    assert {row["layout"] for row in fixed["precision"]} == {"interleaved", "one_start"}


def test_the_same_inputs_give_the_same_bytes(planned: tuple[Path, Path, Path], tmp_path: Path) -> None:
    study, posterior, out = planned
    again = run("plan", study, "--posterior", posterior, "--out-dir", tmp_path / "again", "--json")
    assert again.stdout == (out / "plan.json").read_text()
    for path in out.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_hostile_names_stay_text_on_every_page(planned: tuple[Path, Path, Path]) -> None:
    _, _, out = planned
    page = (out / "PLAN.md").read_text()
    assert "<b>" not in page
    assert "![y]" not in page
    for line in page.splitlines():
        if line.startswith("|") and "x" in line:
            assert line.count("|") - line.count("\\|") >= 2
    for name in ("plan_assurance.svg", "plan_loss.svg"):
        assert "<b>" not in (out / name).read_text()


def test_every_block_holds_every_arm_and_the_order_is_drawn(planned: tuple[Path, Path, Path]) -> None:
    _, _, out = planned
    for session in _document(out)["sessions"]:
        blocks: dict[int, list[str]] = {}
        for turn in session["turns"]:
            blocks.setdefault(turn["block"], []).append(turn["arm"])
        per_arm = Counter(turn["arm"] for turn in session["turns"])
        assert per_arm == session["runs"]
        if session["layout"] == "interleaved":
            for block, order in blocks.items():
                assert sorted(order) == sorted(arm for arm in session["arms"] if session["runs"][arm] >= block)
            assert len({turn["start"] for turn in session["turns"]}) == session["restarts"] == len(session["turns"])
        assert len({turn["run"] for turn in session["turns"]}) == len(session["turns"])


def test_the_page_begins_with_what_all_that_is_advised_takes(planned: tuple[Path, Path, Path]) -> None:
    _, _, out = planned
    document, page = _document(out), (out / "PLAN.md").read_text()
    total, found = document["total"], document["sessions"]
    assert total["minutes"] == pytest.approx(sum(session["minutes"] for session in found))
    turns = [turn for session in found for turn in session["turns"]]
    assert (total["runs"], total["restarts"]) == (len(turns), sum(turn["restart"] for turn in turns))
    top = page.split("## Arms")[0]
    assert f"All that is advised takes {total['minutes']:.1f} minutes" in top
    assert f"{total['runs']} runs and {total['restarts']} server starts in {total['sessions']} session" in top
    for session in found:
        assert f"seed {session['order_seed']}" in page
    for row in document["comparisons"]:
        design, both = row["design"], {row["arm"], row["against"]}
        if design is None:
            assert not any(row["arm"] in session["arms"] for session in found)
            continue
        (session,) = (session for session in found if both <= set(session["arms"]))
        assert design["runs"] == session["runs"][row["arm"]] == sum(t["arm"] == row["arm"] for t in session["turns"])
        assert (design["layout"], design["rounds"]) == (session["layout"], session["rounds"])


def test_a_goal_out_of_reach_and_no_run_worth_it_are_plain_answers(tmp_path: Path) -> None:
    study, posterior = ready(tmp_path, target=0.9999, hours=0.0)
    result = run("plan", study, "--posterior", posterior, "--out-dir", tmp_path / "out")
    assert "Nothing is to be run: 0 minutes, 0 restarts." in result.stdout
    page, document = (tmp_path / "out" / "PLAN.md").read_text(), _document(tmp_path / "out")
    top = page.split("## Arms")[0]
    nearest = document["comparisons"][0]["nearest"]
    most = max(v for layout in document["comparisons"][0]["grid"]["assurance"] for row in layout for v in row)
    assert nearest["assurance"] == most
    assert "no new run is worth it: the best design is worth " in top
    assert f"The goal is out of reach: at most assurance {100 * most:.1f} %" in top
    assert f"with {nearest['runs']} runs of each arm x {nearest['rounds']:,} rounds" in top
    assert document["sessions"] == []
    assert "Nothing is to be run." in page.split("## Schedule")[1]


def test_where_the_report_says_another_chance_the_reason_stands_beside_it(planned: tuple[Path, Path, Path]) -> None:
    page = (planned[2] / "PLAN.md").read_text()
    assert (
        page.count("(the stored result's report: 30.0 %, with remote time as assumed there; here it is as measured)")
        == 1
    )


def _refused(result: Result, said: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("draftdepth: ")]
    assert len(lines) == 1
    assert re.search(said, lines[0]), lines[0]


def test_a_result_of_other_records_is_refused(planned: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, posterior, _ = planned
    other = example_study(tmp_path / "study")
    (other / "plan.toml").write_text(plan_text(), encoding="utf-8")
    write_lines(other / "runs" / "all.jsonl", [record(request_rounds=2000)])
    words = ("plan", other, "--posterior", posterior, "--out-dir", tmp_path / "out", "--quiet")
    _refused(run(*words), "found a result of other records or settings of made-up; a new `reanalyze` would do")
    assert not (tmp_path / "out").exists()


def test_bad_plans_are_one_line_and_nothing_is_written(planned: tuple[Path, Path, Path], tmp_path: Path) -> None:
    study, posterior, _ = planned
    bad = tmp_path / "bad.toml"
    bad.write_text(plan_text().replace("depth = 3", "depth = 8"), encoding="utf-8")
    words = ("plan", study, "--posterior", posterior, "--out-dir", tmp_path / "out", "--quiet", "--plan-file")
    _refused(run(*words, bad), "UNSUPPORTED by the trained block")
    _refused(run(*words, tmp_path / "none.toml"), "a plan.toml")
    _refused(
        run("plan", study, "--posterior", tmp_path / "no.nc", "--out-dir", tmp_path / "out", "--quiet"), "reanalyze"
    )
    assert not (tmp_path / "out").exists()


def _measured(study: Path, folder: Path, name: str, out: Path, factor: float = 1.0) -> Path:
    """The study with runs of an arm as the plan predicts them, their step times moved by a factor."""
    predicted = next(row for row in _document(out)["predicted"] if row["arm"] == name)
    copy = folder / "measured"
    copy.mkdir(parents=True)
    text = (study / "study.toml").read_text()
    suite, cell = predicted["recorded_as"].split("/")
    inputs = f'{{ file = "new.jsonl", cell = "{cell}", batch = 3 }}'
    family = FAMILY.format(suite=suite, role="primary", inputs=inputs).replace(
        'kind = "dynamic"', f'kind = "{predicted["kind"]}"'
    )
    (copy / "study.toml").write_text(text + family, encoding="utf-8")
    write_lines(copy / "runs" / "all.jsonl", [record(), record(run="r2", request_rounds=1700)])
    rounds = predicted["rounds"]
    share = (predicted["tokens"]["p50"] / 3 - 1) / predicted["depth"]
    step = predicted["step_ms"]["p50"] * factor
    policy = {"kind": predicted["kind"], "depth" if predicted["kind"] == "fixed" else "cap": predicted["depth"]}
    rows = [
        record(
            suite=suite, cell=cell, run=f"n{n}", policy=policy, request_rounds=rounds + n,
            accepted_position=[int(share * rounds)] * predicted["depth"], requests=[{"step_p50_ms": step}],
        )
        for n in range(predicted["runs"])
    ]  # fmt: skip
    write_lines(copy / "runs" / "new.jsonl", rows)
    return copy


def test_measured_arms_are_held_against_the_predicted_intervals(
    planned: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    study, _, out = planned
    good = _measured(study, tmp_path / "good", "fixed three", out)
    result = run("validate", good, "--plan", out / "plan.json", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["arm"]: row for row in json.loads(result.stdout)["arms"]}
    assert all(rows["fixed three"][name]["inside"] for name in ("tokens", "step_ms", "rate"))
    assert rows["fixed three"]["step_ms"]["label"] == "MEASURED"
    assert not rows["now"]["measured"]
    slow = _measured(study, tmp_path / "slow", "fixed three", out, factor=1.5)
    words = run("validate", slow, "--plan", out / "plan.json").stdout
    assert "OUTSIDE" in words
    assert "now: not measured yet" in words


def test_an_altered_plan_is_refused(planned: tuple[Path, Path, Path], tmp_path: Path) -> None:
    study, _, out = planned
    document = _document(out)
    document["predicted"][0]["rate"]["p95"] *= 2
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    _refused(run("validate", study, "--plan", path), "fingerprint: found fields that it does not match")
    document["plan"]["goal"]["target"] = 0.1
    document["fingerprint"] = fingerprint(document)
    del document["predicted"][1]["rate"]
    document["fingerprint"] = fingerprint(document)
    path.write_text(json.dumps(document))
    measured = _measured(study, tmp_path, "fixed three", out)
    _refused(run("validate", measured, "--plan", path), "found no plan")
    path.write_text("{}")
    _refused(run("validate", study, "--plan", path), "found no plan")


def test_a_plan_on_other_records_or_without_a_measured_arm_is_refused(
    planned: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    study, _, out = planned
    _refused(run("validate", study, "--plan", out / "plan.json"), "found no run of an arm that the plan names")
    changed = _measured(study, tmp_path, "fixed three", out)
    write_lines(changed / "runs" / "all.jsonl", [record(request_rounds=2001)])
    _refused(run("validate", changed, "--plan", out / "plan.json"), "inputs: found other content than when")


def test_the_predicted_intervals_hold_what_the_worlds_would_measure(planned: tuple[Path, Path, Path]) -> None:
    for row in _document(planned[2])["predicted"]:
        for name in ("tokens", "step_ms", "rate"):
            assert row[name]["p05"] < row[name]["p50"] < row[name]["p95"]
        assert row["rate"]["p50"] == pytest.approx(1000 * row["tokens"]["p50"] / row["step_ms"]["p50"], rel=0.02)
        assert np.isfinite(row["tokens"]["p95"])
