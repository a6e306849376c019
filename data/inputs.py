"""The inputs of a study, read whole: runs as one dataset, and an account of every file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from .errors import InputError
from .faults import Fault, faults_alone, first_of, warnings_alone
from .jsonl import RecordFile, faults_across, read_record_file
from .run_record import Run
from .runs import cell_id, runs_dataset
from .study import Study
from .study_family import Family, Input
from .words import CELL, DYNAMIC, RUN


@dataclass(frozen=True, slots=True)
class FileAccount:
    """What a file was and what became of its rows."""

    name: str
    present: bool
    sha256: str
    rows: int
    runs: int
    other_phase: int
    empty_runs: int


@dataclass(frozen=True, slots=True)
class Absent:
    """A listed input that gave no run: a row of the tables without a number."""

    suite: str
    cell: str
    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a study's files held.

    `runs` is the dataset of `data.runs` with one more coordinate, `screened`.
    """

    runs: xr.Dataset
    files: tuple[FileAccount, ...]
    absent: tuple[Absent, ...]
    faults: tuple[Fault, ...]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file that is there, by its name in results."""
        return {account.name: account.sha256 for account in self.files if account.present}


def _root(study: Study, key: str, given: Mapping[str, Path]) -> Path:
    return given[key] if key in given else study.folder / study.roots.get(key, key)


def _named(family: Family, entry: Input) -> str:
    """A file's name in results: its root's word and its path below it, never a machine's path."""
    return f"{family.root}/{entry.file}"


def _read(study: Study, given: Mapping[str, Path]) -> tuple[dict[str, RecordFile], list[Fault]]:
    read: dict[str, RecordFile] = {}
    faults: list[Fault] = []
    for family in study.families:
        root = _root(study, family.root, given)
        for entry in family.inputs:
            name, path = _named(family, entry), root / entry.file
            try:
                absent = name in read or not (path.exists() or path.is_symlink())
                outside = not absent and not path.resolve().is_relative_to(root.resolve())
            except (OSError, RuntimeError):  # a name that is too long, a link that leads to itself
                faults.append(Fault(name, 0, "file", "a path that leads nowhere", "a file below the root would do"))
                continue
            if absent:
                continue
            if outside:
                faults.append(Fault(name, 0, "file", "a link that leaves its root", "a file below the root would do"))
                continue
            read[name] = read_record_file(path, name, study.max_depth)
            faults += read[name].faults
    return read, faults


def _mismatches(file: str, line: int, run: Run, family: Family, entry: Input | None) -> list[Fault]:
    """Where a row is at odds with what the study says of its input."""
    faults: list[Fault] = []

    def amiss(field: str, wanted: str) -> None:
        faults.append(Fault(file, line, field, "another value than the study's", wanted))

    if entry is None:
        amiss("cell", f"a cell that the study lists for suite {family.suite!r} and this file would do")
        return faults
    if run.worker != family.worker:
        amiss("worker", f"{family.worker!r} would do")
    if entry.batch not in (None, run.batch):
        amiss("batch", f"{entry.batch} would do")
    if entry.context_tokens is not None and run.context_tokens != entry.context_tokens:
        amiss("context_tokens", f"{entry.context_tokens} would do")
    return faults


def _placed(study: Study, read: Mapping[str, RecordFile]) -> tuple[list[tuple[str, int, Run, Family]], list[Fault]]:
    listed: dict[tuple[str, str], tuple[Family, dict[str, Input]]] = {}
    for family in study.families:
        for entry in family.inputs:
            listed.setdefault((_named(family, entry), family.suite), (family, {}))[1][entry.cell] = entry
    placed: list[tuple[str, int, Run, Family]] = []
    faults: list[Fault] = []
    for name, file in read.items():
        for line, run in file.runs:
            if (name, run.suite) not in listed:
                faults.append(Fault(name, line, "suite", "a suite that the study does not list for this file",
                                    "the suite of a family that names this file would do"))  # fmt: skip
                continue
            family, entries = listed[name, run.suite]
            faults += _mismatches(name, line, run, family, entries.get(run.cell))
            placed.append((name, line, run, family))
    faults += [fault for fault in faults_across([row[:3] for row in placed]) if fault not in _own(read)]
    return placed, faults + _caps(placed)


def _own(read: Mapping[str, RecordFile]) -> list[Fault]:
    """Faults across rows that a file has already told of itself."""
    return [fault for file in read.values() for fault in file.faults]


