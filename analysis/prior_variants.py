"""Which stated prior flips which recommendation: the whole analysis again under other priors, one at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from ..data.errors import InputError, NotConvergedError
from ..data.study import Study
from ..data.words import CELL, DEPTH
from ..models.derive import derived
from ..models.evidence import Evidence, Floats, evidence_of
from ..models.fit import fit
from ..models.priors import SCHEDULER_SHAPES, Priors
from ..models.sampling import Settings, named_seed
from .comparison import labels_of
from .decision import CANDIDATE, Rule, decide
from .groups import NOTHING_TO_FIT, fit_groups
from .rates import rate_draws

BASE = "as stated"
ASIDE = ("overlap_alpha", "overlap_beta", "overhead_top_ms")  # never in the likelihood
OF_EXPOSURE = ("masked_gap_scale", "rejected_gap_scale", "exposure_shape", "exposure_power")
OF_SLOPE = ("row_slope_alpha", "row_slope_beta", "row_slope_scale", "row_slope_batch_scale")


@dataclass(frozen=True, slots=True)
class Variant:
    """A name in words, and the priors that it changes."""

    name: str
    changes: Mapping[str, float]

    def needs_fit(self, evidence: Evidence) -> bool:
        """Whether what it changes stands in the likelihood of a group; else draws are completed anew."""
        free = {*ASIDE}
        if not evidence.exposure_matters.any():
            free |= {*OF_EXPOSURE}
        if not evidence.slope_matters:
            free |= {*OF_SLOPE}
        return not set(self.changes) <= free


def _scaled(priors: Priors, words: str, *names: str) -> list[Variant]:
    """Half and double of some entries."""
    held = priors.as_dict()
    return [
        Variant(f"{words} {said}", {name: times * held[name] for name in names})
        for said, times in (("halved", 0.5), ("doubled", 2.0))
    ]


def variants(priors: Priors, taught: bool) -> list[Variant]:
    """Every variation of the stated priors; `taught` says whether fixed arms teach the row slope."""
    exposure = [
        Variant(f"exposure as of a scheduler that is {name}", {"exposure_shape": shape})
        for name, shape in SCHEDULER_SHAPES.items()
        if shape != priors.exposure_shape
    ]
    slope = (
        _scaled(priors, "row slope's scale", "row_slope_scale")
        if taught
        else [
            Variant(
                "row slope uniform between none and all of the table", {"row_slope_alpha": 1.0, "row_slope_beta": 1.0}
            ),
            Variant("row slope low: Beta(1, 3)", {"row_slope_alpha": 1.0, "row_slope_beta": 3.0}),
            Variant("row slope high: Beta(3, 1)", {"row_slope_alpha": 3.0, "row_slope_beta": 1.0}),
        ]
    )
    return [
        *_scaled(priors, "masked gap (delta)", "masked_gap_scale"),
        *exposure,
        *_scaled(priors, "move to another depth", "transport_scale"),
        *_scaled(priors, "spread of runs", "run_scale"),
        *_scaled(priors, "spread of suites", "suite_scale", "suite_position_scale"),
        *_scaled(priors, "spread of cells", "cell_scale", "cell_position_scale"),
        *_scaled(priors, "noise of step times", "run_time_centre", "request_time_centre", "start_time_scale"),
        *slope,
        Variant("overlap uniform", {"overlap_alpha": 1.0, "overlap_beta": 1.0}),
        Variant("overlap low: Beta(1, 3)", {"overlap_alpha": 1.0, "overlap_beta": 3.0}),
        *_scaled(priors, "overhead", "overhead_top_ms"),
    ]


def _rows(
    study: Study, screened: xr.Dataset, runs: xr.Dataset, posterior: xr.Dataset, taught: bool, rule: Rule
) -> dict[str, dict[str, Any]]:
    """Of each cell: what the rule recommends and the chances of each depth."""
    out: dict[str, dict[str, Any]] = {}
    for name in posterior[CELL].values:
        cell = screened.sel({CELL: [name]})
        rates = rate_draws(study, cell, posterior.sel({CELL: [name]}), taught)
        ruled = decide(rates, labels_of(runs, cell), rule).isel({CELL: 0})
        gains = {int(d): float(ruled["p_gain"].sel({DEPTH: d})) for d in ruled[DEPTH].values}
        best = {str(c): float(ruled["p_best"].sel({CANDIDATE: c})) for c in ruled[CANDIDATE].values}
        loss = {str(c): float(ruled["expected_loss"].sel({CANDIDATE: c})) for c in ruled[CANDIDATE].values}
        out[str(name)] = {"recommended": int(ruled["recommended"]), "p_gain": gains, "p_best": best, "loss": loss}
    return out


def vary(
    study: Study, screened: xr.Dataset, runs: xr.Dataset, priors: Priors, settings: Settings, rule: Rule,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:  # fmt: skip
    """Decide again under each variation.

    Parameters
    ----------
    study, screened, runs
        The study, its screen and its runs.
    priors, settings, rule
        As stated.
    tell
        Called with a line of progress.

    Returns
    -------
    list of dict
        One row for each group, variation and cell, the stated priors first: `group`, `variant`, `changes`, `cell`,
        `recommended` (0: keep), `flips`, `likeliest` (candidate of the stated priors), its `p_best`, `p_gain` (None for the
        current policy) and `expected_loss` in tok/s; or `fault`, where a fit has not converged.
    """
    config_ms = np.asarray(study.cost.config_ms, dtype=float)
    rows: list[dict[str, Any]] = []
    for group, some in fit_groups(runs):
        tell(f"fitting {group} {BASE}")
        tree = fit(some, config_ms, priors, settings, group, with_prior=False)
        evidence, sampled = evidence_of(some), tree["sampled"].to_dataset()
        taught = bool(tree.attrs["slope_taught"])
        stated = _rows(study, screened, runs, tree["posterior"].to_dataset(), taught, rule)
        likeliest = {cell: max(row["p_best"], key=row["p_best"].__getitem__) for cell, row in stated.items()}
        rows += _told(group, Variant(BASE, {}), stated, stated, likeliest)
        for variant in variants(priors, taught):
            try:
                posterior = _posterior(variant, some, evidence, sampled, priors, config_ms, settings, group, tell)
            except NotConvergedError as error:
                rows += [
                    {"group": group, "variant": variant.name, "changes": dict(variant.changes), CELL: cell, "fault": str(error)}
                    for cell in stated
                ]  # fmt: skip
                continue
            found = _rows(study, screened, runs, posterior, taught, rule)
            rows += _told(group, variant, found, stated, likeliest)
    if not rows:
        raise InputError(NOTHING_TO_FIT)
    return rows


def _posterior(
    variant: Variant, runs: xr.Dataset, evidence: Evidence, sampled: xr.Dataset, priors: Priors, config_ms: Floats,
    settings: Settings, group: str, tell: Callable[[str], None],
) -> xr.Dataset:  # fmt: skip
    changed = replace(priors, **variant.changes)
    if variant.needs_fit(evidence):
        tell(f"fitting {group}: {variant.name}")
        return fit(runs, config_ms, changed, settings, group, with_prior=False)["posterior"].to_dataset()
    seed = named_seed(settings.seed, group, "conditional")
    return derived(sampled, evidence, changed, config_ms, seed)[0]


def _told(
    group: str, variant: Variant, found: Mapping[str, Any], stated: Mapping[str, Any], likeliest: Mapping[str, str]
) -> list[dict[str, Any]]:
    out = []
    for cell, row in found.items():
        at = likeliest[cell]
        out.append({
            "group": group, "variant": variant.name, "changes": dict(variant.changes), CELL: cell,
            "recommended": row["recommended"], "flips": row["recommended"] != stated[cell]["recommended"], "likeliest": at,
            "p_best": row["p_best"][at], "p_gain": row["p_gain"][int(at)] if at.isdigit() else None,
            "expected_loss": row["loss"][at],
        })  # fmt: skip
    return out
