"""Requests what a consumer must know of a cluster: leaders, ends of logs, coordinators.

Every call blocks for a limited time, in which it retries what may succeed later.
Source: Kafka 3.9 ``NetworkClient.DefaultMetadataUpdater``, ``OffsetFetcher``.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.broker_order import BrokerOrder
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.connection_pool import IDLE_PER_BROKER, ConnectionPool
from zkconsumer.cluster.epoch_ends import EpochEnd, epochs_request, read_epoch_ends
from zkconsumer.cluster.leader_requests import LeaderRequest, LeaderRequests
from zkconsumer.cluster.offset_times import (
    EARLIEST,
    LATEST,
    TimedOffset,
    least_version,
    read_segment_starts,
    read_times,
    times_request,
)
from zkconsumer.cluster.request_round import (
    RequestRound,
    RoundRequest,
    first_dial_ms,
    who_coordinates,
)
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView, from_metadata, limited_to
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ConnectFailed, LocalProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.repeats import Repeats
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse, all_topics
from zkconsumer.wire.messages.offset_for_leader_epoch import FIRST_VERSION_FOR_CONSUMERS
from zkconsumer.wire.negotiation import BrokerVersions
from zkconsumer.wire.releases import Release

if TYPE_CHECKING:
    from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

__all__ = ["EARLIEST", "LATEST", "ClusterClient", "Described", "TimedOffset"]

T = TypeVar("T")

log = logging.getLogger(__name__)

_ABOUT = "reaching the cluster"

_FIRST_NOT_TO_CREATE = 4
"""The first version of Metadata that can request a topic without creating it."""


class Described(NamedTuple):
    """A broker's description of the cluster.

    Attributes:
        response: the whole response, with replicas and error codes.
        view: the same as a view of leaders.
        versions: the versions that the broker serves.
    """

    response: MetadataResponse
    view: ClusterView
    versions: BrokerVersions


class ClusterClient:
    """Sends requests to whichever brokers can respond. Thread: any; calls share no connection.

    Args:
        dialer: opens connections, through a sibling that is stopped with this client; or a pool of
            connections, which remains the caller's.
        bootstrap: the brokers to try while none is known; their ids are below 0.
        request_timeout_ms: how long one broker may take for one response.
        retry_backoff_ms: the pause between two rounds of tries; a call with no more time than this
            has a single round, for callers that count their own tries.
        clock: for deadlines.
        shuffle: puts brokers into random order, in place, to spread the load.
        idle_per_broker: the number of idle connections kept for each broker.

    Attributes:
        connections: the pool of connections.
        release: the Kafka release of the broker that sent the last metadata; None before that.
        no_zookeeper: whether its cluster has no ZooKeeper; None before that.
    """

    def __init__(  # noqa: PLR0913 - one part a line
        self,
        dialer: BrokerDialer | ConnectionPool,
        bootstrap: Sequence[Broker],
        *,
        request_timeout_ms: int,
        retry_backoff_ms: int,
        clock: Clock | None = None,
        shuffle: Callable[[list[Broker]], None],
        idle_per_broker: int = IDLE_PER_BROKER,
    ) -> None:
        self._clock = clock or SystemClock()
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._own: ConnectionPool | None = None
        if isinstance(dialer, ConnectionPool):
            self.connections = dialer
        else:
            self.connections = self._own = ConnectionPool(
                dialer, self._clock, idle_per_broker=idle_per_broker
            )
        self._order = BrokerOrder(bootstrap, shuffle, self.connections.failed_last)
        self._stop = StopFlag()
        self._last_view = NOTHING_KNOWN
        self.release: Release | None = None
        self.no_zookeeper: bool | None = None
        self._repeats = Repeats(log, self._clock)
        self._leaders = LeaderRequests(
            self.connections,
            view_of=self._view_within,
            request_timeout_ms=request_timeout_ms,
            clock=self._clock,
        )

    def view(
        self,
        topics: Collection[str] | None,
        *,
        timeout_ms: int,
        allow_auto_create: bool = False,
    ) -> ClusterView:
        """Return the leaders of these topics.

        Args:
            topics: the topics; None: all. Those that don't exist are in ``errors``.
            timeout_ms: the limit of all tries together.
            allow_auto_create: let the broker create missing topics, if it is configured so. From
                brokers that would create them anyway (before 0.11), all topics are requested.

        Raises:
            TransportError: no broker responded in time, with the reasons; or ``stop`` was called.
            AuthenticationFailed: a broker refused our credentials, or we refused the broker's.
            UnsupportedVersion, ProtocolError, BrokerError: no broker's response can be used.
        """
        deadline = self._deadline(timeout_ms)
        return self._view(topics, deadline, allow_auto_create=allow_auto_create)

    def view_by(self, brokers: Sequence[Broker], topics: Collection[str]) -> ClusterView:
        """Return the leaders of these topics from one of these brokers; one round, no pauses.

        Brokers create missing topics, if they are configured so.

        Args:
            brokers: the brokers to try, in any order: those registered in ZooKeeper now.
            topics: must not be empty, which means all topics to a broker of 0.8.

        Raises:
            LocalProtocolError: there are no topics.
            BrokerError: the broker refused the whole request because of one illegal topic name.
            ZkConsumerError: as ``view``.
        """
        if not topics:
            raise LocalProtocolError("a request for leaders has to name topics (field topics)")
        if not brokers:
            raise ConnectFailed(
                "no broker is registered, so there is none to request metadata from"
            )
        # So the last broker, on its second try, has as much time as the first one.
        silences_ms = 2 * len(brokers) * first_dial_ms(self._request_timeout_ms)
        reported = self._request_round(
            _metadata_request(topics, creating=True),
            self._deadline(self._request_timeout_ms + silences_ms),
            {},
            self._order.round_of(brokers),
        )
        self._know(reported)
        return reported.view

    def description(self, *, timeout_ms: int) -> Described:
        """Return all brokers, topics and replicas, as one broker describes them; create nothing.

        Args:
            timeout_ms: the limit of all tries together.

        Raises:
            ZkConsumerError: as ``view``.
        """
        return self._describe(None, self._deadline(timeout_ms), allow_auto_create=False)

    def list_offsets(
        self,
        times: Mapping[TopicPartition, int],
        *,
        timeout_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Mapping[TopicPartition, TimedOffset | int]:
        """Return the first offset of each partition not older than a time, or an end of the log.

        Args:
            times: ms since the epoch, ``EARLIEST`` or ``LATEST``.
            timeout_ms: the limit of all tries together.
            isolation: with ``READ_COMMITTED``, ``LATEST`` is the last stable offset.

        Returns:
            A result for every partition. A number is an error code: a final one, or the last
            retriable one (``ErrorCode.of(code).retriable``) when the time was up.

        Raises:
            UnsupportedVersion: a leader is older than 0.10.1, and a real time was requested.
            ZkConsumerError: as ``view``.
        """
        kind: LeaderRequest[int, TimedOffset] = LeaderRequest(
            request=lambda part, view: times_request(part, view.named_epochs, isolation),
            read=read_times,
            at_least=least_version,
        )
        return self._leaders.request(kind, times, self._deadline(timeout_ms))

    def segment_starts(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, max_offsets: int = 1
    ) -> Mapping[TopicPartition, tuple[int, ...] | int]:
        """Return the offsets at which log segments begin: all that brokers before 0.10.1 know.

        Args:
            times: ms since the epoch, ``EARLIEST`` or ``LATEST``.
            timeout_ms: the limit of all tries together.
            max_offsets: the maximum number of offsets per partition.

        Returns:
            For every partition the offsets, the largest first: starts of the segments last written
            by that time, and the end of the log, if it existed by then. A number is an error code,
            as in ``list_offsets``.

        Raises:
            UnsupportedVersion: a leader is of Kafka 4, which no longer supports this.
            ZkConsumerError: as ``view``.
        """
        kind: LeaderRequest[int, tuple[int, ...]] = LeaderRequest(
            request=lambda part, _: times_request(part, max_offsets=max_offsets),
            read=read_segment_starts,
            at_most=0,
        )
        return self._leaders.request(kind, times, self._deadline(timeout_ms))

    def epoch_ends(
        self, requested: Mapping[TopicPartition, tuple[int, int]], *, timeout_ms: int
    ) -> Mapping[TopicPartition, EpochEnd | int | None]:
        """Return the end offsets of leader epochs.

        Args:
            requested: the leader epoch as we know it (-1: unknown), and the epoch whose end is
                wanted.
            timeout_ms: the limit of all tries together.

        Returns:
            For every partition its end; or an error code as in ``list_offsets``; or None: its
            leader (before 2.3) does not serve this to consumers.

        Raises:
            ZkConsumerError: as ``view``.
        """
        kind: LeaderRequest[tuple[int, int], EpochEnd | None] = LeaderRequest(
            request=lambda part, _: epochs_request(part),
            read=lambda response, _: read_epoch_ends(response),
            at_least=lambda _: FIRST_VERSION_FOR_CONSUMERS,
            may_lack=True,
        )
        return self._leaders.request(kind, requested, self._deadline(timeout_ms))

    def coordinator(self, group_id: str, *, timeout_ms: int) -> Broker | int:
        """Return the coordinator of a group in one try, from whichever broker responds first.

        Returns:
            The broker; or an error code (``COORDINATOR_NOT_AVAILABLE`` while the cluster creates
            the offsets topic).

        Raises:
            UnsupportedVersion: the brokers are older than 0.8.2.
            ZkConsumerError: as ``view``.
        """
        lookup = who_coordinates(group_id)
        return self._request_round(lookup, self._deadline(timeout_ms), {}).coordinator

    def coordinator_of_offsets(self, *, timeout_ms: int) -> Broker:
        """Return a broker that keeps groups' offsets in ZooKeeper: any broker of 0.8.1 to 3.x does.

        For brokers without coordinators. One try, as ``coordinator``; nothing is looked up.

        Raises:
            UnsupportedVersion: the brokers are of 0.8.0.
            ZkConsumerError: as ``view``.
        """
        from zkconsumer.wire.old_probes import NO_OFFSETS  # noqa: PLC0415 - few are that old

        def request(connection: NegotiatedConnection) -> "OffsetFetchRequest":
            connection.version_of(type(NO_OFFSETS))
            return NO_OFFSETS

        lookup = RoundRequest(
            what="a broker that stores offsets",
            request=request,
            read=lambda connection, _: connection.broker,
        )
        return self._request_round(lookup, self._deadline(timeout_ms), {})

    def stop(self) -> None:
        """Interrupt all calls, and fail later ones. Idempotent. Thread: any."""
        self._stop.set()
        if self._own is not None:
            self._own.stop()

    def why_unreachable(self, broker: Broker) -> str | None:
        """Return why a leader did not respond to the last request about offsets, or None."""
        return self._leaders.unreachable.get(broker)

    def _deadline(self, timeout_ms: int) -> CallDeadline:
        return CallDeadline(
            self._clock, self._stop, limit_ms=timeout_ms, backoff_ms=self._retry_backoff_ms
        )

    def _view_within(
        self, topics: frozenset[str], deadline: CallDeadline, *, new: bool
    ) -> ClusterView:
        """Return a view with these topics: the last one, unless it lacks some or ``new`` is set."""
        last = self._last_view
        if not new and topics <= last.partitions.keys():
            return last
        return self._view(topics, deadline, allow_auto_create=False)

    def _view(
        self, topics: Collection[str] | None, deadline: CallDeadline, *, allow_auto_create: bool
    ) -> ClusterView:
        return self._describe(topics, deadline, allow_auto_create=allow_auto_create).view

    def _describe(
        self, topics: Collection[str] | None, deadline: CallDeadline, *, allow_auto_create: bool
    ) -> Described:
        lookup = _metadata_request(topics, creating=allow_auto_create)
        reasons: dict[Broker, str] = {}
        while True:
            try:
                reported = self._request_round(lookup, deadline, reasons)
            except TransportError as error:
                if not deadline.pause():
                    raise
                # Logged at once: a wrong address would otherwise look like an empty topic.
                self._repeats.happened(_ABOUT, f"{error}; retrying")
            else:
                self._repeats.works(_ABOUT)
                self._know(reported)
                return reported

    def _know(self, reported: Described) -> None:
        self._last_view, self.release = reported.view, reported.versions.release
        self.no_zookeeper = reported.versions.no_zookeeper
        self._order.know(reported.view.brokers.values())

    def _request_round(
        self,
        lookup: RoundRequest[T],
        deadline: CallDeadline,
        reasons: dict[Broker, str],
        brokers: Sequence[Broker] | None = None,
    ) -> T:
        """Try brokers one by one, until one responds; add to ``reasons`` why others failed."""
        request_round = RequestRound(
            lookup,
            pool=self.connections,
            brokers=self._order.next_round() if brokers is None else brokers,
            deadline=deadline,
            request_timeout_ms=self._request_timeout_ms,
            clock=self._clock,
            reasons=reasons,
        )
        return request_round.request()


def _metadata_request(topics: Collection[str] | None, *, creating: bool) -> RoundRequest[Described]:
    """Build the request for leaders."""

    def can_spare(connection: NegotiatedConnection) -> bool:
        return connection.version_of(MetadataRequest) >= _FIRST_NOT_TO_CREATE

    def is_by_name(connection: NegotiatedConnection) -> bool:
        version = connection.version_of(MetadataRequest)
        return (
            topics is not None and (creating or can_spare(connection)) and bool(topics or version)
        )

    def request(connection: NegotiatedConnection) -> MetadataRequest:
        version = connection.version_of(MetadataRequest)
        by_name = topics is not None and is_by_name(connection)
        names = tuple(sorted(topics or ())) if by_name else all_topics(version)
        may_create = creating if can_spare(connection) else True
        return MetadataRequest(topics=names, allow_auto_topic_creation=may_create)

    def read(connection: NegotiatedConnection, response: MetadataResponse) -> Described:
        codes = {topic.error_code for topic in response.topics}
        if codes == {ErrorCode.INVALID_TOPIC} and not response.brokers:
            # In 0.8 one such name keeps the broker from describing the others.
            raise BrokerError(
                ErrorCode.INVALID_TOPIC,
                "Metadata",
                f"{connection.broker}: one of these topic names is illegal: {_some(topics or ())}",
            )
        if not response.brokers and connection.versions.generation is None:
            # It has just started. (A broker of 0.8 may just have no topics: don't wait for any.)
            raise ConnectFailed(f"{connection.broker}: knows of no brokers yet")
        view = from_metadata(response, version=connection.version_of(MetadataRequest))
        if topics is not None and not is_by_name(connection):
            view = limited_to(view, topics)
        return Described(response, view, connection.versions)

    what = "all topics" if topics is None else f"topics {_some(topics)}"
    if topics is not None and not topics:
        what = "the list of brokers"
    return RoundRequest(what=what, request=request, read=read)


def _some(topics: Collection[str]) -> str:
    names = sorted(topics)
    shown = ", ".join(names[:10])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 10 else shown
