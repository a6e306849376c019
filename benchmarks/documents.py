"""What the documents of the embedded studies cost: `reanalyze` by stage, then `plan` and `report` from its stored result.

The commands themselves run, each in a process of its own so that peaks of memory are its own; the functions that
`reanalyze` calls are wrapped by a clock. A call within a wrapped call counts for the outer one. Run it by `make
benchmarks`, or with the names of studies.
"""

import functools
import importlib
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clock import Clock

STUDIES = ("sp2", "gx10")
RUN, FIT = "draftdepth.reports.run_reanalyze", "draftdepth.models.fit"
COMPILING, IMPORTING, REST, TOTAL = "compiling", "importing", "the rest", "reanalyze"
STAGES = {
    "reading, screen": {RUN: ("load_study", "usable_inputs", "screen")},
    "stating": {FIT: ("evidence_of", "build_model")},
    COMPILING: {FIT: ("compiled",)},
    "sampling": {FIT: ("sample",)},
    "completing draws, gate": {FIT: ("derived", "diagnostics", "faults_of", "prior_of")},
    "comparison, explain": {
        RUN: ("compare", "measured_arms", "screen_document", "comparison_document", "explanations")
    },
    "page, figures": {RUN: ("tables", "comparison_page", "report_files")},
    "writing": {RUN: ("assemble", "write_whole")},
}
"""The functions of each stage, by the module that calls them."""

type Spent = dict[str, tuple[float, float]]  # seconds of the wall and of processors


class Stages:
    """Clocks about functions; what each stage took, in total."""

    def __init__(self) -> None:
        self.wall: Counter[str] = Counter()
        self.processor: Counter[str] = Counter()
        self.running = False

    def add(self, stage: str, took: Clock) -> None:
        """Count seconds for a stage."""
        self.wall[stage] += took.wall
        self.processor[stage] += took.processor

    def wrapped(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its time told."""

        @functools.wraps(call)
        def timed(*words: Any, **named: Any) -> Any:
            if self.running:
                return call(*words, **named)
            self.running, began = True, Clock.now()
            try:
                return call(*words, **named)
            finally:
                self.running = False
                self.add(stage, Clock.now().since(began))

        return timed


def reanalyze(study: str, folder: Path) -> Spent:
    """Run the main job with a clock about each stage."""
    began, stages = Clock.now(), Stages()
    rooms = {room: importlib.import_module(room) for room in (RUN, FIT)}
    stages.add(IMPORTING, Clock.now().since(began))
    for stage, places in STAGES.items():
        for room, names in places.items():
            for name in names:
                setattr(rooms[room], name, stages.wrapped(stage, getattr(rooms[room], name)))
    settings = {"seed": None, "draws": 1000, "tune": 1000, "chains": 4, "sampler": "nutpie", "progress": False}
    rooms[RUN].reanalyze_study(study, {}, folder, settings, checks=False, json_wanted=False, tell=lambda _: None)
    whole = Clock.now().since(began)
    stages.add(REST, Clock(whole.wall - stages.wall.total(), whole.processor - stages.processor.total()))
    stages.add(TOTAL, whole)
    return {stage: (stages.wall[stage], stages.processor[stage]) for stage in stages.wall}


def plan(study: str, folder: Path) -> Spent:
    """Plan from the stored result."""
    began = Clock.now()
    from draftdepth.reports.output_tree import NETCDF, POSTERIOR
    from draftdepth.reports.run_plan import Refits, plan_study

    settings = {"seed": None}
    plan_study(study, {}, folder, folder / POSTERIOR[NETCDF], None, settings, Refits(), json_wanted=False, tell=lambda _: None)  # fmt: skip
    took = Clock.now().since(began)
    return {"plan": (took.wall, took.processor)}


def report(_: str, folder: Path) -> Spent:
    """Make the page again from the stored result."""
    began = Clock.now()
    from draftdepth.reports.output_tree import NETCDF, POSTERIOR
    from draftdepth.reports.run_report import report_file

    report_file(folder / POSTERIOR[NETCDF], folder / "again", json_wanted=False)
    took = Clock.now().since(began)
    return {"report": (took.wall, took.processor)}


COMMANDS: dict[str, Callable[[str, Path], Spent]] = {"reanalyze": reanalyze, "plan": plan, "report": report}


def measured(study: str) -> tuple[Spent, dict[str, float]]:
    """Seconds of every stage and command, and the peak of each command's process in MiB."""
    spent: Spent = {}
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            words = [sys.executable, __file__, command, study, folder]
            child = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
            found, peaks[command] = json.loads(child.stdout.splitlines()[-1])
            spent |= found
    return spent, peaks


def main(studies: list[str]) -> None:
    """Print a table for each study."""
    print(
        "seconds of the wall and of processors, each command in a process of its own; plan and report count their imports"
    )
    for study in studies:
        spent, peaks = measured(study)
        print(f"\n| {study} | wall s | processor s | peak MiB |\n| :-- | --: | --: | --: |")
        for stage in [IMPORTING, *STAGES, REST, *COMMANDS]:
            wall, processor = spent[stage]
            peak = f"{peaks[stage]:,.0f}" if stage in peaks else ""
            print(f"| {stage} | {wall:.1f} | {processor:.1f} | {peak} |")
        shares = (100 * part / whole for part, whole in zip(spent[COMPILING], spent[TOTAL], strict=True))
        print("of it compiling: {:.0f} % of the wall, {:.0f} % of processors".format(*shares), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        done = COMMANDS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
        print(json.dumps([done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
    else:
        main(sys.argv[1:] or [*STUDIES])
