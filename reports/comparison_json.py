"""`comparison.json`: posterior beside the screen, cell by cell, unrounded, each figure with its label."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from ..analysis.comparison import QUANTILE, QUANTILES
from ..analysis.decision import CANDIDATE, CURRENT, Rule
from ..analysis.rates import CENTRE, FIXED_DEPTH, INTEGRATED, PROXY
from ..data.study import Study
from ..data.words import CELL, DEPTH, END, ESTIMAND, HIGH, LOW, SCENARIO, Label
from .numbers import plain
from .screen_json import unsupported_reason

NAMES = {quantile: f"p{round(100 * quantile):02d}" for quantile in QUANTILES}


def _interval(values: xr.DataArray) -> dict[str, Any]:
    return _named(values.transpose(QUANTILE).values)


def _named(quantiles: Any) -> dict[str, Any]:
    return dict(zip(NAMES.values(), plain(quantiles), strict=True))


def _estimand(row: xr.Dataset, estimand: str) -> dict[str, Any]:
    at = row.sel({ESTIMAND: estimand})
    names = ("rate", "gain_cap", "gain_current")
    each = {name: at[name].transpose(SCENARIO, QUANTILE).values for name in names}  # arrays: a sel a number is slow
    inside = at["inside_envelope"].values
    return {
        "tokens": _interval(at["tokens"]),
        "contraction": plain(at["contraction"].values),
        "prior_rate": _interval(at["prior_rate"]),
        "scenarios": {
            str(scenario): {
                **{name: _named(each[name][place]) for name in names},
                "inside_envelope": plain(inside[place]),
            }
            for place, scenario in enumerate(at[SCENARIO].values)
        },
    }


def _depth(screen: xr.Dataset, row: xr.Dataset, decision: xr.Dataset, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {
        "depth": depth,
        "label": str(row["label"].values),
        "screen_rate": plain(screen["rate"].values),
        "screen_envelope": plain([screen["rate_low"].values, screen["rate_high"].values]),
        "worst_case_bound": [plain(screen["rate_bound"].sel({END: end}).values) for end in (LOW, HIGH)],
        PROXY: _estimand(row, PROXY),
        FIXED_DEPTH: _estimand(row, FIXED_DEPTH),
    }
    if depth:
        at = decision.sel({CANDIDATE: str(depth)})
        out["decision"] = {
            **{name: plain(at[name].values) for name in ("p_best", "expected_loss", "expected_rate", "p_within")},
            **{
                name: plain(decision[name].sel({DEPTH: depth}).values)
                for name in ("p_gain", "p_gain_claimed", "p_gain_claimed_high", "one_sign", "passes")
            },
        }
    return out


def sentence(cell: Mapping[str, Any], rule: Rule) -> str:
    """The recommendation of the written rule in words."""
    depth = cell["recommended"]
    if cell["current"]["p_best"] is None:
        return f"{cell['cell']} ({cell['worker']}, batch {cell['batch']}): no step time was recorded, so no rate and no decision."
    who = f"{cell['cell']} ({cell['worker']}, batch {cell['batch']})"
    if cell["hypothetical"]:
        return f"{who}: HYPOTHETICAL, another worker's times: nothing is recommended."
    if depth:
        at = cell["depths"][depth]["decision"]
        return (
            f"{who}: verify {depth} positions. ESTIMATED chance of a gain over the current policy "
            f"{100 * at['p_gain']:.0f} %, of more than 3 % {100 * at['p_gain_claimed']:.0f} %; expected loss against the best "
            f"{at['expected_loss']:.2f} tok/s."
        )
    reasons = cell["why_not"]
    return f"{who}: keep the current policy. {reasons}"


def why_not(depths: list[dict[str, Any]], rule: Rule, fixed_depth: int) -> str:
    """Which condition of the rule the likeliest depth fails; `fixed_depth` is the current policy's, 0 where it is dynamic."""
    best = max(depths[1:], key=lambda row: row["decision"]["p_best"])
    at = best["decision"]
    if best["depth"] == fixed_depth:
        return f"Depth {fixed_depth} is what runs today, and the likeliest best (ESTIMATED {100 * at['p_best']:.0f} %)."
    failed = []
    if at["p_gain"] < rule.probability:
        failed.append(
            f"its chance of a gain over the current policy is {100 * at['p_gain']:.0f} %, not {100 * rule.probability:.0f} %"
        )
    if at["expected_loss"] > rule.expected_loss_share * at["expected_rate"]:
        failed.append(
            f"its expected loss is {at['expected_loss']:.2f} tok/s, above {100 * rule.expected_loss_share:g} %"
        )
    if not at["one_sign"]:
        failed.append("its median gain changes sign or is a loss within the corners of what no arm has taught")
    if best["label"] == Label.EXTRAPOLATED.value:
        failed.append("it is EXTRAPOLATED: no run here could verify it")
    return f"Of the depths, {best['depth']} is the likeliest best, but {'; '.join(failed) or 'a shallower one ties with it'}."


def comparison_document(
    study: Study,
    screened: xr.Dataset,
    comparison: xr.Dataset,
    decision: xr.Dataset,
    rule: Rule,
    told: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything that `comparison.json` says, as plain values.

    Parameters
    ----------
    study, screened
        The study and its screen.
    comparison, decision
        Of `analysis.comparison.compare`.
    rule
        The rule's thresholds.
    told
        Priors, settings, diagnostics and provenance, as plain values.
    """
    cells = []
    for name in comparison[CELL].values:
        screen, row, ruled = (data.sel({CELL: name}) for data in (screened, comparison, decision))
        depths = [_depth(screen.sel({DEPTH: d}), row.sel({DEPTH: d}), ruled, int(d)) for d in comparison[DEPTH].values]
        fixed = str(screen["policy"].values) == "fixed"
        cell: dict[str, Any] = {
            "cell": str(name),
            "worker": str(screen["worker"].values),
            "batch": int(screen["batch"]),
            "level": str(screen["level"].values),
            "step_kind": str(screen["step_kind"].values),
            "policy": {"kind": str(screen["policy"].values), "cap": int(screen["cap"])},
            "hypothetical": bool(screen["hypothetical"].values),
            "current": {
                "label": Label.ESTIMATED.value,
                "measured_time": _interval(row["current_measured"]),
                **{s: _interval(row["current"].sel({SCENARIO: s})) for s in (CENTRE, INTEGRATED)},
                **{
                    key: plain(ruled[key].sel({CANDIDATE: CURRENT}).values)
                    for key in ("p_best", "expected_loss", "expected_rate")
                },
            },
            "depths": depths,
            "recommended": 0 if bool(screen["hypothetical"].values) else int(ruled["recommended"]),
        }
        silent = cell["recommended"] or cell["current"]["p_best"] is None
        cell["why_not"] = "" if silent else why_not(depths, rule, int(screen["cap"]) if fixed else 0)
        cell["sentence"] = sentence(cell, rule)
        cells.append(cell)
    return {
        "schema": 1,
        "study": {"name": study.name, "synthetic": study.synthetic, "scheduler": study.scheduler,
                  "scheduler_reason": study.scheduler_reason},
        "cells": cells,
        "unsupported": [{"depth": d, "label": Label.UNSUPPORTED.value, "reason": unsupported_reason(study)}
                        for d in study.unsupported_depths],
        **told,
    }  # fmt: skip
