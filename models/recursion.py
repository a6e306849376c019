"""Exposure, masked tail and fixed-depth survival from hazards: the same functions for draws and for the model's graph.

Arrays end in positions 1..K and broadcast in front; `xp` is numpy or pytensor.tensor. Notation: h hazard, v chance to be
verified given verified and accepted so far, a = h / v acceptance of a verified position, w chance to be verified given
verified and already rejected, F accepted so far, R verified but rejected, M masked but would have been accepted.
"""

from typing import Any

type Array = Any

TINY = 1e-9
SMALLEST_PRODUCT = 1e-250


def expit(x: Array, xp: Any) -> Array:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + xp.exp(-x))


def lower_odds(chance: Array, gap: Array, xp: Any) -> Array:
    """expit(logit(chance) - gap), without a logit."""
    factor = xp.exp(-gap)
    return chance * factor / (1.0 - chance + chance * factor)


def shifted(hazard: Array, shift: Array, xp: Any) -> Array:
    """expit(logit(hazard) + shift): transport to another depth."""
    return lower_odds(hazard, -shift, xp)


def verified_chance(h: Array, uniform: Array, power: float, shape: float) -> Array:
    """v in [h, 1] by inverse transform of a uniform: (h^p + (1 - h^p) u)^(1/p), u = 1 - (1 - U)^(1/q)."""
    u = 1.0 - (1.0 - uniform) ** (1.0 / shape)
    floor = h**power
    return (floor + (1.0 - floor) * u) ** (1.0 / power)


def verified_uniform(h: Array, v: Array, power: float, shape: float) -> Array:
    """The uniform that `verified_chance` turns into v."""
    floor = h**power
    return 1.0 - ((1.0 - v**power) / (1.0 - floor)) ** shape


def verified_from_share(h: Array, share: Array, delta: Array, xp: Any) -> Array:
    """v at which the masked part of a round would be accepted with chance y = (1 - h) share.

    y = (1 - v) expit(logit(h / v) - delta) solved for v: v = h (1 - y + y e^delta) / (h + y e^delta). At the first
    position g = h + y, so that a fixed run speaks of y alone.
    """
    y, odds = (1.0 - h) * share, xp.exp(delta)
    return h * (1.0 - y + y * odds) / (h + y * odds)


def log_share_density(h: Array, share: Array, delta: Array, power: float, shape: float, xp: Any) -> Array:
    """Log density of `share` in (0, 1) that leaves v | h the law of `verified_chance`.

    The Kumaraswamy tail's density q p v^(p-1) (1 - v^p)^(q-1) / (1 - h^p)^q, times |dv/dy| = h (h + e^delta (1 - h)) /
    (h + y e^delta)^2, times dy/dshare = 1 - h.
    """
    y, odds = (1.0 - h) * share, xp.exp(delta)
    v = verified_from_share(h, share, delta, xp)
    tail = (shape - 1.0) * xp.log(1.0 - v**power) - shape * xp.log(1.0 - h**power) + (power - 1.0) * xp.log(v)
    slope = xp.log(h) + xp.log(h + odds * (1.0 - h)) - 2.0 * xp.log(h + y * odds)
    return xp.log(shape * power) + tail + slope + xp.log(1.0 - h)


def acceptance(h: Array, v: Array, xp: Any) -> Array:
    """a = h / v, kept below 1 so that odds exist."""
    return xp.minimum(h / v, 1.0 - TINY)


def _running(chance: Array, inflow: Array, xp: Any) -> Array:
    """x_i = (x_{i-1} + inflow_i) chance_i from x_0 = 0: all terms positive, so dividing by the product loses nothing."""
    product = xp.maximum(xp.cumprod(chance, axis=-1), SMALLEST_PRODUCT)
    return product * xp.cumsum(inflow * chance / product, axis=-1)


def exposure(h: Array, v: Array, kappa: Array, xp: Any) -> Array:
    """e_i = P(V >= i) = F_i + R_i, positions in the last axis.

    F_i = F_{i-1} v_i a_i and R_i = F_{i-1} v_i (1 - a_i) + R_{i-1} w_i, logit w = logit v - kappa.
    """
    w = lower_odds(v, kappa, xp)
    accepted = xp.cumprod(h, axis=-1)
    return accepted + _running(w, accepted / h * (v - h) / w, xp)


def fixed_hazard(h: Array, v: Array, delta: Array, xp: Any) -> Array:
    """g_i = S*_i / S*_{i-1} had every position been verified, S* = F + M.

    M_i = (M_{i-1} + F_{i-1} (1 - v_i)) b_i with b = expit(logit a - delta); delta = 0 is ignorable censoring.
    """
    b = lower_odds(acceptance(h, v, xp), delta, xp)
    accepted = xp.cumprod(h, axis=-1)
    survival = accepted + _running(b, accepted / h * (1.0 - v), xp)
    return survival / xp.concatenate([xp.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)


def step_chances(h: Array, v: Array, e: Array, kappa: Array, xp: Any) -> dict[str, Array]:
    """Chance of each binomial step that exposure enters, by its name in `observations.trials_of`."""
    last = xp.concatenate([xp.ones_like(e[..., :1]), e[..., :-1]], axis=-1)
    return {
        "verified": e / last,
        "verified_if_accepted": v,
        "accepted_if_verified": acceptance(h, v, xp),
        "verified_if_rejected": lower_odds(v, kappa, xp),
    }


def total_moments(e: Array, positions: Array, rounds: Array, extra: Array) -> tuple[Array, Array]:
    """Mean and variance of the tokens verified in n rounds: n sum e_i and n (sum (2i - 1) e_i - (sum e_i)^2).

    `extra` is the overdispersion of shares; 1/12 stands for whole tokens.
    """
    mean = e.sum(axis=-1)
    variance = ((2 * positions - 1) * e).sum(axis=-1) - mean**2
    return rounds * mean, rounds * (variance + 1e-6) * (1.0 + (rounds - 1.0) * extra) + 1.0 / 12.0
