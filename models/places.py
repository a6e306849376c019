"""Which logit hazards there are: cells, positions and suites of each kind of hazard, of fixed and of dynamic policies."""

from dataclasses import dataclass

import numpy as np

from .evidence import Evidence, Floats, Ints


@dataclass(frozen=True, slots=True)
class Places:
    """What each entry of theta is the hazard of. A suite with fixed and dynamic cells is two here, one of each kind."""

    cell: Ints  # of each entry
    place: Ints  # of each entry: position, from 0
    suite: Ints  # of each cell
    kind: Ints  # of each suite, from 0
    names: tuple[tuple[bool, str], ...]  # of each suite: whether dynamic, and how it is called
    deepest: int

    @classmethod
    def of(cls, evidence: Evidence) -> "Places":
        """Number the hazards of a worker group."""
        cell, place = exposed_places(evidence)
        both = list(zip(evidence.dynamic_cell.tolist(), evidence.suite.tolist(), strict=True))
        names = sorted(set(both))
        suite = np.array([names.index(pair) for pair in both])
        _, kind = np.unique([dynamic for dynamic, _ in names], return_inverse=True)
        return cls(cell, place, suite, kind, tuple(names), evidence.deepest)

    @property
    def seen(self) -> Floats:
        """1 where a cell has an entry at a position: shape (cell, position)."""
        out = np.zeros((len(self.suite), self.deepest))
        out[self.cell, self.place] = 1.0
        return out


def indicator(of: Ints) -> Floats:
    """1 where an element is of a group: shape (group, element)."""
    return np.asarray(np.eye(int(of.max()) + 1)[:, of])


def exposed_places(evidence: Evidence) -> tuple[Ints, Ints]:
    """Cell and position (from 0) wherever some run may verify."""
    cell, place = np.nonzero(evidence.positions <= evidence.cap[:, None])
    return cell, place


def runs_of_cells(evidence: Evidence) -> Floats:
    """Runs of each cell that are new evidence, at least 1."""
    return np.maximum(np.bincount(evidence.cell[evidence.counted], minlength=len(evidence.cells)), 1.0)
