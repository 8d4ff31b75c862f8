import json

import pytest

from zkconsumer.cli.consume.format import Message, TextFormat, json_line
from zkconsumer.errors import ConfigError
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata


def message_of(
    raw_key: bytes | None = b"k",
    raw_value: bytes | None = b"v",
    *,
    offset: int = 42,
    timestamp: int = -1,
) -> MessageAndMetadata[bytes, bytes]:
    """Build a message of partition logs-3."""
    record = Record(offset, raw_key, raw_value, timestamp)
    return MessageAndMetadata(TopicPartition("logs", 3), record, None, None)


@pytest.mark.parametrize(
    ("properties", "message", "expected"),
    [
        ({}, message_of(), b"v\n"),
        ({}, message_of(raw_value=None), b"null\n"),
        ({}, message_of(raw_value=b""), b"\n"),
        ({}, message_of(raw_value=b"\xff\x00"), b"\xff\x00\n"),
        ({"print.key": "true"}, message_of(), b"k\tv\n"),
        ({"print.key": " TRUE "}, message_of(), b"k\tv\n"),
        ({"print.key": "yes"}, message_of(), b"v\n"),
        ({"print.key": "true"}, message_of(raw_key=None, raw_value=None), b"null\tnull\n"),
        ({"print.key": "true", "key.separator": ": "}, message_of(), b"k: v\n"),
        ({"key.separator": ":", "line.separator": ""}, message_of(), b"v"),
        ({"line.separator": "\u00e9\n"}, message_of(), b"v\xc3\xa9\n"),
    ],
)
def test_text_is_printed_as_by_the_original(
    properties: dict[str, str], message: Message, expected: bytes
) -> None:
    """The key is printed if wanted, null is a word, and all other bytes are unchanged."""
    assert TextFormat.from_properties(properties)(message) == expected


def test_an_unknown_property_is_refused() -> None:
    """A mistyped property must not silently change the output."""
    with pytest.raises(ConfigError, match=r"unknown property print\.kye: expected print\.key"):
        TextFormat.from_properties({"print.kye": "true"})


def test_json_holds_the_message_and_its_position() -> None:
    """A message is one JSON object on one line."""
    line = json_line(message_of(timestamp=1_700_000_000_000))
    assert line == (
        b'{"topic":"logs","partition":3,"offset":42,"timestamp":1700000000000,'
        b'"key":"k","value":"v"}\n'
    )


def test_missing_fields_are_null_in_json() -> None:
    """Old message formats have no timestamp, and keys and values may be null."""
    found = json.loads(json_line(message_of(raw_key=None, raw_value=None)))
    assert (found["timestamp"], found["key"], found["value"]) == (None, None, None)
    assert "key_encoding" not in found
    assert json.loads(json_line(message_of(timestamp=0)))["timestamp"] == 0


def test_json_marks_bytes_that_are_not_utf_8() -> None:
    """Such a key or value is base64, with a field that says so."""
    found = json.loads(json_line(message_of(raw_key=b"\xff\x00", raw_value="gr\u00fcn".encode())))
    assert (found["key"], found["key_encoding"]) == ("/wA=", "base64")
    assert found["value"] == "gr\u00fcn"
    assert "value_encoding" not in found


def test_json_stays_on_one_line() -> None:
    """Line ends and quotes within a value are escaped."""
    line = json_line(message_of(raw_value=b'a\nb\r"c"\x00'))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["value"] == 'a\nb\r"c"\x00'
