"""How well held-out arms were predicted: errors, coverage and log scores beside naive forecasts, and the gates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..models.evidence import Floats
from .thresholds import stated_shares

QUANTITIES = ("tokens", "step_ms", "rate")
NAIVE = ("truncated", "pooled", "nearest")
"""Forecasts without a model: the screen of what was kept, all kept arms of that depth, the nearest kept arm."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What a held-out prediction has to reach; a study may state its own under `[gates]`."""

    tokens_error: float = 0.03  # largest root mean square relative error of the median tokens a round
    step_error: float = 0.05
    rate_error: float = 0.06
    coverage: float = 0.8  # least share of measured values inside 90 % intervals, of tokens, step and rate each

    @classmethod
    def stated(cls, entries: Mapping[str, float]) -> "Gates":
        """The default gates with a study's own numbers.

        Raises
        ------
        InputError
            An entry that is no gate, or no share from 0 to 1.
        """
        return cls(**stated_shares(cls, "gates", entries))


def _relative(rows: Sequence[Mapping[str, float]], name: str) -> Floats:
    return np.array([row[name] / row["measured"] - 1.0 for row in rows])


def _known(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Arms of which a naive forecast says something."""
    return [row for row in rows if row.get(name) is not None and np.isfinite(row[name])]


def _naive(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    """Arms, error and mean log score of a naive point with a normal about it whose spread is its own error over all arms: generous.

    With it `<name>_model_log_score`, the model's own score on the same arms.
    """
    known = _known(rows, name)
    if not known:
        return {}
    spread = float(np.sqrt((_relative(known, name) ** 2).mean()))
    law = (stats.norm(row[name], max(spread, 1e-9) * row[name]) for row in known)
    score = float(np.mean([one.logpdf(row["measured"]) for one, row in zip(law, known, strict=True)]))
    ours = float(np.mean([row["log_score"] for row in known]))
    return {
        f"{name}_arms": len(known),
        f"{name}_error": spread,
        f"{name}_log_score": score,
        f"{name}_model_log_score": ours,
    }


def summary(rows: Sequence[Mapping[str, Any]], gates: Gates) -> tuple[dict[str, Any], list[str]]:
    """Errors, coverage and scores over all arms, and the gates that fail.

    Returns
    -------
    tuple
        For each quantity `arms`, `error` (root mean square of median / measured - 1), `bias` (its mean), `cover_50`,
        `cover_90`, mean log scores, and of each naive forecast the same with the arms that it speaks of; and a line for each gate that
        fails. Steps and rates of arms whose own step times were kept are no predictions and do not count.
    """
    out: dict[str, Any] = {}
    failed = []
    limits = {"tokens": gates.tokens_error, "step_ms": gates.step_error, "rate": gates.rate_error}
    for name in QUANTITIES:
        known = [row[name] for row in rows if name in row and (name == "tokens" or not row.get("step_kept"))]
        if not known:
            failed.append(f"{name}: no arm could be compared")
            continue
        apart = _relative(known, "p50")
        error = float(np.sqrt((apart**2).mean()))
        out[name] = {
            "arms": len(known), "error": error, "bias": float(apart.mean()),
            "cover_50": float(np.mean([row["inside_50"] for row in known])),
            "cover_90": float(np.mean([row["inside_90"] for row in known])),
            "log_score": float(np.mean([row["log_score"] for row in known])),
        }  # fmt: skip
        for forecast in NAIVE:
            out[name] |= _naive(known, forecast)
        if error > limits[name]:
            failed.append(f"{name}: error {100 * error:.1f} %, at most {100 * limits[name]:g} % would pass")
        if out[name]["cover_90"] < gates.coverage:
            failed.append(
                f"{name}: 90 % intervals hold {100 * out[name]['cover_90']:.0f} % of the arms, {100 * gates.coverage:g} % would pass"
            )
    loose = [row for row in rows if "step_ms" in row and not row.get("own_counts", True) and not row["own_times"]]
    if loose:  # a prior may lie near what was measured by chance
        failed.append(
            f"step_ms, rate: the step of {len(loose)} arms has no anchor but its prior; a kept step time of each cell would do"
        )
    return out, failed
