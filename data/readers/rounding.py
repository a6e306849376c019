"""Counts behind rounded rates: found where rates and totals determine them, and never otherwise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_CANDIDATES = 1000  # of one count; more are never told apart, and are not searched
SLACK = 1e-6  # shares of a last digit; an engine may have divided in single precision


@dataclass(frozen=True, slots=True)
class Rounded:
    """A printed number and half of its last digit: the true one lies within."""

    value: float
    half: float

    @classmethod
    def of(cls, written: str, scale: float = 1.0) -> "Rounded":
        """Read `0.805` as 0.805 within 0.0005; a scale of 0.01 reads percent."""
        decimals = len(written.partition(".")[2])
        return cls(float(written) * scale, 0.5 * 10.0**-decimals * scale * (1 + SLACK))

    def counts(self, rounds: int) -> range:
        """Whole numbers whose share of the rounds is printed like this."""
        least = math.ceil((self.value - self.half) * rounds - 1e-9)
        most = math.floor((self.value + self.half) * rounds + 1e-9)
        return range(max(least, 0), min(most, rounds) + 1)


def counts_of(rates: Sequence[Rounded], rounds: int, total: int) -> list[tuple[int, ...]]:
    """Non-increasing counts that the rates allow and that add up to the total: none, the one, or the first two.

    Parameters
    ----------
    rates
        Share of the rounds that accepted positions 1..i, by position.
    rounds, total
        Rounds, and accepted tokens over all positions.
    """
    ranges = [rate.counts(rounds) for rate in rates]
    if any(not one for one in ranges):
        return []
    low, high = [one[0] for one in ranges], [one[-1] for one in ranges]
    for place in range(1, len(ranges)):
        high[place] = min(high[place], high[place - 1])
        low[-place - 1] = max(low[-place - 1], low[-place])
    if any(least > most for least, most in zip(low, high, strict=True)):
        return []
    if not sum(low) <= total <= sum(high):
        return []
    if any(most - least > MOST_CANDIDATES for least, most in zip(low, high, strict=True)):
        return [tuple(low), tuple(high)]  # two that the rates allow: enough to know that they do not determine
    found: list[tuple[int, ...]] = []
    for counts in _search(low, high, 0, rounds, total):
        found.append(counts)
        if len(found) == 2:
            break
    return found


def _search(low: Sequence[int], high: Sequence[int], place: int, before: int, left: int) -> Iterator[tuple[int, ...]]:
    if place == len(low):
        if left == 0:
            yield ()
        return
    for count in range(min(high[place], before), low[place] - 1, -1):
        rest = left - count
        most = sum(min(count, one) for one in high[place + 1 :])
        if rest > most:  # and smaller counts leave more
            return
        if rest >= sum(low[place + 1 :]):
            for tail in _search(low, high, place + 1, count, rest):
                yield (count, *tail)


def rounds_of(length: Rounded, bonus: int, total: int, least: int) -> range | None:
    """Rounds that a mean acceptance length allows: 1 + total / rounds where it holds the bonus token.

    Returns
    -------
    range or None
        From `least` on; None where the length sets no end to them, or more than can be searched.
    """
    per_round = length.value - bonus
    if total == 0 or per_round - length.half <= 0:
        return None
    most = math.floor(total / (per_round - length.half) + 1e-9)
    first = max(least, math.ceil(total / (per_round + length.half) - 1e-9), 1)
    return range(first, most + 1) if most - first <= MOST_CANDIDATES else None
