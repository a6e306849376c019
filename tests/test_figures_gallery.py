"""The gallery of figures is of today's studies and today's drawing code, and the test notices when it is not."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import draftdepth.reports.figure_gallery as gallery
import pytest
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study


@pytest.fixture(scope="module")
def studies() -> Mapping[str, tuple[str, dict[str, str]]]:
    found = {}
    for name in gallery.SHOWN:
        study = load_study(name)
        inputs = usable_inputs(study)
        found[name] = (study.sha256, {file.name: file.sha256 for file in inputs.files if file.present})
    return found


def test_the_gallery_is_fresh(studies: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    """Where it is not: `make gallery`."""
    assert gallery.stale(gallery.FOLDER, studies) == []


def test_the_gallery_holds_three_figures_of_each_shown_cell_and_nothing_else() -> None:
    held = {path.name for path in gallery.FOLDER.iterdir()} - {gallery.MANIFEST}
    told = json.loads((gallery.FOLDER / gallery.MANIFEST).read_text(encoding="utf-8"))["studies"]
    assert held == {name for study in told.values() for name in study["figures"]}
    assert len(held) == 3 * sum(len(cells) for cells in gallery.SHOWN.values())


def test_figures_of_reconstructed_records_say_so() -> None:
    for path in gallery.FOLDER.glob("*.svg"):
        assert ("SYNTHETIC" in path.read_text(encoding="utf-8")) == path.name.startswith("sp2")


def test_a_changed_study_an_edited_figure_and_changed_code_are_noticed(
    studies: Mapping[str, tuple[str, dict[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gallery"
    shutil.copytree(gallery.FOLDER, folder)
    changed = {**studies, "sp2": ("0" * 64, studies["sp2"][1])}
    assert gallery.stale(folder, changed) == ["sp2 has changed"]
    inputs = dict(studies["gx10"][1])
    inputs[next(iter(inputs))] = "1" * 64
    assert gallery.stale(folder, {**studies, "gx10": (studies["gx10"][0], inputs)}) == ["gx10 has changed"]
    edited = next(folder.glob("*.svg"))
    edited.write_text(edited.read_text(encoding="utf-8").replace("depth", "Depth"), encoding="utf-8")
    assert gallery.stale(folder, studies) == [f"{edited.name} is not what was made"]
    monkeypatch.setattr(gallery, "CODE", gallery.CODE[:-1])
    assert "what draws has changed" in gallery.stale(folder, studies)
