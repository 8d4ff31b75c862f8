"""Topic filters of any text: each works, or is refused with a reason."""

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
    """Return what is made of the text, or the ConfigError; no other error may be raised."""
    try:
        return make(text)
    except ConfigError as error:
        return error


regex_texts = st.text(
    st.sampled_from("aB1.-_|()[]^$*+?{}\\&,'\" \tnQEdwpx0i:<>=!#\u00e9"), max_size=20
)
topic_names = st.text(st.sampled_from("aB1.-_"), min_size=1, max_size=6)


@settings(max_examples=examples(200))
@given(regex_texts, topic_names)
def test_any_text_is_a_filter_or_refused(text: str, topic: str) -> None:
    """A blacklist always allows the opposite of the whitelist of the same text."""
    white = or_refused(Whitelist, text)
    if isinstance(white, ConfigError):
        assert "filter" in str(white)
        return
    allowed = white.allows(topic, exclude_internal=True)
    assert allowed is not Blacklist(text).allows(topic, exclude_internal=True)


@settings(max_examples=examples(100))
@given(st.text(max_size=20))
def test_rewriting_a_filter_twice_changes_nothing(text: str) -> None:
    """A registered filter is rewritten again by every member that reads it."""
    assert normalised(normalised(text)) == normalised(text)


@settings(max_examples=examples(100))
@given(topic_names, topic_names)
def test_a_quoted_name_matches_only_itself(name: str, other: str) -> None:
    """Between the quotation marks of a regex every character is literal."""
    quoted = Whitelist(f"\\Q{name}\\E")
    assert quoted.allows(name, exclude_internal=True)
    assert quoted.allows(other, exclude_internal=True) is (name == other)


@settings(max_examples=examples(100))
@given(st.text(st.characters(max_codepoint=255), max_size=30))
def test_any_text_of_properties_is_parsed_or_refused(text: str) -> None:
    """Any Latin-1 text becomes a dictionary of strings, or one ConfigError."""
    found = or_refused(parse_properties, text)
    if isinstance(found, ConfigError):
        assert "malformed" in str(found)
        return
    assert all(isinstance(part, str) for entry in found.items() for part in entry)
