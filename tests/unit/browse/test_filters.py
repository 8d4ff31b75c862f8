"""Message filters as users type them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.filters import parse_filter, parse_filters
from zkconsumer.browse.message import SeenMessage
from zkconsumer.errors import ConfigError

DECODE = BytesDecoder().decode
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def message(
    value: bytes | None = None, key: bytes | None = None, **headers: bytes | None
) -> SeenMessage:
    """Build a message of which only key, value and headers matter."""
    return SeenMessage(
        topic="t",
        partition=0,
        offset=0,
        timestamp=-1,
        raw_key=key,
        raw_value=value,
        key=DECODE(key),
        value=DECODE(value),
        headers=tuple((name, DECODE(data)) for name, data in headers.items()),
    )


ORDER = message(
    b'{"user": {"id": 42, "name": "Ann"}, "items": [{"sku": "jam-1"}], "a b": null, "n": 1.5}',
    key=b"order-7",
    trace=b"abc",
    empty=None,
)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("ann", True),
        ("ORDER-7", True),
        ("bob", False),
        ("key:order", True),
        ("key:ann", False),
        ("value:ann", True),
        ("value:order-7", False),
        ("header:trace", True),
        ("header:trace=B", True),
        ("header:trace=x", False),
        ("header:empty", True),
        ("header:empty=null", False),
        ("header:none", False),
        (".user.id == 42", True),
        (".user.id != 42", False),
        ("$.user.id>=42", True),
        (".user.id > 42", False),
        (".user.id < text", False),
        ('.user.name == "Ann"', True),
        (".user.name == Ann", True),
        (".user.name ~ AN", True),
        ('.items[0].sku ~ "jam"', True),
        (".items[1].sku ~ jam", False),
        ('$["a b"] == null', True),
        (".items", True),
        (".nothing", False),
        (".nothing != 1", False),
        (".n < 2", True),
    ],
)
def test_filters_select_by_text_key_value_header_and_path(text: str, passes: bool) -> None:
    """A filter looks for text anywhere or in one place, for headers, or compares a JSON path."""
    assert parse_filter(text)(ORDER) is passes


@pytest.mark.parametrize("text", [".a ? 1", ".a[", ".", "$", "$.", ".a == 1" + "0" * 1_000])
def test_a_malformed_filter_is_refused(text: str) -> None:
    """A malformed path is refused; a lone "$" is plain text."""
    if text == "$":
        assert not parse_filter(text)(ORDER)
        return
    with pytest.raises(ConfigError):
        parse_filter(text)


def test_all_of_several_filters_have_to_pass() -> None:
    """A message must pass all filters; blank ones count as no filter at all."""
    assert parse_filters(["", "  "]) is None
    both = parse_filters(["ann", ".user.id == 41"])
    assert both is not None
    assert not both(ORDER)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()), st.text())
def test_a_filter_never_fails_on_a_message(value: bytes, text: str) -> None:
    """A filter that was accepted returns a result for any message and never raises."""
    try:
        passes = parse_filter(text)
    except ConfigError:
        return
    assert passes(message(value, key=value, name=value)) in {True, False}


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), JSON, min_size=1))
def test_a_path_equals_the_json_literal_of_its_value(fields: dict[str, object]) -> None:
    """A path compared with the JSON literal of its field passes."""
    there = message(json.dumps(fields).encode())
    for name, value in fields.items():
        literal = json.dumps(value)
        if len(literal) < 900:
            assert parse_filter(f".{name} == {literal}")(there)
            assert parse_filter(f".{name}")(there)


def test_a_value_nested_too_deeply_does_not_pass() -> None:
    """A value too deep for the remaining stack does not pass, though it could be parsed."""
    passes = parse_filter(".a ~ x")

    def deeper(frames: int, nested: SeenMessage) -> bool:
        return deeper(frames - 1, nested) if frames else passes(nested)

    for depth in range(850, 1_000):
        assert not deeper(40, message(b'{"a":' * depth + b"1" + b"}" * depth))
