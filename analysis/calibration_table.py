"""What the ranks of a calibration say: coverage with its Monte-Carlo error, and whether they leave the band of uniformity."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from arviz_stats.ecdf_utils import ecdf_pit

from ..models.evidence import Floats
from ..models.sampling import named_seed
from .calibration import QUANTITIES, Ranked

SHARES = (0.5, 0.8, 0.9)
FAMILY_ERROR = 0.05  # of all bands of one level of evidence together, when everything is calibrated
BAND_SIMULATIONS = 5000
LEAST_COVERAGE = 0.87  # of 90 % intervals, at the levels whose likelihood is composite


def _band(sims: int, entries: int) -> tuple[Floats, Floats, Floats]:
    """Points, lower and upper end of the simultaneous band of a uniform ECDF, shared out over all entries."""
    uniform = (np.arange(sims) + 0.5) / sims
    rng = np.random.default_rng(named_seed(sims, "band"))
    points, _, lower, upper = ecdf_pit(  # type: ignore[no-untyped-call]
        uniform, 1.0 - FAMILY_ERROR / entries, BAND_SIMULATIONS, rng=rng
    )
    return np.asarray(points), np.asarray(lower), np.asarray(upper)


def share_error(share: float, count: int) -> float:
    """Monte-Carlo standard error of the share of so many trials that hold with chance `share`: sqrt(p (1 - p) / n)."""
    return float(np.sqrt(share * (1.0 - share) / count))


def coverage(pit: Floats, share: float) -> tuple[float, float]:
    """Share of truths inside the central interval, and its Monte-Carlo error."""
    found = float((np.abs(pit - 0.5) <= share / 2).mean())
    return found, share_error(share, len(pit))


def calibration_rows(ranked: Sequence[Ranked], labels: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """One row for each entry of each quantity.

    Parameters
    ----------
    ranked
        The simulations.
    labels
        Names of each quantity's entries.

    Returns
    -------
    list of dict
        `quantity`, `entry`, `sims`, `cover_50`, `cover_80`, `cover_90`, `error_90` (Monte-Carlo), `outside_band` (the largest
        distance of the ECDF beyond its band, 0 inside). Entries without a number in some simulation are left out.
    """
    found = [
        (name, label, pit)
        for name in QUANTITIES
        for label, pit in zip(labels[name], np.array([one.pit[name] for one in ranked]).T, strict=True)
        if not np.isnan(pit).any()
    ]
    points, lower, upper = _band(len(ranked), max(len(found), 1))
    rows = []
    for name, label, pit in found:
        ecdf = np.searchsorted(np.sort(pit), points, side="right") / len(pit)
        beyond = float(np.maximum(lower - ecdf, ecdf - upper).max())
        row: dict[str, Any] = {"quantity": name, "entry": label, "sims": len(pit)}
        for share in SHARES:
            row[f"cover_{round(100 * share)}"], error = coverage(pit, share)
            row[f"error_{round(100 * share)}"] = error
        rows.append(row | {"outside_band": max(beyond, 0.0)})
    return rows


def verdict(rows: Sequence[Mapping[str, Any]], composite: bool) -> list[str]:
    """What fails; at composite levels coverage of 90 % intervals binds, elsewhere the bands do."""
    if composite:
        return [
            f"{row['quantity']} of {row['entry']}: 90 % intervals cover {100 * row['cover_90']:.0f} %"
            for row in rows
            if row["cover_90"] + 2.0 * row["error_90"] < LEAST_COVERAGE
        ]
    return [
        f"{row['quantity']} of {row['entry']}: ranks leave the band by {row['outside_band']:.3f}"
        for row in rows
        if row["outside_band"] > 0.0
    ]
