"""A study: its input families, cost table, ranges, beliefs and decision rule, read from `study.toml`."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from .errors import InputError, MissingInputError
from .faults import Fault, described
from .run_record import Policy
from .toml_table import Table
from .words import DYNAMIC, FIXED, PRIMARY, REFERENCE, Label

STUDY_FILE = "study.toml"
SCHEDULERS = ("cap_only", "confidence", "unknown")
DEEPEST_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Range:
    """An assumption's central value and the ends that the envelope enumerates."""

    central: float
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost table: config times H[0..K] and remote times D by batch in ms, each with its label and reason."""

    config_ms: tuple[float, ...]
    config_label: Label
    config_reason: str
    remote_ms: Mapping[int, float]
    remote_label: Label
    remote_reason: str
    reference_overlap: float
    reference_overhead_ms: float


@dataclass(frozen=True, slots=True)
class Screened:
    """The policy whose runs are screened; `depth` None takes any cap or depth of that kind."""

    kind: str
    depth: int | None

    def takes(self, policy: Policy) -> bool:
        """Whether runs of this policy are the screened ones."""
        return policy.kind == self.kind and self.depth in (None, policy.depth)


@dataclass(frozen=True, slots=True)
class Input:
    """One cell of one file; None stands for a context or batch that the study does not know."""

    file: str
    cell: str
    batch: int | None
    context_tokens: int | None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """The inputs of one suite on one worker."""

    suite: str
    worker: str
    role: str
    root: str
    screened: Screened
    inputs: tuple[Input, ...]


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
    hold_out: tuple["HoldOut", ...] = ()


def _range(table: Table, low: float, high: float) -> Range:
    central, lowest, highest = (table.number(key, low, high) for key in ("central", "low", "high"))
    read = Range(central, lowest, highest, table.text("reason", default=""))
    if not read.low <= read.central <= read.high:
        table.fault("central", f"{read.central:g}", f"a value from low {read.low:g} to high {read.high:g} would do")
    table.nothing_else()
    return read


def _config(table: Table, max_depth: int) -> tuple[tuple[float, ...], Label, str]:
    values = table.take("values")
    good = isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < 1e9 for v in values
    )
    if not good or len(values) != max_depth + 1:
        table.fault(
            "values", described(values), f"{max_depth + 1} times in ms, for the depths 0 to {max_depth}, would do"
        )
        values = [0.0] * (max_depth + 1)
    label = Label(table.one_of("label", tuple(Label), default=Label.ASSUMED))
    reason = table.text("reason", default="")
    table.nothing_else()
    return tuple(float(v) for v in values), label, reason


def _remote(table: Table) -> tuple[dict[int, float], Label, str]:
    values = table.table("values", required=False)
    times: dict[int, float] = {}
    for key in values.values:
        if not (key.isascii() and key.isdecimal() and len(key) < 7 and int(key) > 0):
            values.fault("key", "a key that is no batch", 'keys such as "4" would do')
        else:
            times[int(key)] = values.number(key, 0.0, 1e9)
    label = Label(table.one_of("label", tuple(Label), default=Label.MEASURED))
    reason = table.text("reason", default="")
    table.nothing_else()
    return times, label, reason


def _cost(table: Table, max_depth: int) -> Cost:
    cost = Cost(
        *_config(table.table("config_ms"), max_depth),
        *_remote(table.table("remote_ms", required=False)),
        reference_overlap=table.number("reference_overlap", 0.0, 1.0, default=0.75),
        reference_overhead_ms=table.number("reference_overhead_ms", 0.0, 1e6, default=0.30),
    )
    table.nothing_else()
    return cost


def _inside(file: str) -> bool:
    """Whether a path of a study stays below its root."""
    path = Path(file)
    return bool(file) and not path.is_absolute() and ".." not in path.parts and "\\" not in file and file.isprintable()


def _screened(table: Table, max_depth: int) -> Screened:
    kind = table.one_of("kind", (DYNAMIC, FIXED), default=DYNAMIC)
    depth = table.whole("depth" if kind == FIXED else "cap", 0 if kind == FIXED else 1, max_depth, optional=True)
    table.nothing_else()
    return Screened(kind, depth)


def _input(table: Table) -> Input:
    read = Input(
        file=table.text("file"),
        cell=table.text("cell"),
        batch=table.whole("batch", 1, 10**6, optional=True),
        context_tokens=table.whole("context_tokens", 0, 10**9, optional=True),
        warning=table.text("warning", default=""),
    )
    if read.file and not _inside(read.file):
        table.fault("file", "a path that leaves its root", "a relative path without .. would do")
    table.nothing_else()
    return read


def _family(table: Table, roots: Mapping[str, str], max_depth: int) -> Family:
    family = Family(
        suite=table.text("suite"),
        worker=table.text("worker"),
        role=table.one_of("role", (PRIMARY, REFERENCE), default=PRIMARY),
        root=table.one_of("root", tuple(roots) or ("results",), default="results"),
        screened=_screened(table.table("screened_policy", required=False), max_depth),
        inputs=tuple(_input(entry) for entry in table.tables("input")),
    )
    table.nothing_else()
    seen: set[str] = set()
    for entry in family.inputs:
        if entry.cell in seen:
            table.fault("input", "a cell twice", "each cell of a suite once would do")
        seen.add(entry.cell)
    return family


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
        if not _inside(root):
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
        cost=_cost(top.table("cost"), max_depth),
        overlap=_range(ranges.table("overlap"), 0.0, 1.0),
        overhead_ms=_range(ranges.table("overhead_ms"), 0.0, 1e6),
        row_slope=_range(ranges.table("row_slope"), 0.0, 1e3),
        scheduler=scheduler.one_of("kind", SCHEDULERS, default="unknown"),
        scheduler_reason=scheduler.text("reason", default=""),
        families=tuple(_family(entry, roots, max_depth) for entry in top.tables("family")),
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


def first_of(faults: list[Fault]) -> str:
    """One line for many faults."""
    more = f" (and {len(faults) - 1} more faults: `draftdepth check` lists all)" if len(faults) > 1 else ""
    return f"{faults[0]}{more}"
