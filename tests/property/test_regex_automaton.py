"""Our regex matcher against Python's, with patterns that both support, and that are fast there."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shares import examples
from zkconsumer.assignment.java_charset import RegexRefused
from zkconsumer.assignment.java_regex import java_matcher

names = st.lists(st.text("ab-1", min_size=1, max_size=9), min_size=1, max_size=6)
atoms = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\b", r"\B", "^", "$", r"\d"])
times = st.sampled_from(["", "?", "*", "+", "??", "*?", "+?", "{2}", "{1,2}", "{0,3}?"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Build patterns of these."""
    sequence = st.lists(inner, min_size=1, max_size=3).map("".join)
    choice = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    group = st.tuples(choice, times).map(lambda it: f"(?:{it[0]}){it[1]}")
    lookaheads = st.tuples(st.sampled_from(["(?=", "(?!"]), choice).map(
        lambda it: f"{it[0]}{it[1]})"
    )
    lookbehinds = st.tuples(st.sampled_from(["(?<=", "(?<!"]), inner).map(
        lambda it: f"{it[0]}{it[1]})"
    )
    return st.one_of(sequence, group, lookaheads, lookbehinds)


singles = st.one_of(atoms, st.tuples(st.sampled_from(["a", ".", "[ab]"]), times).map("".join))
patterns = st.recursive(singles, larger, max_leaves=8)


@settings(max_examples=examples(400))
@given(patterns, names)
def test_matches_are_those_of_python(pattern: str, texts: list[str]) -> None:
    """They are for regular expressions proper, for boundaries and for look-arounds."""
    try:
        python = re.compile(rf"(?:{pattern})\Z", re.ASCII)
        matches = java_matcher(pattern)
    except (re.error, RegexRefused):
        return
    assert [matches(text) for text in texts] == [bool(python.match(text)) for text in texts]


@settings(max_examples=examples(100))
@given(st.lists(st.text("ab-1", min_size=1, max_size=5), min_size=1, max_size=30), names)
def test_a_filter_of_names_matches_these(listed: list[str], texts: list[str]) -> None:
    """It does with any number of names."""
    matches = java_matcher("|".join(listed))
    assert [matches(text) for text in texts] == [text in listed for text in texts]
