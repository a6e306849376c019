"""The gallery: rendered figures of both embedded studies for the documents, and a manifest that tells when they are stale."""

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from ..data.errors import InputError
from .figure_svg import stacked
from .numbers import as_json
from .output import Content, write_whole
from .page_figures import pictures
from .page_stored import Stored
from .page_view import page_view

HERE = Path(__file__).parent
FOLDER = HERE / "gallery"
MANIFEST = "manifest.json"
SHOWN: Mapping[str, tuple[str, ...]] = {
    "sp2": ("W5-E1p/c32x4", "W5-E1p/c150"),
    "gx10": ("canonical-nvfp4/c4", "canonical-threshold-040/c1"),
}
"""The cells that the documents show."""

CODE = (
    "figure_gain.py",
    "figure_parts.py",
    "figure_rate.py",
    "figure_style.py",
    "figure_survival.py",
    "figure_svg.py",
    "numbers.py",
    "page_figures.py",
)


def code_sha256() -> str:
    """SHA-256 over the rooms that draw."""
    digest = hashlib.sha256()
    for name in CODE:
        digest.update(name.encode() + b"\0" + (HERE / name).read_bytes())
    return digest.hexdigest()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def study_figures(tree: xr.DataTree) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Figures of a study's shown cells, and what they were made from.

    Returns
    -------
    tuple
        The study's name; SVG by file name; hashes of the study, its inputs and each figure.

    Raises
    ------
    InputError
        The result is of no embedded study, or has not the cells that the gallery shows.
    """
    stored = Stored(tree)
    provenance = stored.documents["provenance"]
    study = str(provenance["study"])
    cells = {cell["name"]: cell for cell in page_view(stored)["cells"]}
    absent = [name for name in SHOWN.get(study, ("",)) if name not in cells]
    if absent:
        raise InputError(f"{study}: found a result without the gallery's cells; one of {', '.join(SHOWN)} would do")
    files = {
        f"{study}-{re.sub(r'[^A-Za-z0-9]+', '-', name)}-{picture.kind}.svg": stacked(picture.svg, picture.legend)
        for name in SHOWN[study]
        for picture in pictures(cells[name])
    }
    told = {
        "study_sha256": provenance["study_sha256"],
        "inputs": provenance["inputs"],
        "result": stored.content,
        "figures": {name: _sha256(text) for name, text in files.items()},
    }
    return study, files, told


def gallery_files(trees: list[xr.DataTree]) -> dict[str, Content]:
    """All figures and the manifest, by name."""
    files: dict[str, Content] = {}
    studies = {}
    for tree in trees:
        study, figures, studies[study] = study_figures(tree)
        files |= figures
    return files | {MANIFEST: as_json({"code_sha256": code_sha256(), "studies": studies})}


def stale(folder: Path, studies: Mapping[str, tuple[str, Mapping[str, str]]]) -> list[str]:
    """Why the gallery has to be made again; empty where it need not.

    Parameters
    ----------
    folder
        Of the gallery.
    studies
        SHA-256 of each study, and of its inputs by name, as they are now.
    """
    told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    why = [] if told["code_sha256"] == code_sha256() else ["what draws has changed"]
    for name, (sha256, inputs) in studies.items():
        held = told["studies"].get(name)
        if held is None:
            why.append(f"{name} is missing")
            continue
        if (held["study_sha256"], held["inputs"]) != (sha256, dict(inputs)):
            why.append(f"{name} has changed")
        for figure, expected in held["figures"].items():
            path = folder / figure
            if not path.is_file() or _sha256(path.read_text(encoding="utf-8")) != expected:
                why.append(f"{figure} is not what was made")
    return why


if __name__ == "__main__":
    write_whole(FOLDER, gallery_files([xr.load_datatree(path, engine="h5netcdf") for path in sys.argv[1:]]))
