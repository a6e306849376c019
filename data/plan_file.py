"""A plan: arms that might be run, what is compared, the goal, what is allowed and what it costs, read from `plan.toml`."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InputError, MissingInputError
from .faults import Fault, described
from .plan_arm import Arm, faults_across_arms, read_arm
from .study import Study
from .toml_table import Table

PLAN_FILE = "plan.toml"
PRECISION, ASSURANCE, LOSS, VALUE = "precision", "assurance", "loss", "value"
GAIN, RATE = "gain", "rate"
WEAK, STORED = "weak", "stored"
"""The analysis prior of a gain: about zero, or what the stored runs say already, as a fit of all runs will have it."""
MOST = 12


@dataclass(frozen=True, slots=True)
class Goal:
    """What a plan is for: `target` is a share (half-width, assurance, or loss against the best rate)."""

    kind: str
    of: str
    target: float
    horizon_hours: float


@dataclass(frozen=True, slots=True)
class Allowed:
    """The designs that may be chosen from; `runs` of each arm, ascending, in whole server starts."""

    runs: tuple[int, ...]
    rounds: tuple[int, ...]
    runs_per_start: int
    requests: int | None
    switches_at_runtime: bool


@dataclass(frozen=True, slots=True)
class Minutes:
    """What a run costs beside its decoding, what a restart costs, and how many GPUs stand still meanwhile."""

    run: float
    restart: float
    gpus: int


@dataclass(frozen=True, slots=True)
class Effect:
    """ASSUMED log change of the rate at a remote cost scalar against the inherited one: normal with centre and sd."""

    scalar_ms: float
    gain: float
    sd: float


@dataclass(frozen=True, slots=True)
class Design:
    """The design prior beside the stored posterior's draws; all ASSUMED."""

    simulations: int
    drift_sd: float
    drift_reason: str
    effects: tuple[Effect, ...]
    effects_share: float
    effects_reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a plan file states, checked against its study."""

    goal: Goal
    allowed: Allowed
    minutes: Minutes
    design: Design
    analysis_prior: str
    analysis_gain_sd: float
    arms: tuple[Arm, ...]
    sha256: str

    @property
    def comparisons(self) -> tuple[tuple[Arm, Arm], ...]:
        """Each arm with the one that it is held against, in stages."""
        by_name = {arm.name: arm for arm in self.arms}
        pairs = [(arm, by_name[arm.against]) for arm in self.arms if arm.against is not None]
        return tuple(sorted(pairs, key=lambda pair: pair[0].stage))


def _counts(table: Table, key: str, high: int) -> tuple[int, ...]:
    values = table.take(key)
    good = isinstance(values, list) and 1 <= len(values) <= MOST
    if good and all(isinstance(v, int) and not isinstance(v, bool) and 1 <= v <= high for v in values):
        if values == sorted(set(values)):
            return tuple(values)
        table.fault(key, "counts out of order or twice", "ascending counts would do")
        return tuple(sorted(set(values)))
    found = "nothing" if values is None else described(values)
    table.fault(key, found, f"1 to {MOST} whole numbers from 1 to {high} would do")
    return (2,)


def _goal(table: Table) -> Goal:
    goal = Goal(
        kind=table.one_of("kind", (PRECISION, ASSURANCE, LOSS, VALUE)),
        of=table.one_of("of", (GAIN, RATE), default=GAIN),
        target=table.number("target", 1e-6, 1.0, default=0.8 if table.values.get("kind") == ASSURANCE else 0.01),
        horizon_hours=table.number("horizon_hours", 0.0, 1e7),
    )
    table.nothing_else()
    return goal


def _allowed(table: Table) -> Allowed:
    allowed = Allowed(
        runs=_counts(table, "runs", 200),
        rounds=_counts(table, "rounds", 10**9),
        runs_per_start=table.whole("runs_per_start", 1, 100, optional=True) or 1,
        requests=table.whole("requests", 1, 64, optional=True),
        switches_at_runtime=table.take("switches_at_runtime") is True,
    )
    if not isinstance(table.values.get("switches_at_runtime", False), bool):
        table.fault("switches_at_runtime", described(table.values["switches_at_runtime"]), "true or false would do")
    if any(n % allowed.runs_per_start for n in allowed.runs):
        table.fault("runs", "counts that are no whole starts", "multiples of runs_per_start would do")
    if allowed.runs[0] < 2:
        table.fault("runs", "1", "at least 2 runs of an arm would do: one run has no spread")
    table.nothing_else()
    return allowed


def _effect(table: Table) -> Effect:
    effect = Effect(table.number("scalar_ms", 0.0, 1e6), table.number("gain", -0.5, 0.5), table.number("sd", 0.0, 0.5))
    table.nothing_else()
    return effect


def _design(table: Table) -> Design:
    remote = table.table("remote_scalar", required=False)
    effects = tuple(_effect(entry) for entry in remote.tables("effect")) if remote.values else ()
    design = Design(
        simulations=table.whole("simulations", 100, 20_000, optional=True) or 1000,
        drift_sd=table.number("drift_sd", 0.0, 0.5, default=0.0),
        drift_reason=table.text("drift_reason", default=""),
        effects=effects,
        effects_share=remote.number("shared", 0.0, 1.0, default=0.5),
        effects_reason=remote.text("reason", default=""),
    )
    remote.nothing_else()
    table.nothing_else()
    if len({effect.scalar_ms for effect in effects}) != len(effects):
        remote.fault("effect", "a scalar twice", "one effect for each scalar would do")
    return design


def read_plan(path: Path, study: Study, cells: frozenset[str]) -> Plan:
    """Read a plan and hold it against its study.

    Parameters
    ----------
    path
        The plan file.
    study
        The study whose cells and block it speaks of.
    cells
        Cells that are fitted: those that the design prior speaks of.

    Raises
    ------
    MissingInputError
        The file is not there.
    InputError
        It has faults; the message is one line, the first fault and how many there are.
    """
    if not path.is_file():
        raise MissingInputError(f"{path}: found nothing; a {PLAN_FILE} (beside study.toml, or --plan-file) would do")
    try:
        text = path.read_bytes()
        values: dict[str, Any] = tomllib.loads(text.decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}; a readable file would do") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: found something that is not TOML; a TOML file in UTF-8 would do") from error
    faults: list[Fault] = []
    top = Table(values, "", path.name, faults)
    top.whole("schema", 1, 1)
    analysis = top.table("analysis", required=False)
    design = _design(top.table("design", required=False))
    scalars = frozenset(effect.scalar_ms for effect in design.effects)
    plan = Plan(
        goal=_goal(top.table("goal")),
        allowed=_allowed(top.table("allowed")),
        minutes=_minutes(top.table("minutes")),
        design=design,
        analysis_prior=analysis.one_of("prior", (WEAK, STORED), default=WEAK),
        analysis_gain_sd=analysis.number("gain_sd", 1e-3, 10.0, default=0.1),
        arms=tuple(read_arm(entry, study, cells, scalars) for entry in top.tables("arm")),
        sha256=hashlib.sha256(text).hexdigest(),
    )
    analysis.nothing_else()
    top.nothing_else()
    faults_across_arms(top, plan.arms)
    if faults:
        more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
        raise InputError(f"{faults[0]}{more}")
    return plan


def _minutes(table: Table) -> Minutes:
    minutes = Minutes(
        table.number("run", 0.0, 1e5),
        table.number("restart", 0.0, 1e5),
        table.whole("gpus", 1, 10**6, optional=True) or 1,
    )
    table.nothing_else()
    return minutes
