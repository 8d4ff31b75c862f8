"""The responses of a 0.8.2.2 broker, from a ``FakeCluster``'s state; the caller holds its lock."""

import re

from tests.fakes.fake_cluster import FakeCluster, FakePartition
from tests.fakes.fake_failures import failed_fetch
from tests.fakes.fake_offsets import FakeOffsetResponses
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import CorruptRecord, LocalProtocolError
from zkconsumer.model import TopicPartition
from zkconsumer.wire.absent import NO_BROKER
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages import fetch as fe
from zkconsumer.wire.messages import find_coordinator as fc
from zkconsumer.wire.messages import heartbeat as hb
from zkconsumer.wire.messages import list_offsets as lo
from zkconsumer.wire.messages import metadata as md
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.messages import produce as pr

SEGMENT_TIME_MS = 1_400_000_000_000
"""When the only segment of every log was last written: some fixed time in the past."""

LARGEST_MESSAGE_BYTES = 1_000_012
"""The default of ``message.max.bytes``; the entry's header counts."""

_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,255}")


class FakeResponses:
    """One broker's view of the cluster."""

    def __init__(self, cluster: FakeCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._id = broker_id
        self._offsets = FakeOffsetResponses(cluster, broker_id)

    def to(self, request: Request[Response], version: int) -> Response:
        """Return the response to a request."""
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
                return self._offsets.commit(request, in_kafka=version > 0)
            case of.OffsetFetchRequest():
                return self._offsets.fetch(request, in_kafka=version > 0)
            case fc.FindCoordinatorRequest():
                return self._offsets.coordinator()
            case hb.HeartbeatRequest():
                # 0.8.2 knows the API key, but has no implementation behind it.
                return hb.HeartbeatResponse(error_code=ErrorCode.UNKNOWN)
            case _:
                raise TypeError(f"no answer is known to {type(request).__name__}")

    def _metadata(self, request: md.MetadataRequest) -> md.MetadataResponse:
        cluster = self._cluster
        names = request.topics or tuple(cluster.topics)
        known = [name for name in names if name in cluster.topics]
        unknown = [name for name in names if name not in cluster.topics]
        if cluster.auto_create and not all(_is_legal(name) for name in unknown):
            # Creating the topic fails, and one failure turns the whole response into an error.
            return md.MetadataResponse(
                brokers=(),
                topics=tuple(_topic_error(name, ErrorCode.INVALID_TOPIC) for name in names),
            )
        return md.MetadataResponse(
            brokers=tuple(
                md.MetadataBroker(id=broker.id, host=broker.host, port=broker.port)
                for broker in cluster.brokers.values()
                if broker.id not in cluster.down
            ),
            topics=(*map(self._known_topic, known), *map(self._unknown_topic, unknown)),
        )

    def _known_topic(self, name: str) -> md.TopicMetadata:
        partitions = self._cluster.topics[name].items()
        return md.TopicMetadata(
            error_code=0,
            topic=name,
            partitions=tuple(
                self._partition(number, fake_partition) for number, fake_partition in partitions
            ),
        )

    def _unknown_topic(self, name: str) -> md.TopicMetadata:
        if not self._cluster.auto_create:
            return _topic_error(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._cluster.create_topic(name)
        return _topic_error(name, ErrorCode.LEADER_NOT_AVAILABLE)

    def _partition(self, number: int, partition: FakePartition) -> md.PartitionMetadata:
        live = tuple(replica for replica in partition.replicas if replica not in self._cluster.down)
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
            leader=NO_BROKER if leader is None else leader,
            replicas=live,
            isr=live,
        )

    def _led(self, tp: TopicPartition) -> FakePartition | ErrorCode:
        """Return the partition if this broker leads it, else the error code."""
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
                        self._fetched(TopicPartition(topic.topic, partition.partition), partition)
                        for partition in topic.partitions
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
                        self._listed(TopicPartition(topic.topic, partition.partition), partition)
                        for partition in topic.partitions
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
                        self._produced(TopicPartition(topic.topic, partition.partition), partition)
                        for partition in topic.partitions
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


def _is_legal(topic: str) -> bool:
    return _LEGAL_TOPIC.fullmatch(topic) is not None and topic not in {".", ".."}


def _topic_error(topic: str, code: ErrorCode) -> md.TopicMetadata:
    return md.TopicMetadata(error_code=code, topic=topic, partitions=())
