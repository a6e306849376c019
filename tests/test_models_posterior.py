"""What a fit must obey whatever the counts: worst-case bounds at each level, and draws that hang on the seed alone."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from draftdepth.analysis.bounds import run_bounds
from draftdepth.data.records import parse_run
from draftdepth.data.runs import runs_dataset
from draftdepth.models.fit import fit
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings

from .builders import record
from .test_bounds import of_table

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # the sampler's libraries warn of each other

CONFIG_MS = np.array([28.79, 31.86, 34.44, 37.76, 41.56, 43.68])
SEED_OF_BOUNDS = 20260941
TIMES = 1000
TABLE = TIMES * np.array(
    [[2, 0, 0, 0, 0], [6, 9, 0, 0, 0], [3, 4, 12, 0, 0], [2, 3, 4, 14, 0], [3, 5, 6, 9, 18]]
)  # verified depth, accepted length: what is masked is masked early


def runs_of(rows: list[dict[str, Any]]) -> xr.Dataset:
    runs = [parse_run(row, "made-up", number, 5)[0] for number, row in enumerate(rows, 1)]
    held = runs_dataset([run for run in runs if run is not None], 5)
    return held.assign_coords(screened=("run", [True] * held.sizes["run"]))


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_fixed_depth_survival_of_the_recorded_rounds_lies_in_its_bounds(level: str) -> None:
    rows = []
    for number in range(2):  # two cells that differ a little, so that the hierarchy has something to hold
        table = TABLE.copy()
        table[4, 0] += 500 * number
        rows.append(of_table(table, level, 5) | {"run": f"r{number}", "cell": f"c{number}"})
    runs = runs_of(rows)
    tree = fit(runs, CONFIG_MS, Priors(), Settings(SEED_OF_BOUNDS), f"bounds {level}", with_prior=False)
    draws = tree["posterior"].to_dataset()["run_fixed_survival"].values[..., :4]
    low, high = (ends[:, :4] for ends in run_bounds(runs))
    rounds = runs["request_rounds"].values[:, None]
    slack = 3 * np.sqrt(0.25 / rounds) + 3 * np.sqrt(Priors().overdispersion_scale * 0.25)
    assert (draws >= low - slack).all()
    assert (draws <= high + slack).all()


def test_at_l0_more_rounds_do_not_narrow_a_masked_position() -> None:
    widths = []
    for times in (1, 200):
        counts = [1480 * times, *(times * n for n in (1110, 814, 560, 330))]
        rows = [record(run=f"r{n}", request_rounds=counts[0] + n, accepted_position=counts[1:]) for n in range(2)]
        tree = fit(runs_of(rows), CONFIG_MS, Priors(), Settings(SEED_OF_BOUNDS), f"floor {times}", with_prior=False)
        at = tree["posterior"].to_dataset()["run_fixed_survival"].isel(run=0).sel(position=3)
        widths.append(float(at.quantile(0.95) - at.quantile(0.05)))
    assert widths[1] > 0.8 * widths[0] > 0.1


def test_draws_hang_on_the_seed_and_the_group_alone() -> None:
    runs = runs_of([record(), record(run="r2", request_rounds=1700)])
    first, again, other = (
        fit(runs, CONFIG_MS, Priors(), Settings(seed, draws=400), "w", with_prior=False)["posterior"].to_dataset()
        for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(first, again)
    assert not np.array_equal(first["survival"].values, other["survival"].values)
