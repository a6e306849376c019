"""The hierarchy of hazards on counts alone, arranged so that every rival states it from one table of its levels."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from draftdepth.analysis.groups import fit_groups
from draftdepth.data.inputs import usable_inputs
from draftdepth.data.study import load_study
from draftdepth.models.evidence import Evidence, evidence_of
from draftdepth.models.model import SMALLEST_OVERDISPERSION
from draftdepth.models.observations import trials_of
from draftdepth.models.priors import Priors

type Ints = npt.NDArray[np.int64]

SMALLEST = SMALLEST_OVERDISPERSION


@dataclass(frozen=True, slots=True)
class Level:
    """Effects x ~ Normal(0, s), s ~ HalfNormal(scale), of which each place takes one."""

    of: Ints
    scale: float

    @property
    def size(self) -> int:
        """Number of effects."""
        return int(self.of.max()) + 1


@dataclass(frozen=True, slots=True)
class Reduced:
    """Beta-binomial steps of runs at exposed places (cell and position); no times, no exposure, one kind of hazard.

    logit hazard of a place = centre + position + the effects of `levels`; a run adds its own.
    """

    position: Ints  # of each place, from 0
    levels: dict[str, Level]  # over places
    run: Level  # over runs
    cell_of_run: Ints
    cell: Ints  # of each place
    place_of_step: Ints
    run_of_step: Ints
    tried: Ints
    taken: Ints
    deepest: int

    @classmethod
    def of(cls, held: Evidence, priors: Priors) -> "Reduced":
        """Arrange the counts of a group whose cells are all of one kind, at L0 or L4."""
        cell, position = np.nonzero(held.positions <= held.cap[:, None])
        place = np.full((len(held.cells), held.deepest), -1)
        place[cell, position] = np.arange(len(cell))
        steps = trials_of(held)["accepted"]
        suite = np.unique(held.suite, return_inverse=True)[1][cell]
        levels = {
            "suite": Level(suite, priors.suite_scale),
            "suite_position": Level(suite * held.deepest + position, priors.suite_position_scale),
            "cell": Level(cell, priors.cell_scale),
            "cell_position": Level(np.arange(len(cell)), priors.cell_position_scale),
        }
        return cls(
            position, levels, Level(np.arange(len(held.cell)), priors.run_scale), held.cell, cell,
            place[held.cell[steps.run], steps.place], steps.run, steps.tried, steps.taken, held.deepest,
        )  # fmt: skip

    @property
    def share_of_run(self) -> npt.NDArray[np.float64]:
        """Matrix that takes run effects to their mean in the cell of each place."""
        same = self.cell[:, None] == self.cell_of_run
        return np.asarray(same / same.sum(axis=1, keepdims=True))


def counts_of_sp2() -> tuple[Evidence, Priors, npt.NDArray[np.float64]]:
    """The runs of `sp2` without their times, its priors and its cost table."""
    study = load_study("sp2")
    ((_, runs),) = fit_groups(usable_inputs(study, {}).runs)
    held = evidence_of(runs)
    bare = replace(held, times=held.times[:0], time_run=held.time_run[:0])
    return bare, Priors.stated(study.scheduler, study.priors), np.array(study.cost.config_ms)
