"""A study: its input families, cost table, ranges, beliefs and decision rule, read from `study.toml`."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from .errors import InputError, MissingInputError
from .faults import Fault, described, first_of
from .study_cost import Cost, Range, read_cost, read_range
from .study_family import Family, read_family, stays_inside
from .toml_table import Table

STUDY_FILE = "study.toml"
SCHEDULERS = ("cap_only", "confidence", "unknown")
DEEPEST_BLOCK = 64


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Measured arms that a validation leaves out, in the words of `analysis.selection`; times may be kept of some."""

    name: str
    leave_out: str
    keep_times: str


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that a study file states, checked."""

    folder: Path
    name: str
    title: str
    synthetic: bool
    max_depth: int
    unsupported_depths: tuple[int, ...]
    seed: int
    roots: Mapping[str, str]
    cost: Cost
    overlap: Range
    overhead_ms: Range
    row_slope: Range
    scheduler: str
    scheduler_reason: str
    families: tuple[Family, ...]
    sha256: str
    priors: Mapping[str, Any] = field(default_factory=dict)
    decision: Mapping[str, float] = field(default_factory=dict)
    gates: Mapping[str, float] = field(default_factory=dict)
    hold_out: tuple[HoldOut, ...] = ()


def _study(top: Table, folder: Path, sha256: str) -> Study:
    top.whole("schema", 1, 1)
    max_depth = top.whole("max_depth", 1, DEEPEST_BLOCK) or 1
    unsupported = top.take("unsupported_depths")
    if unsupported is None:
        unsupported = []
    if not isinstance(unsupported, list) or not all(
        isinstance(d, int) and not isinstance(d, bool) and max_depth < d <= DEEPEST_BLOCK for d in unsupported
    ):
        top.fault("unsupported_depths", described(unsupported), f"depths above max_depth {max_depth} would do")
        unsupported = []
    roots_table = top.table("roots", required=False)
    roots = {key: roots_table.text(key) for key in roots_table.values} or {"results": "results"}
    for key in set(roots) - {"results", "coordinator"}:
        top.fault("roots", "another root", f"results and coordinator would do, not {key!r}")
    for key, root in roots.items():
        if not stays_inside(root):
            roots_table.fault(key, "a path that leaves the study", "a relative path without .. would do")
    ranges = top.table("ranges")
    scheduler = top.table("scheduler")
    study = Study(
        folder=folder,
        name=top.text("name"),
        title=top.text("title", default=""),
        synthetic=top.take("synthetic") is True,
        max_depth=max_depth,
        unsupported_depths=tuple(unsupported),
        seed=top.whole("seed", 0, 2**32 - 1) or 0,
        roots=roots,
        cost=read_cost(top.table("cost"), max_depth),
        overlap=read_range(ranges.table("overlap"), 0.0, 1.0),
        overhead_ms=read_range(ranges.table("overhead_ms"), 0.0, 1e6),
        row_slope=read_range(ranges.table("row_slope"), 0.0, 1e3),
        scheduler=scheduler.one_of("kind", SCHEDULERS, default="unknown"),
        scheduler_reason=scheduler.text("reason", default=""),
        families=tuple(read_family(entry, roots, max_depth) for entry in top.tables("family")),
        sha256=sha256,
        priors=dict(top.table("priors", required=False).values),
        decision=dict(top.table("decision", required=False).values),
        gates=dict(top.table("gates", required=False).values),
        hold_out=tuple(_hold_out(entry) for entry in (top.tables("hold_out") if "hold_out" in top.values else [])),
    )
    if not isinstance(top.values.get("synthetic", False), bool):
        top.fault("synthetic", described(top.values["synthetic"]), "true or false would do")
    for table in (top, ranges, scheduler):
        table.nothing_else()
    suites = [family.suite for family in study.families]
    if len(set(suites)) != len(suites):
        top.fault("family", "a suite twice", "one family for each suite would do")
    return study


def _hold_out(table: Table) -> HoldOut:
    out = HoldOut(table.text("name"), table.text("leave_out"), table.text("keep_times", default=""))
    table.nothing_else()
    return out


def embedded_studies() -> dict[str, Path]:
    """Folders of the studies that ship with the package, by name."""
    root = Path(str(files("draftdepth.data") / "studies"))
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{STUDY_FILE}"))}


def _folder(named: str) -> Path:
    known = embedded_studies()
    if named in known:
        return known[named]
    path = Path(named)
    folder = path.parent if path.name == STUDY_FILE else path
    if (folder / STUDY_FILE).is_file():
        return folder
    raise MissingInputError(
        f"no study is called {named!r} and no {STUDY_FILE} is there; there are: {', '.join(sorted(known))}"
    )


def study_faults(named: str) -> tuple[Study | None, list[Fault]]:
    """Read a study and every fault of its file; the study is None where its TOML cannot be read at all.

    Raises
    ------
    MissingInputError
        No embedded study and no folder has that name.
    """
    folder = _folder(named)
    path = folder / STUDY_FILE
    try:
        text = path.read_bytes()
        values = tomllib.loads(text.decode("utf-8"))
    except OSError as error:
        return None, [Fault(str(path), 0, "file", error.strerror or "an unreadable file", "a readable file would do")]
    except (ValueError, RecursionError) as error:
        place = getattr(error, "lineno", 0) or 0
        return None, [Fault(str(path), place, "file", "something that is not TOML", "a TOML file in UTF-8 would do")]
    faults: list[Fault] = []
    study = _study(Table(values, "", str(path), faults), folder, hashlib.sha256(text).hexdigest())
    return study, faults


def load_study(named: str) -> Study:
    """Read a study by embedded name, folder or path of its `study.toml`.

    Raises
    ------
    MissingInputError
        No embedded study and no folder has that name.
    InputError
        The file has faults; the message is one line, the first fault and how many there are.
    """
    study, faults = study_faults(named)
    if study is None or faults:
        raise InputError(first_of(faults))
    return study
