"""Leaving a run out: its likelihood against the model's own, its effect integrated out against a fine grid, and its absence."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.checks_leave_out import smoothed_weights
from draftdepth.models.evidence import Evidence
from draftdepth.models.leave_out import _Run, log_likelihood_of_counts, log_likelihoods, without
from draftdepth.models.model import build_model
from draftdepth.models.observations import observations, trials_of
from draftdepth.models.population import Population, population
from draftdepth.models.priors import Priors
from scipy import special, stats

from .test_models_density import CONFIG_MS, FAST, LEVELS, evidence, free, point

PRIORS = Priors.stated("confidence", {})


def one_draw(held: Evidence, seed: int) -> tuple[Any, dict[str, Any], xr.Dataset, Population]:
    """A model, a point of it, and that point as a completed draw."""
    model = build_model(held, PRIORS, CONFIG_MS)
    at = point(model, seed)
    named = {
        name: ((("chain", "draw", *(f"{name}_{i}" for i in range(np.ndim(value))))), np.asarray(value)[None, None])
        for name, value in free(model, at).items()
    }
    draws = xr.Dataset(named, {"chain": [0], "draw": [0]})
    return model, at, draws, population(draws, held, PRIORS, seed)


@pytest.mark.parametrize("level", LEVELS)
def test_runs_have_the_likelihood_of_the_model(level: str) -> None:
    held = evidence(LEVELS[level])
    model, at, draws, complete = one_draw(held, 4)
    total = float(log_likelihood_of_counts(draws, complete, held, PRIORS)[0, 0])
    logp = model.compile_logp(vars=model.observed_RVs, jacobian=False, mode=FAST, on_unused_input="ignore")
    assert total == pytest.approx(float(logp(at)), rel=1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_the_run_effect_is_integrated_out(level: str) -> None:
    held = evidence(LEVELS[level])
    _, _, draws, complete = one_draw(held, 2)
    found = log_likelihoods(draws, complete, held, PRIORS)[0, 0]
    spread = float(complete.run_sd[0, 0])
    effect = np.linspace(-8 * spread, 8 * spread, 4001)
    for run in np.flatnonzero(held.counted):
        one = _Run(int(run), draws, complete, held, PRIORS, trials_of(held))
        values = one.log_likelihood(effect[None, :])[0] + stats.norm(0.0, spread).logpdf(effect)
        assert found[run] == pytest.approx(special.logsumexp(values) + np.log(effect[1] - effect[0]), abs=2e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_a_run_without_counts_adds_no_likelihood(level: str) -> None:
    held = evidence(LEVELS[level])
    model, at, draws, complete = one_draw(held, 6)
    logp = model.compile_logp(vars=model.observed_RVs, jacobian=False, mode=FAST, on_unused_input="ignore")
    whole, run = float(logp(at)), int(np.flatnonzero(held.counted)[-1])
    for name, value in observations(without(held, run)).items():
        model[name].set_value(value.astype(model[name].type.dtype))
    effect = (
        complete.logit_in_sample[0, 0, held.cell, 0] + complete.run_shift[0, 0] - complete.logit[0, 0, held.cell, 0]
    )
    alone = _Run(run, draws, complete, held, PRIORS, trials_of(held)).log_likelihood(effect[run].reshape(1, 1))[0, 0]
    empty = -0.5 * np.log(2 * np.pi / 12) if held.level[run] == "L1" else 0.0  # a total of nothing, known to a token
    assert float(logp(at)) == pytest.approx(whole - float(alone) + empty, rel=1e-8, abs=1e-9)


def test_weights_take_a_datum_out_of_a_normal_posterior() -> None:
    rng, data = np.random.default_rng(8), np.array([0.3, -0.4, 2.0, 0.1, 0.5])
    draws = data.mean() + rng.standard_normal(40_000) / len(data) ** 0.5  # flat prior, noise of 1
    weights, khat = smoothed_weights(stats.norm(draws, 1.0).logpdf(data[:, None]))
    others = (data.sum() - data) / (len(data) - 1)
    np.testing.assert_allclose((np.exp(weights) * draws).sum(axis=1), others, atol=0.03)
    assert (khat < 0.7).all()
