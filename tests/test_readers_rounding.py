"""Counts behind rounded rates, held against every vector that prints the same."""

import itertools
import random

import pytest
from draftdepth.data.errors import InputError
from draftdepth.data.readers.rounding import Rounded, counts_of, rounds_of

from .reader_examples import facts, llama, read, statistics, window


def printing_alike(rates: list[str], rounds: int, total: int) -> list[tuple[int, ...]]:
    """Brute force: every non-increasing vector of this total that prints these rates."""
    return [
        counts
        for counts in itertools.product(*[range(rounds + 1)] * len(rates))
        if sum(counts) == total
        and list(counts) == sorted(counts, reverse=True)
        and [f"{count / rounds:.{len(rate) - 2}f}" for count, rate in zip(counts, rates, strict=True)] == rates
    ]


@pytest.mark.parametrize("decimals", [1, 2])
def test_what_is_found_is_what_prints_alike(decimals: int) -> None:
    draw = random.Random(6)
    several = 0
    for _ in range(150):
        rounds = draw.randint(1, 16)
        counts = sorted((draw.randint(0, rounds) for _ in range(3)), reverse=True)
        rates = [f"{count / rounds:.{decimals}f}" for count in counts]
        alike = printing_alike(rates, rounds, sum(counts))
        found = counts_of([Rounded.of(rate) for rate in rates], rounds, sum(counts))
        assert set(alike) <= set(found) or len(found) == 2  # half digits may round either way: more, never fewer
        if len(found) == 1:
            assert found == alike == [tuple(counts)]
        several += len(found) == 2
    assert several > 5 if decimals == 1 else several < 150


def test_a_printed_rate_allows_what_lies_within_half_its_last_digit() -> None:
    for written in ("0.805", "0.000", "1.000", "0.5", "0.33"):
        half = 0.5 * 10.0 ** -len(written[2:])
        for rounds in (7, 87, 1000, 1720):
            within = [count for count in range(rounds + 1) if abs(count / rounds - float(written)) <= half * (1 + 1e-5)]
            assert list(Rounded.of(written).counts(rounds)) == within
    assert list(Rounded.of("83.39", 0.01).counts(26407)) == [22020, 22021, 22022]


def test_no_vector_prints_what_does_not_add_up() -> None:
    rates = [Rounded.of("0.600"), Rounded.of("0.300")]
    assert counts_of(rates, 100, 90) == [(60, 30)]
    assert counts_of(rates, 100, 91) == []
    assert counts_of([Rounded.of("0.300"), Rounded.of("0.600")], 100, 90) == []
    assert counts_of([Rounded.of("0.805")], 7, 5) == []
    assert len(counts_of([Rounded.of("0.5")] * 64, 10**9, 64 * 5 * 10**8)) == 2  # many: two are enough, and at once


def test_rounds_follow_from_a_mean_length_only_where_it_ends_them() -> None:
    assert rounds_of(Rounded.of("2.92"), 1, 167, 80) == range(87, 88)
    assert rounds_of(Rounded.of("1.00"), 1, 0, 5) is None
    assert rounds_of(Rounded.of("1.00"), 1, 3, 5) is None  # at most 0.005 a round: no end


def test_windows_come_back_as_they_went_in_or_are_refused() -> None:
    draw = random.Random(11)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(300):
        rounds, depth = draw.choice([3, 40, 200, 900, 3000]), draw.randint(1, 6)
        counts = sorted((draw.randint(0, rounds) for _ in range(depth)), reverse=True)
        kind = draw.choice(["fixed", "dynamic"])
        drafted = depth * rounds if kind == "fixed" else draw.randint(sum(counts), depth * rounds)
        line = window(rounds, counts, drafted)
        try:
            found = facts(read("vllm-log", line, policy_kind=kind))
        except InputError:
            with pytest.raises(InputError, match="do not determine"):
                read("vllm-log", line, policy_kind=kind)
            outcomes["refused"] += 1
        else:
            assert found == [(rounds, counts)]
            outcomes["read"] += 1
    assert outcomes["read"] > 100
    assert outcomes["refused"] > 30


def test_a_line_that_two_handlers_wrote_is_one_window() -> None:
    line = window(100, [60, 30])
    done = read("vllm-log", line + line + window(100, [60, 30], when="07-18 20:27:04"))
    assert facts(done) == [(200, [120, 60])]
    assert "1 lines repeat the one before to the letter" in "\n".join(done.warnings)
    timeless = line.replace("07-18 20:26:54 ", "")
    assert facts(read("vllm-log", timeless + timeless)) == [(200, [120, 60])]


def test_a_window_that_contradicts_itself_is_refused() -> None:
    for line, said in (
        (window(100, [60, 30], total=89), "no counts that are accepted 89 times"),
        (window(100, [60, 30], mean="3.40"), r"Mean acceptance length: found 3\.4;"),
        (window(100, [60, 30], 80), "90 accepted of 80 drafted"),
        (window(100, [60, 30]) + window(100, [60, 30, 1]), "line 2: found 3 positions; 2"),
        (window(100, [60, 30]).replace("Per-position acceptance rate", "Other"), "no rates by position"),
        (window(100, [60, 30]).replace("Drafted: 200", "Drafted: many"), "no Accepted and Drafted tokens"),
    ):
        with pytest.raises(InputError, match=said):
            read("vllm-log", line)


def test_llama_requests_are_summed_and_a_life_stands_in_only_where_they_have_no_rates() -> None:
    text = llama(87, [70, 55, 42], 259) + statistics(900, [800, 700, 600]) + llama(50, [40, 20, 5], task=1)
    assert facts(read("llamacpp", text, policy_depth=3)) == [(137, [110, 75, 47])]
    life = llama(10, [5, 1], rates=False) + statistics(87, [70, 55]) + statistics(206, [173, 138])
    done = read("llamacpp", life, policy_depth=2)
    assert facts(done) == [(206, [173, 138])]
    assert "since the server's start (1 starts)" in done.warnings[0]
    twice = read("llamacpp", life + statistics(10, [5, 1]), policy_depth=2)
    assert facts(twice) == [(216, [178, 139])]
    with pytest.raises(InputError, match="no counts that fit the totals"):
        read("llamacpp", llama(87, [70, 55, 42]).replace(" 2.92", " 2.95"), policy_depth=3)
    with pytest.raises(InputError, match="9 accepted of 5 drafted"):
        read("llamacpp", llama(10, [7, 2], 5), policy_depth=2)
    with pytest.raises(InputError, match="lines of 2 drafters"):
        read("llamacpp", life + statistics(10, [5, 1], "draft-simple"), policy_depth=2)
    with pytest.raises(InputError, match="1 requests without rates beside 1 with them"):
        read("llamacpp", llama(10, [5, 1], rates=False) + llama(10, [5, 1]), policy_depth=2)
