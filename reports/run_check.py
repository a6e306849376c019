"""Checks of record files and studies: everything that is wrong, said line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..data.faults import FAULT, Fault, faults_alone
from ..data.inputs import read_inputs
from ..data.jsonl import read_record_file
from ..data.records import DEEPEST_RECORD
from ..data.study import STUDY_FILE, embedded_studies, study_faults
from ..data.words import RUN
from .numbers import as_json


def _is_study(path: str) -> bool:
    if Path(path).is_file():
        return Path(path).name == STUDY_FILE
    return (Path(path) / STUDY_FILE).is_file() or path in embedded_studies()


def _check_study(path: str, roots: Mapping[str, Path]) -> tuple[list[Fault], str]:
    study, faults = study_faults(path)
    if study is None or faults:
        return faults, f"{path}: the study file is not usable"
    inputs = read_inputs(study, roots)
    absent = len(inputs.absent)
    return list(
        inputs.faults
    ), f"{path}: {inputs.runs.sizes[RUN]} runs in {len(inputs.files)} files, {absent} inputs absent"


def _check_file(path: str, max_depth: int) -> tuple[list[Fault], str]:
    read = read_record_file(Path(path), max_depth=max_depth)
    left_out = f", {read.other_phase} left out (other phase)" if read.other_phase else ""
    return read.faults, f"{path}: {len(read.runs)} of {read.rows} rows are usable runs{left_out}"


def check_paths(
    paths: Sequence[str], max_depth: int | None, roots: Mapping[str, Path], json_wanted: bool
) -> tuple[str, bool]:
    """Check each path.

    Parameters
    ----------
    paths
        Record files, study folders, `study.toml` files or names of embedded studies.
    max_depth
        The deepest position that a record file may hold; a study says its own.

    Returns
    -------
    text, good
        What goes to stdout, and whether there is no fault beyond warnings.
    """
    faults: list[Fault] = []
    accounts: list[str] = []
    for path in paths:
        found, account = (
            _check_study(path, roots) if _is_study(path) else _check_file(path, max_depth or DEEPEST_RECORD)
        )
        faults += found
        accounts.append(account)
    good = not faults_alone(faults)
    if json_wanted:
        return as_json({"good": good, "files": accounts, "faults": [asdict(fault) for fault in faults]}), good
    lines = [f"{'fault' if fault.severity == FAULT else 'warning'}: {fault}" for fault in faults]
    return "".join(f"{line}\n" for line in [*lines, *accounts]), good
