"""The command as a user meets it: exit codes, files whole or untouched, one line for an error, and no text leaked."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .builders import record, write_lines, write_study
from .called import run


def study(folder: Path, *rows: dict[str, Any]) -> Path:
    return write_study(folder / "study", {"c": 3}, list(rows) or [record()])


def test_a_screen_writes_both_files_and_says_where(tmp_path: Path) -> None:
    result = run("screen", study(tmp_path), "--out-dir", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "S/c  depth 3" in result.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["TABLES.md", "screen.json"]


def test_json_on_stdout_is_the_file(tmp_path: Path) -> None:
    result = run("screen", study(tmp_path), "--out-dir", tmp_path / "out", "--json")
    assert result.stdout == (tmp_path / "out" / "screen.json").read_text()


def test_outputs_are_the_same_bytes_from_another_folder_and_process(tmp_path: Path) -> None:
    first = study(tmp_path)
    second = study(tmp_path / "elsewhere")
    run("screen", first, "--out-dir", tmp_path / "1")
    words = [sys.executable, "-m", "draftdepth", "screen", str(second), "--out-dir", str(tmp_path / "2")]
    subprocess.run(words, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "77"})
    for name in ("screen.json", "TABLES.md"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def _figures(value: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        here = [(path, value)] if "value" in value else []
        return here + [pair for key, entry in value.items() for pair in _figures(entry, f"{path}.{key}")]
    if isinstance(value, list):
        return [pair for entry in value for pair in _figures(entry, path)]
    return []


def test_every_figure_is_labelled_and_unsupported_depths_have_a_reason(tmp_path: Path) -> None:
    document = json.loads(run("screen", study(tmp_path), "--out-dir", tmp_path / "out", "--json").stdout)
    figures = _figures(document)
    assert len(figures) > 60
    assert all({"label", "unit"} <= set(figure) for _, figure in figures)
    assert [(row["depth"], row["label"]) for row in document["unsupported"]] == [(6, "UNSUPPORTED"), (7, "UNSUPPORTED")]
    assert all(row["reason"] and "value" not in row for row in document["unsupported"])


def test_bad_input_is_one_line_and_exit_2_and_the_old_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("screen", study(tmp_path), "--out-dir", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    result = run("screen", study(tmp_path, record(batch=0)), "--out-dir", out)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("draftdepth: results/all.jsonl:1: batch: found 0; ")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_failure_while_writing_leaves_the_old_files_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run("screen", study(tmp_path), "--out-dir", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    calls = iter([None, OSError(28, "No space left on device")])

    def full(descriptor: int) -> None:
        if (error := next(calls)) is not None:
            raise error

    monkeypatch.setattr(os, "fsync", full)
    result = run("screen", study(tmp_path, record(request_rounds=2000)), "--out-dir", out)
    assert (result.exit_code, "No space left" in result.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    result = run("screen", study(tmp_path), "--out-dir", tmp_path / "out" / "below")
    assert result.exit_code == 2
    assert (tmp_path / "out").read_text() == "mine"


def test_check_tells_all_faults_and_exit_2(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [record(batch=0), record(run="r2", request_rounds=-1)])
    result = run("check", path)
    assert result.exit_code == 2
    assert f"fault: {path}:1: batch: " in result.stdout
    assert f"fault: {path}:2: request_rounds: " in result.stdout
    assert run("check", write_lines(tmp_path / "b.jsonl", [record()])).exit_code == 0
    assert not json.loads(run("check", path, "--json").stdout)["good"]


def test_check_takes_studies_and_depths(tmp_path: Path) -> None:
    assert run("check", study(tmp_path)).exit_code == 0
    deep = write_lines(tmp_path / "a.jsonl", [record(accepted_position=[5, 4, 3, 2, 0, 0, 0])])
    assert run("check", deep).exit_code == 0
    assert run("check", deep, "--max-depth", 5).exit_code == 2


def test_no_prompt_reaches_an_output_a_message_or_a_log(tmp_path: Path) -> None:
    secret = "the launch code is swordfish"
    good = record(prompt=secret, output={"text": [secret]}, comment=secret)
    good["requests"][0]["text"] = secret
    good["policy"]["note"] = secret
    result = run("screen", study(tmp_path, good), "--out-dir", tmp_path / "out")
    assert result.exit_code == 0
    written = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert "swordfish" not in written + result.output
    bad = [
        good | {field: secret}
        for field in ("batch", "policy", "phase", "request_rounds", "accepted_position", "requests")
    ]
    bad += [
        good | {"verified_tokens": secret},
        good | {"accepted_by_verified": {secret: [1]}},
        good | {"schema": secret},
    ]
    for number, row in enumerate(bad):
        path = write_lines(tmp_path / f"{number}.jsonl", [row])
        assert "swordfish" not in run("check", path).output + run("check", path, "--json").output


def test_markup_in_names_is_taken_literally(tmp_path: Path) -> None:
    name = "<script>|*x*"
    folder = write_study(tmp_path / "study", {name: 3}, [record(cell=name)])
    run("screen", folder, "--out-dir", tmp_path / "out")
    text = (tmp_path / "out" / "TABLES.md").read_text()
    assert "<script>" not in text
    assert "&#60;script&#62;&#124;\\*x\\*" in text


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom draftdepth.reports.command import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numpy', 'xarray', 'pymc', 'nutpie', 'scipy', 'rich') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.endswith("[]\n")
