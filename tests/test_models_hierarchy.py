"""The hierarchy's law in the sampler's coordinates, by forward draws, and of the means given the hazards, held against
covariances that are written out entry by entry.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytest
from draftdepth.models.contrasts import Contrasts
from draftdepth.models.evidence import Evidence
from draftdepth.models.hazard_law import Variances, draw_means
from draftdepth.models.model import build_model
from draftdepth.models.places import Places, exposed_places
from draftdepth.models.priors import Priors
from draftdepth.models.spreads import SMALLEST_SD, not_nothing
from scipy import stats

from .test_holdout_cells import everywhere, fitted_of
from .test_models_density import CONFIG_MS, DEPTH, DYNAMIC, FAST, FIXED, SHALLOW, evidence

SPREADS = {"s_suite": 0.43, "s_suite_position": 0.29, "s_cell": 0.31, "s_run": 0.17, "s_cell_position": 0.23}
SHORT: dict[str, Any] = DYNAMIC | {
    "cell": "b",
    "policy": {"kind": "dynamic", "cap": 2},
    "accepted_position": [170, 90],
}
GROUPS: dict[str, list[dict[str, Any]]] = {
    "one cell, one run": [DYNAMIC],
    "one cell, runs of unlike length": [DYNAMIC, DYNAMIC | {"request_rounds": 90_000, "accepted_position": [70_000, 50_000, 30_000]}],
    "cells of unlike cap and runs": [DYNAMIC, SHORT, SHORT | {"request_rounds": 260}, DYNAMIC | {"cell": "c", "request_rounds": 210}],
    "suites": [
        DYNAMIC | {"suite": "p"}, SHORT | {"suite": "p"}, DYNAMIC | {"suite": "q", "request_rounds": 210}, SHORT | {"suite": "r"},
        SHORT | {"suite": "p", "cell": "c"}, FIXED | {"suite": "p", "cell": "d"}, SHALLOW | {"suite": "q", "cell": "d"},
    ],
    "fixed and dynamic cells": [DYNAMIC, SHALLOW | {"cell": "d"}, FIXED | {"cell": "d"}, FIXED | {"cell": "e"}, SHORT],
}  # fmt: skip


def covariance(held: Evidence, priors: Priors) -> np.ndarray:
    """Of the exposed in-sample logit hazards, from the sentences of the hierarchy."""
    cell, place = exposed_places(held)
    out = np.zeros((len(cell), len(cell)))
    for i in range(len(cell)):
        for j in range(len(cell)):
            if held.dynamic_cell[cell[i]] != held.dynamic_cell[cell[j]]:
                continue
            out[i, j] += priors.hazard_centre_sd**2
            out[i, j] += priors.position_sd**2 * ((place[i] == place[j]) - 1 / DEPTH)
            if held.suite[cell[i]] == held.suite[cell[j]]:
                out[i, j] += SPREADS["s_suite"] ** 2 + SMALLEST_SD**2
                out[i, j] += (SPREADS["s_suite_position"] ** 2 + SMALLEST_SD**2) * (place[i] == place[j])
            if cell[i] == cell[j]:
                runs = sum(held.counted & (held.cell == cell[i]))
                out[i, j] += SPREADS["s_cell"] ** 2 + SMALLEST_SD**2 + (SPREADS["s_run"] ** 2 + SMALLEST_SD**2) / runs
            if i == j:
                out[i, j] += SPREADS["s_cell_position"] ** 2 + SMALLEST_SD**2
    return out


@pytest.mark.parametrize("group", GROUPS)
def test_coordinates_leave_the_law_as_it_is(group: str) -> None:
    held, priors = evidence(GROUPS[group]), Priors.stated("unknown", {})
    model = pm.do(build_model(held, priors, CONFIG_MS), SPREADS | {"overdispersion": 0.001})
    names = [rv.name for rv in model.free_RVs if rv.name.endswith(("_design", "_rest", "run_effect"))]
    out = [model["theta"]] + ([model["run_contrast"]] if "run_contrast" in model.named_vars else [])
    values = [model.rvs_to_values[model[name]] for name in names]
    graph = model.replace_rvs_by_values(out)
    ends = pm.compile(values, graph, mode=FAST, on_unused_input="ignore")
    parts = [model[name] for name in names] + [p for p in model.potentials if p.name.endswith("design_density")]
    logp = pm.compile(values, model.logp(vars=parts, jacobian=False), mode=FAST, on_unused_input="ignore")
    sizes = [int(model[name].type.shape[0]) for name in names]

    def at(flat: np.ndarray) -> list[np.ndarray]:
        return list(np.split(flat, np.cumsum(sizes)[:-1]))

    rng = np.random.default_rng(7)
    start = rng.standard_normal(sum(sizes))
    here = np.concatenate(ends(*at(start)))
    slopes = np.stack([np.concatenate(ends(*at(start + unit))) - here for unit in np.eye(len(start))], axis=1)
    cell, _ = exposed_places(held)
    theta, contrast = here[: len(cell)], here[len(cell) :]
    expected = stats.multivariate_normal(np.full(len(cell), priors.hazard_centre), covariance(held, priors)).logpdf(
        theta
    )
    expected += stats.norm(0.0, not_nothing(SPREADS["s_run"])).logpdf(contrast).sum() + np.linalg.slogdet(slopes)[1]
    assert float(logp(*at(start))) == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.parametrize("group", ["cells of unlike cap and runs", "suites", "fixed and dynamic cells"])
def test_forward_draws_have_the_same_law(group: str) -> None:
    held, priors, draws = evidence(GROUPS[group]), Priors.stated("unknown", {}), 20_000
    model = pm.do(build_model(held, priors, CONFIG_MS, forward=True), SPREADS)
    theta = pm.draw(model["theta"], draws, mode=FAST, random_seed=11)
    wanted = covariance(held, priors)
    size = np.sqrt(np.diag(wanted))
    assert (np.abs(theta.mean(axis=0) - priors.hazard_centre) < 5 * size / draws**0.5).all()
    noise = np.sqrt((wanted**2 + np.outer(size**2, size**2)) / draws)
    assert (np.abs(np.cov(theta.T) - wanted) < 5 * noise).all()


@pytest.mark.parametrize(
    "group", ["one cell, one run", "cells of unlike cap and runs", "suites", "fixed and dynamic cells"]
)
def test_means_given_the_hazards_are_the_normal_conditional(group: str) -> None:
    held, priors, draws = evidence(GROUPS[group]), Priors.stated("unknown", {}), 40_000
    cell, place = exposed_places(held)
    rng = np.random.default_rng(3)
    theta = priors.hazard_centre + 0.6 * rng.standard_normal(len(cell))
    runs = np.array([sum(held.counted & (held.cell == k)) for k in range(len(held.cells))])
    spreads = {name: np.full(draws, value) for name, value in SPREADS.items()}
    inverse = np.linalg.inv(covariance(held, priors))
    square = {name: value**2 + SMALLEST_SD**2 for name, value in SPREADS.items()}
    places = Places.of(held)
    mu, beta, d = draw_means(
        places, np.broadcast_to(theta, (draws, len(cell))), Variances.of(spreads, runs), priors, rng
    )
    here = np.equal.outer(np.arange(DEPTH), place)
    means = priors.hazard_centre_sd**2 + priors.position_sd**2 * (here - 1 / DEPTH)
    before = priors.hazard_centre_sd**2 + priors.position_sd**2 * (1 - 1 / DEPTH)
    of_suite = square["s_suite"] + square["s_suite_position"] * here
    wanted = []  # drawn, covariance with theta, variance before, mean before
    for number, (dynamic, name) in enumerate(places.names):
        alike = held.dynamic_cell[cell] == dynamic
        same = alike & (held.suite[cell] == name)
        for i in range(DEPTH):
            wanted.append((mu[:, places.kind[number], i], alike * means[i], before, priors.hazard_centre))
            own = before + square["s_suite"] + square["s_suite_position"]
            wanted.append((beta[:, number, i], alike * means[i] + same * of_suite[i], own, priors.hazard_centre))
    for k in range(len(held.cells)):
        effect = square["s_cell"] + square["s_run"] / runs[k]
        wanted.append((d[:, k], (cell == k) * effect, effect, 0.0))
    for drawn, with_theta, prior, centre in wanted:
        mean = with_theta @ inverse @ (theta - priors.hazard_centre) + centre
        variance = prior - with_theta @ inverse @ with_theta
        assert abs(drawn.mean() - mean) < 5 * (variance / draws) ** 0.5
        assert abs(drawn.var() / variance - 1) < 5 * (2 / draws) ** 0.5


@pytest.mark.parametrize("group", GROUPS)
def test_differences_are_those_of_independent_effects_about_their_mean(group: str) -> None:
    held = evidence(GROUPS[group])
    contrasts = Contrasts.of(held)
    matrix = (
        np.array([contrasts.differences(unit, np) for unit in np.eye(contrasts.size)])
        .reshape(contrasts.size, len(contrasts.run))
        .T
    )
    cell = held.cell[contrasts.run]
    same = cell[:, None] == cell
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(len(cell)) - same / same.sum(axis=1), atol=1e-12)
    known = np.arange(1.0, len(held.cell) + 1)
    weights = known / np.bincount(held.cell, known)[held.cell]
    for mean in (np.zeros_like(known), weights):
        beside = matrix - same @ (mean[contrasts.run][:, None] * matrix)
        wanted = (beside**2).T @ known[contrasts.run]
        np.testing.assert_allclose(contrasts.information(known, mean), wanted, atol=1e-9)


def test_the_mean_effect_of_a_cell_s_runs_is_drawn_given_its_hazards() -> None:
    """A cell at large is its recorded runs less their mean effect: held against the dense joint law, conditioned by hand."""
    rows, draws = [SHALLOW, FIXED, FIXED | {"request_rounds": 190}, FIXED | {"cell": "b"}], 20_000
    made = fitted_of(everywhere(rows), SPREADS | {"overdispersion": 0.0, "s_transport": 0.1}, draws)
    held, priors = made.evidence, made.priors
    cell, _ = exposed_places(held)
    theta = made.draws["theta"].values[0, 0] - priors.hazard_centre
    inverse = np.linalg.inv(covariance(held, priors))
    for k in range(len(held.cells)):
        effect = (made.held.logit_in_sample - made.held.logit)[0, :, k, 0]
        before = not_nothing(SPREADS["s_run"]) ** 2 / (held.counted & (held.cell == k)).sum()
        gain = (cell == k) * before @ inverse
        variance = before - gain @ ((cell == k) * before)
        assert abs(effect.mean() - gain @ theta) < 5 * (variance / draws) ** 0.5
        assert abs(effect.var() / variance - 1) < 5 * (2 / draws) ** 0.5
