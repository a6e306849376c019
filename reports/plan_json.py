"""`plan.json`: everything that a plan says, unrounded, each number with its label and Monte-Carlo error, and a fingerprint."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.plan_agreement import Agreement
from ..analysis.plan_choice import Chosen, goal_measure
from ..analysis.plan_logging import Logged
from ..analysis.plan_schedule import Session
from ..analysis.plan_sequential import Looks
from ..analysis.plan_spread import half_width, rounds_worth, runs_needed
from ..analysis.plan_worlds import ANALYSIS_DRAWS, QUANTILES, Worlds, arrangements
from ..analysis.planning import COMPARISON, LAYOUT, ROUNDS, RUNS, Estimate
from ..data.plan_arm import Arm
from ..data.study import Study
from ..data.words import Label
from .numbers import as_json
from .plan_agreement_json import agreement_document
from .plan_schedule_json import prediction_documents, quantiles, session_document, total_document

SCHEMA = 1
GRID = (
    "half_width", "reaches", "assurance", "wrong", "undecided", "false_change", "loss_after", "evsi", "rule_value",
    "minutes", "net_tokens", "net_rule_tokens",
)  # fmt: skip
DECISIVE = ("schema", "study", "inputs", "posterior", "seed", "rule", "plan", "chosen", "sessions", "predicted")


@dataclass(frozen=True, slots=True)
class Answers:
    """What the analysis floor found, comparison by comparison."""

    grid: xr.Dataset
    chosen: tuple[Chosen, ...]
    sessions: tuple[Session, ...]
    looks: Mapping[str, tuple[Looks, ...]]
    logging: Mapping[str, tuple[Logged, ...]]
    agreement: tuple[Agreement, ...] = ()


def fingerprint(document: Mapping[str, Any]) -> str:
    """SHA-256 over the fields that decide what is run and what is expected of it, and the hashes of their inputs."""
    decisive = {key: document[key] for key in DECISIVE}
    return hashlib.sha256(as_json(decisive).encode("utf-8")).hexdigest()


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"value": np.ravel(estimate.value)[0], "error": np.ravel(estimate.error)[0]}


def _design(at: xr.Dataset, place: tuple[int, int, int] | None) -> dict[str, Any] | None:
    if place is None:
        return None
    here = at.isel({LAYOUT: place[0], RUNS: place[1], ROUNDS: place[2]})
    row: dict[str, Any] = {"layout": str(here[LAYOUT].values), "runs": int(here[RUNS]), "rounds": int(here[ROUNDS])}
    for name in GRID:
        row[name] = float(here[name])
        if f"{name}_error" in here:
            row[f"{name}_error"] = float(here[f"{name}_error"])
    return row


def _precision(worlds: Worlds, entry: Chosen) -> list[dict[str, Any]]:
    """Question and inverse side by side, at median spreads: half-width of the chosen n, n for the target, rounds that help."""
    a, b = worlds.central(entry.arm.name), worlds.central(entry.other.name)
    allowed, goal = worlds.plan.allowed, worlds.plan.goal
    wanted = goal.target if goal.kind == "precision" else 0.02
    place = entry.place or entry.best_place
    runs, rounds = allowed.runs[place[1]], allowed.rounds[place[2]]
    out = []
    for arrangement in arrangements(worlds.plan):
        layout, per_start = arrangement.layout, arrangement.per_start
        share = float(a.floor + b.floor) + per_start * float(a.start + b.start) * (layout == "interleaved")
        out.append(
            {
                "layout": layout,
                "runs": runs,
                "rounds": rounds,
                "half_width": half_width(a, b, layout, runs, rounds, per_start),
                "half_width_infinite_rounds": half_width(a, b, layout, runs, np.inf, per_start),
                "half_width_infinite_runs": half_width(a, b, layout, 10**9 * per_start, rounds, per_start),
                "wanted": wanted,
                "runs_needed": runs_needed(a, b, layout, wanted, rounds, per_start),
                "rounds_worth": rounds_worth(a, b, layout, per_start),
                "share_of_rounds": float(a.per_round + b.per_round)
                / rounds
                / (share + float(a.per_round + b.per_round) / rounds),
            }
        )
    return out


def _comparison(worlds: Worlds, answers: Answers, entry: Chosen) -> dict[str, Any]:
    name = entry.arm.name
    at = answers.grid.sel({COMPARISON: name}).transpose(LAYOUT, RUNS, ROUNDS, missing_dims="ignore")
    log_gain = worlds.before(name, entry.other.name)
    label = {worlds.arms[name].label, worlds.arms[entry.other.name].label}
    strongest = next(v for v in (Label.ASSUMED, Label.EXTRAPOLATED, Label.ESTIMATED) if v in label)
    if entry.arm.scalar_ms == entry.other.scalar_ms and strongest is Label.ASSUMED:  # the scalar's effect cancels
        strongest = Label.ESTIMATED
    return {
        "arm": name,
        "against": entry.other.name,
        "cell": entry.arm.cell,
        "stage": entry.arm.stage,
        "label": str(strongest),
        "design_prior": {
            "gain": quantiles(np.expm1(np.quantile(log_gain, QUANTILES))),
            "p_gain": float((log_gain > 0).mean()),
            "page_p_gain": worlds.page_p_gain(name, entry.other.name),
            "serving_rate": float(worlds.rates[entry.other.name].mean()),
        },
        "loss_before": entry.loss_before,
        "settled_today": entry.settled,
        "worth": entry.worth,
        "worth_evsi": bool((at["net_tokens"] > 0).any()),
        "why": entry.why,
        "goal_measure": goal_measure(worlds.plan),
        "design": _design(at, entry.place),
        "best_value": _design(at, entry.best_place),
        "nearest": _design(at, entry.nearest),
        "precision": _precision(worlds, entry),
        "grid": {
            "layouts": at[LAYOUT].values,
            "runs": at[RUNS].values,
            "rounds": at[ROUNDS].values,
            **{key: at[key].values for name in GRID for key in (name, f"{name}_error") if key in at},
        },
        "sequential": [
            {
                "probability": looks.probability,
                "looks": looks.looks,
                "stopped": looks.stopped,
                **{
                    key: _estimate(getattr(looks, key))
                    for key in ("assurance", "wrong", "undecided", "false_change", "runs", "minutes")
                },
            }
            for looks in answers.looks.get(name, ())
        ],
        "logging": [
            {
                "level": row.level,
                "half_width": row.half_width,
                "bound_width": row.bound_width,
                "assurance": _estimate(row.assurance),
                "wrong": _estimate(row.wrong),
            }
            for row in answers.logging.get(name, ())
        ],
    }


def _arm(worlds: Worlds, arm: Arm) -> dict[str, Any]:
    return asdict(arm) | {
        "label": str(worlds.arms[arm.name].label),
        "batch": worlds.arms[arm.name].batch,
        "rate": quantiles(np.quantile(worlds.rates[arm.name], QUANTILES)),
        "run_sd": {name: quantiles(values) for name, values in worlds.run_spreads(arm.name).items()},
    }


def plan_document(
    study: Study, worlds: Worlds, answers: Answers, provenance: Mapping[str, Any], content: str, seed: int
) -> dict[str, Any]:
    """Everything that `PLAN.md`, the curves and `validate --plan` take.

    Parameters
    ----------
    study, worlds, answers
        The study, its plan's worlds, and what was found.
    provenance
        Of the stored result: hashes of study and inputs.
    content
        The stored result's content hash: the design prior.
    seed
        Of all simulations.
    """
    plan = worlds.plan
    sessions = [session_document(worlds, number, session) for number, session in enumerate(answers.sessions, 1)]
    document = {
        "schema": SCHEMA,
        "study": {"name": study.name, "synthetic": study.synthetic, "sha256": provenance["study_sha256"]},
        "inputs": provenance["inputs"],
        "posterior": content,
        "seed": seed,
        "rule": asdict(worlds.rule),
        "plan": {
            "sha256": plan.sha256,
            "goal": asdict(plan.goal),
            "allowed": asdict(plan.allowed),
            "minutes": asdict(plan.minutes),
            "design": asdict(plan.design),
            "analysis": {
                "prior": plan.analysis_prior,
                "gain_sd": plan.analysis_gain_sd,
                "spread_draws": ANALYSIS_DRAWS,
            },
            "label": str(Label.ASSUMED),
        },
        "arms": [_arm(worlds, arm) for arm in plan.arms],
        "comparisons": [_comparison(worlds, answers, entry) for entry in answers.chosen],
        "sessions": sessions,
        "total": total_document(sessions, plan.minutes.gpus),
        "predicted": prediction_documents(worlds, answers.sessions),
        "agreement": agreement_document(answers.agreement),
    }
    document["chosen"] = [
        {key: row[key] for key in ("arm", "against", "why", "worth")}
        | {"design": row["design"] and {key: row["design"][key] for key in ("layout", "runs", "rounds")}}
        for row in document["comparisons"]
    ]
    document["plan"]["arms"] = [asdict(arm) for arm in plan.arms]
    document["fingerprint"] = fingerprint(document)
    return document
