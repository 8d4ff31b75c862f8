"""Asks a broker what it knows: how the sandbox tells that a broker or a topic is ready.

It speaks version 0 of two requests, by hand and apart from the client under test. Metadata is
always asked for *all* topics: asking for one could create it.
"""

import socket
import struct
from dataclasses import dataclass

from zkconsumer.model import Broker, TopicPartition

_METADATA, _LIST_OFFSETS = 3, 2
_CLIENT_ID = b"zkconsumer-sandbox"
_LATEST = -1
_MAX_REPLY_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class BrokerKnowledge:
    """A broker's view of the cluster.

    Attributes:
        brokers: the ids of the brokers it knows.
        leaders: the leader's id of each partition that has one.
        topics: the topics it knows.
    """

    brokers: frozenset[int]
    leaders: dict[TopicPartition, int]
    topics: frozenset[str]


def ask_knowledge(broker: Broker, timeout_ms: int = 5_000) -> BrokerKnowledge | None:
    """The broker's view; None where it does not answer."""
    try:
        reader = _ask(broker, _METADATA, struct.pack(">i", 0), timeout_ms)
        brokers = []
        for _ in range(reader.int32()):
            brokers.append(reader.int32())
            reader.text()
            reader.int32()
        leaders: dict[TopicPartition, int] = {}
        topics: set[str] = set()
        for _ in range(reader.int32()):
            _read_topic(reader, leaders, topics)
    except (OSError, struct.error):
        return None
    return BrokerKnowledge(frozenset(brokers), leaders, frozenset(topics))


def _read_topic(reader: "_Reader", leaders: dict[TopicPartition, int], topics: set[str]) -> None:
    reader.int16()  # the topic's error code
    topic = reader.text()
    topics.add(topic)
    for _ in range(reader.int32()):
        reader.int16()  # its error code: 9 only means that some replica is missing
        partition, leader = reader.int32(), reader.int32()
        for _ in range(2):  # replicas, in-sync replicas
            for _ in range(reader.int32()):
                reader.int32()
        if leader >= 0:
            leaders[TopicPartition(topic, partition)] = leader


def leads(broker: Broker, partition: TopicPartition, timeout_ms: int = 5_000) -> bool:
    """Whether the broker serves the partition as its leader, not just was named so."""
    name = partition.topic.encode()
    body = struct.pack(">iih", -1, 1, len(name)) + name
    body += struct.pack(">iiqi", 1, partition.partition, _LATEST, 1)
    try:
        reader = _ask(broker, _LIST_OFFSETS, body, timeout_ms)
        reader.int32()
        reader.text()
        reader.int32()
        reader.int32()
        return reader.int16() == 0
    except (OSError, struct.error):
        return False


def _ask(broker: Broker, api: int, body: bytes, timeout_ms: int) -> "_Reader":
    header = struct.pack(">hhih", api, 0, 1, len(_CLIENT_ID)) + _CLIENT_ID
    frame = header + body
    with socket.create_connection((broker.host, broker.port), timeout_ms / 1000) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            reader = _Reader(stream.read(min(size, _MAX_REPLY_BYTES)) if size > 0 else b"")
    reader.int32()  # the correlation id
    return reader


class _Reader:
    """Reads fields one after the other; raises ``struct.error`` at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def text(self) -> str:
        size = max(0, self.int16())
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(number)
