"""Each run predicted by all others: importance sampling of the draws, and a new fit where that does not hold.

Vehtari, Simpson, Gelman, Yao and Gabry 2024, "Pareto smoothed importance sampling". A run's own effect is integrated out of
its likelihood, so that weights are stable wherever a cell has other runs. Only counters are left out; step times stay.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from scipy import special

from ..data.words import RUN
from ..models.evidence import Evidence, Floats, evidence_of
from ..models.fit import Stated, sampled_variables
from ..models.leave_out import log_likelihoods, without
from ..models.prediction import Arm, Fitted
from ..models.priors import Priors
from ..models.sampling import Settings, divergences, named_seed, sample
from .checks import PREDICTIVE_ENDS

LARGEST_K = 0.7  # above it, importance sampling does not hold (the same paper)
DRAWS, TUNE, CHAINS = 300, 600, 2  # of a fit without one run


def _arm(evidence: Evidence, run: int) -> Arm:
    cell, dynamic = evidence.cells[evidence.cell[run]], not bool(evidence.fixed[run])
    return Arm(cell, int(evidence.depth[run]), [int(evidence.rounds[run])], [0], [0], dynamic)


def _lengths(fitted: Fitted, evidence: Evidence, run: int, seed: int) -> Floats:
    """Accepted length of a repetition of the run with an effect of its own, on each draw."""
    tokens, _ = fitted.predicted(_arm(evidence, run), np.random.default_rng(seed))
    return tokens - 1.0


def smoothed_weights(log_likelihood: Floats) -> tuple[Floats, Floats]:
    """Log weights that make draws those of a posterior without a datum, and Pareto k; shape (datum, draw)."""
    weights, khat = array_stats.psislw(log_likelihood, axis=-1)  # type: ignore[no-untyped-call]  # it takes 1 / likelihood
    return np.asarray(weights), np.asarray(khat)


class _Refits:
    """Fits without one run, by one compiled model."""

    def __init__(self, evidence: Evidence, priors: Priors, config_ms: Floats, sampler: str) -> None:
        self.stated = Stated.of(evidence, priors, config_ms, sampler)
        self.sampler = sampler

    def __call__(self, run: int, seed: int) -> tuple[Fitted, int]:
        stated = self.stated.given(without(self.stated.evidence, run))
        settings = Settings(seed, draws=DRAWS, tune=TUNE, chains=CHAINS, sampler=self.sampler)
        raw = sample(stated.model, stated.program, settings, named_seed(seed, "fit"))
        free, diverged = sampled_variables(raw), divergences(raw)
        return Fitted.of(free, stated.evidence, stated.priors, stated.config_ms, named_seed(seed, "rest")), diverged


def left_out(
    runs: xr.Dataset, draws: xr.Dataset, config_ms: Floats, priors: Priors, settings: Settings, group: str,
    tell: Callable[[str], None],
) -> xr.Dataset:  # fmt: skip
    """Predict the accepted length of every run from the others.

    Parameters
    ----------
    runs
        Runs of one worker group, as they were fitted.
    draws
        The sampler's own variables of that fit.
    config_ms, priors, settings
        What it was fitted with.
    group
        The worker's name.
    tell
        Called with a line of progress.

    Returns
    -------
    xarray.Dataset
        Over run (those whose counts stand in the likelihood; coordinate `run_name`): `length` (accepted positions a round),
        `length_low` and `length_high` (90 %), `length_place` (share of predictions below it), `elpd` (log probability of the
        counts, natural), `pareto_k`, and `refitted` with `diverged` steps where importance sampling did not hold.
    """
    evidence = evidence_of(runs)
    seed = named_seed(settings.seed, group, "left out")
    fitted = Fitted.of(draws, evidence, priors, config_ms, seed)
    told = log_likelihoods(draws, fitted.held, evidence, priors)
    flat = told.reshape(-1, told.shape[-1])
    counted = np.flatnonzero(evidence.counted)
    weights, khat = smoothed_weights(flat[:, counted].T)
    doubtful = int((khat > LARGEST_K).sum())
    if doubtful:
        tell(f"leaving out runs of {group}: {doubtful} of {len(counted)} are fitted again")
    refits = _Refits(evidence, priors, config_ms, settings.sampler) if doubtful else None
    rows = []
    for place, run in enumerate(counted):
        own = named_seed(seed, str(place))
        log_weight, values, source, diverged = weights[place], flat[:, run], fitted, 0
        if refits is not None and khat[place] > LARGEST_K:
            source, diverged = refits(int(run), own)
            only = np.array([run])
            values = log_likelihoods(source.draws, source.held, evidence, priors, only)[..., run].reshape(-1)
            log_weight = np.full(len(values), -np.log(len(values)))
        lengths, weight = _lengths(source, evidence, int(run), own), np.exp(log_weight)
        observed = evidence.accepted[run, : evidence.depth[run]].sum() / evidence.rounds[run]
        low, high = np.quantile(lengths, PREDICTIVE_ENDS, weights=weight, method="inverted_cdf")
        below = float(weight @ ((lengths < observed) + 0.5 * (lengths == observed)))
        elpd = float(special.logsumexp(log_weight + values))
        rows.append((observed, low, high, below, elpd, khat[place], float(source is not fitted), float(diverged)))
    names = ("length", "length_low", "length_high", "length_place", "elpd", "pareto_k", "refitted", "diverged")
    columns = np.array(rows, dtype=float).reshape(len(rows), len(names)).T
    return xr.Dataset(
        {name: (RUN, column) for name, column in zip(names, columns, strict=True)},
        {"run_name": (RUN, [evidence.run_ids[run] for run in counted])},
    )
