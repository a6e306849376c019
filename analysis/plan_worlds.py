"""The simulated worlds of a plan: what is true in each, and the runs that every arm would give."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from ..data.errors import InputError
from ..data.plan_file import STORED, Plan
from ..data.words import CELL, CHAIN, DEPTH, DRAW, DYNAMIC, FIXED
from ..models.sampling import named_seed
from .decision import Rule
from .plan_arms import ArmDraws, arm_draws, chosen_draws, effect_draws, seen_depths, spreads_of
from .plan_experiment import Analysis, Arrangement
from .plan_posterior import GainPrior
from .plan_prior import JointPrior
from .plan_spread import INTERLEAVED, ONE_START, SHARED_START, RunSpread, Spreads, survival_of
from .simulate import ArmRuns, simulate_arm

type Floats = npt.NDArray[np.float64]

QUANTILES = (0.05, 0.5, 0.95)
ANALYSIS_DRAWS = 64
"""Draws of the spreads that the fast analysis weighs."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An arm in every stored draw, where worlds are some of them: its true rate, and what its pooled runs will show.

    `mean_logit` are hazards of the mean over runs, transport among them: a fit of the new runs will believe the same of it.
    """

    draws: ArmDraws
    rate: Floats
    mean_logit: Floats

    @classmethod
    def of(cls, draws: ArmDraws, run_sd: Floats) -> "Stored":
        """From draws of the arm and the spread of its runs."""
        return cls(draws, draws.rate(run_sd), draws.mean_logit(run_sd))


@dataclass(frozen=True, slots=True)
class Worlds:
    """The design prior's draws of every arm, their simulated runs, and how they will be analysed."""

    plan: Plan
    rule: Rule
    spreads: dict[str, Spreads]
    arms: dict[str, ArmDraws]
    runs: dict[str, ArmRuns]
    rates: dict[str, Floats]
    beliefs: dict[str, Spreads]
    requests: dict[str, int]
    stored: dict[str, Stored]
    caps: dict[str, int]  # of the screened dynamic policy in the arm's cell; 0 where a fixed one was screened
    today: dict[str, int]
    page: dict[tuple[str, int], float]

    def parts(self, name: str, other: str) -> tuple[Floats, Floats]:
        """True differences in log tokens and in -log time in every world; the log gain is their sum."""
        time = self.arms[other].log_step - self.arms[name].log_step
        return np.asarray(self.log_gain(name, other) - time), np.asarray(time)

    def share_of_tokens(self, name: str, other: str) -> float:
        """By how much the tokens move where the gain does: their regression on it over the worlds."""
        tokens, time = self.parts(name, other)
        joint = np.cov(np.stack([tokens, tokens + time]))
        return float(joint[0, 1] / joint[1, 1]) if joint[1, 1] > 1e-12 else 0.0

    def stored_prior(self, name: str, other: str) -> JointPrior:
        """What the stored runs say of two arms, as their pooled runs will show them."""
        first, second = ((self.stored[side].draws, self.stored[side].mean_logit) for side in (name, other))
        return JointPrior.of(first, second)

    def before(self, name: str, other: str) -> Floats:
        """Log gain in every stored draw: what is known before a run; worlds are some of these."""
        return np.asarray(np.log(self.stored[name].rate / self.stored[other].rate))

    def page_p_gain(self, name: str, other: str) -> float | None:
        """P(gain > 0) as the stored result says it, None where the arms are no fixed depth against the current policy."""
        arm, policy = self.arms[name].arm, self.arms[other].arm
        current = policy.kind == DYNAMIC and policy.depth == self.caps[other]
        plain = arm.kind == FIXED and arm.scalar_ms is None and policy.scalar_ms is None
        return self.page.get((arm.cell, arm.depth)) if plain and current else None

    def analysis(self, name: str, other: str, prior: GainPrior | JointPrior | None = None) -> Analysis:
        """How the experiment will be analysed.

        Unless it is given, the prior of the gain is what the stored runs say, where the plan asks for that and no remote scalar stands between
        the arms: no record speaks of a scalar, so that its ASSUMED effect is none of the analysis'.
        """
        if prior is None:
            prior = GainPrior.weak(self.plan.analysis_gain_sd)
            known = self.arms[name].arm.scalar_ms == self.arms[other].arm.scalar_ms
            if self.plan.analysis_prior == STORED and known:
                prior = self.stored_prior(name, other)
        return Analysis(self.beliefs[name], prior, self.plan.design.drift_sd, self.requests[name])

    def log_gain(self, name: str, other: str) -> Floats:
        """True log gain of one arm over another in every world."""
        return np.asarray(np.log(self.rates[name] / self.rates[other]))

    def central(self, name: str) -> RunSpread:
        """Variances of one arm at the median of the design prior."""
        arm, spreads = self.arms[name], self.spreads[name]
        middle = Spreads(*(np.median(getattr(spreads, entry)) for entry in Spreads.__slots__))
        survival = np.median(survival_of(1.0 / (1.0 + np.exp(-arm.logit))), axis=0)
        return RunSpread.of(survival, middle, self.requests[name], self.plan.design.drift_sd)

    def run_spreads(self, name: str) -> dict[str, Floats]:
        """Quantiles (.05, .5, .95) over the design prior of an arm's spreads: log rate, standard deviations.

        `within_start`: runs of endless rounds about their start; `rounds`: one round's part, to be divided by the root of
        their number; `between_starts`.
        """
        arm, spreads = self.arms[name], self.spreads[name]
        survival = survival_of(1.0 / (1.0 + np.exp(-arm.logit)))
        found = RunSpread.of(survival, spreads, self.requests[name], 0.0)
        parts = {"within_start": found.floor, "rounds": found.per_round, "between_starts": found.start}
        return {key: np.quantile(np.sqrt(value), QUANTILES) for key, value in parts.items()}

    def run_minutes(self, name: str, rounds: float) -> float:
        """Minutes of one run: its own, and the decoding of so many request rounds at the arm's median step."""
        arm = self.arms[name]
        return self.plan.minutes.run + rounds / arm.batch * float(np.exp(np.median(arm.log_step))) / 60_000.0


