"""What grows with runs and draws: worked on in pieces that change no number, and a step as long as in a small group."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from draftdepth.models import repetition, sampling
from draftdepth.models.derive import derived
from draftdepth.models.evidence import Evidence
from draftdepth.models.fit import forward_draws
from draftdepth.models.sampling import acceptance, diagnostics

from .test_leave_out import PRIORS
from .test_models_density import CONFIG_MS, LEVELS, evidence


def four_chains(held: Evidence, draws: int) -> xr.Dataset:
    flat = forward_draws(held, PRIORS, CONFIG_MS, 5, 4 * draws)
    chains = [flat.isel(draw=slice(k, None, 4)).assign_coords(chain=[k], draw=np.arange(draws)) for k in range(4)]
    return xr.concat(chains, "chain")


@pytest.mark.parametrize("level", ["caps", "L2"])
def test_pieces_of_draws_change_no_number(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = evidence(LEVELS[level])
    draws = four_chains(held, 10)
    whole = derived(draws, held, PRIORS, CONFIG_MS, 3)
    monkeypatch.setattr(repetition, "BLOCK", 3 * len(held.cell) * held.deepest)
    for found, expected in zip(derived(draws, held, PRIORS, CONFIG_MS, 3), whole, strict=True):
        xr.testing.assert_identical(found, expected)


def test_memory_beyond_what_is_kept_does_not_grow_with_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    few = evidence(LEVELS["caps"])
    monkeypatch.setattr(repetition, "BLOCK", 1 << 12)
    beyond = {}
    for times in (20, 80):
        runs = np.tile(np.arange(len(few.cell)), times)
        of_runs = "cell fixed depth rounds accepted counted level verified verified_tokens table start".split()
        held = replace(few, run_ids=tuple(map(str, runs)), **{name: getattr(few, name)[runs] for name in of_runs})
        draws = four_chains(held, 50)
        tracemalloc.start()
        kept = derived(draws, held, PRIORS, CONFIG_MS, 3)
        beyond[times] = (tracemalloc.get_traced_memory()[1] / sum(part.nbytes for part in kept)) - 1.0
        tracemalloc.stop()
    assert beyond[80] < 0.5, beyond


def test_pieces_of_entries_change_no_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).standard_normal((4, 100, 3, 5))
    values[..., 1, 2] = np.nan
    values[..., 2, :] = 1.0
    reported = xr.Dataset(
        {"x": (("chain", "draw", "a", "b"), values), "constant": (("chain", "draw"), values[..., 2, 0])}
    )
    whole = diagnostics(reported)
    monkeypatch.setattr(sampling, "ENTRIES", 2)
    xr.testing.assert_identical(diagnostics(reported), whole)
    assert set(whole.data_vars) == {"x_rhat", "x_ess_bulk", "x_ess_tail"}


def accepted_by_leapfrog(step: float, dimensions: int) -> float:
    """Mean chance that a point of a path about independent normals is taken, half a turn long, as a tree has it."""
    rng = np.random.default_rng(11)
    x, speed = rng.standard_normal((2, 1000, dimensions))
    before, chances = 0.5 * (x**2 + speed**2).sum(axis=1), []
    for _ in range(round(np.pi / step)):
        speed = speed - 0.5 * step * x
        x = x + step * speed
        speed = speed - 0.5 * step * x
        after = 0.5 * (x**2 + speed**2).sum(axis=1)
        chances.append(np.minimum(np.exp(before - after), 1.0).mean())
    return float(np.mean(chances))


@pytest.mark.parametrize("dimensions", [200, 800, 5000])
def test_one_step_has_the_acceptance_that_is_asked_for_in_few_and_in_many_dimensions(dimensions: int) -> None:
    assert accepted_by_leapfrog(0.22, dimensions) == pytest.approx(acceptance(0.95, dimensions), abs=0.03)


def test_acceptance_is_that_of_the_settings_in_a_small_group_and_falls_no_lower_than_pays() -> None:
    assert acceptance(0.95, 20) == acceptance(0.95, 200) == 0.95
    assert acceptance(0.95, 10**6) == 0.65
