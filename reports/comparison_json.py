"""`comparison.json`: posterior beside the screen, cell by cell, unrounded, each figure with its label."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.comparison import QUANTILE, QUANTILES
from ..analysis.decision import CANDIDATE, CURRENT, Rule
from ..analysis.rates import CENTRE, FIXED_DEPTH, INTEGRATED, PROXY
from ..data.study import Study
from ..data.words import CELL, DEPTH, END, ESTIMAND, FIXED, HIGH, LOW, SCENARIO, Label
from .numbers import plain
from .recommendation import disagreements, sentence, why_not
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
        "level": str(screen["level"].values),
        "exposure_label": str(row["exposure_label"].values),
        "tail_label": str(row["tail_label"].values),
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


def _measured(arms: xr.Dataset, cell: str, depth: int) -> dict[str, Any] | None:
    """The measured fixed arm of a cell and depth; None where there is none with a step time."""
    here = (arms[CELL].values == cell) & (arms["policy"].values == FIXED) & (arms["policy_depth"].values == depth)
    places = np.flatnonzero(here & np.isfinite(arms["rate"].values))
    if not len(places):
        return None
    at = int(places[0])
    return {
        "rate": float(arms["rate"].values[at]),
        "tokens": float(arms["tokens"].values[at]),
        "runs": int(arms["runs"].values[at]),
    }


def comparison_document(
    study: Study,
    screened: xr.Dataset,
    comparison: xr.Dataset,
    decision: xr.Dataset,
    rule: Rule,
    told: Mapping[str, Any],
    arms: xr.Dataset | None = None,
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
    arms
        `analysis.arms.measured_arms`, whose fixed arms stand beside the depths.
    """
    cells = []
    for name in comparison[CELL].values:
        screen, row, ruled = (data.sel({CELL: name}) for data in (screened, comparison, decision))
        depths = [_depth(screen.sel({DEPTH: d}), row.sel({DEPTH: d}), ruled, int(d)) for d in comparison[DEPTH].values]
        fixed = str(screen["policy"].values) == FIXED
        for depth in depths:
            depth["measured"] = None if arms is None else _measured(arms, str(name), depth["depth"])
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
        cell["disagreements"] = disagreements(cell, told.get("run_time_sd", {}).get(cell["worker"], 0.0))
        cell["sentence"] = " ".join([sentence(cell, rule), *cell["disagreements"]])
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
