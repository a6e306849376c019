"""Starts of the server: which runs share one, and their normal law given log step times."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt

from .evidence import Evidence, Floats, Ints


def start_shares(evidence: Evidence) -> Floats:
    """Share of each start among a cell's timed starts: shape (cell, start), rows add to 1 (or 0 without a time)."""
    out = np.zeros((len(evidence.cells), int(evidence.start.max(initial=-1)) + 1))
    out[evidence.cell[evidence.timed], evidence.start[evidence.timed]] = 1.0
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1.0)


def own_starts(evidence: Evidence) -> Floats:
    """How each timed run's start differs from the mean of its cell's starts: shape (timed run, start)."""
    shares, timed = start_shares(evidence), evidence.timed
    return np.asarray(np.eye(shares.shape[1])[evidence.start[timed]] - shares[evidence.cell[timed]])


def mean_of_starts(evidence: Evidence) -> Floats:
    """Each timed run's weight in the mean over its cell's starts of their means: shape (cell, timed run), rows add to 1 or 0."""
    pair = np.stack([evidence.cell[evidence.timed], evidence.start[evidence.timed]])
    _, of_pair, runs = np.unique(pair, axis=1, return_inverse=True, return_counts=True)
    out = np.zeros((len(evidence.cells), len(evidence.timed)))
    out[pair[0], np.arange(len(evidence.timed))] = 1.0 / runs[of_pair.ravel()]
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1e-12)


def _sums(x: Any, kind: Ints, kinds: int) -> Any:
    return pt.inc_subtensor(pt.zeros(kinds)[kind], x)


@dataclass(frozen=True, slots=True)
class StartLaw:
    """residual = loading u + noise with u ~ Normal(0, s_start): the law of the residual, and of starts u given it.

    By Woodbury's identity, with L L' = I + s^2 loading' variance^-1 loading. Runs of one cell and start are loaded alike, so
    that sums over them are all that meets a start: the cost is linear in runs.
    """

    variance: Any  # of the noise: n
    loading: Floats  # of each kind of row, start
    kind: Ints  # of each row: n
    s_start: Any
    factor: Any  # L

    @classmethod
    def of(cls, variance: Any, loading: Floats, s_start: Any) -> "StartLaw":
        """Factorise once; `loading` has a row for each of n."""
        kinds, kind = np.unique(loading, axis=0, return_inverse=True)
        kind = kind.ravel()
        told = _sums(1.0 / variance, kind, len(kinds))
        inner = np.eye(kinds.shape[1]) + s_start**2 * pt.dot(kinds.T * told, kinds)
        return cls(variance, kinds, kind, s_start, pt.linalg.cholesky(inner))

    def _back(self, x: Any) -> Any:
        told = _sums(x / self.variance, self.kind, len(self.loading))
        return pt.linalg.solve_triangular(self.factor, pt.dot(self.loading.T, told), lower=True)

    def product(self, x: Any, y: Any) -> Any:
        """x' S^-1 y with S the residual's covariance."""
        return (x * y / self.variance).sum() - self.s_start**2 * (self._back(x) * self._back(y)).sum()

    def log_density(self, residual: Any) -> Any:
        """Log density of the residual, starts integrated out."""
        log_size = pt.log(self.variance).sum() + 2.0 * pt.log(pt.diagonal(self.factor)).sum()
        return -0.5 * (len(self.kind) * np.log(2.0 * np.pi) + log_size + self.product(residual, residual))

    def starts(self, residual: Any, z: Any) -> Any:
        """u given the residual, from standard normal z."""
        right = self.s_start**2 * self._back(residual) + self.s_start * z
        return pt.linalg.solve_triangular(self.factor.T, right, lower=False)
