"""Our ranking against that of `simuk`, which knows nothing of us: the same worlds, each fitted by both.

A reduced group (three cells at fixed depth 2, few rounds) stands here a second time, as plain sentences of the hierarchy in
PyMC with a simulator in numpy. `simuk` draws worlds from it, fits each and ranks the survival of each cell at each position.
Our calibration takes the same counts and truths through its own model, coordinates, completion and ranking; step times of
fixed arms say nothing of hazards.

On the same counts both posteriors are the same, so ranks (shares of draws below the truth) differ by Monte-Carlo noise alone:
- the mean difference over worlds, in units of its standard error (sd / sqrt n), one for each of six entries, below 4: by
  chance 1 in 600 over all entries (Student's t of 39 degrees);
- its root mean square below that of two fits of `LEAST_ESS` effective draws, sqrt(2 p (1 - p) / ESS) with p (1 - p) = 1/6.
A calibration with worlds of our own making is then compared as histograms (two-sample chi-square) and as coverage.
"""

import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from draftdepth.analysis import calibration
from draftdepth.analysis.calibration import Calibration, Ranked
from draftdepth.analysis.calibration_table import coverage
from draftdepth.analysis.screen import screen
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.data.words import Level
from draftdepth.models.evidence import Evidence
from draftdepth.models.priors import Priors
from scipy import stats

from .builders import CONFIG, record, write_study

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("simuk") is None, reason="simuk is not installed: pip install simuk"),
    pytest.mark.filterwarnings("ignore:Numba will use object mode:UserWarning"),  # PyTensor draws beta-binomials so
]

ROUNDS = {"a": (60, 45), "b": (50, 70), "c": (40,)}
CELL = np.repeat(np.arange(len(ROUNDS)), [len(runs) for runs in ROUNDS.values()])  # of each run
DEPTH = 2
PRIORS = Priors.stated("unknown", {"overdispersion_scale": 0.03})
WORLDS, MORE_WORLDS, SEED = 40, 80, 20261201
LEAST_ESS = 250.0
FURTHEST = 4.0
EDGES = np.linspace(0.0, 1.0, 6)


def restated(priors: Priors) -> pm.Model:
    """The hierarchy of `models.hazard_law` for fixed arms, as its sentences say; counts are drawn one position after the other."""
    cells, runs = len(ROUNDS), len(CELL)
    with pm.Model() as model:
        extra = pm.HalfNormal("extra", priors.overdispersion_scale)
        theta = pm.Normal("centre", priors.hazard_centre, priors.hazard_centre_sd)
        theta += pm.ZeroSumNormal("position", priors.position_sd, shape=DEPTH)
        theta += pm.HalfNormal("s_suite", priors.suite_scale) * pm.Normal("suite")
        theta += pm.HalfNormal("s_suite_shape", priors.suite_position_scale) * pm.Normal("suite_shape", shape=DEPTH)
        theta += (pm.HalfNormal("s_cell", priors.cell_scale) * pm.Normal("cell", shape=cells))[:, None]
        theta += pm.HalfNormal("s_shape", priors.cell_position_scale) * pm.Normal("shape", shape=(cells, DEPTH))
        s_run = pm.HalfNormal("s_run", priors.run_scale)
        h = pm.math.invlogit(theta[CELL] + (s_run * pm.Normal("run", shape=runs))[:, None])
        pm.Deterministic("h", h)
        nodes, weights = np.polynomial.hermite_e.hermegauss(9)
        of_node = pt.cumprod(pm.math.invlogit(theta[..., None] + s_run * nodes), axis=1)
        pm.Deterministic("survival", pt.dot(of_node, weights / weights.sum()))
        left: Any = np.concatenate(list(ROUNDS.values()))
        for i in range(DEPTH):
            left = pm.BetaBinomial(f"accepted_{i + 1}", n=left, alpha=h[:, i] / extra, beta=(1 - h[:, i]) / extra)
    return model


def made_up(h: np.ndarray, extra: np.ndarray, seed: int, **_: Any) -> dict[str, np.ndarray]:
    """Rounds in which position 1, and then 2, were accepted."""
    rng, left, out = np.random.default_rng(seed), np.concatenate(list(ROUNDS.values())), {}
    for i in range(DEPTH):
        left = out[f"accepted_{i + 1}"] = rng.binomial(left, rng.beta(h[:, i] / extra, (1 - h[:, i]) / extra))
    return out


@dataclass(frozen=True, slots=True)
class Foreign:
    """What simuk drew and found; entries are (cell, position), flat."""

    accepted: np.ndarray  # world, run, position
    survival: np.ndarray  # world, entry: the truth
    ranks: np.ndarray  # world, entry: share of draws below the truth


