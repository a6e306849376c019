"""How far each effect is sampled centred: a choice of coordinates from the counts, which leaves the model as it is.

An effect x ~ Normal(m, s) is sampled as x = m + s^(1 - c) y with y ~ Normal(0, s^c). Where counts fix x more closely than
s does, c = 1 mixes best; where they say little, c = 0 does; c = s^2 / (s^2 + 1/information) lies between.
"""

import numpy as np

from .evidence import Evidence, Floats

TYPICAL_SHAPE_SD = 0.03  # of a cell's own deviation at a position, on the logit
LEAST_RUN_SD = 0.02
CAUTION = 1 / 3  # the guess of a spread is rough, and centring on one that vanishes is a funnel: lean to c = 0
TYPICAL_OVERDISPERSION = 0.001  # n trials tell no more than n / (1 + .001 n) would without it


def _information(evidence: Evidence) -> tuple[Floats, Floats]:
    """Binomial information on each run's logit hazards, and its score at its arm's pooled hazard: (run, position)."""
    before = np.column_stack([evidence.rounds, evidence.accepted])[:, :-1] * evidence.inside
    before = before * evidence.counted[:, None]
    key = np.stack([evidence.cell, evidence.fixed, evidence.depth])
    _, arm = np.unique(key, axis=1, return_inverse=True)
    arm = arm.ravel()
    tried, taken = (
        np.zeros((arm.max() + 1, evidence.deepest)),
        np.zeros((arm.max() + 1, evidence.deepest)),
    )
    np.add.at(tried, arm, before)
    np.add.at(taken, arm, evidence.accepted * (before > 0))
    pooled = ((taken + 0.5) / (tried + 1.0))[arm]
    worth = before / (1.0 + TYPICAL_OVERDISPERSION * before)
    return worth * pooled * (1.0 - pooled), np.where(before > 0, evidence.accepted - before * pooled, 0.0)


def run_sd(evidence: Evidence) -> float:
    """Spread of run effects by moments (DerSimonian and Laird): only a guess, to choose coordinates with."""
    information, score = (part.sum(axis=1) for part in _information(evidence))
    use = information > 0
    shift = score[use] / information[use]
    weight = information[use]
    key = np.stack([evidence.cell, evidence.fixed, evidence.depth])[:, use]
    freedom = int(use.sum()) - np.unique(key, axis=1).shape[1]
    if freedom <= 0:
        return LEAST_RUN_SD
    excess = float((weight * shift**2).sum()) - freedom
    scale = float(weight.sum()) * freedom / max(int(use.sum()), 1)
    return float(np.sqrt(max(excess / scale, LEAST_RUN_SD**2)))


def shape_centring(evidence: Evidence) -> Floats:
    """c of each cell's deviation at each position: shape (cell, position)."""
    total = np.zeros((len(evidence.cells), evidence.deepest))
    np.add.at(total, evidence.cell, _information(evidence)[0])
    return np.asarray(TYPICAL_SHAPE_SD**2 * total / (1.0 + TYPICAL_SHAPE_SD**2 * total))


def run_centring(evidence: Evidence, contrasts: Floats) -> Floats:
    """c of each run contrast, from the information of the runs that it compares."""
    information = _information(evidence)[0].sum(axis=1)
    share = contrasts**2
    total = (share.T @ information) / np.maximum(share.sum(axis=0), 1e-12)
    sd = CAUTION * run_sd(evidence)
    return np.asarray(sd**2 * total / (1.0 + sd**2 * total))
