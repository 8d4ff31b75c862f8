"""Sends requests to the leaders of many partitions in parallel, until each has its result."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from zkconsumer.clock import Clock
from zkconsumer.cluster.call_deadline import CallDeadline
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    ConnectionLost,
    TransportError,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.hedging import HedgePace, Sent, TimeLimits, first_response
from zkconsumer.net.in_flight import InFlight
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.api import Request

Q = TypeVar("Q")
A = TypeVar("A")


class ViewOf(Protocol):
    """Returns a view with the leaders."""

    def __call__(self, topics: frozenset[str], deadline: CallDeadline, *, new: bool) -> ClusterView:
        """Return a view with these topics; ``new``: request it now."""
        ...


class LeaderRequest(NamedTuple, Generic[Q, A]):
    """One kind of request to leaders.

    Attributes:
        request: builds the request for a leader's partitions.
        read: reads the results from a response of a version.
        at_least: returns the first usable version.
        at_most: the last version with the same meaning.
        may_lack: whether None is the result if a broker has no such version.
    """

    request: Callable[[Mapping[TopicPartition, Q], ClusterView], Request[Any]]
    read: Callable[[Any, int], Mapping[TopicPartition, A | int]]
    at_least: Callable[[Mapping[TopicPartition, Q]], int] = lambda _: 0
    at_most: int | None = None
    may_lack: bool = False


class _Sent(NamedTuple, Generic[Q]):
    """A request in flight; ``was_idle``: on a connection that the broker may have closed."""

    connection: NegotiatedConnection
    in_flight: InFlight[Any]
    part: Mapping[TopicPartition, Q]
    was_idle: bool


class LeaderRequests:
    """Sends requests to partition leaders. Thread: any.

    Args:
        pool: the source of connections.
        view_of: returns a view with the leaders.
        request_timeout_ms: how long one broker may take.
        clock: for deadlines.

    Attributes:
        unreachable: the leaders that did not respond to their last request, and why.
    """

    def __init__(
        self, pool: ConnectionPool, *, view_of: ViewOf, request_timeout_ms: int, clock: Clock
    ) -> None:
        self._pool = pool
        self._view_of = view_of
        self._request_timeout_ms = request_timeout_ms
        self._quiet_ms = HedgePace(request_timeout_ms).hedge_delay_ms
        self._clock = clock
        self.unreachable: dict[Broker, str] = {}

    def request(
        self,
        kind: LeaderRequest[Q, A],
        requested: Mapping[TopicPartition, Q],
        deadline: CallDeadline,
    ) -> dict[TopicPartition, A | int]:
        """Return a result for every partition; after the time-out, the last error."""
        done: dict[TopicPartition, A | int] = {}
        waiting = dict(requested)
        last: dict[TopicPartition, int] = {}
        new = False
        while waiting:
            topics = frozenset(tp.topic for tp in waiting)
            try:
                view = self._view_of(topics, deadline, new=new)
            except TransportError:
                if not new:
                    raise
                # The time is up: keep the results received so far.
                break
            for tp, response in self._round(kind, waiting, view, deadline).items():
                if isinstance(response, int) and ErrorCode.of(response).retriable:
                    # A time-out is less informative than the error before it.
                    if deadline.left_ms > 0 or tp not in last:
                        last[tp] = response
                else:
                    done[tp] = response
                    del waiting[tp]
            new = True
            if waiting and not deadline.pause():
                break
        return done | {tp: last[tp] for tp in waiting}

    def _round(
        self,
        kind: LeaderRequest[Q, A],
        waiting: Mapping[TopicPartition, Q],
        view: ClusterView,
        deadline: CallDeadline,
    ) -> dict[TopicPartition, A | int]:
        """Send a request to every leader, then wait for all responses."""
        responses: dict[TopicPartition, A | int] = {}
        by_leader: dict[Broker, dict[TopicPartition, Q]] = {}
        for tp, request in waiting.items():
            leader = view.leaders.get(tp)
            if leader is None:
                responses[tp] = _why_leaderless(view, tp)
            else:
                by_leader.setdefault(leader, {})[tp] = request
        taken: list[NegotiatedConnection] = []
        sent: list[_Sent[Q]] = []
        try:
            # Leaders that failed before may block: send to the others first.
            for leader in sorted(by_leader, key=self._pool.failed_last):
                part = by_leader[leader]
                try:
                    connection, in_flight, was_idle = self._begin(
                        kind.request(part, view),
                        leader,
                        self._limit_ms(deadline),
                        taken,
                        at_least=kind.at_least(part),
                        at_most=kind.at_most,
                    )
                    sent.append(_Sent(connection, in_flight, part, was_idle))
                except TransportError as error:
                    responses.update(self._failed(leader, part, error))
                except UnsupportedVersion:
                    if not kind.may_lack:
                        raise
                    responses.update(dict.fromkeys(part, cast("A", None)))
            for sent_round in sent:
                reported = self._on_response(kind, sent_round, deadline, taken)
                responses.update(reported)
        finally:
            # Connections with a response last, so that another one, which was closed, does not
            # mark the broker as failed.
            for connection in sorted(taken, key=lambda connection: connection.is_idle):
                self._pool.give_back(connection)
        return responses

    def _begin(
        self,
        request: Request[Any],
        leader: Broker,
        limit_ms: int,
        taken: list[NegotiatedConnection],
        *,
        at_least: int,
        at_most: int | None,
    ) -> tuple[NegotiatedConnection, InFlight[Any], bool]:
        """Send a request; return also whether its connection was idle."""
        while True:
            connection, was_idle = self._pool.take_or_dial(leader, timeout_ms=limit_ms)
            taken.append(connection)
            try:
                in_flight = connection.begin(
                    request, timeout_ms=limit_ms, at_least=at_least, at_most=at_most
                )
            except ConnectionLost:
                # Brokers close idle connections: that does not mean that this broker is down.
                if not was_idle:
                    raise
            else:
                return connection, in_flight, was_idle

    def _failed(
        self, leader: Broker, part: Mapping[TopicPartition, Q], error: TransportError
    ) -> dict[TopicPartition, int]:
        self.unreachable[leader] = str(error)
        return dict.fromkeys(part, int(ErrorCode.NETWORK_EXCEPTION))

    def _on_response(
        self,
        kind: LeaderRequest[Q, A],
        sent: _Sent[Q],
        deadline: CallDeadline,
        taken: list[NegotiatedConnection],
    ) -> Mapping[TopicPartition, A | int]:
        """Wait for a response; if the leader is silent, send the request once more."""
        in_flight, leader, quiet_ms = sent.in_flight, sent.connection.broker, self._quiet_ms
        is_alone, was_idle = True, sent.was_idle

        def hedge(failure: ZkConsumerError | None) -> Sent[Any] | None:
            nonlocal is_alone, was_idle
            # A connection closed while idle does not count as a failure.
            if not (isinstance(failure, ConnectionLost) and was_idle):
                if failure is not None or not is_alone:
                    return None
                is_alone = False
            limit_ms = min(quiet_ms, self._limit_ms(deadline))
            version = in_flight.version
            second, again, was_idle = self._begin(
                in_flight.request, leader, limit_ms, taken, at_least=version, at_most=version
            )
            return Sent(second, again)

        try:
            responder: Sent[Any] = first_response(
                Sent(sent.connection, in_flight),
                hedge,
                limits=TimeLimits(quiet_ms, self._limit_ms(deadline)),
                clock=self._clock,
                whom=leader,
            )
            response = responder.response()
        except TransportError as error:
            return self._failed(leader, sent.part, error)
        self.unreachable.pop(leader, None)
        reported = kind.read(response, sent.in_flight.version)
        unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return {tp: reported.get(tp, unknown) for tp in sent.part}

    def _limit_ms(self, deadline: CallDeadline) -> int:
        return min(self._request_timeout_ms, max(1, deadline.left_ms))


def _why_leaderless(view: ClusterView, tp: TopicPartition) -> int:
    """Return the error code for a partition without a leader."""
    code = view.errors.get(tp.topic, ErrorCode.NONE) or view.leaderless.get(tp)
    if code is None:
        return int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return code or int(ErrorCode.LEADER_NOT_AVAILABLE)
