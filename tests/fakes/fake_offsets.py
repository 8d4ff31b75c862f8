"""The responses of a 0.8.2.2 broker about groups' offsets; see ``fake_responses``."""

from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.fake_failures import no_offset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.wire.messages import find_coordinator as fc
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of

LONGEST_METADATA = 4096
"""The default of ``offset.metadata.max.bytes``."""


class FakeOffsetResponses:
    """One broker's view of the groups' offsets; the caller holds the cluster's lock."""

    def __init__(self, cluster: FakeCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._id = broker_id

    def coordinator(self) -> fc.FindCoordinatorResponse:
        """Return the broker that stores the groups' offsets, or an error."""
        broker_id = self._cluster.coordinator
        if broker_id is None or broker_id in self._cluster.down:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return fc.FindCoordinatorResponse(error_code=code, coordinator_id=-1, host="", port=-1)
        broker = self._cluster.brokers[broker_id]
        return fc.FindCoordinatorResponse(
            error_code=0, coordinator_id=broker.id, host=broker.host, port=broker.port
        )

    def commit(self, request: oc.OffsetCommitRequest, *, in_kafka: bool) -> oc.OffsetCommitResponse:
        """Store offsets: version 0 in ZooKeeper, version 1 in Kafka."""
        store = self._commit_to_kafka if in_kafka else self._commit_to_zookeeper
        return oc.OffsetCommitResponse(
            topics=tuple(
                oc.CommittedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        oc.CommittedPartition(
                            partition=partition.partition,
                            error_code=store(
                                request.group_id,
                                TopicPartition(topic.topic, partition.partition),
                                OffsetAndMetadata(partition.offset, partition.metadata),
                            ),
                        )
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _commit_to_zookeeper(
        self, group: str, tp: TopicPartition, offset: OffsetAndMetadata
    ) -> ErrorCode:
        if tp.topic not in self._cluster.topics:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._cluster.zookeeper_offsets[group, tp] = OffsetAndMetadata(offset.offset)
        return ErrorCode.NONE

    def _commit_to_kafka(
        self, group: str, tp: TopicPartition, offset: OffsetAndMetadata
    ) -> ErrorCode:
        if len(offset.metadata) > LONGEST_METADATA:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        if self._cluster.coordinator != self._id:
            return ErrorCode.NOT_COORDINATOR
        self._cluster.kafka_offsets[group, tp] = offset
        return ErrorCode.NONE

    def fetch(self, request: of.OffsetFetchRequest, *, in_kafka: bool) -> of.OffsetFetchResponse:
        """Read offsets: version 0 from ZooKeeper, version 1 from Kafka."""
        read = self._offset_in_kafka if in_kafka else self._offset_in_zookeeper
        return of.OffsetFetchResponse(
            topics=tuple(
                of.OffsetFetchedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        read(request.group_id, TopicPartition(topic.topic, number))
                        for number in topic.partitions
                    ),
                )
                for topic in request.topics or ()
            )
        )

    def _offset_in_zookeeper(self, group: str, tp: TopicPartition) -> of.OffsetFetchedPartition:
        stored = self._cluster.zookeeper_offsets.get((group, tp))
        if stored is None:
            return no_offset(tp.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return of.OffsetFetchedPartition(
            partition=tp.partition, offset=stored.offset, metadata="", error_code=0
        )

    def _offset_in_kafka(self, group: str, tp: TopicPartition) -> of.OffsetFetchedPartition:
        if self._cluster.partition(tp) is None:
            # Checked first: a broker that has just started does not know the partition yet, even
            # if an offset of it is stored.
            return no_offset(tp.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._cluster.coordinator != self._id:
            return no_offset(tp.partition, ErrorCode.NOT_COORDINATOR)
        if self._cluster.offsets_loading:
            return no_offset(tp.partition, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        stored = self._cluster.kafka_offsets.get((group, tp))
        if stored is None:
            return no_offset(tp.partition, ErrorCode.NONE)
        return of.OffsetFetchedPartition(
            partition=tp.partition, offset=stored.offset, metadata=stored.metadata, error_code=0
        )
