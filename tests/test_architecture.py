"""ARCHITECTURE.md's rules: the floors, the packages, and words that are spelled once."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ["data", "models", "analysis", "reports"]
SOURCES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")) if "studies" not in path.parts]


def _reached(path: Path) -> list[str]:
    """Rooms below the root that a file imports, as dotted paths from the root."""
    package = path.relative_to(ROOT).parent.parts
    reached = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            reached.append(".".join([*base, *(node.module or "").split(".")]).strip("."))
    return reached


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_import_climbs(path: Path) -> None:
    floor = FLOORS.index(path.relative_to(ROOT).parts[0])
    climbing = [name for name in _reached(path) if name.split(".")[0] in FLOORS[floor + 1 :]]
    assert climbing == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_are_small_and_say_what_is_in_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert text.count("\n") <= 400
    assert path.stem not in {"utils", "helpers", "common"}


def test_the_sampler_is_called_in_one_place() -> None:
    callers = {
        path.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "sample"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"pm", "nutpie"}
    }
    assert len(callers) <= 1


def test_the_wheel_lists_every_package_of_the_tree() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(["draftdepth", *path.parent.relative_to(ROOT).parts]) for path in SOURCES if path.name == "__init__.py"
    }
    assert set(listed) == found | {"draftdepth"}


def test_the_top_level_holds_what_was_agreed() -> None:
    code = {path.name for path in ROOT.glob("*.py")}
    assert code == {"__init__.py", "__main__.py"}
    for room in [*FLOORS, "__init__.py", "py.typed"]:
        assert (ROOT / ".types" / "draftdepth" / room).resolve() == (ROOT / room).resolve()


def test_dim_names_are_spelled_on_the_ground_floor_alone() -> None:
    words = {"cell", "position", "depth", "run", "combination", "verified_depth", "accepted_length"}
    for path in SOURCES:
        if path.parent.name != "analysis" or path.stem == "reconstruction":  # that room writes records, not arrays
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                spelled = {key.value for key in node.keys if isinstance(key, ast.Constant)} & words
                assert not spelled, f"{path.name} spells {spelled}"
