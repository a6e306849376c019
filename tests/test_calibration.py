"""Made-up runs follow the model's law, ranks of a right model look right, and those of a broken one do not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.calibration import QUANTITIES, Calibration, Ranked
from draftdepth.analysis.calibration_table import calibration_rows, verdict
from draftdepth.data.study import load_study
from draftdepth.data.words import Level
from draftdepth.models.evidence import Evidence
from draftdepth.models.fit import forward_draws
from draftdepth.models.observations import observations
from draftdepth.models.population import _Draws, population
from draftdepth.models.priors import Priors
from draftdepth.models.recursion import exposure
from draftdepth.models.repetition import recorded
from draftdepth.models.simulation import at_level, simulated

from .test_models_density import CONFIG_MS, DYNAMIC, FIXED, evidence

LABELS = {name: ["only"] for name in QUANTITIES}


def ranks(pit: np.ndarray) -> list[Ranked]:
    return [Ranked(number, {key: [float(x)] for key in QUANTITIES}, 0) for number, x in enumerate(pit)]


def test_uniform_ranks_pass_and_cover() -> None:
    rows = calibration_rows(ranks(np.random.default_rng(1).uniform(size=400)), LABELS)
    assert verdict(rows, composite=False) == []
    assert {row["sims"] for row in rows} == {400}
    assert abs(rows[0]["cover_90"] - 0.9) < 3 * rows[0]["error_90"]


@pytest.mark.parametrize("bend", [lambda u: u**1.5, lambda u: 0.5 + 0.6 * (u - 0.5)], ids=["biased", "too wide"])
def test_ranks_that_are_not_uniform_leave_the_band(bend: Any) -> None:
    rows = calibration_rows(ranks(bend(np.random.default_rng(1).uniform(size=400))), LABELS)
    assert len(verdict(rows, composite=False)) == len(QUANTITIES)


def test_too_narrow_intervals_fail_at_composite_levels() -> None:
    u = np.random.default_rng(1).uniform(size=400)
    narrow = np.clip(0.5 + 1.3 * (u - 0.5), 0.0, 1.0)
    assert len(verdict(calibration_rows(ranks(narrow), LABELS), composite=True)) == len(QUANTITIES)
    assert verdict(calibration_rows(ranks(u), LABELS), composite=True) == []


def worlds(draws: int) -> tuple[xr.Dataset, Any, Priors]:
    table = {"verified_tokens": 480}
    held = evidence([DYNAMIC | {"request_rounds": 40_000} | table, FIXED | {"request_rounds": 40_000}])
    priors = Priors.stated("unknown", {"overdispersion_scale": 1e-7, "run_scale": 1e-6})
    return forward_draws(held, priors, CONFIG_MS, 5, draws), held, priors


@pytest.mark.parametrize("level", [Level.L0, Level.L3])
def test_made_up_counts_follow_hazards_and_exposure(level: Level) -> None:
    drawn, held, priors = worlds(6)
    held = at_level(held, level)
    for number in range(6):
        one = drawn.isel(draw=[number])
        made = simulated(one, held, priors, CONFIG_MS, 11 + number)
        truth = recorded(population(one, held, priors, 11 + number), held, priors, CONFIG_MS)
        for r, rounds in enumerate(held.rounds):
            before = np.array([rounds, *made.accepted[r][:-1]])
            chance = truth.chance[0, 0, r]
            error = np.sqrt(chance * (1 - chance) / np.maximum(before, 1.0)) + 1.0 / np.maximum(before, 1.0)
            assert (np.abs(made.accepted[r] / np.maximum(before, 1.0) - chance) < 5 * error)[before > 0].all()
        if level == Level.L3:
            h, v = truth.hazard[0, 0, 0], truth.verified_chance[0, 0, 0]
            kappa = population(one, held, priors, 11 + number).kappa[0, 0]
            e = exposure(h, v, kappa, np)
            error = np.sqrt(e * (1 - e) / held.rounds[0]) + 1.0 / held.rounds[0]
            assert (np.abs(made.verified[0] / held.rounds[0] - e) < 5 * error).all()
            assert made.table[0].sum() == held.rounds[0]
            assert made.verified_tokens[0] == made.verified[0].sum()


def test_at_l4_every_run_is_fixed() -> None:
    held = at_level(evidence([DYNAMIC, FIXED]), Level.L4)
    assert held.fixed.all()
    assert not held.dynamic_cell.any()
    assert not held.exposure_matters.any()


def two_cells(fitted: Priors, sims: int) -> list[str]:
    """Failures of a calibration of two cells of two runs at L0, drawn from the plain priors."""
    from draftdepth.analysis.screen import screen
    from draftdepth.data.inputs import usable_inputs

    study = load_study("sp2")
    runs = usable_inputs(study, {}).runs
    some = runs.isel(run=np.flatnonzero(np.isin(runs["cell"].values, ["W5-E1p/c32x3", "W5-E1p/c32x4"])))
    priors = Priors.stated(study.scheduler, study.priors)
    made = Calibration.of(study, screen(study, runs), some, Level.L0, sims, priors, fitted, "tp2")
    return verdict(calibration_rows(list(made.run(frozenset())), made.labels()), composite=False)


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["shifted prior", "no run effect"])
def test_calibration_catches_a_broken_model(broken: str) -> None:
    study = load_study("sp2")
    priors = Priors.stated(study.scheduler, study.priors)
    if broken == "shifted prior":
        priors = replace(priors, masked_gap_scale=priors.masked_gap_scale / 4)
    else:
        priors = replace(priors, run_scale=1e-4, overdispersion_scale=1e-6)
    assert two_cells(priors, 60)


@pytest.mark.slow
def test_calibration_catches_a_forgotten_truncation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit lets what is masked be accepted with higher odds too; worlds do not."""
    study = load_study("sp2")
    whole = Calibration._entries

    def both_signs(draws: _Draws, scale: float, *shape: int) -> np.ndarray:
        return np.asarray(scale * draws.normal(*shape))

    def entries(self: Calibration, free: xr.Dataset, counts: Evidence, priors: Priors, seed: int) -> dict[str, Any]:
        with monkeypatch.context() as broken:
            if free.sizes["draw"] > 1:
                broken.setattr(_Draws, "half_normal", both_signs)
            return whole(self, free, counts, priors, seed)

    monkeypatch.setattr(Calibration, "_entries", entries)
    found = two_cells(Priors.stated(study.scheduler, study.priors), 60)
    assert any(fault.startswith("delta") for fault in found)


