"""A line to the leader of one partition, in the newest versions that its broker serves.

So there are timestamps, brokers behind TLS and SASL, and those of Kafka 4. It does what
``LeaderLine`` does, which speaks the oldest version alone, since that is the same everywhere.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import LocalProtocolError, ProtocolError, TransportError, ZkConsumerError
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import Ask
from zkconsumer.fetch.tries import Tries
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import InFlight
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from zkconsumer.wire.offsets import is_offset


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedWay:
    """How all lines of one reader go.

    Attributes:
        client: knows who leads.
        dialer: connects.
        settings: sizes, times and tries.
        clock: for the time without an answer.
        pause: waits so many milliseconds.
    """

    client: ClusterClient
    dialer: BrokerDialer
    settings: RangeSettings
    clock: Clock = field(default_factory=SystemClock)
    pause: Callable[[int], None] = wait_ms


class ServedLine:
    """Thread: one. What each method does, ``range_reader.Line`` says.

    Args:
        topic_partition: whose leader it asks.
        way: how.
        leader: who led it last, as far as is known.
    """

    def __init__(
        self, topic_partition: TopicPartition, way: ServedWay, leader: Broker | None = None
    ) -> None:
        self._topic_partition = topic_partition
        self._way = way
        self._leader = leader
        self._connection: NegotiatedConnection | None = None
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
        # Where it can't be sent, the connection is closed, which the next fetch finds out.
        with contextlib.suppress(TransportError):
            self._ahead = (ask, self._begun(connection, ask))

    def fetch(self, ask: Ask) -> FetchedPartition | None:
        """The leader's answer; None where there was none this time, and the pause is over.

        Raises:
            PartitionFailed: that was the last try.
            ZkConsumerError: another one would not help.
        """
        if self._ahead is not None and self._ahead[0] != ask:
            # The guess was wrong: to read its answer, to throw it away, takes longer than this.
            self.close()
        try:
            connection = self._connected()
            ahead, self._ahead = self._ahead, None
            in_flight = self._begun(connection, ask) if ahead is None else ahead[1]
            settings = self._way.settings
            timeout_ms = settings.timeout_ms + settings.max_wait_ms
            answer = connection.finish(in_flight, timeout_ms=timeout_ms)
        except LocalProtocolError:
            raise
        except (TransportError, ProtocolError) as error:
            self.failed(ask.offset, str(error), error)
            return None
        except _NoLeader as none:
            self.failed(ask.offset, str(none))
            return None
        if answer.error_code:
            self.failed(ask.offset, f"Fetch: {error_name(answer.error_code)}")
            return None
        for topic in answer.topics:
            for part in topic.partitions:
                if TopicPartition(topic.topic, part.partition) == self._topic_partition:
                    return part
        self.failed(ask.offset, "Fetch: the answer is about other partitions")
        return None

    def edges(self, offset: int) -> tuple[int, int] | None:
        """Where the leader's log begins and ends; None as of ``fetch``.

        Raises:
            PartitionFailed: that was the last try.
        """
        tp, found = self._topic_partition, []
        try:
            for time in (EARLIEST, LATEST):
                told = self._way.client.list_offsets(
                    {tp: time}, timeout_ms=self._way.settings.timeout_ms
                )[tp]
                if not isinstance(told, TimedOffset):
                    self.failed(offset, f"ListOffsets: {error_name(told)}")
                    return None
                found.append(told.offset)
        except (TransportError, ProtocolError) as error:
            self.failed(offset, str(error), error)
            return None
        if not (is_offset(found[0]) and is_offset(found[1]) and found[0] <= found[1]):
            self.failed(offset, f"ListOffsets: no log lies from {found[0]} to {found[1]}")
            return None
        return found[0], found[1]

    def look_again(self) -> None:
        """Pause, and ask for the leader anew before the next question."""
        self.close()
        self._leader = None
        self._tries.rest()

    def failed(self, offset: int, reason: str, error: ZkConsumerError | None = None) -> None:
        """A try failed: forget leader and connection, and pause before the next one.

        Raises:
            PartitionFailed: it was the last one.
        """
        self.close()
        self._leader = None
        self._tries.failed(offset, reason, error)

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection, self._ahead = self._connection, None, None
        if connection is not None:
            connection.close()

    def _begun(self, connection: NegotiatedConnection, ask: Ask) -> InFlight[FetchResponse]:
        topic, partition = self._topic_partition
        settings = self._way.settings
        entry = FetchPartition(
            partition=partition, fetch_offset=ask.offset, max_bytes=ask.max_bytes
        )
        request = FetchRequest(
            max_wait_ms=settings.max_wait_ms,
            min_bytes=1,
            topics=(FetchTopic(topic=topic, partitions=(entry,)),),
        )
        return connection.begin(request, timeout_ms=settings.timeout_ms, at_most=LAST_BY_NAME)

    def _connected(self) -> NegotiatedConnection:
        """The connection to the leader, found and opened where need be."""
        connection = self._connection
        if connection is None or not (connection.is_idle or self._ahead is not None):
            self.close()
            self._leader = self._leader or self._find_leader()
            connection = self._connection = self._way.dialer.dial(self._leader)
        return connection

    def _find_leader(self) -> Broker:
        tp, unknown = self._topic_partition, self._tries.look()
        view = self._way.client.view({tp.topic}, timeout_ms=self._way.settings.timeout_ms)
        leader = view.leaders.get(tp)
        if leader is not None:
            return leader
        code = view.errors.get(tp.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if tp in view.leaderless or code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise _NoLeader(f"it has no leader: {error_name(view.leaderless.get(tp, code))}")
        unknown()
        raise _NoLeader("the cluster does not have that partition (any more)")


class _NoLeader(Exception):
    """Nobody leads the partition now."""
