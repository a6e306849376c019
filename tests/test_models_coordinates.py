"""Flat coordinates leave the law as it is: densities in them are those of the sentences of the model times the change."""

from typing import Any

import numpy as np
import pymc as pm
import pytest
from draftdepth.models.exposure_uniforms import ways
from draftdepth.models.model import build_model
from draftdepth.models.priors import Priors
from draftdepth.models.spreads import half_normal
from scipy import special, stats

from .test_models_density import CONFIG_MS, DYNAMIC, FAST, FIXED, LEVELS, SHALLOW, evidence, point

TIMED: dict[str, list[dict[str, Any]]] = {
    "fixed arms teach the slope": LEVELS["L4"],
    "two cells that share starts": [
        row | {"cell": cell, "start": start}
        for cell, row, start in zip("ddee", (SHALLOW, FIXED, SHALLOW, FIXED), "stsu", strict=True)
    ],
    "a fixed arm beside a dynamic one": [DYNAMIC, DYNAMIC | {"request_rounds": 210}, FIXED],
    "one arm": [DYNAMIC],
}


def compiled(model: pm.Model, names: list[str], densities: list[str]) -> tuple[Any, Any]:
    """Named variables, and the density of named parts, as functions of the sampler's point."""
    graph = model.replace_rvs_by_values([model[name] for name in names])
    values = pm.compile(model.value_vars, graph, mode=FAST, on_unused_input="ignore")
    parts = [model[name] for name in densities]
    density = pm.compile(model.value_vars, model.logp(vars=parts, jacobian=False), mode=FAST, on_unused_input="ignore")
    order = [v.name for v in model.value_vars]
    return (lambda at: values(*[at[n] for n in order])), (lambda at: float(density(*[at[n] for n in order])))


def log_change(model: pm.Model, values: Any, at: dict[str, Any], moved: list[str]) -> float:
    """Log size of the change from the moved variables to all that `values` gives, by central differences."""

    def flat(changed: dict[str, Any]) -> np.ndarray:
        return np.concatenate([np.ravel(x) for x in values(changed)])

    columns = []
    for name in moved:
        for place in np.ndindex(np.shape(at[name])):
            ends = []
            for side in (1e-5, -1e-5):
                shifted = np.array(at[name], dtype=float)
                shifted[place] += side
                ends.append(flat(at | {name: shifted}))
            columns.append((ends[0] - ends[1]) / 2e-5)
    return float(np.linalg.slogdet(np.stack(columns, axis=1))[1])


