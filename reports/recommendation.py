"""The written rule's recommendation in words, why a depth is not recommended, and where a measurement disagrees."""

from collections.abc import Mapping
from math import exp, sqrt
from typing import Any

from ..analysis.decision import Rule
from ..analysis.rates import FIXED_DEPTH, INTEGRATED
from ..data.words import Label
from .numbers import percent_beside

LEAST_NARROWED = (
    0.5  # of the prior's variance of tokens that counts take away, below which advice is mostly the prior's
)


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
            f"{at['expected_loss']:.2f} tok/s.{_mostly_prior(cell['depths'][depth])}"
        )
    words = f"{who}: keep the current policy. {cell['why_not']}"
    kept = cell["current"]["expected_loss"]
    best = min(row["decision"]["expected_loss"] for row in cell["depths"][1:])
    if kept > best and cell["policy"]["kind"] == "dynamic":
        words += f" Keeping has an expected loss of {kept:.2f} tok/s itself: the rule asks for proof before a change."
    return words


def _mostly_prior(row: Mapping[str, Any]) -> str:
    """A warning where the counts hardly moved the tokens a round of a depth."""
    narrowed = row[FIXED_DEPTH]["contraction"]
    if narrowed is None or narrowed >= LEAST_NARROWED:
        return ""
    return (
        f" WARNING: this is mostly the stated prior speaking: the counts took away {100 * max(narrowed, 0.0):.0f} % of its variance; "
        "measure that depth before acting."
    )


def disagreements(cell: Mapping[str, Any], run_sd: float) -> list[str]:
    """A line for each measured fixed arm that the model does not expect.

    Its rate lies outside the 90 % interval by more than 1.645 `run_sd` / sqrt(runs), the noise of its own runs' times.
    """
    out = []
    for row in cell["depths"]:
        said = row[FIXED_DEPTH]["scenarios"][INTEGRATED]["rate"]
        measured = row["measured"]
        if measured is None or said["p05"] is None:
            continue
        noise = exp(1.645 * run_sd / sqrt(measured["runs"]))
        if said["p05"] / noise <= measured["rate"] <= said["p95"] * noise:
            continue
        out.append(
            f"WARNING: depth {row['depth']} was MEASURED at {measured['rate']:.1f} tok/s ({measured['runs']} runs), outside the "
            f"model's 90 % interval {said['p05']:.1f} to {said['p95']:.1f} by more than runs vary: the model misses what happened there; believe the "
            "measurement, and repeat it before acting on either."
        )
    return out


def why_not(depths: list[dict[str, Any]], rule: Rule, fixed_depth: int) -> str:
    """Which condition of the rule the likeliest depth fails; `fixed_depth` is the current policy's, 0 where it is dynamic."""
    best = max(depths[1:], key=lambda row: row["decision"]["p_best"])
    at = best["decision"]
    if best["depth"] == fixed_depth:
        return f"Depth {fixed_depth} is what runs today, and the likeliest best (ESTIMATED {100 * at['p_best']:.0f} %)."
    failed = []
    if at["p_gain"] < rule.probability:
        failed.append(
            f"its chance of a gain over the current policy is {percent_beside(at['p_gain'], rule.probability)}, not "
            f"{100 * rule.probability:g} %"
        )
    if at["expected_loss"] > rule.expected_loss_share * at["expected_rate"]:
        share = at["expected_loss"] / at["expected_rate"]
        failed.append(
            f"its expected loss is {at['expected_loss']:.2f} tok/s ({percent_beside(share, rule.expected_loss_share, 1)}), above "
            f"{100 * rule.expected_loss_share:g} %"
        )
    if not at["one_sign"]:
        failed.append(
            "under some of the assumptions that no measurement has settled, its median gain is a loss or nothing"
        )
    if best["label"] == Label.EXTRAPOLATED.value:
        failed.append("it is EXTRAPOLATED: no run here could verify it")
    return f"Of the depths, {best['depth']} is the likeliest best, but {'; '.join(failed) or 'a shallower one ties with it'}."
