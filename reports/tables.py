"""`TABLES.md`: the screen as a person reads it, one decimal, made from the same document as `screen.json`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .markdown import escaped, known, table
from .numbers import NOTHING, one_decimal, percent, percent_span, share, span

type Document = Mapping[str, Any]


def _number(figure: Document) -> float:
    return known(figure["value"])


def _pair(figure: Document) -> tuple[float, float]:
    low, high = figure["value"]
    return known(low), known(high)


def _context(tokens: float | None) -> str:
    if tokens is None:
        return "unknown"
    return "short" if tokens == 0 else f"{tokens:.0f}"


def _head(document: Document) -> str:
    study = document["study"]
    title = f"# Screen of {escaped(study['name'])}"
    if study["synthetic"]:
        title += " (SYNTHETIC)"
    lines = [title, ""]
    if study["title"]:
        lines += [escaped(study["title"]), ""]
    if study["synthetic"]:
        lines += [
            "**SYNTHETIC: the run records of this study were made up; no figure here speaks of a real server.**",
            "",
        ]
    lines += [
        "Rates are ESTIMATED, in aggregate tok/s at steady decode. Rates and tokens a round are those of all requests of "
        "the batch together, the bonus token of each included. An envelope is the range over the enumerated assumptions: "
        "not an interval, not a bound. Bounds are worst cases of what masked positions may hide on the recorded rounds, at "
        "the central cost; sampling error and the move to another depth stand outside them.",
        "",
        "At row slope 0 the deepest depth that still accepts anything wins every time, so no table here says that "
        "shallower is better everywhere.",
        "",
    ]
    return "\n".join(lines) + "\n"


def _cells(document: Document) -> str:
    rows = []
    for cell in document["cells"]:
        favoured = cell["favoured_depth"]["value"]
        at = next((row for row in cell["depths"] if row["depth"] == favoured), None)
        name = escaped(cell["cell"]) + (" (HYPOTHETICAL)" if cell["hypothetical"] else "")
        policy = cell["policy"]
        rows.append(
            [
                name,
                escaped(cell["worker"]),
                str(cell["batch"]),
                _context(cell["context_tokens"]),
                f"{policy['kind']} {policy['cap']}",
                cell["level"],
                str(cell["runs"]),
                str(cell["rounds"]),
                f"{one_decimal(_number(cell['step']))} {cell['step_kind']}".strip(),
                one_decimal(_number(cell["reference_exposed"])),
                str(favoured or NOTHING),
                one_decimal(_number(at["rate"])) if at else NOTHING,
                span(*_pair(at["rate_envelope"])) if at else NOTHING,
                percent(_number(at["gain"]), True) if at else NOTHING,
                percent_span(*_pair(at["gain_envelope"])) if at else NOTHING,
            ]
        )
    rows += [
        [f"{escaped(row['suite'])}/{escaped(row['cell'])}", *[NOTHING] * 13, f"absent: {escaped(row['reason'])}"]
        for row in document["absent"]
    ]
    head = [
        "cell", "worker", "batch", "context", "policy", "evidence", "runs", "rounds", "step ms (MEASURED)", "e_ref ms",
        "favoured depth", "rate", "envelope", "gain against cap", "gain envelope",
    ]  # fmt: skip
    note = (
        "\nA HYPOTHETICAL row hangs the cost table on another worker's times: a sensitivity, never a prediction.\n"
        if any(cell["hypothetical"] for cell in document["cells"])
        else ""
    )
    return "## Favoured depths (ESTIMATED)\n\n" + table(head, rows) + note + "\n"


def _depths(document: Document) -> str:
    parts = ["## Every depth (ESTIMATED)\n"]
    head = [
        "depth", "tokens a round, whole batch", "rate", "envelope", "worst-case bounds", "gain against cap",
        "gain envelope", "label",
    ]  # fmt: skip
    for cell in document["cells"]:
        rows = [
            [
                f"{row['depth']}" + (" (cap)" if row["depth"] == cell["policy"]["cap"] else ""),
                f"{_number(row['tokens_per_round']):.3f}",
                one_decimal(_number(row["rate"])),
                span(*_pair(row["rate_envelope"])),
                span(*_pair(row["rate_bound"])),
                percent(_number(row["gain"]), True),
                percent_span(*_pair(row["gain_envelope"])),
                "ESTIMATED, beyond the cap: nothing was accepted because nothing was drafted"
                if row["beyond_cap"]
                else row["rate"]["label"],
            ]
            for row in cell["depths"]
        ]
        rows += [
            [str(row["depth"]), *[NOTHING] * 6, f"{row['label']}: {row['reason']}"] for row in document["unsupported"]
        ]
        reason = f"\nNo rate: {cell['no_rate_reason']}.\n" if cell["no_rate_reason"] else ""
        parts.append(f"### {escaped(cell['cell'])}\n\n{table(head, rows)}{reason}")
    return "\n".join(parts) + "\n"


def _survival(document: Document) -> str:
    rows = [
        [
            escaped(cell["cell"]),
            str(row["position"]),
            share(_number(row["survival"])),
            " to ".join(share(end) for end in _pair(row["fixed_depth_survival_bound"])),
            cell["level"],
        ]
        for cell in document["cells"]
        for row in cell["positions"]
    ]
    head = ["cell", "position", "accepted / rounds (MEASURED)", "fixed-depth survival, bounds (ESTIMATED)", "evidence"]
    return "## Prefix survival\n\n" + table(head, rows) + "\n"


def _arms(document: Document) -> str:
    arms = [arm for arm in document["arms"] if not arm["screened"]]
    if not arms:
        return ""
    head = [
        "cell", "policy", "runs", "tokens a round, whole batch (MEASURED)", "screen's tokens", "truncated minus measured",
        "step ms (MEASURED)", "rate (ESTIMATED from both)", "screen's rate", "screen's rate minus measured",
    ]  # fmt: skip

    def gap(ours: float, theirs: float) -> str:
        return percent(ours / theirs - 1, True)

    rows = []
    for arm in arms:
        tokens, said_tokens = _number(arm["tokens_per_round"]), _number(arm["screen_tokens_per_round"])
        rate, said = _number(arm["rate"]), _number(arm["screen_rate"])
        rows.append(
            [
                escaped(arm["cell"]),
                f"{arm['policy']['kind']} {arm['policy']['depth']}",
                str(arm["runs"]),
                f"{tokens:.3f}",
                f"{said_tokens:.3f}" if said_tokens == said_tokens else NOTHING,
                gap(said_tokens, tokens),
                one_decimal(_number(arm["step"])),
                one_decimal(rate),
                one_decimal(said),
                gap(said, rate),
            ]
        )
    intro = (
        "What other policies of the same cell were measured at, beside what the screen says of that depth from the "
        "screened runs alone: how far truncation and the cost table carry.\n\n"
    )
    return "## Measured arms\n\n" + intro + table(head, rows) + "\n"


def _files(document: Document) -> str:
    def row(file: Document) -> list[str]:
        if not file["present"]:
            return [escaped(file["name"]), NOTHING, NOTHING, NOTHING, NOTHING, "absent"]
        counts = [str(file[key]) for key in ("rows", "runs", "other_phase", "empty_runs")]
        return [escaped(file["name"]), *counts, f"`{file['sha256']}`"]

    head = ["file", "rows", "runs", "left out (other phase)", "runs of zero rounds", "SHA-256"]
    return "## Inputs\n\n" + table(head, [row(file) for file in document["files"]]) + "\n"


def _assumptions(document: Document) -> str:
    assumed = document["assumptions"]
    rows = [
        [
            name,
            f"{entry['central']:g}",
            f"{entry['low']:g} to {entry['high']:g}",
            entry["label"],
            escaped(entry["reason"]) or NOTHING,
        ]
        for name, entry in (
            ("overlap", assumed["overlap"]),
            ("overhead, ms", assumed["overhead_ms"]),
            ("row slope", assumed["row_slope"]),
        )
    ]
    config, remote = assumed["config"], assumed["remote"]
    rows.append(
        [
            "config times H, ms",
            ", ".join(f"{time:g}" for time in config["value"]),
            NOTHING,
            config["label"],
            escaped(config["reason"]) or NOTHING,
        ]
    )
    times = ", ".join(
        f"B{batch}: {time:g}" for batch, time in sorted(remote["value"].items(), key=lambda pair: int(pair[0]))
    )
    rows.append(
        [
            "remote times D, ms",
            times or "none: no remote worker",
            NOTHING,
            remote["label"] if times else NOTHING,
            escaped(remote["reason"]) or NOTHING,
        ]
    )
    return "## Assumptions\n\n" + table(["assumption", "central", "range", "label", "reason"], rows) + "\n"


def _warnings(document: Document) -> str:
    said: Iterable[str] = document["warnings"]
    listed = "".join(f"- {escaped(warning)}\n" for warning in said)
    return f"## Warnings\n\n{listed}\n" if listed else ""


PARTS: tuple[Callable[[Document], str], ...] = (
    _head,
    _cells,
    _arms,
    _depths,
    _survival,
    _assumptions,
    _warnings,
    _files,
)


def tables(document: Document) -> str:
    """The whole of `TABLES.md` from the screen's document."""
    return "".join(part(document) for part in PARTS).rstrip("\n") + "\n"
