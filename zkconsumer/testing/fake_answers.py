"""What a broker 0.8.2.2 answers, from the state of a ``FakeCluster``; the caller holds its lock."""

import re

from zkconsumer.errors import CorruptRecord, LocalProtocolError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.testing.fake_cluster import FakeCluster, FakePartition
from zkconsumer.testing.fake_failures import failed_fetch, no_offset
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages import consumer_metadata as cm
from zkconsumer.wire.messages import fetch as fe
from zkconsumer.wire.messages import list_offsets as lo
from zkconsumer.wire.messages import metadata as md
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.messages import produce as pr

LONGEST_METADATA = 4096
"""What ``offset.metadata.max.bytes`` is unless configured."""

SEGMENT_TIME_MS = 1_400_000_000_000
"""When the only segment of every log was last written, whenever that was."""

LARGEST_MESSAGE_BYTES = 1_000_012
"""What ``message.max.bytes`` is unless configured; the entry's header counts."""

_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,255}")


class Answers:
    """One broker's view of the cluster."""

    def __init__(self, cluster: FakeCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._id = broker_id

    def to(self, request: Request[Response], version: int) -> Response:
        """The answer to a request."""
        match request:
            case md.MetadataRequest():
                return self._metadata(request)
            case fe.FetchRequest():
                return self._fetch(request)
            case lo.ListOffsetsRequest():
                return self._list_offsets(request)
            case pr.ProduceRequest():
                return self._produce(request)
            case oc.OffsetCommitRequest():
                return self._commit(request, in_kafka=version > 0)
            case of.OffsetFetchRequest():
                return self._fetch_offsets(request, in_kafka=version > 0)
            case cm.ConsumerMetadataRequest():
                return self._coordinator()
            case _:
                raise TypeError(f"no answer is known to {type(request).__name__}")

    def _metadata(self, request: md.MetadataRequest) -> md.MetadataResponse:
        cluster = self._cluster
        names = request.topics or tuple(cluster.topics)
        known = [name for name in names if name in cluster.topics]
        unknown = [name for name in names if name not in cluster.topics]
        if cluster.auto_create and not all(_is_legal(name) for name in unknown):
            # Creating it fails, and one failure spoils the whole answer.
            return md.MetadataResponse(
                brokers=(),
                topics=tuple(_topic_error(name, ErrorCode.INVALID_TOPIC) for name in names),
            )
        return md.MetadataResponse(
            brokers=tuple(
                md.MetadataBroker(id=one.id, host=one.host, port=one.port)
                for one in cluster.brokers.values()
                if one.id not in cluster.down
            ),
            topics=(*map(self._known_topic, known), *map(self._unknown_topic, unknown)),
        )

    def _known_topic(self, name: str) -> md.TopicMetadata:
        partitions = self._cluster.topics[name].items()
        return md.TopicMetadata(
            error_code=0,
            topic=name,
            partitions=tuple(self._partition(number, one) for number, one in partitions),
        )

    def _unknown_topic(self, name: str) -> md.TopicMetadata:
        if not self._cluster.auto_create:
            return _topic_error(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._cluster.create_topic(name)
        return _topic_error(name, ErrorCode.LEADER_NOT_AVAILABLE)

    def _partition(self, number: int, partition: FakePartition) -> md.PartitionMetadata:
        live = tuple(one for one in partition.replicas if one not in self._cluster.down)
        leader = partition.leader if partition.leader in live else None
        if leader is None:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        elif live != partition.replicas:
            code = ErrorCode.REPLICA_NOT_AVAILABLE
        else:
            code = ErrorCode.NONE
        return md.PartitionMetadata(
            error_code=code,
            partition=number,
            leader=md.NO_LEADER if leader is None else leader,
            replicas=live,
            isr=live,
        )

    def _led(self, tp: TopicPartition) -> FakePartition | ErrorCode:
        """The partition if this broker leads it, else what is wrong."""
        partition = self._cluster.partition(tp)
        if partition is None or self._id not in partition.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return partition if partition.leader == self._id else ErrorCode.NOT_LEADER_FOR_PARTITION

    def _fetch(self, request: fe.FetchRequest) -> fe.FetchResponse:
        return fe.FetchResponse(
            topics=tuple(
                fe.FetchedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        self._fetched(TopicPartition(topic.topic, one.partition), one)
                        for one in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _fetched(self, tp: TopicPartition, wanted: fe.FetchPartition) -> fe.FetchedPartition:
        led = self._led(tp)
        if isinstance(led, ErrorCode):
            return failed_fetch(tp.partition, led)
        if not led.log.has(wanted.fetch_offset):
            return failed_fetch(tp.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        if wanted.max_bytes < 0:
            return failed_fetch(tp.partition, ErrorCode.UNKNOWN)
        data = led.log.read(wanted.fetch_offset, wanted.max_bytes)
        return fe.FetchedPartition(
            partition=tp.partition,
            error_code=0,
            high_watermark=led.log.end_offset,
            records=memoryview(data),
        )

    def _list_offsets(self, request: lo.ListOffsetsRequest) -> lo.ListOffsetsResponse:
        return lo.ListOffsetsResponse(
            topics=tuple(
                lo.ListedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        self._listed(TopicPartition(topic.topic, one.partition), one)
                        for one in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _listed(self, tp: TopicPartition, wanted: lo.ListOffsetsPartition) -> lo.ListedPartition:
        led = self._led(tp)
        if isinstance(led, ErrorCode):
            return lo.ListedPartition(partition=tp.partition, error_code=led, offsets=())
        if wanted.timestamp == lo.EARLIEST_TIMESTAMP:
            offsets: tuple[int, ...] = (led.log.start_offset,)
        elif lo.LATEST_TIMESTAMP < wanted.timestamp < SEGMENT_TIME_MS:
            offsets = ()
        else:
            offsets = led.log.edges()
        return lo.ListedPartition(
            partition=tp.partition, error_code=0, offsets=offsets[: wanted.max_offsets]
        )

    def _produce(self, request: pr.ProduceRequest) -> pr.ProduceResponse:
        response = pr.ProduceResponse(
            topics=tuple(
                pr.ProducedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        self._produced(TopicPartition(topic.topic, one.partition), one)
                        for one in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )
        self._cluster.changed()
        return response

    def _produced(self, tp: TopicPartition, sent: pr.ProducePartition) -> pr.ProducedPartition:
        led = self._led(tp)
        code, base_offset = ErrorCode.NONE, -1
        if isinstance(led, ErrorCode):
            code = led
        else:
            try:
                base_offset = led.log.append_set(
                    sent.records, largest_entry_bytes=LARGEST_MESSAGE_BYTES
                )
            except LocalProtocolError:
                code = ErrorCode.MESSAGE_TOO_LARGE
            except CorruptRecord:
                code = ErrorCode.CORRUPT_MESSAGE
        return pr.ProducedPartition(
            partition=tp.partition, error_code=code, base_offset=base_offset
        )

    def _coordinator(self) -> cm.ConsumerMetadataResponse:
        found = self._cluster.coordinator
        if found is None or found in self._cluster.down:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return cm.ConsumerMetadataResponse(error_code=code, coordinator_id=-1, host="", port=-1)
        broker = self._cluster.brokers[found]
        return cm.ConsumerMetadataResponse(
            error_code=0, coordinator_id=broker.id, host=broker.host, port=broker.port
        )

    def _commit(
        self, request: oc.OffsetCommitRequest, *, in_kafka: bool
    ) -> oc.OffsetCommitResponse:
        commit = self._commit_to_kafka if in_kafka else self._commit_to_zookeeper
        return oc.OffsetCommitResponse(
            topics=tuple(
                oc.CommittedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        oc.CommittedPartition(
                            partition=one.partition,
                            error_code=commit(
                                request.group_id,
                                TopicPartition(topic.topic, one.partition),
                                OffsetAndMetadata(one.offset, one.metadata),
                            ),
                        )
                        for one in topic.partitions
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
        if self._cluster.coordinator != self._id:
            return ErrorCode.NOT_COORDINATOR
        if len(offset.metadata) > LONGEST_METADATA:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        self._cluster.kafka_offsets[group, tp] = offset
        return ErrorCode.NONE

    def _fetch_offsets(
        self, request: of.OffsetFetchRequest, *, in_kafka: bool
    ) -> of.OffsetFetchResponse:
        fetch = self._offset_in_kafka if in_kafka else self._offset_in_zookeeper
        return of.OffsetFetchResponse(
            topics=tuple(
                of.OffsetFetchedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        fetch(request.group_id, TopicPartition(topic.topic, number))
                        for number in topic.partitions
                    ),
                )
                for topic in request.topics
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
        if self._cluster.coordinator != self._id:
            return no_offset(tp.partition, ErrorCode.NOT_COORDINATOR)
        if self._cluster.partition(tp) is None:
            return no_offset(tp.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        stored = self._cluster.kafka_offsets.get((group, tp))
        if stored is None:
            return no_offset(tp.partition, ErrorCode.NONE)
        return of.OffsetFetchedPartition(
            partition=tp.partition, offset=stored.offset, metadata=stored.metadata, error_code=0
        )


def _is_legal(topic: str) -> bool:
    return _LEGAL_TOPIC.fullmatch(topic) is not None and topic not in {".", ".."}


def _topic_error(topic: str, code: ErrorCode) -> md.TopicMetadata:
    return md.TopicMetadata(error_code=code, topic=topic, partitions=())
