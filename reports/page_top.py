"""The first view of the page: what to do, how sure, what is assumed and what to measure next, over all cells."""

from collections import Counter
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from ..data.words import Label
from .page_stored import Number, Said
from .page_words import spoken

type View = dict[str, Any]

NAMED_CELLS = 6  # more cells than this to change are counted at the top, not named


def overall(cells: list[View]) -> str:
    """The recommendation for the study as a whole, in words."""
    changed = [cell for cell in cells if cell["recommended"]]
    if not cells:
        return "No cell was fitted; nothing is recommended."
    if not changed:
        return (
            f"Keep the current policy in all {len(cells)} cells: no depth passes the rule in any. ESTIMATED."
            if len(cells) > 1
            else "Keep the current policy: no depth passes the rule. ESTIMATED."
        )
    kept = len(cells) - len(changed)
    rest = f"; keep the current policy in the other {kept}" if kept else ""
    depths = sorted({cell["recommended"] for cell in changed})
    if len(changed) > NAMED_CELLS:
        said = " or ".join(str(depth) for depth in depths)
        where = "; the table says which" if len(depths) > 1 or kept else ""
        return f"Verify {said} positions in {len(changed)} of {len(cells)} cells{rest}{where}. ESTIMATED."
    names = {depth: ", ".join(cell["name"] for cell in changed if cell["recommended"] == depth) for depth in depths}
    said = "; ".join(f"{depth} in {named}" for depth, named in names.items())
    return f"Verify this many positions: {said}{rest}. ESTIMATED."


def warned(cells: list[View]) -> str:
    """In how many cells a measured arm lies outside what the model expects, in words; empty where in none."""
    count = sum(cell["warned"] for cell in cells)
    if not count:
        return ""
    cell = next(cell["name"] for cell in cells if cell["warned"])
    where = f"{cell}: a MEASURED arm disagrees" if count == 1 else f"{count} cells a MEASURED arm disagrees"
    return f"WARNING: in {where} with the model; believe the measurement, and repeat it before acting on either."


def _between(cells: list[View], number: Callable[[View], Number]) -> Said:
    """The smallest and the largest of a number over cells; one alone where both are written alike."""
    found = sorted((number(cell) for cell in cells if isfinite(number(cell).value)), key=lambda each: each.value)
    if not found:
        return ["unknown"]
    return [found[0]] if found[0].text == found[-1].text else [found[0], " to ", found[-1]]


def _of(count: int, cells: list[View]) -> str:
    """How many of the cells."""
    if len(cells) == 1:
        return ""
    return f" in all {count} cells" if count == len(cells) else f" in {count} of {len(cells)} cells"


def _sure(cells: list[View]) -> list[Said]:
    """How sure the advice is: where to change, where nothing better is likely, and where something better is not shown."""
    changed = [cell for cell in cells if cell["recommended"]]
    stays = [cell for cell in cells if not cell["recommended"] and cell["shown"]["runs_now"]]
    doubtful = [cell for cell in cells if not cell["recommended"] and not cell["shown"]["runs_now"]]
    out: list[Said] = []
    if changed:
        chance = _between(changed, lambda cell: cell["shown"]["chances"][0])
        gain = _between(changed, lambda cell: cell["shown"]["fixed"]["gain_current"]["p50"])
        out.append(
            [f"Change{_of(len(changed), cells)}: chance that it is faster ", *chance, ", median gain ", *gain, "."]
        )
    if stays:
        best = _between(stays, lambda cell: cell["shown"]["p_best"])
        out.append([f"What runs now is the likeliest best{_of(len(stays), cells)}: chance ", *best, "."])
    if doubtful:
        chance = _between(doubtful, lambda cell: cell["shown"]["chances"][0])
        out.append(
            [f"Another depth may be faster{_of(len(doubtful), cells)}: chance ", *chance, ", but none passes the rule."]
        )
    return out


def _assumed(cells: list[View], assumptions: Mapping[str, Any]) -> list[Said]:
    """What of the advice no measurement has settled."""
    shown = [cell["shown"] for cell in cells]
    counts = (
        ("which positions were verified (exposure)", sum(row["exposure"] == Label.ASSUMED.value for row in shown)),
        (
            "what masked positions would have added (masked tail)",
            sum(row["tail"] == Label.ASSUMED.value for row in shown),
        ),
        ("what verifying one position more costs (price of a row)", sum(not cell["priced"] for cell in cells)),
    )
    parts = [f"{words}{_of(count, cells)}" for words, count in counts if count]
    ranged = [words for key, words in (("overlap", "overlap"), ("overhead_ms", "overhead"))
              if assumptions[key]["low"] < assumptions[key]["high"]]  # fmt: skip
    if ranged and any(cell["remote"] for cell in cells):
        parts.append(f"{spoken(ranged)} of the remote worker")
    out: list[Said] = [[f"Not measured, so the stated priors speak: {'; '.join(parts)}."]] if parts else []
    lent = sum(cell["priced"] and not cell["priced_here"] for cell in cells)
    if lent:
        out.append([f"The price of a row is that of other cells of the same worker{_of(lent, cells)}."])
    beyond = sum(cell["shown"]["label"] == Label.EXTRAPOLATED.value for cell in cells)
    if beyond:
        out.append([f"EXTRAPOLATED{_of(beyond, cells)}: no run there could verify the depth in question."])
    return out or [["Nothing beyond the stated priors and the ranges of the screen."]]


def _next(cells: list[View]) -> list[Said]:
    """Which source of doubt is worth most to settle, over the cells, what would teach it, and what proof may be worth to the rule."""
    named = [cell for cell in cells if cell["reasons"] and cell["reasons"]["first"]]
    counted = Counter(cell["reasons"]["first"]["words"] for cell in named)
    out: list[Said] = []
    for words, count in counted.most_common(2):
        whose = [cell for cell in named if cell["reasons"]["first"]["words"] == words]
        teacher = whose[0]["reasons"]["first"]["teacher"]
        worth = _between(whose, lambda cell: cell["reasons"]["first"]["worth"])
        out.append([f"{teacher[:1].upper()}{teacher[1:]}{_of(count, cells)}, to learn the {words}: worth at most ", *worth,
                    " tok/s."])  # fmt: skip
    if named:
        out.append(["That is to one who takes the best expected rate today."])
    else:
        out.append(["No answer to a single question would change which choice has the best expected rate."])
    kept = [cell for cell in cells if not cell["recommended"]]
    losing = [cell for cell in kept if cell["current"]["loss"].value > cell["shown"]["loss"].value]
    if losing:
        loss = _between(losing, lambda cell: cell["current"]["loss"])
        out.append(["The rule keeps what runs until a change is shown: to it a measured arm may be worth up to the loss of keeping, ",
                    *loss, f" tok/s{_of(len(losing), cells)}."])  # fmt: skip
    if named or losing:
        out.append(["`draftdepth plan` says how many runs that takes, and whether they are worth it."])
    return out


def first_view(cells: list[View], assumptions: Mapping[str, Any], explained: bool) -> View:
    """What a reader of one minute sees.

    Parameters
    ----------
    cells
        Of `page_view`.
    assumptions
        Of the screen's document.
    explained
        Whether the result holds what each source of doubt is worth.
    """
    rows = [("How sure", _sure(cells)), ("What is assumed", _assumed(cells, assumptions))] if cells else []
    if cells and explained:
        rows.append(("What to measure next", _next(cells)))
    return {"answer": overall(cells), "warned": warned(cells), "rows": rows}
