"""A message as it is shown on a page, and as one line of JSON. Pure."""

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
        topic: the topic that it was read from.
        partition: the number of its partition.
        offset: its offset.
        timestamp: its time in ms since the epoch; -1 if the log's format has none.
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
    """The result of a query.

    Attributes:
        messages: the messages, ascending by time, then partition and offset.
        scanned: the number of messages that were read.
        notes: the partitions or ranges that were not read, and why.
        positions: where a query that continues this one starts, by partition.
    """

    messages: Sequence[SeenMessage] = ()
    scanned: int = 0
    notes: tuple[str, ...] = ()
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)


def ndjson_line(message: SeenMessage) -> bytes:
    """Return a message as one line of JSON, line end included.

    JSON and Avro become JSON values, other text strings; bytes are encoded in base64.
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
            except (ValueError, RecursionError):  # Python parses it, but it is not JSON
                return {name: decoded.text, f"{name}_format": "text"}
            return {name: value, f"{name}_format": decoded.kind}
        case "text":
            return {name: decoded.text, f"{name}_format": "text"}
        case _:
            text = base64.b64encode(raw or b"").decode("ascii")
            return {name: text, f"{name}_format": "base64"}
