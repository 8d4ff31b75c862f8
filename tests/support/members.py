"""A member of a group whose streams are read by threads that record every delivery."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from tests.support.recording_observer import RecordingObserver
from tests.support.traffic import Acknowledged
from tests.support.waiting import wait_until
from zkconsumer import (
    Blacklist,
    ConsumerConfig,
    KafkaStream,
    Whitelist,
    ZkConsumerError,
    ZookeeperConsumerConnector,
)
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.threads.listener_calls import ReleaseListener
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.store import ZkStore

Stream = KafkaStream[bytes, bytes]
_JOIN_MS = 10_000
_CLOCK = SystemClock()


class Delivery(NamedTuple):
    """A message that a stream delivered, its claim, and the time."""

    tp: TopicPartition
    offset: int
    value: bytes | None
    claim: PartitionClaim
    at_ms: int


def settings_for(cluster: Sandbox | str, group: str, **settings: object) -> ConsumerConfig:
    """Return settings for members of tests: short sessions, many retries, earliest offset.

    Automatic commits happen at hand-overs and at close; periodic ones only if a test sets them.
    """
    connect = cluster if isinstance(cluster, str) else cluster.zookeeper_connect
    defaults: dict[str, Any] = {
        "zookeeper_connect": connect,
        "group_id": group,
        "zookeeper_session_timeout_ms": 4000,
        "zookeeper_connection_timeout_ms": 10_000,
        "auto_offset_reset": "smallest",
        "rebalance_backoff_ms": 200,
        "rebalance_max_retries": 40,
        "refresh_leader_backoff_ms": 50,
    }
    return ConsumerConfig(None, **{**defaults, **settings})


class Member:
    """A member that joins when it is created. Use it as a context manager.

    ``settings`` are those of ``settings_for``, and ``listener``, the rebalance listener.
    """

    def __init__(
        self,
        cluster: Sandbox | str,
        group: str,
        topics: Mapping[str, int] | Whitelist | Blacklist,
        **settings: object,
    ) -> None:
        listener = cast("ReleaseListener | None", settings.pop("listener", None))
        self.config = settings_for(cluster, group, **settings)
        self.observed = RecordingObserver()
        self.connector = ZookeeperConsumerConnector(self.config, observers=(self.observed,))
        self.connector.set_consumer_rebalance_listener(listener)
        self.deliveries: list[Delivery] = []
        self.errors: list[ZkConsumerError] = []
        self._scope = ThreadScope("member")
        try:
            for number, stream in enumerate(self._create(topics)):
                self._read(number, stream)
        except BaseException:
            self.connector.shutdown()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def store(self) -> ZkStore:
        """Its ZooKeeper client."""
        return self.connector._parts.context.store

    @property
    def session_id(self) -> int:
        """Its ZooKeeper session's id."""
        return self.store.session_id

    def claims(self) -> dict[TopicPartition, PartitionClaim]:
        """Its present claims by partition."""
        claims = self.connector._parts.member.control._claims.claims()
        return {claim.topic_partition: claim for claim in claims}

    def got(self, tp: TopicPartition) -> list[int]:
        """The delivered offsets of a partition, in order."""
        return [delivery.offset for delivery in list(self.deliveries) if delivery.tp == tp]

    def values(self, tp: TopicPartition) -> list[bytes | None]:
        """The delivered values of a partition, in order."""
        return [delivery.value for delivery in list(self.deliveries) if delivery.tp == tp]

    def close(self) -> None:
        """Shut down, and wait until all streams have ended. Idempotent."""
        self.connector.shutdown()
        assert self._scope.close(_JOIN_MS) == []
        error = self._scope.first_error()
        if error is not None:
            raise error

    def _create(self, topics: Mapping[str, int] | Whitelist | Blacklist) -> Sequence[Stream]:
        if isinstance(topics, Mapping):
            by_topic = self.connector.create_message_streams(topics)
            return [stream for streams in by_topic.values() for stream in streams]
        return self.connector.create_message_streams_by_filter(topics)

    def _read(self, number: int, stream: Stream) -> None:
        def run() -> None:
            while True:
                try:
                    for message in stream:
                        chunk = stream._reader._cursor.chunk
                        assert chunk is not None
                        tp = TopicPartition(message.topic, message.partition)
                        delivery = Delivery(
                            tp, message.offset, message.value, chunk.claim, _CLOCK.now_ms()
                        )
                        self.deliveries.append(delivery)
                except ZkConsumerError as error:
                    self.errors.append(error)
                else:
                    return

        self._scope.spawn(f"reader-{number}", run, stop=lambda: None)


def all_delivered(members: Sequence[Member], acknowledged: Acknowledged) -> bool:
    """Whether every acknowledged message was delivered to a member."""
    got = {
        (delivery.tp, delivery.offset) for member in members for delivery in list(member.deliveries)
    }
    return all((tp, offset) in got for tp, of_tp in acknowledged.items() for offset in of_tp)


def await_ends(
    members: Sequence[Member], ends: Callable[[], Mapping[TopicPartition, int]], what: str
) -> None:
    """Wait until all partitions have been delivered up to their present ends."""
    for tp, end in ends().items():
        wait_until(
            lambda tp=tp, end=end: any(  # type: ignore[misc]
                delivery.tp == tp and delivery.offset >= end - 1
                for member in members
                for delivery in reversed(list(member.deliveries))
            ),
            what=f"{what}: {tp} up to {end}",
        )


def duplicates(
    members: Sequence[Member], acknowledged: Acknowledged, *, timeout_s: float = 30
) -> dict[TopicPartition, int]:
    """Wait for all acknowledged messages, check them, and count redeliveries by partition.

    No message may be missing, every value must be the one written at its offset, and within a claim
    offsets must be consecutive.
    """
    wait_until(
        lambda: all_delivered(members, acknowledged),
        timeout_s=timeout_s,
        what="every acknowledged message",
    )
    counts: dict[tuple[TopicPartition, int], int] = {}
    last: dict[int, int] = {}
    for member in members:
        for tp, offset, value, claim, _ in list(member.deliveries):
            assert acknowledged.get(tp, {}).get(offset, value) == value
            before = last.get(id(claim))
            assert before is None or offset == before + 1, f"{tp}: {offset} came after {before}"
            last[id(claim)] = offset
            counts[tp, offset] = counts.get((tp, offset), 0) + 1
    twice: dict[TopicPartition, int] = {}
    for (tp, _), count in counts.items():
        if count > 1:
            twice[tp] = twice.get(tp, 0) + count - 1
    return twice