def arrangements(plan: Plan) -> tuple[Arrangement, ...]:
    """The layouts that a plan may use; shared starts only where the server takes another policy without a restart."""
    out = [Arrangement(INTERLEAVED, plan.allowed.runs_per_start), Arrangement(ONE_START, 1)]
    if plan.allowed.switches_at_runtime:
        out.insert(0, Arrangement(SHARED_START, plan.allowed.runs_per_start))
    return tuple(out)


def restarts(arrangement: Arrangement, runs: int, arms: int) -> int:
    """Server starts of an experiment of so many runs of each arm."""
    blocks, _ = arrangement.shape(runs)
    return blocks if arrangement.layout == SHARED_START else blocks * arms


def worlds_of(plan: Plan, rule: Rule, stored: xr.DataTree, seed: int) -> Worlds:
    """Draw the worlds of a plan from a stored result and simulate every arm's runs.

    Parameters
    ----------
    plan
        What may be run.
    rule
        The written rule.
    stored
        The tree that `reanalyze` writes.
    seed
        The study's; each arm's runs have a seed of their own, so that a new arm changes no other's.

    Raises
    ------
    InputError
        A cell that the result does not hold.
    """
    size, seen = plan.design.simulations, seen_depths(stored["runs"].to_dataset())
    screened, recommended = stored["screen"].to_dataset(), stored["decision"]["recommended"]
    effects = effect_draws(plan.design, size, np.random.default_rng(named_seed(seed, "plan", "remote scalar")))
    spreads: dict[str, Spreads] = {}
    arms: dict[str, ArmDraws] = {}
    runs: dict[str, ArmRuns] = {}
    rates: dict[str, Floats] = {}
    beliefs: dict[str, Spreads] = {}
    requests: dict[str, int] = {}
    known: dict[str, Stored] = {}
    caps: dict[str, int] = {}
    at_cell = {arm.cell: group_of(stored, arm.cell).sel({CELL: arm.cell}).load() for arm in plan.arms}
    for arm in plan.arms:
        drawn = chosen_draws(at_cell[arm.cell], size)
        cell = screened.sel({CELL: arm.cell})
        name = arm.name
        requests[name] = plan.allowed.requests or int(cell["batch"])
        spreads[name] = spreads_of(drawn)
        arms[name] = arm_draws(arm, cell, drawn, seen[arm.cell], effects)
        rates[name] = arms[name].rate(spreads[name].run)
        rng = np.random.default_rng(named_seed(seed, "plan", "runs", name))
        most, drift = plan.allowed.runs[-1], plan.design.drift_sd
        runs[name] = simulate_arm(arms[name], spreads[name], plan.allowed.rounds, most, requests[name], drift, rng)
        every = chosen_draws(at_cell[arm.cell], at_cell[arm.cell].sizes[CHAIN] * at_cell[arm.cell].sizes[DRAW])
        rng = np.random.default_rng(named_seed(seed, "plan", "remote scalar"))
        whole = arm_draws(arm, cell, every, seen[arm.cell], effect_draws(plan.design, every.sizes[DRAW], rng))
        known[name] = Stored.of(whole, spreads_of(every).run)
        caps[name] = int(cell["cap"]) if str(cell["policy"].values) == DYNAMIC else 0
        beliefs[name] = spreads_of(chosen_draws(at_cell[arm.cell], ANALYSIS_DRAWS, offset=0.5))
    page = _page_chances(stored["decision"].to_dataset())
    today = {arm.cell: int(recommended.sel({CELL: arm.cell})) for arm in plan.arms}
    return Worlds(plan, rule, spreads, arms, runs, rates, beliefs, requests, known, caps, today, page)


def _page_chances(decision: xr.Dataset) -> dict[tuple[str, int], float]:
    """P(gain > 0) of every cell and fixed depth that the stored result has one of."""
    if "p_gain" not in decision:
        return {}
    chances = decision["p_gain"].transpose(CELL, DEPTH)
    cells, depths = chances[CELL].values.tolist(), chances[DEPTH].values.tolist()
    return {
        (str(cell), int(depth)): float(chances.sel({CELL: cell, DEPTH: depth})) for cell in cells for depth in depths
    }


def group_of(stored: xr.DataTree, cell: str) -> xr.Dataset:
    """Posterior draws of the worker group that holds a cell.

    Raises
    ------
    InputError
        No group does.
    """
    for child in stored["posterior"].children.values():
        group: xr.Dataset = child.to_dataset()
        if cell in group[CELL].values:
            return group.drop_dims("run", errors="ignore")
    raise InputError("posterior: found no draws of a cell that the plan names; the result of this study would do")