@pytest.fixture(scope="module")
def foreign() -> Foreign:
    """Every world drawn, fitted and ranked by simuk, under PyMC's own sampler: nothing of ours is shared."""
    import simuk

    counts: dict[float, np.ndarray] = {}

    def simulator(survival: np.ndarray, **rest: Any) -> dict[str, np.ndarray]:
        made = made_up(**rest)
        counts[float(survival[0, 0])] = np.column_stack(list(made.values()))
        return made

    told = simuk.SBC(
        restated(PRIORS), num_simulations=WORLDS, seed=SEED, simulator=simulator, progress_bar=False,
        sample_kwargs={"draws": 750, "tune": 500, "chains": 2, "cores": 1, "target_accept": 0.9, "nuts_sampler": "pymc", "quiet": True},
    )  # fmt: skip
    told.run_simulations()
    ranks = told.simulations["prior_sbc"]["survival"].values[0]
    truth = told.ref_params["survival"].transpose("sample", ...).values
    assert ranks.shape == truth.shape == (WORLDS, len(ROUNDS), DEPTH)
    return Foreign(
        np.array([counts[float(one[0, 0])] for one in truth]), truth.reshape(WORLDS, -1),
        (ranks.reshape(WORLDS, -1) + 0.5) / (told.posteriors[0].sizes["sample"] + 1),
    )  # fmt: skip


def ours(folder: Path, fitted: Priors, worlds: int = WORLDS) -> Calibration:
    """The same group as records, through our own door; worlds are drawn from `PRIORS`."""
    rows = [
        record(cell=cell, run=f"{cell}{number}", batch=1, policy={"kind": "fixed", "depth": DEPTH}, request_rounds=rounds,
               accepted_position=[rounds // 2, rounds // 4])
        for cell, runs in ROUNDS.items() for number, rounds in enumerate(runs)
    ]  # fmt: skip
    write_study(folder, dict.fromkeys(ROUNDS, 1), rows)
    words = (folder / "study.toml").read_text(encoding="utf-8").replace("max_depth = 5", f"max_depth = {DEPTH}")
    words = words.replace("unsupported_depths = [6, 7]", f"unsupported_depths = [{DEPTH + 1}]")
    words = words.replace(str(CONFIG), str(CONFIG[: DEPTH + 1])).replace(
        'kind = "dynamic"', f'kind = "fixed", depth = {DEPTH}'
    )
    (folder / "study.toml").write_text(words, encoding="utf-8")
    study = load_study(str(folder))
    runs = usable_inputs(study, {}).runs
    made = Calibration.of(study, screen(study, runs), runs, Level.L4, worlds, PRIORS, fitted, "w")
    assert made.stated.evidence.cell.tolist() == CELL.tolist()
    assert made.stated.evidence.rounds.tolist() == np.concatenate(list(ROUNDS.values())).tolist()
    return made


def ranks_of(ranked: list[Ranked]) -> np.ndarray:
    """Survival of each cell at each position: (world, entry)."""
    return np.array([one.pit["fixed_survival"] for one in ranked])


def paired(made: Calibration, foreign: Foreign) -> np.ndarray:
    """Our ranks of simuk's truths, fitted to simuk's counts."""
    whole = Calibration._entries

    def entries(self: Calibration, free: xr.Dataset, counts: Evidence, priors: Priors, seed: int) -> dict[str, Any]:
        found = whole(self, free, counts, priors, seed)
        truth = foreign.survival[free["draw"].values] if free.sizes["draw"] == 1 else found["fixed_survival"]
        return found | {"fixed_survival": truth}

    def simulated(world: xr.Dataset, base: Evidence, *_: Any) -> Evidence:
        return replace(base, accepted=foreign.accepted[int(world["draw"][0])])

    with pytest.MonkeyPatch.context() as fed:
        fed.setattr(Calibration, "_entries", entries)
        fed.setattr(calibration, "simulated", simulated)
        return ranks_of(list(made.run(frozenset())))


def disagreement(here: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each entry: the mean difference of paired ranks in standard errors, and its root mean square in units of its limit."""
    apart = here - there
    shift = apart.mean(axis=0) / (apart.std(axis=0, ddof=1) / np.sqrt(len(apart)))
    return shift, np.sqrt((apart**2).mean(axis=0)) / np.sqrt(2.0 / 6.0 / LEAST_ESS)


def test_ranks_of_the_same_worlds_agree(foreign: Foreign, tmp_path: Path) -> None:
    shift, spread = disagreement(paired(ours(tmp_path, PRIORS), foreign), foreign.ranks)
    assert (np.abs(shift) < FURTHEST).all(), shift
    assert (spread < 1.0).all(), spread


@pytest.mark.parametrize(
    "broken", [{"hazard_centre": 1.1}, {"run_scale": 0.6}], ids=lambda one: next(iter(one))
)  # fmt: skip
def test_a_prior_that_only_one_of_both_believes_is_found(
    broken: dict[str, float], foreign: Foreign, tmp_path: Path
) -> None:
    shift, spread = disagreement(paired(ours(tmp_path, replace(PRIORS, **broken)), foreign), foreign.ranks)
    assert np.abs(shift).max() > FURTHEST or spread.max() > 1.0, (shift, spread)


def test_worlds_of_our_own_have_the_same_histogram_and_coverage(foreign: Foreign, tmp_path: Path) -> None:
    """Other worlds, by our forward draws and simulator: entries of a world hang together, so that each is looked at alone."""
    found = ranks_of(list(ours(tmp_path, PRIORS, MORE_WORLDS).run(frozenset())))
    for here, there in zip(found.T, foreign.ranks.T, strict=True):
        table = np.array([np.histogram(one, EDGES)[0] for one in (here, there)])
        assert stats.chi2_contingency(table).pvalue > 0.001, table
        (share, error), (other, other_error) = (coverage(one, 0.8) for one in (here, there))
        assert abs(share - other) < FURTHEST * np.hypot(error, other_error)
