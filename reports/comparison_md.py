"""`COMPARISON.md`: the posterior beside the screen, for people; made from the same document as `comparison.json`."""

from collections.abc import Mapping
from typing import Any

from ..analysis.rates import FIXED_DEPTH, INTEGRATED, PROXY
from ..data.words import Label
from .markdown import escaped, known, table
from .numbers import NOTHING, one_decimal, percent, percent_span, span

type Document = Mapping[str, Any]


def _intervals(interval: Document) -> str:
    """Median, 50 % and 90 % interval."""
    at = {name: known(value) for name, value in interval.items()}
    return f"{one_decimal(at['p50'])} [{span(at['p25'], at['p75'])}] ({span(at['p05'], at['p95'])})"


def _gains(interval: Document) -> str:
    return f"{percent(known(interval['p50']), True)} ({percent_span(known(interval['p05']), known(interval['p95']))})"


def _head(document: Document) -> str:
    study = document["study"]
    mark = " (SYNTHETIC)" if study["synthetic"] else ""
    lines = [f"# Posterior beside the screen: {escaped(study['name'])}{mark}", ""]
    if study["synthetic"]:
        lines += ["**SYNTHETIC: these run records were made up; no interval here speaks of a real server.**", ""]
    lines += ["## What to do", ""]
    lines += [f"- {escaped(cell['sentence'])}" for cell in document["cells"]]
    lines += [
        "",
        "Rates are aggregate tok/s, ESTIMATED. *Envelope* is the screen's range over hand-made assumptions: no interval. "
        "*Bounds* are worst cases on the recorded rounds at the screen's one central price of a row: they bound tokens, not "
        "prices; another price, sampling error and the move to another depth stand outside. Posterior: median [50 % interval] (90 % interval) "
        "under the stated assumption priors. `proxy` is the screen's own truncated quantity; `fixed depth` verifies all "
        "positions in every round and stands on an ASSUMED exposure and masked tail wherever the evidence is below L4. "
        "EXTRAPOLATED: no run of the cell could verify that depth. "
        "Contraction: by how much the counters narrowed the tokens a round against the prior; 0 % says that only the "
        "prior speaks.",
        "",
    ]
    return "\n".join(lines) + "\n"


def _cell(cell: Document, unsupported: list[Document]) -> str:
    policy = cell["policy"]
    current = cell["current"]
    head = [
        "depth", "screen", "envelope", "worst-case bounds", "proxy", "fixed depth", "fixed depth inside envelope",
        "fixed-depth gain against current", "against cap", "P(best)", "P(gain > 0)", "> 3 %", "> 5 %", "expected loss",
        "tokens: contraction", "label",
    ]  # fmt: skip
    rows = []
    for row in cell["depths"]:
        fixed, proxy = row[FIXED_DEPTH]["scenarios"][INTEGRATED], row[PROXY]["scenarios"][INTEGRATED]
        ruled = row.get("decision")
        chances = (
            [percent(ruled[k]) for k in ("p_best", "p_gain", "p_gain_claimed", "p_gain_claimed_high")]
            if ruled
            else [NOTHING] * 4
        )
        rows.append(
            [
                str(row["depth"]) + (" (cap)" if row["depth"] == policy["cap"] else ""),
                one_decimal(known(row["screen_rate"])),
                span(*map(known, row["screen_envelope"])),
                span(*map(known, row["worst_case_bound"])),
                _intervals(proxy["rate"]),
                _intervals(fixed["rate"]),
                percent(known(fixed["inside_envelope"])),
                _gains(fixed["gain_current"]),
                _gains(fixed["gain_cap"]),
                *chances,
                f"{known(ruled['expected_loss']):.2f}" if ruled else NOTHING,
                percent(known(row[FIXED_DEPTH]["contraction"])),
                _labels(row),
            ]
        )
    rows += [[str(row["depth"]), *[NOTHING] * 14, f"{row['label']}: {row['reason']}"] for row in unsupported]
    corner = _corners(cell)
    return (
        f"### {escaped(cell['cell'])}\n\n{escaped(cell['sentence'])}\n\n"
        f"Current policy ({policy['kind']} {policy['cap']}, evidence {cell['level']}): "
        f"{_intervals(current['measured_time'])} tok/s; P(best) {percent(known(current['p_best']))}, expected loss "
        f"{known(current['expected_loss']):.2f} tok/s.\n\n{table(head, rows)}\n{corner}\n"
    )


def _labels(row: Document) -> str:
    """A row's label, and what of it is assumed."""
    parts = [name for name in ("exposure", "tail") if row[f"{name}_label"] == Label.ASSUMED.value]
    return f"{row['label']}, {' and '.join(parts)} ASSUMED" if parts else str(row["label"])


def _corners(cell: Document) -> str:
    """Median fixed-depth gain against current inside each scenario."""
    depths = [row for row in cell["depths"] if row["depth"]]
    names = list(depths[0][FIXED_DEPTH]["scenarios"])
    head = ["median fixed-depth gain against current", *[f"depth {row['depth']}" for row in depths]]
    rows = [
        [
            name.replace("_", " "),
            *[percent(known(row[FIXED_DEPTH]["scenarios"][name]["gain_current"]["p50"]), True) for row in depths],
        ]
        for name in names
    ]
    return table(head, rows)


def _trust(document: Document) -> str:
    rows = [
        [group, name, f"{value:.6g}"]
        for group, found in sorted(document["diagnostics"].items())
        for name, value in sorted(found.items())
    ]
    priors = [[name, f"{value:g}"] for name, value in sorted(document["priors"].items())]
    scheduler = document["study"]
    return (
        "## Can it be trusted\n\n"
        f"Scheduler declared: {escaped(scheduler['scheduler'])}. {escaped(scheduler['scheduler_reason'])}\n\n"
        "Worst diagnostics of everything reported (limits: r-hat below 1.01, ESS above 400, no divergences):\n\n"
        + table(["group", "diagnostic", "value"], rows)
        + "\n## Priors (ASSUMED)\n\n"
        + table(["prior", "value"], priors)
        + "\nReasons stand beside each entry in `models/priors.py`.\n"
    )


def comparison_page(document: Document) -> str:
    """The whole of `COMPARISON.md`."""
    cells = "".join(_cell(cell, document["unsupported"]) for cell in document["cells"])
    return (_head(document) + "## Cells\n\n" + cells + _trust(document)).rstrip("\n") + "\n"


def summary_lines(document: Document) -> str:
    """The recommendations, a line each, for a terminal."""
    return "".join(f"  {cell['sentence']}\n" for cell in document["cells"])
