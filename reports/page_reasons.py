"""Why we are not sure, as the page shows it: shares of variance, what knowing is worth, and tipping points."""

from typing import Any

from .page_stored import Stored

type View = dict[str, Any]

WORDS = {
    "acceptance": ("acceptance", "more runs and rounds of the current policy"),
    "timing": ("step time", "more runs with step times, over several server starts"),
    "exposure": ("exposure", "verified tokens by position in the log (evidence L2 or L3)"),
    "masked_tail": ("masked tail (delta)", "a run at a fixed depth"),
    "transport": ("move to another depth (omega)", "a run at that fixed depth"),
    "row_slope": ("price of a row (row slope)", "step times at two fixed depths"),
    "overlap": ("overlap of remote work", "a timing of the remote worker under load"),
    "overhead": ("remote overhead", "a timing of the remote worker under load"),
}
"""Each source in words, and what would teach it."""

TIPPED = {
    "delta": ("odds of masked positions lower by (delta)", "times"),
    "row_slope": ("price of a row, times the study's (row slope)", "loss"),
}
"""What may tip the choice, in words, and how it is written."""
SURE = 2.0  # Monte-Carlo errors above nothing, from which on a value is named at the top


def _source(stored: Stored, cell: str, source: str, depth: int) -> View:
    words, teacher = WORDS[source]
    at = {"cell": cell, "source": source}
    return {
        "words": words,
        "short": words.partition(" (")[0],
        "teacher": teacher,
        "share": stored.number("percent", "explain", "share", depth=depth, **at),
        "share_error": stored.number("percent", "explain", "share_error", depth=depth, **at),
        "worth": stored.number("loss", "explain", "evppi", **at),
        "worth_error": stored.number("loss", "explain", "evppi_error", **at),
    }


def _tips(stored: Stored, cell: str) -> list[View]:
    """Ranges of each quantity, from its least to its most that was looked at, each with the best depth in it."""
    out = []
    for quantity, (words, kind) in TIPPED.items():
        at = {"cell": cell, "quantity": quantity}
        low, depth = (
            stored.number(as_, "explain", name, **at) for as_, name in ((kind, "tip_low"), ("count", "tip_depth_low"))
        )
        for place in range(stored.size("explain", "tip")):
            here = {**at, "tip": place}
            end = stored.number(kind, "explain", "tip_value", **here)
            if not end.is_known:
                break
            row = {"words": words, "low": low, "high": end, "depth": depth,
                   "logarithm": stored.number("loss", "explain", "tip_value", **here) if kind == "times" else None,
                   "error": stored.number("loss", "explain", "tip_error", **here),
                   "below": stored.number("chance", "explain", "tip_below", **here)}  # fmt: skip
            out.append(row)
            low, depth = end, stored.number("count", "explain", "tip_to", **here)
        last = stored.number(kind, "explain", "tip_high", **at)
        out.append(
            {"words": words, "low": low, "high": last, "depth": depth, "logarithm": None, "error": None, "below": None}
        )
    return out


def worth_most(sources: list[View]) -> View | None:
    """The source whose exact value is worth most, unless that is within Monte-Carlo error of nothing."""
    best = max(sources, key=lambda row: row["worth"].value)
    return best if best["worth"].value > SURE * best["worth_error"].value else None


def reasons(stored: Stored, cell: str, depth: int) -> View:
    """Shares at one depth, values and tipping points of one cell; empty where the result holds none."""
    if "explain" not in stored:
        return {}
    rows = [_source(stored, cell, source, depth) for source in stored.labels("explain", "source")]
    at = {"cell": cell, "depth": depth}
    return {
        "depth": depth,
        "sources": sorted(rows, key=lambda row: (row["worth"].value != row["worth"].value, -row["worth"].value)),
        "in_order": rows,
        "first": worth_most(rows),
        "interaction": stored.number("percent", "explain", "interaction", **at),
        "of_runs": stored.number("percent", "explain", "runs_share", **at),
        "of_rounds": stored.number("percent", "explain", "rounds_share", **at),
        "all": stored.number("loss", "explain", "evpi", cell=cell),
        "all_error": stored.number("loss", "explain", "evpi_error", cell=cell),
        "tips": _tips(stored, cell),
    }


def sources_table(stored: Stored) -> list[View]:
    """The sources and what would teach each; empty where the result holds no explanation."""
    if "explain" not in stored:
        return []
    return [{"words": WORDS[source][0], "teacher": WORDS[source][1]} for source in stored.labels("explain", "source")]
