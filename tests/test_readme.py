"""What the README shows to copy works as it stands there: the run record, the sidecar, the study and their commands."""

import json
import re
import tomllib
from pathlib import Path

from .called import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_a_copied_study_of_copied_records_is_usable_and_screened(tmp_path: Path) -> None:
    (row,) = (json.loads(block) for block in _blocks("json"))
    study = tmp_path / "my-study"
    (study / "runs").mkdir(parents=True)
    lines = [json.dumps(row | {"run": f"r{place}"}) for place in range(3)]
    (study / "runs" / "runs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (text,) = (block for block in _blocks("toml") if block.startswith("schema"))
    (study / "study.toml").write_text(text, encoding="utf-8")
    checked = run("check", study)
    assert checked.exit_code == 0, checked.output
    assert "3 runs in 1 files, 0 inputs absent" in checked.stdout
    screened = run("screen", study, "--out-dir", tmp_path / "out")
    assert screened.exit_code == 0, screened.output
    assert "my-prompts/b4" in (tmp_path / "out" / "TABLES.md").read_text(encoding="utf-8")


def test_commands_of_the_readme_are_commands_with_these_options() -> None:
    told = [line.partition("#")[0].split() for block in _blocks("sh") for line in block.splitlines()]
    told = [words[1:] for words in told if words[:1] == ["draftdepth"]]
    assert len(told) > 20
    for name, *words in told:
        shown = run(name, "--help").stdout
        assert f"{name} [OPTIONS]" in shown
        for word in words:
            if word.startswith("--"):
                assert re.search(rf"{word}\b", shown), (name, word)


def test_the_sidecar_holds_names_of_options_alone() -> None:
    (text,) = (block for block in _blocks("toml") if "server.toml" in block)
    options = run("convert", "--help").stdout
    for name in tomllib.loads(text):
        assert f"--{name.replace('_', '-')} " in options
