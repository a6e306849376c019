"""A study's input families: which cell of which file is read, on which worker, and which of its runs are screened."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .run_record import Policy
from .toml_table import Table
from .words import DYNAMIC, FIXED, PRIMARY, REFERENCE


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


def stays_inside(file: str) -> bool:
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
    if read.file and not stays_inside(read.file):
        table.fault("file", "a path that leaves its root", "a relative path without .. would do")
    table.nothing_else()
    return read


def read_family(table: Table, roots: Mapping[str, str], max_depth: int) -> Family:
    """One family; each cell stands in it once."""
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
