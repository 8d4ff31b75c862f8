"""Probes brokers: whether a broker or a topic of the sandbox is ready.

It encodes version 0 of two requests by hand, independent of the client under test. Metadata is
always requested for *all* topics: requesting one could create it.
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
class PartitionKnowledge:
    """A broker's view of one partition.

    Attributes:
        leader: the broker id of its leader, -1 if it has none.
        in_sync: the broker ids of the in-sync replicas.
    """

    leader: int
    in_sync: frozenset[int]


@dataclass(frozen=True, slots=True)
class BrokerKnowledge:
    """A broker's view of the cluster.

    Attributes:
        brokers: the ids of the brokers it knows. Up to 0.8.2 empty while there are no topics, and a
            later broker is missing until it leads a partition.
        partitions: its view of each partition.
        topics: the topics it knows.
    """

    brokers: frozenset[int]
    partitions: dict[TopicPartition, PartitionKnowledge]
    topics: frozenset[str]

    @property
    def leaders(self) -> dict[TopicPartition, int]:
        """The leader's id of each partition with a leader."""
        return {
            tp: partition.leader
            for tp, partition in self.partitions.items()
            if partition.leader >= 0
        }


def request_versions(broker: Broker, timeout_ms: int = 5_000) -> BrokerKnowledge | None:
    """Return the broker's view; None if it does not respond."""
    try:
        reader = _request(broker, _METADATA, struct.pack(">i", 0), timeout_ms)
        brokers = []
        for _ in range(reader.int32()):
            brokers.append(reader.int32())
            reader.text()
            reader.int32()
        partitions: dict[TopicPartition, PartitionKnowledge] = {}
        topics: set[str] = set()
        for _ in range(reader.int32()):
            _read_topic(reader, partitions, topics)
    except (OSError, struct.error):
        return None
    return BrokerKnowledge(frozenset(brokers), partitions, frozenset(topics))


def _read_topic(
    reader: "_Reader", partitions: dict[TopicPartition, PartitionKnowledge], topics: set[str]
) -> None:
    reader.int16()  # the topic's error code
    topic = reader.text()
    topics.add(topic)
    for _ in range(reader.int32()):
        reader.int16()  # its error code: 9 only means that a replica is missing
        number, leader = reader.int32(), reader.int32()
        reader.ids()  # all replicas
        in_sync = frozenset(reader.ids())
        partitions[TopicPartition(topic, number)] = PartitionKnowledge(leader, in_sync)


def leads(broker: Broker, partition: TopicPartition, timeout_ms: int = 5_000) -> bool:
    """Return whether the broker serves the partition as its leader, and is not merely named."""
    name = partition.topic.encode()
    body = struct.pack(">iih", -1, 1, len(name)) + name
    body += struct.pack(">iiqi", 1, partition.partition, _LATEST, 1)
    try:
        reader = _request(broker, _LIST_OFFSETS, body, timeout_ms)
        reader.int32()
        reader.text()
        reader.int32()
        reader.int32()
        return reader.int16() == 0
    except (OSError, struct.error):
        return False


def _request(broker: Broker, api: int, body: bytes, timeout_ms: int) -> "_Reader":
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
    """Reads consecutive fields; raises ``struct.error`` at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def ids(self) -> list[int]:
        return [self.int32() for _ in range(self.int32())]

    def text(self) -> str:
        size = max(0, self.int16())
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(number)
