"""Filters on any text: an answer, or a refusal that says why."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shares import examples
from zkconsumer.assignment.filters import Blacklist, Whitelist, normalised
from zkconsumer.errors import ConfigError
from zkconsumer.properties_file import parse_properties

Made = TypeVar("Made")


def or_refused(make: Callable[[str], Made], text: str) -> Made | ConfigError:
    """What is made of the text, or the error it ends in; no other error may come."""
    try:
        return make(text)
    except ConfigError as error:
        return error


odd_texts = st.text(
    st.sampled_from("aB1.-_|()[]^$*+?{}\\&,'\" \tnQEdwpx0i:<>=!#\u00e9"), max_size=20
)
topic_names = st.text(st.sampled_from("aB1.-_"), min_size=1, max_size=6)


@settings(max_examples=examples(200))
@given(odd_texts, topic_names)
def test_any_text_is_a_filter_or_refused(text: str, topic: str) -> None:
    """And a blacklist always says the opposite of the whitelist of the same text."""
    white = or_refused(Whitelist, text)
    if isinstance(white, ConfigError):
        assert "filter" in str(white)
        return
    allowed = white.allows(topic, exclude_internal=True)
    assert allowed is not Blacklist(text).allows(topic, exclude_internal=True)


@settings(max_examples=examples(100))
@given(st.text(max_size=20))
def test_rewriting_a_filter_twice_changes_nothing(text: str) -> None:
    """What a member registers is rewritten again by those who read it."""
    assert normalised(normalised(text)) == normalised(text)


@settings(max_examples=examples(100))
@given(topic_names, topic_names)
def test_a_quoted_name_matches_itself_alone(name: str, other: str) -> None:
    """Between the marks of quoting every character is literal."""
    quoted = Whitelist(f"\\Q{name}\\E")
    assert quoted.allows(name, exclude_internal=True)
    assert quoted.allows(other, exclude_internal=True) is (name == other)


@settings(max_examples=examples(100))
@given(st.text(st.characters(max_codepoint=255), max_size=30))
def test_any_properties_text_is_read_or_refused(text: str) -> None:
    """Latin-1 text of any content ends in a dictionary of texts or one named error."""
    found = or_refused(parse_properties, text)
    if isinstance(found, ConfigError):
        assert "malformed" in str(found)
        return
    assert all(isinstance(part, str) for entry in found.items() for part in entry)
