"""Study files and their inputs: faults are all told, and nothing outside the named roots is read."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from draftdepth.data.errors import InputError, MissingInputError
from draftdepth.data.inputs import input_warnings, read_inputs, usable_inputs
from draftdepth.data.study import load_study, study_faults

from .builders import record, write_lines, write_study


def _changed(folder: Path, old: str, new: str) -> list[str]:
    path = write_study(folder, {"c": 3}, [record()]) / "study.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return [str(fault) for fault in study_faults(str(path))[1]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_depth = 5", "max_depth = 0", "max_depth: found 0"),
        ("max_depth = 5", "max_depth = 4", "cost.config_ms.values: found a list of 6; 5 times"),
        ("[6, 7]", "[5]", "unsupported_depths"),
        ("28.79", '"x"', "cost.config_ms.values"),
        ('"1" = 2.0275', '"one" = 2.0275', "cost.remote_ms.values.key"),
        ("central = 0.75", "central = 1.5", "ranges.overlap.central: found 1.5"),
        ("central = 0.75", "central = 1" + 400 * "0", "ranges.overlap.central: found"),
        ("central = 0.75", "central = nan", "ranges.overlap.central: found"),
        ("central = 0.3, low = 0.0", "central = 0.3, low = 0.4", "ranges.overhead_ms.central: found 0.3"),
        ('kind = "unknown"', 'kind = "clever"', "scheduler.kind: found a text of 6"),
        ('role = "primary"', 'role = "main"', "family[1].role"),
        ('"all.jsonl"', '"../../etc/passwd"', "a path that leaves its root"),
        ('"all.jsonl"', '"/etc/passwd"', "a path that leaves its root"),
        ('results = "runs"', 'results = "../runs"', "a path that leaves the study"),
        ("seed = 1", "seed = 1\nsead = 2", "sead: found an entry that no study has"),
        ("seed = 1", "seed = true", "seed: found true"),
        ("synthetic = true", "synthetic = 1", "synthetic: found 1"),
        ('cell = "c", batch = 3', 'cell = "c", batch = 0', "family[1].input[1].batch"),
        ("schema = 1", "schema = 1 1", "something that is not TOML"),
    ],
)
def test_a_fault_of_a_study_file_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    faults = _changed(tmp_path, old, new)
    assert any(said in fault for fault in faults), faults


def test_all_faults_of_a_study_are_told_at_once(tmp_path: Path) -> None:
    faults = _changed(tmp_path, "seed = 1", 'seed = -1\nname = ""\n'.replace('name = ""\n', "extra = 1"))
    assert len(faults) == 2


def test_the_first_fault_is_the_error_and_the_rest_is_counted(tmp_path: Path) -> None:
    _changed(tmp_path, "seed = 1", "seed = -1\nextra = 1")
    with pytest.raises(InputError, match=r"study.toml: seed: found -1.*and 1 more fault"):
        load_study(str(tmp_path))


def test_an_unknown_study_names_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"no study is called 'gx1'.*gx10, sp2"):
        load_study("gx1")


@pytest.mark.parametrize(
    ("change", "field"),
    [({"suite": "T"}, "suite"), ({"cell": "d"}, "cell"), ({"worker": "v"}, "worker"), ({"batch": 2}, "batch")],
)
def test_a_row_at_odds_with_the_study_is_refused(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    study = load_study(str(write_study(tmp_path, {"c": 3}, [record() | change])))
    with pytest.raises(InputError, match=rf"results/all.jsonl:1: {field}: "):
        usable_inputs(study)


def test_a_missing_file_is_an_absent_row_and_an_empty_study_is_refused(tmp_path: Path) -> None:
    study = load_study(str(write_study(tmp_path, {"c": 3, "d": 2}, [record()])))
    inputs = usable_inputs(study)
    assert [(row.cell, row.reason) for row in inputs.absent] == [("d", "the file holds no usable run of this cell")]
    (tmp_path / "runs" / "all.jsonl").unlink()
    assert {row.reason for row in read_inputs(study).absent} == {"the file is not there"}
    with pytest.raises(InputError, match="--results-root"):
        usable_inputs(study)


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    study = load_study(str(write_study(tmp_path / "study", {"c": 3}, [record()])))
    outside = write_lines(tmp_path / "outside.jsonl", [record()])
    inside = tmp_path / "study" / "runs" / "all.jsonl"
    inside.unlink()
    inside.symlink_to(outside)
    with pytest.raises(InputError, match="a link that leaves its root"):
        usable_inputs(study)


def test_roots_can_be_replaced_and_gzip_is_read(tmp_path: Path) -> None:
    study = load_study(str(write_study(tmp_path / "study", {"c": 3}, [record()])))
    plain = write_lines(tmp_path / "other" / "all.jsonl", [record(request_rounds=1500)])
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    assert usable_inputs(study, {"results": tmp_path / "other"}).runs["request_rounds"].values == [1500]


def test_copies_are_a_warning_of_the_study(tmp_path: Path) -> None:
    study = load_study(str(write_study(tmp_path, {"c": 3}, [record(), record(run="r2")])))
    (warning,) = input_warnings(study, usable_inputs(study))
    assert "a copy is not new evidence" in warning


def test_a_record_file_that_leads_to_itself_is_one_fault(tmp_path: Path) -> None:
    write_study(tmp_path, {"c": 3}, [record()])
    path = tmp_path / "runs" / "all.jsonl"
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(InputError, match="a path that leads nowhere"):
        usable_inputs(load_study(str(tmp_path)))
