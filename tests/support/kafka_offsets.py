"""A group's offsets in Kafka, seen and set by a client that is not under test.

It asks the coordinator anew for every call, so it notices at once when that has moved.
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
"""What a coordinator answers that has just moved, started, or got its topic."""


class KafkaOffsets:
    """Reads and writes what the coordinator of ``group`` keeps."""

    def __init__(self, cluster: Sandbox, group: str) -> None:
        self._cluster = cluster
        self._group = group

    def coordinator(self) -> Broker:
        """The broker that keeps the group's offsets now."""
        found = wait_until(self._coordinator, what=f"a coordinator of {self._group}")
        assert found is not None
        return found

    def entries(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, str]]:
        """Offset and metadata of each; what has none is left out."""
        return wait_until(
            lambda: self._entries(tuple(partitions)), what=f"the offsets of {self._group}"
        )[0]

    def offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of each; what has none is left out."""
        return {tp: offset for tp, (offset, _) in self.entries(partitions).items()}

    def offset(self, tp: TopicPartition) -> int | None:
        """The offset of one partition."""
        return self.offsets([tp]).get(tp)

    def put(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit, as anybody may."""
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
        """A list of one answer, or of none where it is to be asked for again."""
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
        found: dict[TopicPartition, tuple[int, str]] = {}
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code in PASSING:
                    return []
                assert partition.error_code in {0, UNKNOWN_TOPIC_OR_PARTITION}, partition
                if partition.offset >= 0:
                    tp = TopicPartition(topic.topic, partition.partition)
                    found[tp] = (partition.offset, partition.metadata or "")
        return [found]

    def _put(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        topics = tuple(
            OffsetCommitTopic(
                topic=tp.topic,
                partitions=(
                    OffsetCommitPartition(
                        partition=tp.partition, offset=it.offset, metadata=it.metadata
                    ),
                ),
            )
            for tp, it in offsets.items()
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
