"""Brokers in memory (``scripted_broker``) that lead partitions, with matching metadata."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.scripted_broker import ScriptedAction, ScriptedBroker, ScriptedResponse
from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListedTopic,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from zkconsumer.wire.messages.metadata import (
    MetadataBroker,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from zkconsumer.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    EpochEndTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

PORT = 9092
END_OFFSET = 100


@dataclass
class ScriptedCluster:
    """A cluster of ``count`` brokers, with ids from 0.

    Attributes:
        leaders: the leader by partition; -1: none.
        epochs: the leader epoch by partition.
        stale: by broker id, the outdated leaders that this broker returns.
        created: topics that a metadata request created.
        actions: by broker id, what it does instead of responding.
        fails: error codes by partition, at any broker.
        coordinator: the coordinator's id, or a negative error code.
    """

    count: int = 2
    leaders: dict[TopicPartition, int] = field(default_factory=dict)
    epochs: dict[TopicPartition, int] = field(default_factory=dict)
    stale: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    actions: dict[int, ScriptedAction] = field(default_factory=dict)
    fails: dict[TopicPartition, ErrorCode] = field(default_factory=dict)
    coordinator: int = 0
    brokers: list[ScriptedBroker] = field(default_factory=list)
    network: MemoryNetwork = field(default_factory=MemoryNetwork)

    def __post_init__(self) -> None:
        for number in range(self.count):
            broker = ScriptedBroker(
                Broker(number, f"b{number}", PORT), response=self._respond(number)
            )
            broker.listen(self.network)
            self.brokers.append(broker)

    @property
    def bootstrap(self) -> list[Broker]:
        """The bootstrap brokers of a client."""
        return [Broker(-1 - number, f"b{number}", PORT) for number in range(self.count)]

    def dialer(self, *, timeout_ms: int = 10_000) -> BrokerDialer:
        """Return a dialer for the brokers."""
        return BrokerDialer(
            self.network,
            client_id="test",
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
        )

    def client(
        self,
        *,
        timeout_ms: int = 10_000,
        backoff_ms: int = 10,
        clock: Clock | None = None,
        dialer: BrokerDialer | None = None,
    ) -> ClusterClient:
        """Return a client that queries the brokers in order of their ids."""
        return ClusterClient(
            dialer or self.dialer(timeout_ms=timeout_ms),
            self.bootstrap,
            request_timeout_ms=timeout_ms,
            retry_backoff_ms=backoff_ms,
            clock=clock,
            shuffle=lambda brokers: brokers.sort(key=lambda broker: broker.host),
        )

    def requested(self, api: ApiKey) -> list[int]:
        """The ids of brokers that received such requests, once for each request."""
        return [broker.address.id for broker in self.brokers for _ in broker.requested(api)]

    def _respond(self, number: int) -> Callable[[RequestFrame], ScriptedResponse | None]:
        def response(frame: RequestFrame) -> ScriptedResponse | None:
            action = self.actions.get(number)
            if action is not None:
                return action
            match frame.request:
                case MetadataRequest():
                    return self._metadata(number, frame.request, frame.version)
                case ListOffsetsRequest():
                    return self._offsets(number, frame.request, frame.version)
                case OffsetForLeaderEpochRequest():
                    return self._epoch_ends(number, frame.request)
                case FindCoordinatorRequest():
                    return self._coordinator()
                case _:
                    return None

        return response

    def _metadata(self, number: int, request: MetadataRequest, version: int) -> MetadataResponse:
        asked_all = request.topics is None or (version == 0 and not request.topics)
        leaders = self.leaders | self.stale.get(number, {})
        known = {tp.topic for tp in leaders}
        names = sorted(known) if asked_all else list(request.topics or ())
        if not asked_all and (version < 4 or request.allow_auto_topic_creation):
            self.created += [name for name in names if name not in known]
        return MetadataResponse(
            brokers=tuple(
                MetadataBroker(id=broker.address.id, host=broker.address.host, port=PORT)
                for broker in self.brokers
                if not broker.down
            ),
            topics=tuple(self._topic(name, leaders, version) for name in names),
        )

    def _topic(self, name: str, leaders: dict[TopicPartition, int], version: int) -> TopicMetadata:
        partitions = tuple(
            PartitionMetadata(
                error_code=0 if leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                partition=tp.partition,
                leader=leader,
                leader_epoch=self.epochs.get(tp, -1) if version >= 7 else -1,
                replicas=(),
                isr=(),
            )
            for tp, leader in sorted(leaders.items())
            if tp.topic == name
        )
        code = 0 if partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic_id = name.encode().ljust(16)[:16] if version >= 10 else bytes(16)
        return TopicMetadata(error_code=code, topic=name, topic_id=topic_id, partitions=partitions)

    def _failure(self, number: int, tp: TopicPartition) -> int:
        if self.leaders.get(tp) != number:
            return ErrorCode.NOT_LEADER_FOR_PARTITION
        return self.fails.get(tp, ErrorCode.NONE)

    def _offsets(
        self, number: int, request: ListOffsetsRequest, version: int
    ) -> ListOffsetsResponse:
        def listed(topic: str, partition: int, time: int) -> ListedPartition:
            code = self._failure(number, TopicPartition(topic, partition))
            if code:
                return ListedPartition(partition=partition, error_code=code)
            offset = {-1: END_OFFSET, -2: 0}.get(time, time)
            return ListedPartition(
                partition=partition,
                error_code=0,
                offsets=(offset,) if version == 0 else (),
                offset=offset if version else -1,
                timestamp=time if version and time >= 0 else -1,
                leader_epoch=5 if version >= 4 else -1,
            )

        return ListOffsetsResponse(
            topics=tuple(
                ListedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        listed(
                            topic.topic,
                            list_offsets_partition.partition,
                            list_offsets_partition.timestamp,
                        )
                        for list_offsets_partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _epoch_ends(
        self, number: int, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=tuple(
                EpochEndTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        EpochEndOffset(
                            error_code=self._failure(
                                number, TopicPartition(topic.topic, partition.partition)
                            ),
                            partition=partition.partition,
                            leader_epoch=partition.leader_epoch,
                            end_offset=END_OFFSET,
                        )
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _coordinator(self) -> FindCoordinatorResponse:
        if self.coordinator < 0:
            return FindCoordinatorResponse(
                error_code=-self.coordinator, coordinator_id=-1, host="", port=-1
            )
        return FindCoordinatorResponse(
            error_code=0,
            coordinator_id=self.coordinator,
            host=f"b{self.coordinator}",
            port=PORT,
        )
