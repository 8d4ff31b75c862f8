"""Asks the leaders where their logs end (or begin)."""

from collections.abc import Callable, Iterable, Mapping

from zkconsumer.errors import ProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.versions import OLDEST, version_for

LIST_OFFSETS_VERSION = version_for(ApiKey.LIST_OFFSETS, OLDEST)
LATEST = -1
EARLIEST = -2


class LogEndReader:
    """Reads log end offsets.

    Args:
        open_connection: connects to a broker.
        timeout_ms: how long one broker may take.
    """

    def __init__(
        self, open_connection: Callable[[Broker], BrokerConnection], *, timeout_ms: int
    ) -> None:
        self._open = open_connection
        self._timeout_ms = timeout_ms

    def read(
        self, leaders: Mapping[TopicPartition, Broker], time: int = LATEST
    ) -> dict[TopicPartition, int]:
        """The offset of each partition whose leader gave one.

        Args:
            leaders: whom to ask about which partition.
            time: ``LATEST`` (the high watermark) or ``EARLIEST``.
        """
        by_broker: dict[Broker, list[TopicPartition]] = {}
        for tp, broker in leaders.items():
            by_broker.setdefault(broker, []).append(tp)
        ends: dict[TopicPartition, int] = {}
        for broker, partitions in by_broker.items():
            try:
                ends.update(self._ask(broker, partitions, time))
            except (TransportError, ProtocolError):
                # A broker that is away has no log ends to tell; the others have.
                continue
        return ends

    def _ask(
        self, broker: Broker, partitions: Iterable[TopicPartition], time: int
    ) -> dict[TopicPartition, int]:
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in partitions:
            entry = ListOffsetsPartition(partition=partition, timestamp=time, max_offsets=1)
            by_topic.setdefault(topic, []).append(entry)
        request = ListOffsetsRequest(
            topics=tuple(
                ListOffsetsTopic(topic=topic, partitions=tuple(entries))
                for topic, entries in by_topic.items()
            )
        )
        connection = self._open(broker)
        try:
            response = connection.request(
                request, version=LIST_OFFSETS_VERSION, timeout_ms=self._timeout_ms
            )
        finally:
            connection.close()
        return {
            TopicPartition(topic.topic, answer.partition): answer.offsets[0]
            for topic in response.topics
            for answer in topic.partitions
            if answer.error_code == ErrorCode.NONE and answer.offsets
        }
