"""Lines to be produced, parsed into records; each invalid line is one error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.consume.format import json_line as printed_line
from zkconsumer.cli.formats.produced_lines import ProducedLine, json_line, text_line
from zkconsumer.errors import ConfigError
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata


def test_a_line_of_text_is_a_value() -> None:
    """A line is a value as it is; with a separator, the part before the first one is the key."""
    assert text_line(b"a:b") == ProducedLine(None, b"a:b")
    assert text_line(b"a:b:c", separator=b":") == ProducedLine(b"a", b"b:c")
    assert text_line(b":", separator=b":") == ProducedLine(b"", b"")
    with pytest.raises(ConfigError, match="no key: the line has no ':'"):
        text_line(b"abc", separator=b":")


def test_a_line_of_json_is_a_record() -> None:
    """Null stays null, other non-strings are written as JSON, and base64 gives bytes."""
    line = {
        "key": None,
        "value": {"n": [1, "é"]},
        "headers": [["a", "1"], ["b", None]],
        "partition": 2,
        "timestamp": 1_700_000_000_000,
        "offset": 7,
    }
    assert json_line(json.dumps(line).encode()) == ProducedLine(
        None, '{"n":[1,"é"]}'.encode(), (("a", b"1"), ("b", None)), 2, 1_700_000_000_000
    )
    assert json_line(b'{"value": "/w==", "value_encoding": "base64"}').value == b"\xff"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"value": "a", "value_encoding": "base64"}', "not base64"),
        (b'{"value": "a", "value_encoding": "hex"}', "value_encoding can only be base64"),
        (b'{"headers": 1}', "headers is neither"),
        (b'{"headers": {"a": 1}}', "headers need strings"),
        (rb'{"headers": {"a": "\ud800"}}', "header 'a' is not valid text"),
        (rb'{"value": ["\ud800"]}', "value is not valid text"),
        (b'{"partition": -1}', "partition is not a number"),
        (b'{"timestamp": true}', "timestamp is not a number"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_reason(line: bytes, reason: str) -> None:
    """The reason is a phrase that can follow the line's number."""
    with pytest.raises(ConfigError, match=reason):
        json_line(line)


@given(st.none() | st.binary(), st.none() | st.binary())
def test_lines_printed_by_consume_can_be_produced_again(
    key: bytes | None, value: bytes | None
) -> None:
    """Key and value are the same bytes, with the same partition and timestamp."""
    record = Record(7, key, value, 1_700_000_000_000)
    printed = printed_line(MessageAndMetadata(TopicPartition("t", 3), record, bytes, bytes))
    assert json_line(printed) == ProducedLine(key, value, (), 3, 1_700_000_000_000)
