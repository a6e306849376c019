"""The screen's equations, each one pure function of numbers or labelled arrays.

The screen, the posterior and the planner call the same ones (DESIGN, section 2, in ARCHITECTURE.md's words). Times are
in ms, rates in aggregate tok/s, survivals and gains are shares.
"""

from typing import Any

import xarray as xr

type Quantity = Any
"""A number, a numpy array or a labelled array; what broadcasts together may be mixed."""

MS_PER_S = 1000.0


def tokens_per_round(batch: Quantity, survival_sum: Quantity) -> Quantity:
    """E(d) = B (1 + S_1 + ... + S_d), in tokens a round of the whole batch; the bonus token is the 1."""
    return batch * (1.0 + survival_sum)


def survival_sums(survival: xr.DataArray, position: str, depth: str) -> xr.DataArray:
    """S_1 + ... + S_d for the depths 0..K, from prefix survivals at the positions 1..K (a share each)."""
    sums = survival.rename({position: depth}).cumsum(depth)
    return sums.pad({depth: (1, 0)}, constant_values=0.0).assign_coords({depth: range(survival.sizes[position] + 1)})


def exposed_ms(remote_ms: Quantity, overlap: Quantity, overhead_ms: Quantity) -> Quantity:
    """(1 - overlap) D + overhead, the remote cost that a round waits for, in ms.

    With the study's reference overlap and overhead this is e_ref, which does not move with the assumptions.
    """
    return (1.0 - overlap) * remote_ms + overhead_ms


def verify_ms(
    step_ms: Quantity,
    reference_ms: Quantity,
    row_slope: Quantity,
    batch: Quantity,
    config_ms: Quantity,
    anchor_ms: Quantity,
) -> Quantity:
    """V(d) = T - e_ref + m B (H[d] - anchor), in ms; the nominal anchor is H[c]."""
    return step_ms - reference_ms + row_slope * batch * (config_ms - anchor_ms)


def round_ms(verify: Quantity, exposed: Quantity) -> Quantity:
    """round(d) = V(d) + exposed remote cost, in ms."""
    return verify + exposed


def rate(tokens: Quantity, duration_ms: Quantity) -> Quantity:
    """1000 E / round, in tok/s over the batch."""
    return MS_PER_S * tokens / duration_ms


def gain(new: Quantity, old: Quantity) -> Quantity:
    """new / old - 1: positive where the new rate is the higher one."""
    return new / old - 1.0
