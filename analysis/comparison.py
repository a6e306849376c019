"""Posterior beside the screen: per cell and depth the intervals, the mass inside the envelope, labels and the rule."""

import numpy as np
import xarray as xr

from ..data.study import Study
from ..data.words import CELL, CHAIN, DEPTH, DRAW, FIXED, RUN, SCENARIO, Label, Level
from .decision import Rule, decide
from .rates import CENTRE, INTEGRATED, rate_draws

QUANTILE = "quantile"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
KEPT = (CENTRE, INTEGRATED)
"""Scenarios whose draws are kept; of the others quantiles are."""


def labels_of(runs: xr.Dataset, cells: xr.Dataset) -> xr.DataArray:
    """EXTRAPOLATED where no run of the cell could expose the depth, ESTIMATED elsewhere; over (cell, depth)."""
    deepest = {
        str(cell): int(runs["policy_depth"].values[runs[CELL].values == cell].max()) for cell in cells[CELL].values
    }
    seen = np.array([deepest[str(cell)] for cell in cells[CELL].values])[:, None]
    names = np.where(cells[DEPTH].values > seen, Label.EXTRAPOLATED.value, Label.ESTIMATED.value)
    return xr.DataArray(names, dims=(CELL, DEPTH), coords={CELL: cells[CELL], DEPTH: cells[DEPTH]})


def rests_on(runs: xr.Dataset, cells: xr.Dataset) -> xr.Dataset:
    """What a fixed depth rests on in each cell, as labels over (cell, depth).

    `exposure_label`: ASSUMED where every dynamic run is at L0 (nothing says what was verified). `tail_label`: ASSUMED where no
    fixed run of the cell reaches the depth, so that only the prior of the masked gap speaks of what was masked.
    """
    exposure, tail = [], []
    for name in cells[CELL].values:
        mine = (runs[CELL].values == name) & (runs["request_rounds"].values > 0)
        fixed, reach = runs["policy"].values[mine] == FIXED, runs["policy_depth"].values[mine]
        silent = (runs["level"].values[mine] == Level.L0) | fixed
        deepest = reach[fixed].max(initial=0)
        exposure.append([not fixed.all() and bool(silent.all())] * cells.sizes[DEPTH])
        tail.append(cells[DEPTH].values > deepest)
    names = {"exposure_label": np.array(exposure), "tail_label": np.array(tail) & (cells[DEPTH].values > 0)}
    return xr.Dataset(
        {
            key: ((CELL, DEPTH), np.where(flags, Label.ASSUMED.value, Label.ESTIMATED.value))
            for key, flags in names.items()
        },
        {CELL: cells[CELL], DEPTH: cells[DEPTH]},
    )


def _quantiles(draws: xr.DataArray) -> xr.DataArray:
    return draws.quantile(list(QUANTILES), (CHAIN, DRAW), skipna=False).transpose(..., QUANTILE)


def _inside(rate: xr.DataArray, cells: xr.Dataset) -> xr.DataArray:
    """Posterior mass between the two ends of the screen's envelope."""
    return ((rate >= cells["rate_low"]) & (rate <= cells["rate_high"])).mean((CHAIN, DRAW))


def _contraction(tokens: xr.DataArray, before: xr.DataArray) -> xr.DataArray:
    """1 - posterior variance / prior variance of the tokens a round: 0 where the data taught nothing; NaN at depth 0."""
    spread = before.var((CHAIN, DRAW))
    return 1.0 - tokens.var((CHAIN, DRAW)) / spread.where(spread > 1e-20)


def compare_cell(
    study: Study,
    cell: xr.Dataset,
    posterior: xr.Dataset,
    prior: xr.Dataset,
    taught: bool,
    labels: xr.DataArray,
    rule: Rule,
) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Everything of one cell: draws that are kept, the comparison, and the decision.

    Parameters
    ----------
    study
        For its scenarios.
    cell
        The screen of this cell, `cell` dim of size 1.
    posterior, prior
        Draws of `models` for this cell.
    taught
        Whether fixed arms taught the row slope.
    labels
        Label of each depth.
    rule
        The written rule.
    """
    found = rate_draws(study, cell, posterior, taught)
    before = rate_draws(study, cell, prior, taught)
    comparison = xr.Dataset(
        {
            "rate": _quantiles(found["rate"]),
            "gain_cap": _quantiles(found["gain_cap"]),
            "gain_current": _quantiles(found["gain_current"]),
            "tokens": _quantiles(found["tokens"]),
            "current": _quantiles(found["current"]),
            "current_measured": _quantiles(found["current_measured"]),
            "inside_envelope": _inside(found["rate"], cell),
            "contraction": _contraction(found["tokens"], before["tokens"]),
            "prior_rate": _quantiles(before["rate"].sel({SCENARIO: INTEGRATED}, drop=True)),
            "prior_tokens": _quantiles(before["tokens"]),
            "label": labels,
        }
    )
    kept = found[["rate", "current"]].sel({SCENARIO: list(KEPT)})
    return kept, comparison, decide(found, labels, rule)


def compare(
    study: Study, screened: xr.Dataset, runs: xr.Dataset, trees: dict[str, xr.DataTree], rule: Rule
) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Compare every fitted cell, one at a time so that memory stays small.

    Parameters
    ----------
    study, screened, runs
        The study, its screen and its runs.
    trees
        The fit of each group, with groups `posterior` and `prior` and attribute `slope_taught`.
    rule
        The written rule.

    Returns
    -------
    rates, comparison, decision
        Draws of the kept scenarios; quantiles and masses; the rule's figures.
    """
    parts: list[tuple[xr.Dataset, xr.Dataset, xr.Dataset]] = []
    for tree in trees.values():
        posterior, prior = tree["posterior"].to_dataset(), tree["prior"].to_dataset()
        taught = bool(tree.attrs["slope_taught"])
        for name in posterior[CELL].values:
            cell = screened.sel({CELL: [name]})
            here = [
                draws.sel({CELL: [name]}).drop_dims(RUN, errors="ignore").drop_vars(RUN, errors="ignore")
                for draws in (posterior, prior)
            ]
            labels = labels_of(runs, cell)
            rates, comparison, decision = compare_cell(study, cell, here[0], here[1], taught, labels, rule)
            parts.append((rates, comparison.assign(rests_on(runs, cell)), decision))
    whole = [xr.concat([part[i] for part in parts], dim=CELL, join="outer") for i in range(3)]
    return whole[0], whole[1], whole[2]
