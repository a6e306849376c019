"""Everything that explains or checks a result, as groups of the stored tree."""

from collections.abc import Mapping

import xarray as xr

from ..models.priors import Priors
from .checks import checks
from .checks_sensitivity import sensitivity
from .explain import explain


def explanations(
    screened: xr.Dataset,
    runs: xr.Dataset,
    rates: xr.Dataset,
    decision: xr.Dataset,
    trees: Mapping[str, xr.DataTree],
    priors: Priors,
) -> dict[str, xr.Dataset]:
    """Explain and check every fitted group.

    Parameters
    ----------
    screened, runs
        The screen and the runs of the study.
    rates, decision
        Of `analysis.comparison.compare`.
    trees
        The fit of each group, with groups `posterior`, `prior`, `posterior_predictive`.
    priors
        As stated.

    Returns
    -------
    dict
        `explain`, `sensitivity`, `positions` over cells; `repetitions/...`, `spread/...`, `outside/...` by group.
    """
    if not trees:
        return {}
    draws = {
        kind: {name: tree[kind].to_dataset() for name, tree in trees.items()}
        for kind in ("posterior", "prior", "posterior_predictive")
    }
    taught = {name: bool(tree.attrs["slope_taught"]) for name, tree in trees.items()}
    return {
        "explain": explain(screened, rates, draws["posterior"]),
        "sensitivity": sensitivity(rates, decision, draws["posterior"], priors, taught),
        **checks(runs, draws["posterior"], draws["prior"], draws["posterior_predictive"]),
    }
