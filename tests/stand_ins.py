"""Stand-ins for what samples: made-up draws in place of a fit, made-up ranks in place of simulations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from draftdepth.analysis import calibration
from draftdepth.analysis.calibration import QUANTITIES, Calibration, Ranked
from draftdepth.reports import run_reanalyze

from .page.made_up import CHAINS, DRAWS, draws_of


def made_up_fit(runs: xr.Dataset, *_: Any) -> xr.DataTree:
    """What a fit of these runs could have given; other counts give other draws."""
    names = runs["cell"].values
    cells = sorted(set(names.tolist()))
    caps = [runs["policy_depth"].values[names == cell].max() for cell in cells]
    shape = xr.Dataset(
        {"cap": ("cell", caps), "step_ms": ("cell", np.full(len(cells), 73.0))},
        {"cell": cells, "position": runs["position"].values},
    )
    keys = [f"{cell}/{run}" for cell, run in zip(names, runs["run_id"].values, strict=True)]
    told = int(runs["accepted"].values.sum() + runs["request_rounds"].values.sum())
    tree = xr.DataTree.from_dict(
        {
            "posterior": draws_of(shape, keys, [str(cell) for cell in names], told, 1.0),
            "prior": draws_of(shape, keys, [str(cell) for cell in names], 2, 3.0),
            "posterior_predictive": _repeated(runs, keys),
            "diagnostics": xr.Dataset({"survival_rhat": 1.0}),
        }
    )
    tree.attrs["slope_taught"] = 0
    return tree


def _repeated(runs: xr.Dataset, keys: list[str]) -> xr.Dataset:
    """Repeated runs that show just what was counted."""
    counted, front = runs["accepted"].values, (CHAINS, DRAWS)
    return xr.Dataset(
        {
            "accepted": (
                ("chain", "draw", "run", "position"),
                np.broadcast_to(counted, (*front, *counted.shape)).copy(),
            ),
            "step_ms": (("chain", "draw", "run"), np.full((*front, len(keys)), 73.0)),
        },
        {"position": runs["position"].values, "run_id": ("run", keys)},
    )


def made_up_rank(made: Calibration, number: int) -> Ranked:
    """A rank that its number alone decides."""
    rng = np.random.default_rng([made.seed, number])
    labels = made.labels()
    return Ranked(number, {name: rng.uniform(size=len(labels[name])).tolist() for name in QUANTITIES}, 0)


class NoProgram:
    """A model that was not compiled."""

    def __init__(self, evidence: Any) -> None:
        self.evidence = evidence

    @classmethod
    def of(cls, evidence: Any, *_: Any) -> "NoProgram":
        return cls(evidence)


def made_up_run(made: Calibration, done: frozenset[int]) -> Iterator[Ranked]:
    """Every rank that is not there yet."""
    return (made_up_rank(made, number) for number in range(made.worlds.sizes["draw"]) if number not in done)


def replace_sampling(replace: Any = setattr) -> None:
    """Put the stand-ins where `reanalyze` and `calibrate` would sample; `replace` may be a monkeypatch's."""
    replace(run_reanalyze, "fit", made_up_fit)
    replace(calibration, "Stated", NoProgram)
    replace(calibration, "forward_draws", lambda *given: xr.Dataset(coords={"draw": np.arange(given[-1])}))
    replace(Calibration, "run", made_up_run)
