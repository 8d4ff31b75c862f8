"""Our matcher against Python's, on what both can say and Python's can say in time."""

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
    """Patterns that hold these."""
    sequence = st.lists(inner, min_size=1, max_size=3).map("".join)
    choice = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    group = st.tuples(choice, times).map(lambda it: f"(?:{it[0]}){it[1]}")
    snapshots = st.tuples(st.sampled_from(["(?=", "(?!"]), choice).map(
        lambda it: f"{it[0]}{it[1]})"
    )
    behind = st.tuples(st.sampled_from(["(?<=", "(?<!"]), inner).map(lambda it: f"{it[0]}{it[1]})")
    return st.one_of(sequence, group, snapshots, behind)


singles = st.one_of(atoms, st.tuples(st.sampled_from(["a", ".", "[ab]"]), times).map("".join))
patterns = st.recursive(singles, larger, max_leaves=8)


@settings(max_examples=examples(400))
@given(patterns, names)
def test_it_says_what_python_says(pattern: str, texts: list[str]) -> None:
    """For the regular part of the language, for conditions and for look-arounds."""
    try:
        python = re.compile(rf"(?:{pattern})\Z", re.ASCII)
        matches = java_matcher(pattern)
    except (re.error, RegexRefused):
        return
    assert [matches(text) for text in texts] == [bool(python.match(text)) for text in texts]


@settings(max_examples=examples(100))
@given(st.lists(st.text("ab-1", min_size=1, max_size=5), min_size=1, max_size=30), names)
def test_a_filter_of_names_matches_these(listed: list[str], texts: list[str]) -> None:
    """However many."""
    matches = java_matcher("|".join(listed))
    assert [matches(text) for text in texts] == [text in listed for text in texts]
