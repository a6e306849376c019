"""How runs of a cell differ from their mean: free contrasts in, differences out, in time linear in runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .evidence import Evidence, Floats, Ints


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Helmert's orthonormal contrasts within each cell, cells padded to the largest one.

    Runs that are new evidence take a place each; n runs of a cell have n - 1 free contrasts, so that independent
    Normal(0, s) contrasts make differences with the law of independent Normal(0, s) effects about their mean.
    """

    cells: int
    widest: int
    run: Ints  # runs that are new evidence
    cell: Ints  # of each of them
    place: Ints  # among its cell's runs, from 0
    of_cell: Ints  # cell of each contrast
    step: Ints  # number of each contrast within its cell, from 1

    @classmethod
    def of(cls, evidence: Evidence) -> "Contrasts":
        """Number the runs of each cell."""
        run = np.flatnonzero(evidence.counted)
        cell = evidence.cell[run]
        order = np.argsort(cell, kind="stable")
        sizes = np.bincount(cell, minlength=len(evidence.cells))
        place = np.zeros_like(run)
        place[order] = np.arange(len(run)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        of_cell = np.repeat(np.arange(len(sizes)), np.maximum(sizes - 1, 0))
        inner = np.maximum(sizes - 1, 0)
        step = 1 + np.arange(len(of_cell)) - np.repeat(np.cumsum(inner) - inner, inner)
        return cls(len(sizes), int(sizes.max(initial=0)), run, cell, place, of_cell, step)

    @property
    def size(self) -> int:
        """Number of contrasts."""
        return len(self.of_cell)

    def differences(self, contrast: Any, xp: Any) -> Any:
        """Each new run's difference to its cell's mean, from contrasts in the last axis; `xp` is numpy or pytensor.tensor.

        With g_j = contrast_j / sqrt(j (j + 1)), run m (from 0) differs by sum_{j > m} g_j - m g_m.
        """
        g = contrast / np.sqrt(self.step * (self.step + 1.0))
        front = tuple(contrast.shape[axis] for axis in range(contrast.ndim - 1))
        padded = xp.zeros((*front, self.cells, self.widest + 1))
        where = (..., self.of_cell, self.step)
        if xp is np:
            padded[where] = g
        else:
            padded = xp.set_subtensor(padded[where], g)
        later = xp.cumsum(padded[..., ::-1], axis=-1)[..., ::-1]
        return later[..., self.cell, self.place + 1] - self.place * padded[..., self.cell, self.place]

    def information(self, of_run: Floats, weights: Floats) -> Floats:
        """Information on each contrast when runs hold `of_run` on their own effect, beside their cell's weighted mean effect.

        Both of every run of the group; weights add to 1 in each cell, or to 0.
        """
        own, mean = (np.zeros((self.cells, self.widest + 1)) for _ in range(2))
        own[self.cell, self.place], mean[self.cell, self.place] = of_run[self.run], weights[self.run]
        j, before = self.step, np.cumsum(own, axis=1)
        first, last = before[self.of_cell, j - 1], own[self.of_cell, j]
        shift = np.cumsum(mean, axis=1)[self.of_cell, j - 1] - j * mean[self.of_cell, j]
        square = first + j**2 * last - 2.0 * shift * (first - j * last) + shift**2 * before[self.of_cell, -1]
        return np.asarray(square / (j * (j + 1.0)))
