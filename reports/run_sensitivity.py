"""Sensitivity of the recommendations to each stated prior: the analysis again, a table, and what flips."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis.decision import Rule
from ..analysis.prior_variants import BASE, vary
from ..analysis.screen import screen
from ..data.inputs import usable_inputs
from ..data.study import Study, load_study
from ..data.words import Label
from ..models.priors import Priors
from ..models.sampling import Settings
from .markdown import escaped, table
from .numbers import NOTHING, as_json, percent
from .output import ready, write_whole

SENSITIVITY_JSON, SENSITIVITY_MD = "sensitivity.json", "SENSITIVITY.md"


def sensitivity_of_study(
    named: str, roots: Mapping[str, Path], out_dir: Path, settings: Mapping[str, Any], json_wanted: bool,
    tell: Callable[[str], None],
) -> str:  # fmt: skip
    """Decide again under other priors and write the table.

    Parameters
    ----------
    named, roots
        The study, and folders in place of its roots.
    out_dir
        Where `sensitivity.json` and `SENSITIVITY.md` go.
    settings
        `seed` (None: the study's), `draws`, `tune`, `chains`, `sampler`, `progress`.
    json_wanted
        Whether stdout gets the document.
    tell
        Called with a line of progress.

    Returns
    -------
    str
        What goes to stdout.

    Raises
    ------
    DraftdepthError
        Bad input, or a fit under the stated priors that has not converged.
    """
    study = load_study(named)
    runs, rule = usable_inputs(study, roots).runs, Rule.stated(study.decision)
    priors = Priors.stated(study.scheduler, study.priors)
    chosen = Settings.stated(settings, study.seed)
    ready(out_dir)
    rows = vary(study, screen(study, runs), runs, priors, chosen, rule, tell)
    document = {"schema": 1, "study": study.name, "synthetic": study.synthetic, "seed": chosen.seed,
                "label": Label.ESTIMATED.value, "units": {"p_best": "1", "p_gain": "1", "expected_loss": "tok/s"}, "rows": rows}  # fmt: skip
    write_whole(out_dir, {SENSITIVITY_JSON: as_json(document), SENSITIVITY_MD: sensitivity_page(study, rows)})
    if json_wanted:
        return as_json(document)
    lines = [f"  {line}" for line in flips(rows)] or ["  no variation changes a recommendation"]
    return "\n".join([f"{study.name}: what other priors change", *lines, f"results: {out_dir / SENSITIVITY_MD}", ""])


def _advice(depth: int) -> str:
    return f"depth {depth}" if depth else "keep"


def flips(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each variation that changes a recommendation or cannot be fitted."""
    stated = {row["cell"]: row["recommended"] for row in rows if row["variant"] == BASE}
    return [
        f"{row['cell']}: {row['variant']}: has not converged"
        if "fault" in row
        else f"{row['cell']}: {row['variant']}: {_advice(row['recommended'])} in place of {_advice(stated[row['cell']])}"
        for row in rows
        if "fault" in row or row["flips"]
    ]


def sensitivity_page(study: Study, rows: Sequence[Mapping[str, Any]]) -> str:
    """The whole of `SENSITIVITY.md`."""
    text = [
        f"# What other priors change: {escaped(study.name)}{' (SYNTHETIC)' if study.synthetic else ''}", "",
        "Each line is the whole analysis under one other prior, ESTIMATED. *Likeliest* is the candidate with the largest P(best) "
        "under the stated priors; its chances and expected loss are given under each variation.", "", "## What flips", "",
        *([f"- {escaped(line)}" for line in flips(rows)] or ["No variation changes a recommendation."]), "",
    ]  # fmt: skip
    head = ["prior", "rule says", "likeliest", "P(best)", "P(gain > 0)", "expected loss, tok/s"]
    for cell in dict.fromkeys(row["cell"] for row in rows):
        lines = []
        for row in rows:
            if row["cell"] != cell:
                continue
            if "fault" in row:
                lines.append([escaped(row["variant"]), "has not converged", *[NOTHING] * 4])
                continue
            advice = _advice(row["recommended"])
            gain = NOTHING if row["p_gain"] is None else percent(row["p_gain"])
            at = f"depth {row['likeliest']}" if row["likeliest"].isdigit() else row["likeliest"]
            lines.append([
                escaped(row["variant"]), f"**{advice}**" if row["flips"] else advice, at, percent(row["p_best"]), gain,
                f"{row['expected_loss']:.2f}",
            ])  # fmt: skip
        text += [f"## {escaped(cell)}", "", table(head, lines), ""]
    return "\n".join(text).rstrip("\n") + "\n"
