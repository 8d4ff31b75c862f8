"""A message as people see it, and as one line of JSON. Pure."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zkconsumer.browse.decoding import DecodedBytes
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """A message, with its key, value and headers as bytes and as text.

    Attributes:
        topic: of its log.
        partition: of its log.
        offset: in its log.
        timestamp: ms since the epoch; -1 where the log has none.
        raw_key: the bytes of the key; None for null.
        raw_value: the bytes of the value; None for null.
        key: the key as text.
        value: the value as text.
        headers: names with their values as text, in order.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    raw_key: bytes | None
    raw_value: bytes | None
    key: DecodedBytes
    value: DecodedBytes
    headers: tuple[tuple[str, DecodedBytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseResult:
    """What a look has found.

    Attributes:
        messages: ascending by time, then partition and offset.
        scanned: how many messages were looked at.
        notes: what was not looked at, and why.
        positions: where a look that follows goes on.
    """

    messages: Sequence[SeenMessage] = ()
    scanned: int = 0
    notes: tuple[str, ...] = ()
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)


def ndjson_line(message: SeenMessage) -> bytes:
    """Return a message as one line of JSON, line end included.

    Values that are JSON or Avro are JSON; other texts are texts; bytes are in base64.
    """
    fields: dict[str, object] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": None if message.timestamp < 0 else message.timestamp,
        **_fields("key", message.key, message.raw_key),
        **_fields("value", message.value, message.raw_value),
        "headers": [
            {"name": name, "value": None if value.kind == "null" else value.text}
            for name, value in message.headers
        ],
    }
    return json.dumps(fields, default=str, separators=(",", ":")).encode() + b"\n"


def _fields(name: str, decoded: DecodedBytes, raw: bytes | None) -> Mapping[str, object]:
    match decoded.kind:
        case "null":
            return {name: None}
        case "json" | "avro":
            try:
                value = decoded.value
                json.dumps(value, allow_nan=False)
            except (ValueError, RecursionError):  # no JSON to others, though Python reads it
                return {name: decoded.text, f"{name}_format": "text"}
            return {name: value, f"{name}_format": decoded.kind}
        case "text":
            return {name: decoded.text, f"{name}_format": "text"}
        case _:
            text = base64.b64encode(raw or b"").decode("ascii")
            return {name: text, f"{name}_format": "base64"}
