"""Matching in a bounded number of steps, also where backtracking would take years."""

import itertools

import pytest

from zkconsumer.assignment.java_charset import RegexUnusable
from zkconsumer.assignment.java_regex import java_matcher, java_program
from zkconsumer.assignment.regex_automaton import Automaton, TooManySteps

LONG = "w" * 255


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(\w+)+!", False),
        (r"(\w+)+", True),
        (r"(\w*)*!", False),
        (r"(w|ww|www)+!", False),
        ("(w|w?)*", True),
        (".*" * 500 + "!", False),
        ("(.*)*" * 200, True),
        (r"(?=(\w+)+!).*", False),
        (r"(?!(\w+)+!).*", True),
        (r"(?:(?!!).)*", True),
        (r"(?>(\w+)+)", True),
        (r"(?>(\w+)+!)", False),
        (r"(?:\w|ww)++", True),
        (r"(?:\w|ww)++w", False),
        ("(w{1,1000}){1,1000}", True),
        ("w{255,2147483647}", True),
        ("w{256}", False),
        ("w{0,254}", False),
        ("(?:w?){2147483647}", True),
        ("(?:(?=!)|w){2147483647}", False),
        ("(" * 60 + "w" + ")*" * 60, True),
    ],
)
def test_the_longest_name_is_matched_in_bounded_steps(pattern: str, expected: bool) -> None:
    """The longest topic name is matched at once by patterns that would take backtracking years."""
    assert java_matcher(pattern)(LONG) is expected


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"a\b.b", "a-b", "aab"),
        (r"a\B.b", "aab", "a-b"),
        ("(?:^a|b)+", "abb", "aba"),
        ("(?:a$|b)+", "bba", "bab"),
        ("(?<=^a)b|ab", "ab", "b"),
        ("a(?<=a)(?=b)b", "ab", "ac"),
        ("a(?<!b)b(?<!bb)", "ab", "bb"),
        ("(?=.*b(?=c)).*", "abc", "acb"),
        ("(?>a*)b|aaa", "aaa", "aaba"),
        ("(?>a|ab)(?>c|bcd)", "abcd", "abc-"),
        ("(?>(?>a|ab)*)b", "aab", "abab"),
        ("(?:a|ab){2}+", "aa", "aba"),
        ("(?:a?)*+b", "aab", "aa"),
        ("(?>(?=a)a|b)c", "bc", "c"),
        ("(?>^a|b$)", "a", "ab"),
    ],
)
def test_assertions_and_atomic_groups_match_as_in_java(pattern: str, yes: str, no: str) -> None:
    """Each pattern matches one text as a whole and rejects another."""
    matches = java_matcher(pattern)
    assert matches(yes)
    assert not matches(no)


def test_only_names_that_a_topic_can_have_are_matched() -> None:
    """A name longer than a topic's may be matches nothing."""
    assert not java_matcher(".*")(LONG + "w")


@pytest.mark.parametrize(
    "pattern",
    ["((.{250}){250}){250}", "(((a?){254}){254}){254}", "x" * 100_001, "[a-z]{255}" * 400],
    ids=["nested", "empty", "long", "written out"],
)
def test_a_pattern_that_is_too_large_is_refused_before_it_is_built(pattern: str) -> None:
    """The expanded size is checked first, so a refused pattern takes no memory either."""
    with pytest.raises(RegexUnusable, match=r"too large|longer than"):
        java_program(pattern)


def test_matching_ends_when_it_takes_too_many_steps() -> None:
    """Thousands of look-aheads, each over the whole name, are refused; a short name still works."""
    matches = java_matcher("(?=.*w)" * 3000 + ".*")
    with pytest.raises(RegexUnusable, match="too many steps"):
        matches(LONG)
    assert not matches("no")


def test_matching_thousands_of_names_does_not_exhaust_the_limit() -> None:
    """Cached states are dropped before they grow too large, so the limit applies to each name."""
    matches = java_matcher(".*(?=[ab]*a.{12}b).*")
    names = ["".join(letters) for letters in itertools.product("ab", repeat=12)]
    assert not any(map(matches, names))
    assert matches("a" * 13 + "b")


def test_the_number_of_steps_does_not_depend_on_the_order_of_names() -> None:
    """All members of a group must agree on whether a filter takes too many steps."""
    program = java_program(r"(?:(?!web).)*|(?>(?:\w|-)+).*b")
    names = ["".join(letters) + "-web" for letters in itertools.product("abc", repeat=5)]

    def is_enough(order: list[str], steps: int) -> bool:
        automaton = Automaton(program, steps)
        try:
            for name in order:
                automaton.matches(name)
        except TooManySteps:
            return False
        return True

    needed = next(steps for steps in range(1000, 10**7, 1000) if is_enough(names, steps))
    assert is_enough(names[::-1], needed)
    assert not is_enough(names[::-1], needed - 1000)
