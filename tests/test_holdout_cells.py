"""Whole cells left out: which they are, and what their prediction is drawn from."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.holdout import training
from draftdepth.analysis.selection import chosen, in_turn
from draftdepth.data.errors import InputError
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import fit
from draftdepth.models.new_cell import with_unseen
from draftdepth.models.prediction import Fitted
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings

from .test_models_density import CONFIG_MS, DYNAMIC, FIXED, SHALLOW, runs_of

K = 3
D = FIXED | {"cell": "d", "batch": 8}
MIXED = DYNAMIC | {"cell": "e", "batch": 1}
ROWS: list[dict[str, Any]] = [
    FIXED,
    FIXED | {"request_rounds": 190},
    SHALLOW,
    D,
    MIXED,
    FIXED | {"cell": "e", "batch": 1},
]


def everywhere(rows: list[dict[str, Any]]) -> xr.Dataset:
    """Runs of cells that are all screened at what their deepest policy is."""
    return runs_of(rows).assign_coords(screened=("run", [row is not SHALLOW for row in rows]))


def test_each_value_in_turn_among_the_runs_that_the_other_words_mean() -> None:
    runs = everywhere(ROWS)
    assert in_turn(runs, "batch=each") == ["batch=1", "batch=3", "batch=8"]
    assert in_turn(runs, "policy=fixed depth=2 batch=each") == ["policy=fixed depth=2 batch=3"]
    assert in_turn(runs, "cell=S/c depth=each") == ["cell=S/c depth=2", "cell=S/c depth=3"]
    assert in_turn(runs, "batch=3") == ["batch=3"]
    with pytest.raises(InputError, match="two words with each"):
        in_turn(runs, "batch=each depth=each")


def test_of_a_cell_without_counts_times_of_fixed_arms_are_kept_and_nothing_else() -> None:
    runs = everywhere(ROWS)
    held = chosen(runs, "batch=1")
    alone = evidence_of(training(runs, held, np.zeros(6, dtype=bool)))
    assert alone.cells == ("S/c", "S/d")
    kept = evidence_of(training(runs, held, held))
    assert kept.cells == ("S/c", "S/d", "S/e")
    assert kept.fixed[kept.cell == 2].tolist() == [True]
    assert kept.counted[kept.cell == 2].tolist() == [False]
    # where a count of the cell is left, a dynamic run's times stay as they were
    some = training(runs, chosen(runs, "policy=dynamic"), np.ones(6, dtype=bool))
    assert some["policy"].values[some["times_only"].values].tolist() == ["dynamic"]


def fitted_of(
    runs: xr.Dataset, spreads: dict[str, float], draws: int, theta: np.ndarray | None = None, times: bool = True
) -> Fitted:
    """A made-up fit: spreads as given, one vector of hazards on every draw."""
    held = evidence_of(runs)
    size = (1, draws)
    places = int((held.positions <= held.cap[:, None]).sum())
    theta = np.linspace(-0.5, 2.0, places) if theta is None else theta
    data: dict[str, Any] = {name: (("chain", "draw"), np.full(size, value)) for name, value in spreads.items()}
    data["theta"] = (("chain", "draw", "n"), np.broadcast_to(theta, (*size, places)))
    if times:
        data["log_base"] = (
            ("chain", "draw", "k"),
            np.broadcast_to(np.arange(4.0, 4.0 + len(held.cells)), (*size, len(held.cells))),
        )
        data["start"] = (("chain", "draw", "s"), np.zeros((*size, held.start.max() + 1)))
    return Fitted.of(xr.Dataset(data, {"chain": [0], "draw": range(draws)}), held, Priors(), CONFIG_MS, 1)


SPREADS = {
    "s_suite": 0.6, "s_suite_position": 0.2, "s_cell": 0.5, "s_cell_position": 0.3, "s_run": 0.4, "overdispersion": 0.01,
    "s_transport": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("suite", ["S", "T"])
def test_hazards_of_a_new_cell_have_the_law_that_the_hierarchy_gives_them_beside_the_others(suite: str) -> None:
    """Held against the dense joint normal law of all cells, conditioned by hand: of a suite that was seen, and of a new one."""
    runs = everywhere([FIXED, FIXED | {"request_rounds": 190}, FIXED | {"cell": "b"}, D | {"suite": suite}])
    made = fitted_of(runs.isel(run=[0, 1, 2]), SPREADS, 20_000)
    new = with_unseen(made, evidence_of(runs.isel(run=[3])), 7)
    assert new.evidence.cells == ("S/b", "S/c", f"{suite}/d")
    assert new.evidence.suite.tolist() == ["S", "S", suite]
    drawn = new.held.logit[0, :, 2]
    priors, ones, eye = Priors(), np.ones((K, K)), np.eye(K)
    means = priors.hazard_centre_sd**2 * ones + priors.position_sd**2 * (eye - ones / K)
    of_suite = SPREADS["s_suite"] ** 2 * ones + SPREADS["s_suite_position"] ** 2 * eye

    def own(runs_of_cell: float) -> np.ndarray:
        effect = SPREADS["s_cell"] ** 2 + SPREADS["s_run"] ** 2 / runs_of_cell
        return np.asarray(effect * ones + SPREADS["s_cell_position"] ** 2 * eye)

    seen = np.kron(np.ones((2, 2)), means + of_suite)
    seen[:K, :K] += own(1)  # b has one run, c has two
    seen[K:, K:] += own(2)
    shared = means + of_suite * (suite == "S")
    across = np.hstack([shared, shared])
    gain = across @ np.linalg.inv(seen)
    mean = priors.hazard_centre + gain @ (np.linspace(-0.5, 2.0, 2 * K) - priors.hazard_centre)
    cov = means + of_suite + own(np.inf) - gain @ across.T
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(np.diag(cov).max() / 20_000))
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=4 * cov.max() * np.sqrt(2 / 20_000))


def test_a_new_cell_is_of_the_kind_of_its_policies() -> None:
    """Fixed cells at hazards of -2, dynamic ones at +3, no spread: the new cell lies with its kind, the prior of masks beside it."""
    tiny = dict.fromkeys(SPREADS, 1e-6) | {"s_transport": 0.1}
    runs = everywhere([FIXED, DYNAMIC | {"cell": "q"}, D, MIXED, FIXED | {"cell": "e", "batch": 1}])
    made = fitted_of(runs.isel(run=[0, 1]), tiny, 4000, np.repeat([-2.0, 3.0], K))
    new = with_unseen(made, evidence_of(runs.isel(run=[2, 3, 4])), 7)
    assert new.evidence.cells == ("S/c", "S/q", "S/d", "S/e")
    np.testing.assert_allclose(new.held.logit[0, :, 2], -2.0, atol=0.03)
    np.testing.assert_allclose(new.held.logit[0, :, 3], 3.0, atol=0.03)
    assert new.evidence.batch.tolist() == [3.0, 3.0, 8.0, 1.0]
    np.testing.assert_array_equal(new.held.logit[..., :2, :], made.held.logit)
    steps = new.held.omega.std(axis=(0, 1)) / 0.1
    np.testing.assert_allclose(
        steps[2], np.sqrt([3, 2, 1, 0]), atol=0.05
    )  # from depth 3, where a fixed cell is screened
    np.testing.assert_allclose(steps[3], np.sqrt([4, 3, 2, 1]), atol=0.06)  # one step more from a policy to a fixed arm
    assert new.held.delta[..., 3].mean() == pytest.approx(Priors().masked_gap_scale * np.sqrt(2 / np.pi), rel=0.05)
    assert new.held.uniform[..., 3, :].mean() == pytest.approx(0.5, abs=0.02)


def test_a_cell_of_fixed_times_alone_keeps_the_kind_of_all_its_policies() -> None:
    runs = everywhere(ROWS)
    held = chosen(runs, "batch=1")
    made = fitted_of(training(runs, held, held), SPREADS, 50)
    assert made.evidence.dynamic_cell.tolist() == [False, False, False]
    new = with_unseen(made, evidence_of(runs.isel(run=np.flatnonzero(held))), 7)
    assert new.evidence.dynamic_cell.tolist() == [False, False, True]
    assert (new.held.omega[..., 2, K] != 0.0).all()  # the step from its policy to a fixed arm


def test_a_base_is_the_prior_s_where_no_time_was_kept_and_the_fit_s_where_one_was() -> None:
    runs = everywhere([FIXED, SHALLOW, D])
    held = chosen(runs, "batch=8")
    design = evidence_of(runs.isel(run=np.flatnonzero(held)))
    without = with_unseen(fitted_of(training(runs, held, ~held), SPREADS, 4000), design, 7)
    base = without.held.log_base[0, :, without.evidence.cells.index("S/d")]
    assert base.mean() == pytest.approx(np.log(Priors().time_centre_ms), abs=0.07)
    assert base.std() == pytest.approx(Priors().time_centre_sd, rel=0.05)
    made = fitted_of(training(runs, held, held), SPREADS, 50)
    place = made.evidence.cells.index("S/d")
    kept = with_unseen(made, design, 7)
    assert kept.evidence.cells == made.evidence.cells
    np.testing.assert_array_equal(kept.held.log_base, made.held.log_base)
    assert not np.isnan(kept.held.log_base[..., place]).any()
    assert (kept.held.logit[..., place, :] != made.held.logit[..., place, :]).all()
    untimed = with_unseen(fitted_of(training(runs, held, ~held), SPREADS, 50, times=False), design, 7)
    assert np.isnan(untimed.held.log_base).all()


@pytest.mark.slow
def test_a_cell_of_times_alone_is_drawn_as_the_sampler_draws_it() -> None:
    """Two roads to one law: theta of a cell without counts sampled in the fit, and drawn after it."""
    rows = [FIXED | {"cell": name, "batch": batch, "accepted_position": counts} for name, batch, counts in (
        ("a", 1, [150, 120, 90]), ("b", 2, [140, 95, 70]), ("c", 4, [160, 139, 115]), ("d", 8, [145, 118, 99]), ("e", 4, [150, 120, 90]),
    )]  # fmt: skip
    runs = everywhere(rows)
    held = chosen(runs, "cell=S/e")
    kept = training(runs, held, held)
    sampled = fit(kept, CONFIG_MS, Priors(), Settings(20261201), "w", with_prior=False)["sampled"].to_dataset()
    made = Fitted.of(sampled, evidence_of(kept), Priors(), CONFIG_MS, 3)
    new = with_unseen(made, evidence_of(runs.isel(run=np.flatnonzero(held))), 4)
    place = made.evidence.cells.index("S/e")
    one, other = (each.held.logit[..., place, :].reshape(-1, K) for each in (made, new))
    assert np.abs(one - other).max() > 0.1
    spread = other.std(axis=0)
    np.testing.assert_allclose(one.mean(axis=0) / spread, other.mean(axis=0) / spread, atol=0.12)
    np.testing.assert_allclose(one.std(axis=0) / spread, 1.0, atol=0.1)
    np.testing.assert_allclose(np.corrcoef(one.T), np.corrcoef(other.T), atol=0.1)
