"""The likelihood of each level of evidence, held against scipy at random points; gradients at the start."""

from typing import Any

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from draftdepth.models.evidence import Evidence, evidence_of
from draftdepth.models.model import build_model
from draftdepth.models.priors import Priors
from draftdepth.models.transport import paths, sampled_steps
from pytensor.compile.mode import Mode
from scipy import special, stats

from .builders import record

FAST = Mode(linker="py", optimizer="fast_compile")  # compiling would take longer than the test
TIMES = ([73.1, 72.8, 73.3], [70.0], [60.0, 61.0, 59.0, 64.0])
CONFIG_MS = np.array([10.0, 11.0, 13.0, 14.0])
DEPTH = 3

DYNAMIC: dict[str, Any] = {
    "policy": {"kind": "dynamic", "cap": 3},
    "request_rounds": 200,
    "accepted_position": [150, 100, 60],
}
FIXED: dict[str, Any] = {
    "policy": {"kind": "fixed", "depth": 3},
    "request_rounds": 180,
    "accepted_position": [150, 120, 90],
}
SHALLOW: dict[str, Any] = {
    "policy": {"kind": "fixed", "depth": 2},
    "request_rounds": 170,
    "accepted_position": [140, 110],
}
CAPPED: dict[str, Any] = {
    "policy": {"kind": "dynamic", "cap": 2},
    "request_rounds": 200,
    "accepted_position": [150, 100],
}
TABLE = {"0": [10], "1": [5, 5], "2": [10, 15, 10], "3": [25, 30, 30, 60]}
LEVELS: dict[str, list[dict[str, Any]]] = {
    "L0": [DYNAMIC, DYNAMIC | {"request_rounds": 220}],
    "L1": [DYNAMIC | {"verified_tokens": 480}],
    "L2": [DYNAMIC | {"verified_position": [190, 160, 120]}],
    "L3": [DYNAMIC | {"accepted_by_verified": TABLE}],
    "L4": [FIXED, FIXED | {"request_rounds": 190}, SHALLOW],
    "mixed": [DYNAMIC | {"verified_tokens": 480}, FIXED, SHALLOW],
    "caps": [DYNAMIC, CAPPED, FIXED],
}


def runs_of(rows: list[dict[str, Any]]) -> xr.Dataset:
    runs = []
    for place, row in enumerate(rows):
        run, faults = parse_run(record(run=f"r{place}", **row), "f", place + 1, DEPTH)
        assert run is not None, faults
        runs.append(run)
    data: xr.Dataset = runs_dataset(runs, DEPTH)
    screened = data["policy"].values == data["policy"].values[0]
    return data.assign_coords(screened=("run", screened))


def evidence(rows: list[dict[str, Any]]) -> Evidence:
    return evidence_of(runs_of(rows))


