"""Asks one leader for offsets of its logs: starts of segments, and ends."""

from collections.abc import Mapping

from zkconsumer.errors import BrokerError, RemoteProtocolError
from zkconsumer.model import TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.error_codes import ErrorCode, error_name
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.versions import OLDEST, version_for

LIST_OFFSETS_VERSION = version_for(ApiKey.LIST_OFFSETS, OLDEST)


def list_offsets(
    connection: BrokerConnection,
    times: Mapping[TopicPartition, int],
    *,
    max_offsets: int = 1,
    timeout_ms: int,
) -> dict[TopicPartition, tuple[int, ...]]:
    """Offsets of every one of these partitions, the largest first.

    Args:
        connection: to the leader of all of them.
        times: milliseconds since the epoch, ``LATEST_TIMESTAMP`` or ``EARLIEST_TIMESTAMP``.
        max_offsets: how many of each. They are the starts of the segments that were last written
            to by that time, and the end of the log, if that has come by then; none is an answer.
        timeout_ms: how long the answer may take.

    Raises:
        BrokerError: the leader has an error for a partition.
        RemoteProtocolError: it answers for other partitions than those asked for.
        TransportError: it does not answer.

    Source: Kafka 0.8.2.2 ``KafkaApis.fetchOffsetsBefore``.
    """
    response = connection.request(
        _request(times, max_offsets), version=LIST_OFFSETS_VERSION, timeout_ms=timeout_ms
    )
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            tp = TopicPartition(topic.topic, answer.partition)
            if answer.error_code != ErrorCode.NONE:
                code = answer.error_code
                raise BrokerError(
                    code,
                    "ListOffsets",
                    f"{connection.broker}: no offsets of {tp}: {error_name(code)}, "
                    f"{ErrorCode.of(code).text}",
                    tp,
                )
            found[tp] = answer.offsets
    if found.keys() != times.keys():
        raise RemoteProtocolError(
            f"{connection.broker}: answered for other partitions than it was asked about"
        )
    return found


def _request(times: Mapping[TopicPartition, int], max_offsets: int) -> ListOffsetsRequest:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, partition), time_ms in times.items():
        entry = ListOffsetsPartition(
            partition=partition, timestamp=time_ms, max_offsets=max_offsets
        )
        by_topic.setdefault(topic, []).append(entry)
    return ListOffsetsRequest(
        topics=tuple(
            ListOffsetsTopic(topic=topic, partitions=tuple(entries))
            for topic, entries in by_topic.items()
        )
    )
