"""Probes whether a broker or a topic of the sandbox is ready.

It sends version 0 of two requests over its own socket, independent of the client under test.
Metadata is always requested for *all* topics: requesting one could create it.
"""

import socket
import struct
from dataclasses import dataclass
from typing import TypeVar

from zkconsumer.errors import DecodeError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.api import Request
from zkconsumer.wire.codec import decode_response, encode_request
from zkconsumer.wire.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.messages.metadata import MetadataRequest, PartitionMetadata

R = TypeVar("R")

_MAX_REPLY_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class BrokerKnowledge:
    """A broker's view of the cluster.

    Attributes:
        partitions: its view of each partition.
        topics: the topics it knows.
    """

    partitions: dict[TopicPartition, PartitionMetadata]
    topics: frozenset[str]

    @property
    def leaders(self) -> dict[TopicPartition, int]:
        """The leader's id of each partition with a leader."""
        return {
            tp: partition.leader
            for tp, partition in self.partitions.items()
            if partition.leader >= 0
        }


def request_view(broker: Broker, timeout_ms: int = 5_000) -> BrokerKnowledge | None:
    """Return the broker's view; None if it does not respond."""
    response = response_to(MetadataRequest(topics=()), broker, timeout_ms)
    if response is None:
        return None
    return BrokerKnowledge(
        {
            TopicPartition(topic.topic, partition.partition): partition
            for topic in response.topics
            for partition in topic.partitions
        },
        frozenset(topic.topic for topic in response.topics),
    )


def leads(broker: Broker, partition: TopicPartition, timeout_ms: int = 5_000) -> bool:
    """Return whether the broker serves the partition as its leader, not only by metadata."""
    entry = ListOffsetsPartition(partition=partition.partition, timestamp=LATEST_TIMESTAMP)
    topic = ListOffsetsTopic(topic=partition.topic, partitions=(entry,))
    response = response_to(ListOffsetsRequest(topics=(topic,)), broker, timeout_ms)
    return response is not None and any(
        listed.error_code == 0 for topic in response.topics for listed in topic.partitions
    )


def response_to(
    request: Request[R], broker: Broker, timeout_ms: int, *, version: int = 0
) -> R | None:
    """Send a request over a new connection; return the response, None without one."""
    client_id = "zkconsumer-sandbox"
    frame = encode_request(request, version=version, correlation_id=1, client_id=client_id)
    try:
        with (
            socket.create_connection((broker.host, broker.port), timeout_ms / 1000) as connection,
            connection.makefile("rb") as stream,
        ):
            connection.sendall(frame)
            (size,) = struct.unpack(">i", stream.read(4))
            reply = stream.read(min(max(0, size), _MAX_REPLY_BYTES))
        return decode_response(request, version, reply)[1]
    except (OSError, struct.error, DecodeError):
        return None
