"""A line to the leader of one partition, whoever that is: asks, and finds the leader again.

It speaks the newest versions that the leader serves. What fails is tried again after a pause, with
a new connection and the leader asked for anew, as long as the settings allow; an answer is never
taken for another one's.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    ConnectionLost,
    LocalProtocolError,
    ProtocolError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeRequest
from zkconsumer.fetch.tries import Tries
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.in_flight import InFlight
from zkconsumer.net.negotiated import NegotiatedConnection
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
class Way:
    """How all lines of one reader go.

    Attributes:
        client: knows who leads, and keeps the connections.
        settings: sizes, times and tries.
        clock: for the time without an answer.
        pause: waits so many milliseconds.
    """

    client: ClusterClient
    settings: RangeSettings
    clock: Clock
    pause: Callable[[int], None]


class LeaderConnection:
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
        self._client = way.client
        self._settings = way.settings
        self._leader = leader
        self._connection: NegotiatedConnection | None = None
        self._is_reused = False
        self._ahead: tuple[RangeRequest, InFlight[FetchResponse]] | None = None
        self._tries = Tries(topic_partition, way.settings, way.clock, way.pause)

    @property
    def is_unknown(self) -> bool:
        """Whether the last look at the cluster found no such partition."""
        return self._tries.is_unknown

    def progressed(self) -> None:
        """Something came: failures before this count no more."""
        self._tries.progressed()

    def send_ahead(self, request: RangeRequest | None) -> None:
        """Send a fetch whose answer is to be asked for later, if it can be sent now."""
        connection = self._connection
        if request is None or connection is None or not connection.is_idle:
            return
        # Where it can't be sent, the connection is closed, which the next fetch finds out.
        with contextlib.suppress(TransportError):
            self._ahead = (request, self._begun(connection, request))

    def fetch(self, request: RangeRequest) -> FetchedPartition | None:
        """The leader's answer; None where there was none this time, and the pause is over.

        Raises:
            PartitionFailed: that was the last try.
            ZkConsumerError: another one would not help: the broker does not believe who we are, or
                serves no version that we know.
        """
        if self._ahead is not None and self._ahead[0] != request:
            # The guess was wrong: to read its answer, to throw it away, takes longer than this.
            self._drop()
        try:
            response = self._requested(request)
        except LocalProtocolError:
            raise
        except (TransportError, ProtocolError) as error:
            self.failed(request.offset, str(error), error)
            return None
        except _NoLeader as none:
            self.failed(request.offset, str(none))
            return None
        if response.error_code:
            self.failed(request.offset, f"Fetch: {error_name(response.error_code)}")
            return None
        for topic in response.topics:
            for part in topic.partitions:
                if TopicPartition(topic.topic, part.partition) == self.topic_partition:
                    return part
        self.failed(request.offset, "Fetch: the answer is about other partitions")
        return None

    def edges(self, offset: int) -> tuple[int, int] | None:
        """Where the leader's log begins and ends; None as of ``fetch``.

        Raises:
            PartitionFailed: that was the last try.
        """
        tp, found = self.topic_partition, []
        self._release()  # the question goes over the same connection
        try:
            for time in (EARLIEST, LATEST):
                reported = self._client.list_offsets(
                    {tp: time},
                    timeout_ms=self._settings.timeout_ms,
                    isolation=self._settings.isolation,
                )[tp]
                if not isinstance(reported, TimedOffset):
                    self.failed(offset, f"ListOffsets: {error_name(reported)}")
                    return None
                found.append(reported.offset)
        except (TransportError, ProtocolError) as error:
            self.failed(offset, str(error), error)
            return None
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

    def _requested(self, request: RangeRequest) -> FetchResponse:
        """Ask the leader, once; that it had closed a connection that was kept does not count."""
        while True:
            connection = self._connected()
            is_reused, self._is_reused = self._is_reused, False
            ahead, self._ahead = self._ahead, None
            settings = self._settings
            try:
                in_flight = self._begun(connection, request) if ahead is None else ahead[1]
                timeout_ms = settings.timeout_ms + settings.max_wait_ms
                return connection.finish(in_flight, timeout_ms=timeout_ms)
            except LocalProtocolError:
                self._drop()
                raise
            except (TransportError, ProtocolError) as error:
                self._drop()
                if not (is_reused and isinstance(error, ConnectionLost)):
                    raise

    def _begun(
        self, connection: NegotiatedConnection, wanted: RangeRequest
    ) -> InFlight[FetchResponse]:
        topic, partition = self.topic_partition
        settings = self._settings
        entry = FetchPartition(
            partition=partition, fetch_offset=wanted.offset, max_bytes=wanted.max_bytes
        )
        request = FetchRequest(
            max_wait_ms=settings.max_wait_ms,
            min_bytes=1,
            isolation_level=int(settings.isolation),
            topics=(FetchTopic(topic=topic, partitions=(entry,)),),
        )
        return connection.begin(request, timeout_ms=settings.timeout_ms, at_most=LAST_BY_NAME)

    def _connected(self) -> NegotiatedConnection:
        """The connection to the leader, found and opened where need be."""
        if self._connection is None:
            self._leader = self._leader or self._find_leader()
            self._connection, self._is_reused = self._client.connections.take_or_dial(
                self._leader, timeout_ms=self._settings.timeout_ms
            )
        return self._connection

    def _find_leader(self) -> Broker:
        tp, unknown = self.topic_partition, self._tries.look()
        view = self._client.view({tp.topic}, timeout_ms=self._settings.timeout_ms)
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
            self._client.connections.give_back(connection)

    def _drop(self) -> None:
        """Let go of the connection, for nobody."""
        if self._connection is not None:
            self._connection.close()
        self._release()


class _NoLeader(Exception):
    """Nobody leads the partition now."""
