"""`PLAN.md` in words: what each verdict says of a document's numbers, what its words mean, and the curves beside it."""

import json
from typing import Any

import pytest
from draftdepth.reports.plan_curves import assurance_curves, loss_curves
from draftdepth.reports.plan_md import plan_page
from draftdepth.reports.plan_words import sentence

from .called import run
from .plan_examples import ready


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("plan")
    study, posterior = ready(folder)
    run("plan", study, "--posterior", posterior, "--out-dir", folder / "out")
    return json.loads((folder / "out" / "plan.json").read_text())


GOAL = {"kind": "assurance", "target": 0.8, "of": "gain"}
DESIGN = {"runs": 16, "rounds": 500, "layout": "interleaved", "minutes": 202.5, "assurance": 0.275, "assurance_error": 0.014,
          "wrong": 0.038, "net_rule_tokens": 3e5, "net_tokens": -6.9e5}  # fmt: skip
NEAREST = {"runs": 48, "rounds": 8000, "assurance": 0.473, "assurance_error": 0.016, "wrong": 0.021}


def _row(**changes: Any) -> dict[str, Any]:
    row = {"arm": "new", "against": "old", "label": "ASSUMED", "settled_today": False, "design": DESIGN, "best_value": DESIGN,
           "nearest": NEAREST, "goal_measure": "assurance", "why": "worth its cost", "worth": True}  # fmt: skip
    return row | changes


RUN = (
    "new against old [ASSUMED]: run 16 runs of each arm x 500 rounds (blocks of all arms, a new server start for each); 202.5 minutes "
    "(3.4 h) for the pair."
)
OUT_OF_REACH = (
    "The goal is out of reach: at most assurance 47.3 % ± 1.6, wrong 2.1 %, with 48 runs of each arm x 8,000 rounds."
)


def test_a_verdict_says_first_what_to_run_then_what_it_earns_then_whether_the_goal_is_reached() -> None:
    worth = "+0.30 M tokens net by the written rule, -0.69 M by EVSI"
    gives = "It gives assurance 27.5 % ± 1.4, wrong 3.8 %."
    assert sentence(_row(), GOAL) == f"{RUN} Worth its cost, but not by EVSI: {worth}. {gives} {OUT_OF_REACH}"
    earning = _row(design=DESIGN | {"net_tokens": 1e5})
    assert "Worth its cost: +0.30 M tokens net by the written rule, +0.10 M by EVSI." in sentence(earning, GOAL)
    reached = "Goal reached: assurance 27.5 % ± 1.4, wrong 3.8 %."
    assert sentence(_row(why="goal reached"), GOAL) == f"{RUN} {reached}"
    assert sentence(_row(why="goal reached", worth=False), GOAL).endswith(
        f"{reached} By value no new run is worth it: the best design is worth {worth}."
    )
    assert sentence(_row(design=None), GOAL) == (
        f"new against old [ASSUMED]: no new run is worth it: the best design is worth {worth}. {OUT_OF_REACH}"
    )


def test_words_of_the_page_are_explained_above_their_first_table(document: Any) -> None:
    head = plan_page(document).split("## Arms")[0]
    for word in ("assurance", "wrong", "false change", "half-width", "rule value", "EVSI", "Net", "run, block, start"):
        assert f"**{word}**" in head


def test_the_page_shows_both_curves_and_curves_of_made_up_records_say_so(document: Any) -> None:
    page = plan_page(document)
    for name, curves in (("plan_assurance.svg", assurance_curves), ("plan_loss.svg", loss_curves)):
        assert f"]({name})" in page
        for synthetic in (False, True):
            drawn = curves(document | {"study": document["study"] | {"synthetic": synthetic}})
            assert ("SYNTHETIC" in drawn) == synthetic
            assert "interleaved" not in drawn
    assert "goal" in assurance_curves(document)
    assert "without any run" in loss_curves(document)