def test_naive_estimates_of_a_masked_tail_miss_it() -> None:
    """What calibrated intervals cover nine times in ten, accepted / rounds and the product over those at risk do not."""
    held, priors = at_level(evidence([DYNAMIC | {"request_rounds": 2000}]), Level.L3), Priors.stated("unknown", {})
    worlds, inside = forward_draws(held, priors, CONFIG_MS, 5, 200), np.zeros((2, 200))
    for number in range(200):
        one = worlds.isel(draw=[number])
        made = simulated(one, held, priors, CONFIG_MS, number)
        truth = recorded(population(one, held, priors, number), held, priors, CONFIG_MS).fixed_survival[0, 0, 0, -1]
        rounds, table = made.rounds[0], made.table[0]
        at_risk = np.array([table[i:, i - 1 :].sum() for i in (1, 2, 3)])  # verified, accepted so far
        shares = [made.accepted[0, -1] / rounds, np.prod(made.accepted[0] / np.maximum(at_risk, 1.0))]
        chance = np.clip(made.accepted[0] / np.maximum(at_risk, 1.0), 1e-3, 1 - 1e-3)
        errors = [
            np.sqrt(shares[0] * (1 - shares[0]) / rounds),
            shares[1] * np.sqrt(((1 - chance) / (chance * np.maximum(at_risk, 1.0))).sum()),
        ]
        inside[:, number] = [abs(truth - s) <= 1.645 * e for s, e in zip(shares, errors, strict=True)]
    assert (inside.mean(axis=1) < 0.9 - 5 * np.sqrt(0.09 / 200)).all(), inside.mean(axis=1)


@pytest.mark.parametrize("level", [level for level in Level if level != Level.L4])
def test_every_level_can_be_fed_from_runs_that_did_not_record_it(level: Level) -> None:
    held, priors = at_level(evidence([DYNAMIC, DYNAMIC | {"request_rounds": 210}]), level), Priors.stated("unknown", {})
    before = observations(held)
    one = forward_draws(held, priors, CONFIG_MS, 5, 2).isel(draw=[0])
    made = simulated(one, held, priors, CONFIG_MS, 3)
    after = observations(made)
    assert before.keys() == after.keys()
    for name, values in before.items():
        assert np.isfinite(values).all(), name
        assert values.shape == after[name].shape
        assert np.isfinite(after[name]).all(), name