@pytest.mark.parametrize("group", TIMED)
def test_bases_starts_and_slope_have_the_law_of_the_page(group: str) -> None:
    held, priors = evidence(TIMED[group]), Priors.stated("unknown", {})
    model = build_model(held, priors, CONFIG_MS)
    slope = ["slope"] if "slope" in model.named_vars else []
    densities = ["start_score", "log_step", "base_unit"] + (["slope_density"] if slope else [])
    targets = ["log_base", "start", *slope]
    values, density = compiled(model, targets, densities)
    extra = ["s_start", "s_run_time", "s_request_time", *(["slope_batch"] if held.teaches_slope else [])]
    anchors = ["uniform", "theta"] if "uniform" in model.named_vars else []
    others, _ = compiled(model, extra, densities)
    at = point(model, 3)
    log_base, start, *rest = values(at)
    s_start, s_run, s_request, *gamma = map(float, others(at))
    m = float(rest[0]) if slope else 0.0
    # by hand, with the anchor of dynamic runs taken from the model's own forward statement of the same point
    forward = build_model(held, priors, CONFIG_MS, forward=True)
    names = {"log_base": log_base, "start_score": start / s_start, "s_start": s_start, "s_run_time": s_run,
             "s_request_time": s_request}  # fmt: skip
    if slope:
        names["slope_here"] = m / (3.0 ** gamma[0] if gamma else 1.0)
    if gamma:
        names["slope_batch"] = gamma[0]
    if anchors:
        uniform, theta = compiled(model, anchors, densities)[0](at)
        names |= {"exposure_uniform": uniform, "theta": theta, "kappa": compiled(model, ["kappa"], densities)[0](at)[0]}
    for name in ("run_contrast", "s_transport", "transport_step"):
        if name in model.named_vars:
            names[name] = compiled(model, [name], densities)[0](at)[0]
    done = pm.do(forward, {name: np.asarray(value, dtype=float) for name, value in names.items() if name != "log_base"})
    with done:
        law = done.logp(vars=[done["log_step"], done["log_base"]], jacobian=False)
    free_base = done.rvs_to_values[done["log_base"]]
    page = float(pm.compile([free_base], law, mode=FAST, on_unused_input="ignore")(log_base))
    page += stats.norm(0.0, s_start).logpdf(start).sum()
    if held.teaches_slope:
        scale = priors.row_slope_scale
        page += stats.halfnorm(scale=scale).logpdf(m) + gamma[0] * np.log(3.0)
        change = log_change(
            model,
            lambda a: [*values(a)[:2], values(a)[2] / 3.0 ** gamma[0]],
            at,
            ["base_score", "start_score", "slope_score"],
        )
    elif slope:
        page += stats.beta(priors.row_slope_alpha, priors.row_slope_beta).logpdf(m)
        change = log_change(model, values, at, ["base_score", "start_score", "slope_score"])
    else:
        change = log_change(model, values, at, ["base_score", "start_score"])
    assert density(at) == pytest.approx(page + change, rel=1e-6)


SEVERAL: dict[str, list[dict[str, Any]]] = {
    "masked_gap": LEVELS["mixed"],
    "verified_ratio": LEVELS["L2"] + [DYNAMIC | {"verified_position": [195, 165, 110], "request_rounds": 205}],
    "verified_total": [
        *LEVELS["L1"],
        DYNAMIC
        | {
            "cell": "b",
            "policy": {"kind": "dynamic", "cap": 2},
            "accepted_position": [150, 100],
            "verified_tokens": 330,
        },
        DYNAMIC
        | {
            "cell": "b",
            "policy": {"kind": "dynamic", "cap": 2},
            "accepted_position": [140, 90],
            "verified_tokens": 340,
        },
        DYNAMIC
        | {"cell": "d", "policy": {"kind": "dynamic", "cap": 1}, "accepted_position": [150], "verified_tokens": 180},
    ],
}


@pytest.mark.parametrize("scheduler", ["confidence", "unknown", "cap_only"])
@pytest.mark.parametrize("way", SEVERAL)
def test_uniforms_stay_uniform_in_the_coordinates_of_the_counts(way: str, scheduler: str) -> None:
    held, priors = evidence(SEVERAL[way]), Priors.stated(scheduler, {})
    assert {name for name, chosen in ways(held, np.arange(len(held.cells))).items() if chosen.any()} == {way}
    model = build_model(held, priors, CONFIG_MS)
    values, density = compiled(model, ["uniform"], [f"{way}_density"])
    for seed in range(3):
        at = point(model, seed)
        uniform = values(at)[0]
        assert ((uniform > 0) & (uniform < 1)).all()
        assert density(at) == pytest.approx(log_change(model, values, at, [way]), rel=1e-5, abs=1e-5)


def test_a_half_normal_is_one() -> None:
    with pm.Model() as model:
        half_normal("x", 0.3)
    logp = model.compile_logp(mode=FAST)
    for y in (-9.0, -1.0, 0.5, 6.0):
        x = 0.3 * np.logaddexp(0.0, y)
        wanted = stats.halfnorm(scale=0.3).logpdf(x) + np.log(0.3) + np.log(special.expit(y))
        assert float(logp({"x_softplus__": np.array(y)})) == pytest.approx(float(wanted), rel=1e-10)
