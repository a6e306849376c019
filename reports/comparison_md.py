"""`COMPARISON.md`: the posterior beside the screen, for people; made from the same document as `comparison.json`."""

from collections.abc import Mapping
from typing import Any

from ..analysis.rates import FIXED_DEPTH, INTEGRATED, PROXY
from ..data.words import FIXED, Label
from .markdown import escaped, known, table
from .numbers import NOTHING, chance, one_decimal, percent, percent_span, span
from .page_words import GLOSSARY, READING, policy_mark, words_md

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
        "## How to read this",
        "",
        "Rates and losses are tok/s over the whole batch, ESTIMATED under the stated assumption priors, as median [50 % interval] (90 % "
        "interval). A fixed depth stands on an ASSUMED exposure and masked tail wherever the evidence is below L4.",
        "",
        words_md(READING) + words_md(GLOSSARY),
    ]
    return "\n".join(lines) + "\n"


def _cell(cell: Document, unsupported: list[Document]) -> str:
    policy = cell["policy"]
    current = cell["current"]
    head = [
        "depth", "screen", "envelope", "worst-case bounds", "proxy", "fixed depth", "fixed depth inside envelope",
        "fixed-depth gain against current", "against cap", "P(best)", "P(gain > 0)", "> 3 %", "> 5 %", "expected loss, tok/s",
        "tokens: contraction", "label",
    ]  # fmt: skip
    rows = []
    for row in cell["depths"]:
        fixed, proxy = row[FIXED_DEPTH]["scenarios"][INTEGRATED], row[PROXY]["scenarios"][INTEGRATED]
        ruled = row.get("decision")
        chances = (
            [chance(ruled[k]) for k in ("p_best", "p_gain", "p_gain_claimed", "p_gain_claimed_high")]
            if ruled
            else [NOTHING] * 4
        )
        rows.append(
            [
                f"{row['depth']}{policy_mark(row['depth'], policy)}",
                one_decimal(known(row["screen_rate"])),
                span(*map(known, row["screen_envelope"])),
                span(*map(known, row["worst_case_bound"])),
                _intervals(proxy["rate"]),
                _intervals(fixed["rate"]),
                chance(known(fixed["inside_envelope"])),
                _gains(fixed["gain_current"]),
                _gains(fixed["gain_cap"]),
                *chances,
                f"{known(ruled['expected_loss']):.2f}" if ruled else NOTHING,
                chance(known(row[FIXED_DEPTH]["contraction"])),
                _labels(row),
            ]
        )
    rows += [[str(row["depth"]), *[NOTHING] * 14, f"{row['label']}: {row['reason']}"] for row in unsupported]
    corner = _corners(cell)
    return (
        f"### {escaped(cell['cell'])}\n\n{escaped(cell['sentence'])}\n\n"
        f"Current policy ({policy['kind']} {policy['cap']}, evidence {cell['level']}): "
        f"{_intervals(current['measured_time'])} tok/s; {_best_of(policy, current)}expected loss "
        f"{known(current['expected_loss']):.2f} tok/s.\n\n{table(head, rows)}\n{corner}\n"
    )


def _best_of(policy: Document, current: Document) -> str:
    """The current policy's own chance; that of a fixed depth stands in the row of its depth."""
    return "" if policy["kind"] == FIXED else f"P(best) {chance(known(current['p_best']))}, "


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
