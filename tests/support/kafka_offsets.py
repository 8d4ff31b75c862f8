"""Reads and writes a group's offsets in Kafka without the client under test.

Every call looks up the coordinator again, so it follows a moved coordinator at once.
"""

from collections.abc import Iterable, Mapping

from tests.support.raw_connections import raw_connection
from tests.support.waiting import wait_until
from zkconsumer.errors import TransportError
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.offset_commit import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
)
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchTopic

TIMEOUT_MS = 10_000
UNKNOWN_TOPIC_OR_PARTITION = 3
PASSING = {5, 14, 15, 16}
"""Error codes of a coordinator that has just moved or started, or whose topic is new."""


class KafkaOffsets:
    """The offsets of ``group`` at its coordinator."""

    def __init__(self, cluster: Sandbox, group: str) -> None:
        self._cluster = cluster
        self._group = group

    def coordinator(self) -> Broker:
        """The group's present coordinator."""
        broker = wait_until(self._coordinator, what=f"a coordinator of {self._group}")
        assert broker is not None
        return broker

    def entries(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, str]]:
        """Offset and metadata by partition, without partitions that have none."""
        return wait_until(
            lambda: self._entries(tuple(partitions)), what=f"the offsets of {self._group}"
        )[0]

    def offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset by partition, without partitions that have none."""
        return {tp: offset for tp, (offset, _) in self.entries(partitions).items()}

    def offset(self, tp: TopicPartition) -> int | None:
        """The offset of one partition, or None."""
        return self.offsets([tp]).get(tp)

    def put(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit these offsets without being a member."""
        wait_until(lambda: self._put(offsets), what=f"offsets of {self._group} to be written")

    def _coordinator(self) -> Broker | None:
        request = FindCoordinatorRequest(group_id=self._group)
        for broker in self._cluster.brokers:
            try:
                connection = raw_connection(broker, timeout_ms=TIMEOUT_MS)
            except TransportError:
                continue
            try:
                response = connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
            except TransportError:
                continue
            finally:
                connection.close()
            if not response.error_code:
                return Broker(response.coordinator_id, response.host, response.port)
        return None

    def _entries(
        self, partitions: tuple[TopicPartition, ...]
    ) -> list[dict[TopicPartition, tuple[int, str]]]:
        """Return a list with the result, or an empty one if the request must be repeated."""
        topics = tuple(
            OffsetFetchTopic(topic=tp.topic, partitions=(tp.partition,)) for tp in partitions
        )
        request = OffsetFetchRequest(group_id=self._group, topics=topics)
        connection = self._connected()
        if connection is None:
            return []
        try:
            response = connection.request(request, version=1, timeout_ms=TIMEOUT_MS)
        except TransportError:
            return []
        finally:
            connection.close()
        entries: dict[TopicPartition, tuple[int, str]] = {}
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code in PASSING:
                    return []
                assert partition.error_code in {0, UNKNOWN_TOPIC_OR_PARTITION}, partition
                if partition.offset >= 0:
                    tp = TopicPartition(topic.topic, partition.partition)
                    entries[tp] = (partition.offset, partition.metadata or "")
        return [entries]

    def _put(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        topics = tuple(
            OffsetCommitTopic(
                topic=tp.topic,
                partitions=(
                    OffsetCommitPartition(
                        partition=tp.partition, offset=committed.offset, metadata=committed.metadata
                    ),
                ),
            )
            for tp, committed in offsets.items()
        )
        request = OffsetCommitRequest(group_id=self._group, topics=topics)
        connection = self._connected()
        if connection is None:
            return False
        try:
            response = connection.request(request, version=1, timeout_ms=TIMEOUT_MS)
        except TransportError:
            return False
        finally:
            connection.close()
        codes = {
            partition.error_code for topic in response.topics for partition in topic.partitions
        }
        assert codes <= {0} | PASSING, codes
        return codes == {0}

    def _connected(self) -> BrokerConnection | None:
        try:
            return raw_connection(self.coordinator(), timeout_ms=TIMEOUT_MS)
        except TransportError:
            return None
