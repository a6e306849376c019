"""Posteriors held against closed forms, other samplers, the worst-case bounds, and each other. Slow: each compiles a model."""

from typing import Any

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from draftdepth.analysis.bounds import run_bounds
from draftdepth.models.derive import derived
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import Stated, fit, sampled_variables
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings, compiled, sample
from scipy import special

from .test_models_density import CONFIG_MS, DEPTH, TABLE, runs_of

pytestmark = pytest.mark.slow
SETTINGS = Settings(20261201)


def of_level(level: str, times: int) -> dict[str, Any]:
    """One run of the same rounds at a level of evidence, its counts multiplied."""
    table = np.zeros((DEPTH + 1, DEPTH + 1), dtype=int)
    for v, row in TABLE.items():
        table[int(v), : len(row)] = row
    table *= times
    verified = table.sum(axis=1)[::-1].cumsum()[::-1]
    accepted = table.sum(axis=0)[::-1].cumsum()[::-1]
    run: dict[str, Any] = {
        "policy": {"kind": "dynamic", "cap": DEPTH}, "request_rounds": int(table.sum()),
        "accepted_position": accepted[1:].tolist(),
    }  # fmt: skip
    more = {
        "L0": {},
        "L1": {"verified_tokens": int(verified[1:].sum())},
        "L2": {"verified_position": verified[1:].tolist()},
        "L3": {"accepted_by_verified": {str(v): table[v, : v + 1].tolist() for v in range(DEPTH + 1)}},
    }
    return run | more[level]


def test_independent_beta_hazards_have_their_closed_form() -> None:
    tried, taken = np.array([200, 150, 100]), np.array([150, 100, 60])
    with pm.Model() as model:
        h = pm.Beta("h", 2.0, 1.0, shape=3)
        pm.Binomial("taken", n=tried, p=h, observed=taken)
    drawn = sample(model, compiled(model, "nutpie"), SETTINGS, 5)["posterior"].to_dataset()["h"].values
    survival = np.cumprod(drawn, axis=-1).reshape(-1, 3)
    a, b = 2.0 + taken, 1.0 + tried - taken
    mean = np.cumprod(a / (a + b))
    square = np.cumprod(a * (a + 1) / ((a + b) * (a + b + 1)))
    error = np.sqrt((square - mean**2) / 2000)  # of 4,000 draws at least 2,000 are worth an independent one
    assert (np.abs(survival.mean(axis=0) - mean) < 4 * error).all()
    assert (np.abs(survival.var(axis=0) / (square - mean**2) - 1.0) < 4 * np.sqrt(2 / 2000)).all()


def test_both_samplers_draw_from_one_posterior() -> None:
    evidence, priors = evidence_of(runs_of([of_level("L2", 3)])), Priors.stated("unknown", {})
    found = {}
    for name in ("nutpie", "pymc"):
        stated = Stated.of(evidence, priors, CONFIG_MS, name)
        settings = Settings(3, draws=700, tune=700, sampler=name)
        raw = sample(stated.model, stated.program, settings, 3)
        found[name] = derived(sampled_variables(raw), evidence, priors, CONFIG_MS, 3)[0]
    for quantity in ("survival", "exposure", "fixed_survival", "step_ms"):
        one, other = (found[name][quantity].stack(d=("chain", "draw")) for name in ("nutpie", "pymc"))
        error = np.sqrt((one.var("d") + other.var("d")) / 700)  # 2,800 draws, a quarter of them independent
        assert bool((np.abs(one.mean("d") - other.mean("d")) <= 4 * error + 1e-12).all()), quantity


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_recorded_survival_stays_inside_the_worst_case_bounds(level: str) -> None:
    runs = runs_of([of_level(level, 1000)])
    priors = Priors.stated("unknown", {"transport_scale": 1e-6})
    tree = fit(runs, CONFIG_MS, priors, SETTINGS, "w", with_prior=False)
    drawn = tree["posterior"].to_dataset()["run_fixed_survival"].values.reshape(-1, DEPTH)
    low, high = (end[0, :DEPTH] for end in run_bounds(runs))
    error = 3 * np.sqrt(low * (1 - low) / int(runs["request_rounds"][0])) + 3e-4  # rounds, and overdispersion of shares
    od = tree["sampled"].to_dataset()["overdispersion"].values.max()
    slack = error + 3 * np.sqrt(od * low * (1 - low))
    assert (drawn >= low - slack).all()
    assert (drawn <= high + slack).all()


def test_more_rounds_do_not_narrow_a_masked_position_below_its_floor() -> None:
    priors = Priors.stated("unknown", {})
    width = []
    for times in (1, 1000):
        tree = fit(runs_of([of_level("L0", times)]), CONFIG_MS, priors, SETTINGS, "w", with_prior=False)
        deep = tree["posterior"].to_dataset()["fixed_survival"].isel(cell=0, depth=DEPTH, position=DEPTH - 1)
        width.append(float(deep.quantile(0.95) - deep.quantile(0.05)))
    # the floor: hazards known exactly, exposure and masked tail from their priors alone
    rng = np.random.default_rng(4)
    accepted = np.array(of_level("L0", 1)["accepted_position"]) / of_level("L0", 1)["request_rounds"]
    h = accepted / np.array([1.0, *accepted[:-1]])
    v = h + (1 - h) * rng.uniform(size=(20_000, DEPTH))
    b = special.expit(special.logit(h / v) - np.abs(priors.masked_gap_scale * rng.standard_normal((20_000, 1))))
    passed, masked = np.ones(20_000), np.zeros(20_000)
    for i in range(DEPTH):
        masked = (masked + passed * (1 - v[:, i])) * b[:, i]
        passed = passed * h[i]
    floor = float(np.diff(np.quantile(passed + masked, [0.05, 0.95]))[0])
    assert width[1] > 0.9 * floor
    assert width[1] <= width[0] * 1.05


def test_one_workers_data_leave_anothers_draws_untouched() -> None:
    from draftdepth.analysis.groups import fit_groups

    def fitted(other: int) -> dict[str, xr.DataTree]:
        rows = [of_level("L0", 2) | {"worker": "a"}, of_level("L0", other) | {"worker": "b", "cell": "d"}]
        runs = runs_of(rows).assign_coords(role=("run", ["primary", "primary"]))
        settings = Settings(9, draws=200, tune=300)
        stated = {}
        for name, some in fit_groups(runs):
            if name == "a":
                stated[name] = fit(some, CONFIG_MS, Priors(), settings, name, with_prior=False)
        return stated

    one, again = (fitted(other)["a"]["posterior"].to_dataset() for other in (3, 5))
    xr.testing.assert_identical(one.drop_attrs(), again.drop_attrs())