def point(model: pm.Model, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    start = model.initial_point()
    return {name: value + 0.3 * rng.standard_normal(np.shape(value)) for name, value in start.items()}


def free(model: pm.Model, at: dict[str, np.ndarray]) -> dict[str, Any]:
    """Values of the free variables and named deterministics at a point of the sampler's space."""
    names = [rv.name for rv in model.free_RVs] + [d.name for d in model.deterministics]
    graph = model.replace_rvs_by_values([model[name] for name in names])
    values = pm.compile(model.value_vars, graph, mode=FAST, on_unused_input="ignore")
    return dict(zip(names, values(*[at[v.name] for v in model.value_vars]), strict=True))


def betabinom(k: float, n: float, p: float, overdispersion: float) -> float:
    concentration = 1 / (overdispersion + 1e-7)
    return float(stats.betabinom(int(n), p * concentration, (1 - p) * concentration).logpmf(int(k)))


def by_hand(held: Evidence, values: dict[str, Any], priors: Priors) -> float:
    """Log likelihood of the counts, run by run and position by position, from the formulas of the model's page."""
    od, total = float(values["overdispersion"]), 0.0
    shift = np.zeros(len(held.cell))
    if "run_contrast" in values:  # Helmert's contrasts of two or three runs, written out
        new = np.flatnonzero(held.counted)
        u = values["run_contrast"]
        if len(new) == 2:
            shift[new] = np.array([1, -1]) * u[0] / np.sqrt(2)
        else:
            shift[new] = np.array([u[0] / 2**0.5 + u[1] / 6**0.5, -u[0] / 2**0.5 + u[1] / 6**0.5, -2 * u[1] / 6**0.5])
    for r in range(len(held.cell)):
        # one step from a policy to a fixed arm of its cap, where there is a policy; and one from depth 3 to 2
        steps = values["s_transport"] * values.get("transport_step", np.zeros(2))
        first, shallower = float(steps[0]) if "uniform" in values else 0.0, float(steps[-1]) * (held.depth[r] == 2)
        h = special.expit(values["theta"] + shift[r] + (0.0 if held.fixed[r] else shallower))
        e = v = a = w = None
        if "uniform" in values:
            u = 1 - (1 - values["uniform"][0]) ** (1 / priors.exposure_shape)
            v = h + (1 - h) * u
            a, w = h / v, special.expit(special.logit(v) - values["kappa"])
            delta = values["delta"][0]
            accepted, rejected, masked = 1.0, 0.0, 0.0
            exposed: list[float] = []
            s: list[float] = []
            for i in range(DEPTH):
                b = special.expit(special.logit(a[i]) - delta)
                masked = (masked + accepted * (1 - v[i])) * b
                rejected = accepted * v[i] * (1 - a[i]) + rejected * w[i]
                accepted *= v[i] * a[i]
                exposed.append(accepted + rejected)
                s.append(accepted + masked)
            e = np.array(exposed)
            if held.fixed[r]:
                h = np.array(s) / np.array([1.0, *s[:-1]])
        if held.fixed[r]:
            h = special.expit(special.logit(h) + first + shallower)
        n, counts = held.rounds[r], held.accepted[r]
        if held.level[r] == "L3":
            assert v is not None
            assert a is not None
            assert w is not None
            t = held.table[r]
            for i in range(1, DEPTH + 1):
                alive = sum(t[k, j] for k in range(4) for j in range(4) if j >= i - 1)
                tried = sum(t[k, j] for k in range(4) for j in range(4) if j >= i - 1 and k >= i)
                total += betabinom(tried, alive, v[i - 1], od) + betabinom(counts[i - 1], tried, a[i - 1], od)
                lost = sum(t[k, j] for k in range(4) for j in range(4) if j < i - 1 and k >= i - 1)
                on = sum(t[k, j] for k in range(4) for j in range(4) if j < i - 1 and k >= i)
                total += betabinom(on, lost, w[i - 1], od)
            continue
        for i in range(held.depth[r] if held.counted[r] else 0):
            total += betabinom(counts[i], counts[i - 1] if i else n, h[i], od)
        if held.level[r] == "L2":
            assert e is not None
            ratio = e / np.array([1.0, *e[:-1]])
            seen = held.verified[r]
            for i in range(DEPTH):
                total += betabinom(seen[i], seen[i - 1] if i else n, ratio[i], od)
        if held.level[r] == "L1":
            assert e is not None
            p = np.append(1.0, e) - np.append(e, 0.0)  # P(V = k): the total's variance from its law, not from a formula
            mean = (np.arange(4) * p).sum()
            spread = n * ((np.arange(4) ** 2 * p).sum() - mean**2 + 1e-6) * (1 + (n - 1) * od) + 1 / 12
            total += float(stats.norm(n * mean, np.sqrt(spread)).logpdf(held.verified_tokens[r]))
    return total


@pytest.mark.parametrize("level", LEVELS)
def test_log_likelihood_is_scipys(level: str) -> None:
    held, priors = evidence(LEVELS[level]), Priors.stated("confidence", {})
    model = build_model(held, priors, CONFIG_MS)
    counts = model.observed_RVs
    logp = model.compile_logp(vars=counts, jacobian=False, mode=FAST, on_unused_input="ignore")
    for seed in range(3):
        at = point(model, seed)
        assert float(logp(at)) == pytest.approx(by_hand(held, free(model, at), priors), rel=1e-7)


def test_transport_starts_from_the_policy_and_no_arm_moves_its_origin() -> None:
    before = evidence([CAPPED])
    after = evidence([CAPPED, FIXED, SHALLOW])
    # steps: policy to fixed arm, 0 to 1, 1 to 2, 2 to 3; the cap is 2
    expected = [[1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]]
    np.testing.assert_array_equal(paths(before)[0], expected)
    np.testing.assert_array_equal(paths(after)[0], expected)
    assert [len(steps) for steps in sampled_steps(before)] == [0, 0]
    assert [steps.tolist() for steps in sampled_steps(after)] == [[0, 0], [0, 3]]
    assert [steps.tolist() for steps in sampled_steps(evidence([DYNAMIC, CAPPED]))] == [[0], [3]]
    alone = paths(evidence([FIXED, SHALLOW]))[0]
    np.testing.assert_array_equal(alone, [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize("level", LEVELS)
def test_gradient_is_finite_at_the_start(level: str) -> None:
    model = build_model(evidence(LEVELS[level]), Priors.stated("unknown", {}), CONFIG_MS)
    gradient = model.compile_dlogp(mode=FAST)(model.initial_point())
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).sum() > 0


def test_a_copy_of_a_run_adds_nothing() -> None:
    held = evidence([DYNAMIC, DYNAMIC])
    assert held.counted.tolist() == [True, False]
    model = build_model(held, Priors(), CONFIG_MS)
    assert model["accepted_tried"].get_value().tolist() == [200, 150, 100]


def test_step_times_are_medians_about_the_arms_and_requests_about_their_run() -> None:
    rows = [
        row | {"requests": [{"step_p50_ms": t} for t in times]} for row, times in zip(LEVELS["L4"], TIMES, strict=True)
    ]
    held = evidence(rows)
    model = build_model(held, Priors(), CONFIG_MS)
    at = point(model, 5)
    values = free(model, at)
    sizes = np.array([3, 1, 4])
    noise = np.sqrt(values["s_run_time"] ** 2 + (4 / 3 * values["s_request_time"]) ** 2 / sizes)
    rows_ms = float(values["slope"]) * 3 ** (
        1 - float(values["slope_batch"])
    )  # batch 3; depths 3 and 2: 13.5 on average
    base, priors = values["log_base"][0], Priors()
    arms = np.log(np.exp(base) + rows_ms * (CONFIG_MS[[3, 3, 2]] - 13.5))
    loading = np.array([[0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]])  # two starts; the base is over both
    apart = np.append(np.log([73.1, 70.0, 60.5]) - arms, base - np.log(priors.time_centre_ms))
    spread = np.diag(np.append(noise**2, priors.time_centre_sd**2)) + values["s_start"] ** 2 * loading @ loading.T
    expected = stats.multivariate_normal(np.zeros(4), spread).logpdf(apart)
    logp = model.compile_logp(vars=[model["log_step"]], jacobian=False, mode=FAST, on_unused_input="ignore")
    assert float(logp(at)) == pytest.approx(float(expected), rel=1e-9)
    within = 0.0
    for times in (TIMES[0], TIMES[2]):
        n = len(times)
        apart = np.log(times) - np.log(np.median(times))
        law = stats.t(4, scale=values["s_request_time"])
        within += (n - 1) / n * law.logpdf(apart * np.sqrt(n / (n - 1))).sum()
    logp = model.compile_logp(vars=[model["requests"]], jacobian=False, mode=FAST, on_unused_input="ignore")
    assert float(logp(at)) == pytest.approx(float(within), rel=1e-9)