def _caps(placed: list[tuple[str, int, Run, Family]]) -> list[Fault]:
    """The screened runs of a cell share one cap: the screen has one c."""
    faults: list[Fault] = []
    first: dict[str, tuple[str, int]] = {}
    for file, line, run, family in placed:
        if not family.screened.takes(run.policy):
            continue
        place, depth = first.setdefault(cell_id(run.suite, run.cell), (f"{file}:{line}", run.policy.depth))
        if depth != run.policy.depth:
            faults.append(Fault(file, line, "policy", f"{run.policy.depth} where {place} has {depth}",
                                "one cap for the screened runs of a cell, or a cap in screened_policy, would do"))  # fmt: skip
    return faults


def _absent(study: Study, read: Mapping[str, RecordFile], runs: xr.Dataset) -> tuple[Absent, ...]:
    cells = set(runs[CELL].values)
    screened = set(runs[CELL].values[runs["screened"].values])
    rows: list[Absent] = []
    for family in study.families:
        for entry in family.inputs:
            name, cell = _named(family, entry), cell_id(family.suite, entry.cell)
            if name not in read:
                reason = "the file is not there"
            elif cell not in cells:
                reason = "the file holds no usable run of this cell"
            elif cell not in screened:
                reason = "no run of the screened policy"
            else:
                continue
            rows.append(Absent(family.suite, entry.cell, name, reason))
    return tuple(rows)


def read_inputs(study: Study, roots: Mapping[str, Path] | None = None) -> Inputs:
    """Read every input that a study lists; faults are collected, not raised.

    Parameters
    ----------
    study
        A checked study.
    roots
        Folders that replace the study's own roots, by root name.

    Returns
    -------
    Inputs
        The runs of all rows without a fault; an input that is not there is an absent row.
    """
    read, faults = _read(study, roots or {})
    placed, more = _placed(study, read)
    runs = runs_dataset([run for _, _, run, _ in placed], study.max_depth, [family.role for *_, family in placed])
    screened = np.array([family.screened.takes(run.policy) for _, _, run, family in placed], dtype=bool)
    runs = runs.assign_coords(screened=(RUN, screened))
    accounts = tuple(_account(name, file) for name, file in sorted(read.items()))
    missing = {_named(family, entry) for family in study.families for entry in family.inputs} - set(read)
    return Inputs(
        runs=runs,
        files=accounts + tuple(FileAccount(name, False, "", 0, 0, 0, 0) for name in sorted(missing)),
        absent=_absent(study, read, runs),
        faults=tuple(faults + more),
    )


def _account(name: str, file: RecordFile) -> FileAccount:
    empty = sum(not run.request_rounds for _, run in file.runs)
    return FileAccount(name, True, file.sha256, file.rows, len(file.runs), file.other_phase, empty)


def usable_inputs(study: Study, roots: Mapping[str, Path] | None = None) -> Inputs:
    """Read a study's inputs and refuse them where any row has a fault.

    Raises
    ------
    InputError
        At least one fault: file, line, field, what was found and what would do, in one line.
    """
    inputs = read_inputs(study, roots)
    if faults := faults_alone(inputs.faults):
        raise InputError(first_of(faults))
    if not inputs.runs.sizes[RUN]:
        where = f"{len(inputs.absent)} listed inputs are not there or hold no usable run"
        raise InputError(f"{study.name}: {where}; --results-root DIR would say where the records lie")
    return inputs


def input_warnings(study: Study, inputs: Inputs) -> list[str]:
    """What a reader of the tables should know of the inputs."""
    said = [
        f"{family.suite}/{entry.cell}: {entry.warning}"
        for family in study.families
        for entry in family.inputs
        if entry.warning
    ]
    return said + _nothing_rejected(inputs) + [str(fault) for fault in warnings_alone(inputs.faults)]


def _nothing_rejected(inputs: Inputs) -> list[str]:
    """Dynamic runs that verified exactly what they accepted."""
    runs = inputs.runs
    accepted, rounds = runs["accepted"].values, runs["request_rounds"].values
    equal = (runs["verified"].values == accepted).all(axis=1) | (runs["verified_tokens"].values == accepted.sum(axis=1))
    found = (
        equal
        & (runs["policy"].values == DYNAMIC)
        & (rounds > 0)
        & (accepted.sum(axis=1) < rounds * runs["policy_depth"].values)
    )
    return [
        f"{cell}/{run}: no verified position was ever rejected; a log that counts accepted positions as verified looks just like "
        "this, and the masked tail is then overstated"
        for cell, run in zip(runs[CELL].values[found], runs["run_id"].values[found], strict=True)
    ]
