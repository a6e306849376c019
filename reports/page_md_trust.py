"""The part of `REPORT.md` that says whether it can be trusted and where it comes from."""

from collections.abc import Mapping, Sequence
from typing import Any

from .markdown import escaped, table

type View = Mapping[str, Any]


def _between(found: View) -> list[str]:
    return [str(found["observed"]), f"{found['low']} to {found['high']}", str(found["place"])]


def _checks(checks: View) -> str:
    """Repetitions, spread between runs, and sensitivity to priors."""
    if not checks:
        return ""
    parts = [
        "### Does the model repeat what was recorded\n\nA tenth of the runs is expected outside the 90 % of their "
        "repetitions.\n\n"
    ]
    for group in checks["workers"]:
        rows = [[f"position {row['position']}", str(row["outside"]), str(row["runs"])] for row in group["positions"]]
        rows += [[words, str(group[key]["outside"]), str(group[key]["runs"])]
                 for key, words in (("length", "accepted length"), ("step", "step time"))]  # fmt: skip
        parts.append(f"{escaped(group['worker'])}:\n\n" + table(["check", "runs outside", "of"], rows) + "\n")
        if group["spread"]:
            head = ["cell", "policy", "runs", "spread between runs", "90 % of repetitions", "repetitions below"]
            parts.append(
                table(head, [[escaped(row["cell"]), row["policy"], str(row["runs"]), *_between(row["length"])]
                             for row in group["spread"]]) + "\n"
            )  # fmt: skip
    found = checks["sensitivity"]
    parts.append(
        "### Which priors the answer leans on\n\nPower-scaling; above 0.05 the prior informs the answer.\n\n"
        + table(["cell", *found["priors"]],
                [[escaped(row["cell"]), *map(str, row["values"])] for row in found["rows"]])
        + "\n"
    )  # fmt: skip
    return "".join(parts)


def _left_out(groups: Sequence[View]) -> str:
    """Each run predicted from all others; empty where that was not asked for."""
    if not groups:
        return ""
    parts = [
        "### Is each run predicted by the others\n\nAccepted length of each run beside what a fit of all other runs predicts "
        "for it: a tenth is expected outside the 90 %. Importance sampling does it where its Pareto k is at most 0.7; "
        "elsewhere the fit was made again without the run. Step times stay in.\n\n"
    ]
    head = ["run", "accepted length (MEASURED)", "90 % predicted from the others", "predictions below", "outside",
            "log probability of its counts", "Pareto k", "fitted again (diverged steps)"]  # fmt: skip
    for group in groups:
        rows = [
            [escaped(row["name"]), *_between(row["length"]), "yes" if row["outside"] else "no", str(row["elpd"]),
             str(row["pareto_k"]), f"yes ({row['diverged']})" if row["refitted"] else "no"]
            for row in group["runs"]
        ]  # fmt: skip
        parts.append(f"{escaped(group['worker'])}:\n\n" + table(head, rows) + "\n")
    return "".join(parts)


def trust_md(view: View) -> str:
    """Can it be trusted."""
    trust = view["trust"]
    parts = [
        "## Can it be trusted\n\n",
        f"Scheduler declared: {escaped(trust['scheduler'])}. {escaped(trust['scheduler_reason'])}\n\n",
        "".join(f"- Warning: {escaped(said)}\n" for said in trust["warnings"]),
        "\n" if trust["warnings"] else "",
        _checks(trust["checks"]),
        _left_out(trust["left_out"]),
        "Worst diagnostics of everything reported (R-hat below 1.01, ESS above 400, no divergences, or no number):\n\n",
        table(["worker", "diagnostic", "value"],
              [[escaped(row["group"]), row["name"].replace("_", " "), str(row["value"])] for row in trust["diagnostics"]]),
        "\n### Assumptions\n\n",
        table(["assumption", "central", "low", "high", "label", "reason"],
              [[row["name"], str(row["central"]), str(row["low"]), str(row["high"]), row["label"], escaped(row["reason"])]
               for row in trust["ranges"]]),
        "\n### Priors (ASSUMED)\n\n",
        table(["prior", "value"], [[row["name"].replace("_", " "), str(row["value"])] for row in trust["priors"]]),
    ]  # fmt: skip
    return "".join(parts)


def source_md(view: View) -> str:
    """Where it comes from."""
    trust = view["trust"]
    rows = [
        [escaped(file["name"]), *(str(file[key]) for key in ("rows", "runs", "other_phase", "empty_runs")),
         f"`{file['sha256']}`"] if file["present"] else [escaped(file["name"]), *["–"] * 4, "absent"]
        for file in trust["files"]
    ]  # fmt: skip
    return (
        "\n## Where it comes from\n\n"
        + table(["file", "rows", "runs", "left out: other phase", "runs of zero rounds", "SHA-256"], rows)
        + f"\nStudy `{trust['study_sha256']}`. Result `{view['content']}`.\n\nSettings: "
        + ", ".join(f"{key} {escaped(value)}" for key, value in trust["settings"])
        + ". Versions: "
        + ", ".join(f"{key} {escaped(value)}" for key, value in trust["versions"])
        + ".\n\n### Methods\n\n"
        + "".join(f"- {entry}\n" for entry in trust["methods"])
    )
