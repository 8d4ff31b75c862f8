"""A filter held against all topics: bounded, the same for all members, and remembered."""

import itertools

import pytest

from zkconsumer.assignment import filtering
from zkconsumer.assignment.filtering import FilterRefused, matching
from zkconsumer.assignment.regex_automaton import Automaton

NAMES = tuple("".join(letters) for letters in itertools.product("abc-", repeat=5))
TOO_MUCH = "(?=.*a)" * 3000 + ".*"


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
