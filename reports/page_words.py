"""The words of the pages: each said once, for the page, its Markdown and the README."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..data.words import FIXED

OVERVIEW = (
    (
        "rule",
        "a depth is recommended only if its gain over the current policy is likely, its expected loss small, its sign the same "
        "under all assumptions that no measurement has settled, and some run could verify it.",
    ),
    ("depth in question", "the recommended one, else the likeliest best."),
    (
        "expected loss, loss of keeping",
        "what the depth in question or the current policy costs on average against the best of all depths and the current policy; "
        "where keeping loses more, measuring may be worth its time.",
    ),
    (
        "screen's pick",
        "the depth of the highest rate at the screen's central assumptions. It knows no uncertainty: where it differs, the decision "
        "stands on the depth in question.",
    ),
    ("worth knowing first", "the one thing whose exact value would earn most, and what, in tok/s."),
)
"""The heads of the overview."""

READING = (
    (
        "envelope (hatched in figures)",
        "the smallest and the largest rate over a few hand-made assumptions. It carries no probability: it is not an interval and "
        "not a bound.",
    ),
    (
        "interval (a line in figures)",
        "the posterior: thick for 50 %, thin for 90 %. It holds what the counters say and what the stated priors say where "
        "counters are silent.",
    ),
    (
        "worst-case bounds (a dotted frame in figures)",
        "the worst cases of what masked positions may hide on the recorded rounds, at the screen's one central price of a row: they "
        "bound tokens, not prices. Another price, sampling error and the move to another depth stand outside, so a measured rate "
        "or an interval may lie well outside them.",
    ),
    ("fixed depth", "a policy that verifies all positions up to its depth in every round; decisions stand on it."),
    (
        "proxy",
        "the screen's own truncated quantity, which takes a masked position for a rejected one; it decides nothing.",
    ),
    (
        "current",
        "the policy that the runs were made with: 1000 × tokens a round / step time in ms, a typical time standing for a mean. It is "
        "what the model holds of it from all runs, so it may differ from the measured arm of the same policy, which is the bare "
        "ratio of its own runs.",
    ),
    (
        "labels",
        "MEASURED: counted or timed. ESTIMATED: computed from measurements through assumptions. ASSUMED: a prior or a setting. "
        "EXTRAPOLATED: no run of the cell could verify it. UNSUPPORTED: deeper than the trained block, so no number.",
    ),
    (
        "evidence L0 to L4",
        "what the counters hold: L0 accepted and rounds alone, L1 also the total verified, L2 also verified by position, L3 the "
        "joint table, L4 a fixed depth. Below L4 a position that was not verified is not a rejection.",
    ),
)
"""What the marks, columns and labels are."""

GLOSSARY = (
    (
        "round",
        "one verification of one request by the target model: it accepts some drafted positions and adds one token.",
    ),
    (
        "position, depth, cap",
        "a draft's tokens are positions 1, 2, ...; a fixed depth d verifies positions 1 to d in every round; a dynamic policy "
        "verifies as many as its scheduler chooses, at most its cap.",
    ),
    (
        "masked",
        "drafted, but not verified, because the scheduler cut the draft short: nothing was accepted or rejected there.",
    ),
    ("exposure", "the share of rounds in which a position was verified."),
    ("survival", "the share of rounds in which all positions up to this one were accepted."),
    (
        "masked tail (delta)",
        "what masked positions would have added, had they been verified. Their odds of being accepted are taken to be lower than "
        "those of verified ones, by the factor exp(delta); at delta 0 they are the same. Only runs at a fixed depth can tell.",
    ),
    (
        "rejected rounds (kappa)",
        "after a rejection the scheduler goes on to verify the next position of that draft with odds lower by the factor exp(kappa).",
    ),
    (
        "move to another depth (omega)",
        "positions may be accepted with other odds where another depth is run; omega is the log of the factor between them.",
    ),
    (
        "price of a row (row slope)",
        "a row is one token of one request in a verification, so each position that is verified costs one; the row slope is its "
        "price as a multiple of that in the study's table of step times.",
    ),
    (
        "contraction",
        "how much of the prior's variance the counts took away: at 0 % only the prior speaks.",
    ),
    ("P(best)", "the chance that a choice has the highest rate of all depths and the current policy."),
)
"""Words of the model and of the counters."""


def spoken(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def policy_mark(depth: int, policy: Mapping[str, Any]) -> str:
    """What a depth is to the policy that runs now."""
    if depth != policy["cap"]:
        return ""
    return " (runs now)" if policy["kind"] == FIXED else " (cap)"


def words_md(meanings: Sequence[tuple[str, str]]) -> str:
    """Words and their meanings as a list."""
    return "".join(f"- **{word}**: {meaning}\n" for word, meaning in meanings)
