"""A filter held against all topics: bounded, the same for all members, and remembered."""

import itertools
from collections.abc import Iterator

import pytest

from zkconsumer.assignment import filtering
from zkconsumer.assignment.filtering import FilterBudget, FilterRefused
from zkconsumer.assignment.regex_automaton import Automaton

NAMES = tuple("".join(letters) for letters in itertools.product("abc-", repeat=5))
TOO_MUCH = "(?=.*a)" * 3000 + ".*"


def matching(pattern: str, names: tuple[str, ...]) -> Iterator[bool]:
    """The results for the only filter of a reading."""
    return filtering.matching(pattern, names, FilterBudget())


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one for each automaton that is made."""
    made: list[int] = []

    def make(*args: object) -> Automaton:
        made.append(len(made))
        return Automaton(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(filtering, "Automaton", make)
    return made


def test_one_answer_for_each_name_in_their_order() -> None:
    """Also for what is no name of a topic."""
    assert list(matching("a.*", ("b", "a", "é", "", "ab"))) == [False, True, False, False, True]
    assert list(matching("a.*", ())) == []


def test_an_answer_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every member of a group asks for every other's, in each rebalance."""
    made = counting(monkeypatch)
    first = list(matching("b+remembered|a.*", NAMES))
    assert list(matching("b+remembered|a.*", tuple(NAMES))) == first
    assert len(made) == 1
    assert sum(matching("b+remembered|a.*", (*NAMES, "a"))) == sum(first) + 1
    assert len(made) == 2


def test_what_took_too_much_is_not_tried_again_for_more_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only when there are fewer of those that it was too much for."""
    made = counting(monkeypatch)
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
def test_a_filter_that_may_mean_something_elsewhere_is_told_apart(
    pattern: str, is_unusable: bool
) -> None:
    """From what nobody can use."""
    with pytest.raises(FilterRefused) as refused:
        matching(pattern, NAMES)
    assert refused.value.is_unusable is is_unusable


def test_a_refusal_is_one_line_of_bounded_length() -> None:
    """Whatever a stranger wrote."""
    with pytest.raises(FilterRefused) as refused:
        matching("a\n\x1b[31m" + "b" * 5000 + ")", NAMES)
    reported = str(refused.value)
    assert reported.startswith(r"filter 'a\n\x1b[31mbbb")
    assert reported.isprintable()
    assert len(reported) < 300


def hostile(number: int) -> str:
    """One of many filters that take as much as they may."""
    return f"{TOO_MUCH}|x{number}"


def refusal(pattern: str, names: tuple[str, ...], budget: FilterBudget) -> str:
    """Why a filter is refused; empty: it is not."""
    try:
        filtering.matching(pattern, names, budget)
    except FilterRefused as error:
        return str(error).rpartition("used: ")[2]
    return ""


def test_filters_of_a_reading_take_so_much_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are not tried, and cost their own members; the next reading comes to the same."""
    made = counting(monkeypatch)
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


def test_who_takes_little_is_not_refused_for_others() -> None:
    """However many they are, and whatever others took."""
    budget = FilterBudget(1)
    assert refusal(hostile(99), NAMES, budget)
    for number in range(300):
        assert sum(filtering.matching(f"a.*|b{number}", NAMES, budget)) == 4**4


def test_large_filters_count_as_well() -> None:
    """To write one out takes time, too, though it then matches at once."""
    budget = FilterBudget(2)
    patterns = [f"x{number}((a?){{20}}){{200}}" for number in range(12)]
    refusals = [refusal(pattern, ("b",), budget) for pattern in patterns]
    assert [bool(reason) for reason in refusals] == [False] * 9 + [True] * 3
