"""Matching a topic filter against all topics: bounded, the same for all members, and cached."""

import itertools
from collections.abc import Iterator

import pytest

from zkconsumer.assignment import filtering
from zkconsumer.assignment.filtering import FilterBudget, FilterRefused
from zkconsumer.assignment.regex_automaton import Automaton

NAMES = tuple("".join(letters) for letters in itertools.product("abc-", repeat=5))
TOO_MUCH = "(?=.*a)" * 3000 + ".*"


def matching(pattern: str, names: tuple[str, ...]) -> Iterator[bool]:
    """Return the match results of a filter that has a budget of its own."""
    return filtering.matching(pattern, names, FilterBudget())


def count_automatons(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by one entry with each automaton that is built."""
    made: list[int] = []

    def make(*args: object) -> Automaton:
        made.append(len(made))
        return Automaton(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(filtering, "Automaton", make)
    return made


def test_each_name_gets_a_result_in_order() -> None:
    """A result is returned for every name in order, even for one that no topic can have."""
    assert list(matching("a.*", ("b", "a", "é", "", "ab"))) == [False, True, False, False, True]
    assert list(matching("a.*", ())) == []


def test_results_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter is matched once per set of topics, however many members evaluate it."""
    made = count_automatons(monkeypatch)
    first = list(matching("b+remembered|a.*", NAMES))
    assert list(matching("b+remembered|a.*", tuple(NAMES))) == first
    assert len(made) == 1
    assert sum(matching("b+remembered|a.*", (*NAMES, "a"))) == sum(first) + 1
    assert len(made) == 2


def test_a_filter_that_took_too_long_is_not_retried_for_more_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A filter that ran out of steps is evaluated again only for fewer topics."""
    made = count_automatons(monkeypatch)
    for names in (NAMES, (*NAMES, "new"), tuple(reversed(NAMES))):
        with pytest.raises(FilterRefused, match="too many steps") as refused:
            list(matching(TOO_MUCH, names))
        assert refused.value.is_unusable
    assert len(made) == 1
    assert list(matching(TOO_MUCH, ("b",))) == [False]
    assert len(made) == 2


@pytest.mark.parametrize(
    ("pattern", "is_unusable"),
    [(")", True), ("x" * 100_001, True), ("((.{250}){250}){250}", True), (r"(a)\1", False)],
    ids=["invalid", "long", "large", "unknown"],
)
def test_an_unsupported_filter_is_told_apart_from_an_unusable_one(
    pattern: str, is_unusable: bool
) -> None:
    """A filter that other members may understand is not reported as one that nobody can use."""
    with pytest.raises(FilterRefused) as refused:
        matching(pattern, NAMES)
    assert refused.value.is_unusable is is_unusable


def test_a_refusal_is_one_line_of_bounded_length() -> None:
    """The error for a refused filter is short and printable, whatever the filter contains."""
    with pytest.raises(FilterRefused) as refused:
        matching("a\n\x1b[31m" + "b" * 5000 + ")", NAMES)
    reported = str(refused.value)
    assert reported.startswith(r"filter 'a\n\x1b[31mbbb")
    assert reported.isprintable()
    assert len(reported) < 300


def hostile(number: int) -> str:
    """Return a filter that takes as many steps as it is allowed; each number gives another one."""
    return f"{TOO_MUCH}|x{number}"


def refusal(pattern: str, names: tuple[str, ...], budget: FilterBudget) -> str:
    """Return why a filter is refused, or an empty string if it is accepted."""
    try:
        filtering.matching(pattern, names, budget)
    except FilterRefused as error:
        return str(error).rpartition("used: ")[2]
    return ""


def test_filters_of_one_evaluation_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters beyond the shared budget are refused untried, and the same ones the next time."""
    made = count_automatons(monkeypatch)
    patterns = [hostile(number) for number in range(5)]
    first, second = FilterBudget(3), FilterBudget(3)
    refusals = [refusal(pattern, NAMES, first) for pattern in patterns]
    assert [reason.partition("it takes ")[0] for reason in refusals] == [
        *[""] * 3,
        *["beside the other filters "] * 2,
    ]
    assert refusal(patterns[0], NAMES, first) == refusals[0]
    assert len(made) == 3
    assert [refusal(pattern, NAMES, second) for pattern in patterns] == refusals
    assert len(made) == 3


def test_cheap_filters_are_not_refused_because_of_expensive_ones() -> None:
    """Any number of cheap filters are accepted, even after an expensive one used up the budget."""
    budget = FilterBudget(1)
    assert refusal(hostile(99), NAMES, budget)
    for number in range(300):
        assert sum(filtering.matching(f"a.*|b{number}", NAMES, budget)) == 4**4


def test_the_size_of_a_filter_counts_against_the_budget() -> None:
    """Expanding a large filter takes time as well, even if it then matches in a few steps."""
    budget = FilterBudget(2)
    patterns = [f"x{number}((a?){{20}}){{200}}" for number in range(12)]
    refusals = [refusal(pattern, ("b",), budget) for pattern in patterns]
    assert [bool(reason) for reason in refusals] == [False] * 9 + [True] * 3
