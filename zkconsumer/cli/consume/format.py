"""Formats messages as bytes to print: pure.

The text form is that of the original's ``DefaultMessageFormatter`` (Kafka 0.8.2.2); the original
has no JSON form.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

from zkconsumer.browse.message import SeenMessage
from zkconsumer.errors import ConfigError
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.streams.message import MessageAndMetadata

Message: TypeAlias = MessageAndMetadata[bytes, bytes] | ConsumerRecord | SeenMessage
"""A message of a stream, of a poll, or of a query; formatters print its bytes."""

Formatter = Callable[[Message], bytes]
"""Returns the bytes to print for a message, its line end included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """The value, or key and value, verbatim; null is printed as ``null``.

    Attributes:
        print_key: whether to print the key first.
        key_separator: the bytes between key and value.
        line_separator: the bytes after the value.
    """

    print_key: bool = False
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Read the original's ``--property`` settings.

        Raises:
            ConfigError: a property is unknown.
        """
        known = ("print.key", "key.separator", "line.separator")
        for name in properties:
            if name not in known:
                raise ConfigError(f"unknown property {name}: expected {', '.join(known)}")
        return cls(
            print_key=properties.get("print.key", "").strip().lower() == "true",
            key_separator=properties.get("key.separator", "\t").encode(errors="surrogateescape"),
            line_separator=properties.get("line.separator", "\n").encode(errors="surrogateescape"),
        )

    def __call__(self, message: Message) -> bytes:
        """See ``Formatter``."""
        value = b"null" if message.raw_value is None else message.raw_value
        if not self.print_key:
            return value + self.line_separator
        key = b"null" if message.raw_key is None else message.raw_key
        return key + self.key_separator + value + self.line_separator


def json_line(message: Message) -> bytes:
    """Return one JSON object on one line, in UTF-8.

    ``timestamp`` is null if the log's format has none. Key and value are texts or null; bytes that
    are not UTF-8 are in base64, marked by ``key_encoding`` or ``value_encoding``.
    """
    return _line(message, _text("key", message.raw_key) | _text("value", message.raw_value))


def base64_line(message: Message) -> bytes:
    """Return one JSON object on one line; key and value are in base64, or null."""
    return _line(message, {"key": _base64(message.raw_key), "value": _base64(message.raw_value)})


def _line(message: Message, contents: Mapping[str, str | None]) -> bytes:
    fields = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": None if message.timestamp < 0 else message.timestamp,
        **contents,
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _text(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return the fields of a key or value: a text, or base64 and a mark."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name: _base64(data), f"{name}_encoding": "base64"}
