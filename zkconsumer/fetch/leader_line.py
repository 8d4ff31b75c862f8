"""A line to the leader of one partition, whoever that is: asks, and finds the leader again.

What fails is tried again after a pause, with a new connection and the leader asked for anew, as
long as the settings allow; an answer is never taken for another one's.
"""

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.log_ends import EARLIEST, LATEST, LIST_OFFSETS_VERSION
from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    LocalProtocolError,
    ProtocolError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.fetcher import FETCH_VERSION
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import Ask
from zkconsumer.fetch.tries import Tries
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection, InFlight
from zkconsumer.net.connection_cache import ConnectionCache
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from zkconsumer.wire.offsets import is_offset

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """How all lines of one reader go.

    Attributes:
        brokers: whom to ask who leads a partition, in any order.
        connections: where connections come from and go back to.
        settings: sizes, times and tries.
        clock: for the time without an answer.
        pause: waits so many milliseconds.
    """

    brokers: tuple[Broker, ...]
    connections: ConnectionCache
    settings: RangeSettings
    clock: Clock
    pause: Callable[[int], None]


class LeaderLine:
    """Thread: one.

    Args:
        topic_partition: whose leader it asks.
        way: how.
        leader: who led it last, as far as is known.

    Attributes:
        topic_partition: the same.
    """

    def __init__(self, topic_partition: TopicPartition, way: Way, *, leader: Broker | None) -> None:
        self.topic_partition = topic_partition
        self._way = way
        self._settings = way.settings
        self._leader = leader
        self._connection: BrokerConnection | None = None
        self._is_reused = False
        self._ahead: tuple[Ask, InFlight[FetchResponse]] | None = None
        self._tries = Tries(topic_partition, way.settings, way.clock, way.pause)

    @property
    def is_unknown(self) -> bool:
        """Whether the last look at the cluster found no such partition."""
        return self._tries.is_unknown

    def progressed(self) -> None:
        """Something came: failures before this count no more."""
        self._tries.progressed()

    def send_ahead(self, ask: Ask | None) -> None:
        """Send a fetch whose answer is to be asked for later, if it can be sent now."""
        connection = self._connection
        if ask is None or connection is None or not connection.is_idle:
            return
        request, timeout_ms = self._fetch_request(ask), self._settings.timeout_ms
        # Where it can't be sent, the connection is closed, which the next fetch finds out.
        with contextlib.suppress(TransportError):
            self._ahead = (
                ask,
                connection.begin(request, version=FETCH_VERSION, timeout_ms=timeout_ms),
            )

    def fetch(self, ask: Ask) -> FetchedPartition | None:
        """The leader's answer; None where there was none this time, and the pause is over.

        Raises:
            PartitionFailed: that was the last try.
        """
        if self._ahead is not None and self._ahead[0] != ask:
            # The guess was wrong: to read its answer, to throw it away, takes longer than this.
            self._drop()
        answer = self._on_leader(self._exchange_fetch, ask, ask.offset)
        for topic in () if answer is None else answer.topics:
            for part in topic.partitions:
                if TopicPartition(topic.topic, part.partition) == self.topic_partition:
                    return part
        if answer is not None:
            self.failed(ask.offset, "Fetch: the answer is about other partitions")
        return None

    def edges(self, offset: int) -> tuple[int, int] | None:
        """Where the leader's log begins and ends; None as of ``fetch``.

        Raises:
            PartitionFailed: that was the last try.
        """
        found: list[int] = []
        for time in (EARLIEST, LATEST):
            answer = self._on_leader(self._exchange_edge, time, offset)
            if answer is None:
                return None
            parts = [part for topic in answer.topics for part in topic.partitions]
            if len(parts) != 1 or parts[0].error_code != ErrorCode.NONE or not parts[0].offsets:
                text = error_name(parts[0].error_code) if parts else "no answer about it"
                self.failed(offset, f"ListOffsets: {text}")
                return None
            found.append(parts[0].offsets[0])
        if not (is_offset(found[0]) and is_offset(found[1]) and found[0] <= found[1]):
            self.failed(offset, f"ListOffsets: no log lies from {found[0]} to {found[1]}")
            return None
        return found[0], found[1]

    def look_again(self) -> None:
        """Pause, and ask for the leader anew before the next question."""
        self._release()
        self._leader = None
        self._tries.rest()

    def failed(self, offset: int, reason: str, error: ZkConsumerError | None = None) -> None:
        """A try failed: forget leader and connection, and pause before the next one.

        Args:
            offset: where reading stands.
            reason: why, for people.
            error: the same, if it was raised.

        Raises:
            PartitionFailed: it was the last one.
        """
        self._release()
        self._leader = None
        self._tries.failed(offset, reason, error)

    def close(self) -> None:
        """Give the connection back; one that an answer is still to come on is closed."""
        self._release()

    def _on_leader(
        self, exchange: Callable[[BrokerConnection, A], R], what: A, offset: int
    ) -> R | None:
        """Ask the leader something; None after a failure, as ``fetch`` says."""
        try:
            while True:
                connection = self._connected()
                is_reused, self._is_reused = self._is_reused, False
                try:
                    return exchange(connection, what)
                except LocalProtocolError:
                    self._drop()
                    raise
                except (TransportError, ProtocolError):
                    self._drop()
                    # The broker closes idle connections: that is no failure, if a new one works.
                    if not is_reused:
                        raise
        except LocalProtocolError:
            raise
        except (TransportError, ProtocolError) as error:
            self.failed(offset, str(error), error)
        except _NoLeader as none:
            self.failed(offset, str(none))
        return None

    def _exchange_fetch(self, connection: BrokerConnection, ask: Ask) -> FetchResponse:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            in_flight = ahead[1]
        else:
            in_flight = connection.begin(
                self._fetch_request(ask),
                version=FETCH_VERSION,
                timeout_ms=self._settings.timeout_ms,
            )
        timeout_ms = self._settings.timeout_ms + self._settings.max_wait_ms
        return connection.finish(in_flight, timeout_ms=timeout_ms)

    def _exchange_edge(self, connection: BrokerConnection, time: int) -> ListOffsetsResponse:
        topic, partition = self.topic_partition
        entry = ListOffsetsPartition(partition=partition, timestamp=time, max_offsets=1)
        request = ListOffsetsRequest(topics=(ListOffsetsTopic(topic=topic, partitions=(entry,)),))
        return connection.request(
            request, version=LIST_OFFSETS_VERSION, timeout_ms=self._settings.timeout_ms
        )

    def _fetch_request(self, ask: Ask) -> FetchRequest:
        topic, partition = self.topic_partition
        entry = FetchPartition(
            partition=partition, fetch_offset=ask.offset, max_bytes=ask.max_bytes
        )
        return FetchRequest(
            max_wait_ms=self._settings.max_wait_ms,
            min_bytes=1,
            topics=(FetchTopic(topic=topic, partitions=(entry,)),),
        )

    def _connected(self) -> BrokerConnection:
        """The connection to the leader, found and opened where need be."""
        if self._connection is not None:
            return self._connection
        leader = self._leader or self._find_leader()
        self._leader = leader
        idle = self._way.connections.take(leader)
        self._is_reused = idle is not None
        self._connection = idle or self._way.connections.open(leader)
        return self._connection

    def _find_leader(self) -> Broker:
        """Ask the brokers.

        All topics are asked for: to name one that was deleted would create it anew on a broker
        with ``auto.create.topics.enable``.
        """
        reader = MetadataReader(
            self._way.connections.open, timeout_ms=self._settings.timeout_ms, shuffle=random.shuffle
        )
        tp, unknown = self.topic_partition, self._tries.look()
        view = reader.read(self._way.brokers, (), all_topics=True)
        leader = view.leaders.get(tp)
        if leader is not None:
            return leader
        code = view.errors.get(tp.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if tp in view.leaderless or code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise _NoLeader(f"it has no leader: {error_name(view.leaderless.get(tp, code))}")
        unknown()
        raise _NoLeader("the cluster does not have that partition (any more)")

    def _release(self) -> None:
        """Let go of the connection, for the next one if it is still good."""
        connection, self._connection, self._ahead = self._connection, None, None
        if connection is not None:
            self._way.connections.give_back(connection)

    def _drop(self) -> None:
        """Let go of the connection, for nobody."""
        connection, self._connection, self._ahead = self._connection, None, None
        if connection is not None:
            connection.close()


class _NoLeader(Exception):
    """Nobody leads the partition now."""
