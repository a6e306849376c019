"""The screen of a study, from its name to files and a summary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..analysis.arms import measured_arms
from ..analysis.screen import screen
from ..data.inputs import usable_inputs
from ..data.study import load_study
from .numbers import NOTHING, as_json, one_decimal, percent, percent_span, span
from .output import write_whole
from .screen_json import screen_document
from .tables import tables

SCREEN_JSON, TABLES_MD = "screen.json", "TABLES.md"


def screen_study(named: str, roots: Mapping[str, Path], out_dir: Path, json_wanted: bool) -> str:
    """Screen a study and write `screen.json` and `TABLES.md`.

    Returns
    -------
    str
        What goes to stdout: the document as JSON, or a summary that ends with where the files lie.

    Raises
    ------
    DraftdepthError
        The study or its inputs cannot be used, or the folder cannot be written; nothing is half-written then.
    """
    study = load_study(named)
    inputs = usable_inputs(study, roots)
    screened = screen(study, inputs.runs)
    document = screen_document(study, inputs, screened, measured_arms(inputs.runs, screened))
    text = as_json(document)
    write_whole(out_dir, {SCREEN_JSON: text, TABLES_MD: tables(document)})
    return text if json_wanted else summary(document, out_dir)


def _line(cell: Mapping[str, Any], width: int) -> str:
    favoured = cell["favoured_depth"]["value"]
    name = cell["cell"].ljust(width)
    if not favoured:
        return f"  {name}  no rate: {cell['no_rate_reason']}\n"
    at = next(row for row in cell["depths"] if row["depth"] == favoured)
    hypothetical = "  HYPOTHETICAL" if cell["hypothetical"] else ""
    return (
        f"  {name}  depth {favoured}: {one_decimal(at['rate']['value'])} tok/s, "
        f"envelope {span(*at['rate_envelope']['value'])}; gain against the cap {percent(at['gain']['value'], True)}, "
        f"{percent_span(*at['gain_envelope']['value'])}{hypothetical}\n"
    )


def summary(document: Mapping[str, Any], out_dir: Path) -> str:
    """A few lines for a terminal."""
    study, cells = document["study"], document["cells"]
    width = max((len(cell["cell"]) for cell in cells), default=0)
    mark = " (SYNTHETIC records)" if study["synthetic"] else ""
    absent = document["absent"]
    missing = f"  {len(absent)} listed inputs gave no row: {NOTHING} in the tables\n" if absent else ""
    warned = f"  {len(document['warnings'])} warnings, listed in {TABLES_MD}\n" if document["warnings"] else ""
    return (
        f"{study['name']}{mark}: favoured depths of the screen, all ESTIMATED\n"
        + "".join(_line(cell, width) for cell in cells)
        + missing
        + warned
        + f"results: {out_dir / TABLES_MD} and {out_dir / SCREEN_JSON}\n"
    )
