"""Can it be trusted, as the page shows it: positions, checks, diagnostics, priors, inputs, warnings, provenance."""

from typing import Any

from ..analysis.comparison import QUANTILES
from ..data.words import HIGH, LOW, Label
from .page_checks import checks_view, left_out_view
from .page_stored import Number, Stored

type View = dict[str, Any]


METHODS = (
    "Sampling: Hoffman and Gelman, The No-U-Turn Sampler, JMLR 15 (2014), as nutpie and PyMC run it.",
    "Convergence: Vehtari, Gelman, Simpson, Carpenter and Bürkner, Rank-normalization, folding, and localization: an "
    "improved R-hat, Bayesian Analysis 16 (2021).",
    "Value of information: Strong, Oakley and Brennan, Estimating multiparameter partial expected value of perfect "
    "information from a probabilistic sensitivity analysis sample, Medical Decision Making 34 (2014); cross-fitting: "
    "Chernozhukov and others, Double/debiased machine learning, Econometrics Journal 21 (2018).",
    "Shares of variance: Saltelli and others, Global Sensitivity Analysis: The Primer (2008).",
    "Sensitivity to priors: Kallioinen, Paananen, Bürkner and Vehtari, Detecting and diagnosing prior and likelihood "
    "sensitivity with power-scaling, Statistics and Computing 34 (2024), by ArviZ.",
    "Checks by repetition: Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized "
    "discrepancies, Statistica Sinica 6 (1996).",
    "Runs left out: Vehtari, Simpson, Gelman, Yao and Gabry, Pareto smoothed importance sampling, JMLR 25 (2024).",
    "Bounds: Manski, Partial Identification of Probability Distributions (2003).",
)
"""What the methods rest on."""


def _interval(stored: Stored, variable: str, **where: Any) -> dict[str, Number]:
    return {
        f"p{round(100 * q):02d}": stored.number("share", "positions", variable, quantile=q, **where) for q in QUANTILES
    }


def _moved(stored: Stored, cell: str, position: int) -> View:
    """What the model says of a position before and after the counts; empty where the result does not hold it."""
    if "positions" not in stored:
        return {}
    at = {"cell": cell, "position": position}
    return {
        "fixed": _interval(stored, "fixed_survival", **at),
        "prior_fixed": _interval(stored, "prior_fixed_survival", **at),
        "exposure": _interval(stored, "exposure", **at),
        "prior_exposure": _interval(stored, "prior_exposure", **at),
        "contraction": stored.number("chance", "positions", "survival_contraction", **at),
    }


def position_label(position: int, cap: int, tail: str) -> str:
    """What the fixed-depth survival of a position is; `tail` is the label of what was masked there."""
    return Label.EXTRAPOLATED.value if position > cap else tail


def positions(stored: Stored, cell: str, cap: int, level: str) -> list[View]:
    """Survival and exposure of each position, with its evidence and label."""
    out = []
    for position in stored.labels("screen", "position"):
        at = {"cell": cell, "position": position}
        out.append(
            {
                "position": int(position),
                "exposed": position <= cap,
                "level": level if position <= cap else "none",
                "label": position_label(
                    int(position), cap, stored.word("comparison", "tail_label", cell=cell, depth=position)
                ),
                "survival": stored.number("share", "screen", "survival", **at),
                "bounds": [stored.number("share", "screen", "survival_bound", end=end, **at) for end in (LOW, HIGH)],
                **_moved(stored, cell, position),
            }
        )
    return out


def _diagnostics(stored: Stored) -> list[View]:
    found = stored.documents["comparison"]["diagnostics"]
    return [
        {"group": group, "name": name, "value": stored.told("plain", "comparison", "diagnostics", group, name)}
        for group in sorted(found)
        for name in sorted(found[group])
    ]


def _files(stored: Stored) -> list[View]:
    out = []
    for place, file in enumerate(stored.documents["screen"]["files"]):
        counts = {
            key: stored.told("count", "screen", "files", place, key)
            for key in ("rows", "runs", "other_phase", "empty_runs")
        }
        out.append({"name": file["name"], "present": file["present"], "sha256": file["sha256"], **counts})
    return out


def _ranges(stored: Stored) -> list[View]:
    assumed = stored.documents["screen"]["assumptions"]
    return [
        {
            "name": words,
            "label": assumed[key]["label"],
            "reason": assumed[key]["reason"],
            **{end: stored.told("plain", "screen", "assumptions", key, end) for end in ("central", "low", "high")},
        }
        for key, words in (("overlap", "overlap"), ("overhead_ms", "overhead, ms"), ("row_slope", "row slope"))
    ]


def trust(stored: Stored) -> View:
    """Everything of the section that is not of one cell."""
    comparison, provenance = stored.documents["comparison"], stored.documents["provenance"]
    return {
        "scheduler": comparison["study"]["scheduler"],
        "scheduler_reason": comparison["study"]["scheduler_reason"],
        "diagnostics": _diagnostics(stored),
        "priors": [
            {"name": name, "value": stored.told("plain", "comparison", "priors", name)}
            for name in sorted(comparison["priors"])
        ],
        "files": _files(stored),
        "ranges": _ranges(stored),
        "warnings": stored.documents["screen"]["warnings"],
        "study_sha256": provenance["study_sha256"],
        "settings": sorted((str(key), str(value)) for key, value in provenance["settings"].items()),
        "versions": sorted(provenance["versions"].items()),
        "checks": checks_view(stored),
        "left_out": left_out_view(stored),
        "methods": METHODS,
    }
