"""Finds the broker that keeps a group's offsets, and keeps one connection to it.

Every call is bounded in time as a whole, and other threads can interrupt it while it pauses,
connects, or waits for a response; but not while the system resolves a broker's host name, which
can't be interrupted.

Source: Kafka 0.8.2.2 ``ClientUtils.channelToOffsetManager``, which may never return.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.cluster.request_round import RequestRound, RoundRequest, who_coordinates
from zkconsumer.error_codes import explained
from zkconsumer.errors import (
    BrokerError,
    ConnectFailed,
    ConnectionLost,
    ProtocolError,
    RemoteProtocolError,
    TransportError,
    UnsupportedVersion,
)
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.security import SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.offsets import coordinator_state as st
from zkconsumer.wire.api import Request
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.versions import BrokerGeneration

log = logging.getLogger(__name__)

R = TypeVar("R")
T = TypeVar("T")

_SHOWN_FAILURES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """The time limits of a channel.

    Attributes:
        timeout_ms: ``offsets.channel.socket.timeout.ms``: the limit of one connect or response.
        backoff_ms: ``offsets.channel.backoff.ms``: the pause between two tries.
        limit_ms: the limit of a whole call, with all lookups and tries.
    """

    timeout_ms: int = 10_000
    backoff_ms: int = 1_000
    limit_ms: int = 30_000


def offset_dialer(
    client_id: str,
    timeout_ms: int,
    security: SecuritySettings,
    connector: Connector | None = None,
) -> BrokerDialer:
    """Create a dialer to brokers of 0.8.2 to 3.9.

    All of them support what 0.8.2 does, so versions are requested only if SASL needs them.

    Args:
        client_id: sent with every request.
        timeout_ms: the limit of one connect, and of each response of its handshake.
        security: TLS and SASL.
        connector: creates the transports; None: TCP.
    """
    return BrokerDialer(
        connector or TcpConnector(),
        client_id=client_id,
        security=security,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        assumed=of_generation(BrokerGeneration.V0_8_2),
    )


class _CallInProgress:
    """A call in progress, and how to interrupt it."""

    def __init__(
        self, pool: ConnectionPool, settings: ChannelSettings, clock: Clock, *, fetching: bool
    ) -> None:
        self.pool = pool
        self.fetching = fetching
        self.stop = StopFlag()
        self.deadline = CallDeadline(clock, self.stop, limit_ms=settings.limit_ms, backoff_ms=0)
        self._settings = settings
        self._clock = clock

    @property
    def timeout_ms(self) -> int:
        """The time limit of the next step."""
        return max(1, min(self._settings.timeout_ms, self.deadline.left_ms))

    def round(
        self, request: RoundRequest[T], brokers: Sequence[Broker], reasons: dict[Broker, str]
    ) -> RequestRound[T]:
        """Create a round of requests to some brokers."""
        return RequestRound(
            request,
            pool=self.pool,
            brokers=brokers,
            deadline=self.deadline,
            request_timeout_ms=self.timeout_ms,
            clock=self._clock,
            reasons=reasons,
        )

    def interrupt(self) -> None:
        self.stop.set()
        self.pool.stop()


class CoordinatorAttempt:
    """One attempt of a call, with its coordinator."""

    def __init__(self, broker: Broker, running: _CallInProgress) -> None:
        self.broker = broker
        self._running = running

    def request(self, request: Request[R], *, at_least: int = 0) -> R:
        """Send a request once, such as a commit; see ``NegotiatedConnection.call``."""

        def call(connection: NegotiatedConnection) -> R:
            # Computed here: it is the time left after connecting.
            timeout_ms = self._running.timeout_ms
            return connection.call(request, timeout_ms=timeout_ms, at_least=at_least)

        return self._over(call)

    def request_hedged(self, request: Callable[[NegotiatedConnection], Request[R]]) -> R:
        """Send a read-only request; if the broker is silent, again over another connection.

        Raises:
            ZkConsumerError: as ``request``.
        """
        read_request: RoundRequest[R] = RoundRequest(
            what="offsets", request=request, read=lambda _, response: response
        )
        attempt = self._running.round(read_request, [self.broker], {})
        try:
            return attempt.request()
        except (TransportError, ProtocolError) as error:
            raise attempt.failures.get(self.broker, error) from None

    def versions(self) -> BrokerVersions:
        """Return the versions that the coordinator serves."""
        return self._over(lambda connection: connection.versions)

    def _over(self, request: Callable[[NegotiatedConnection], T]) -> T:
        pool = self._running.pool
        connection, _ = pool.take_or_dial(self.broker, timeout_ms=self._running.timeout_ms)
        try:
            return request(connection)
        finally:
            pool.give_back(connection)


Exchange: TypeAlias = Callable[[CoordinatorAttempt], st.ResponseOutcome]
"""Sends the requests of a call, and judges their responses; may be called again, also with another
coordinator."""


class CoordinatorChannel:
    """A connection to a group's offset coordinator.

    Thread: one at a time; ``interrupt``, ``stop_fetching`` and ``close``: any.

    Args:
        list_brokers: returns the registered brokers; may raise ``RegistryError``.
        dialer: connects to them; its creator stops it.
        shuffle: puts the brokers into random order, so that members don't all use the same one.
    """

    def __init__(
        self,
        group_id: str,
        settings: ChannelSettings,
        *,
        list_brokers: Callable[[], Sequence[Broker]],
        dialer: BrokerDialer,
        shuffle: Callable[[list[Broker]], None] = random.shuffle,
        clock: Clock | None = None,
    ) -> None:
        self.group_id = group_id
        self._list_brokers = list_brokers
        self._dialer = dialer
        self._shuffle = shuffle
        self._settings = settings
        self._clock = clock or SystemClock()
        self._pool: ConnectionPool | None = None
        self._coordinator: Broker | None = None
        # Reentrant: a signal handler may shut down in the middle of a call.
        self._lock = threading.RLock()
        self._running: _CallInProgress | None = None
        self._fetching_stopped = False
        self._closed = False

    def call(self, exchange: Exchange, *, tries: int | None, fetching: bool = False) -> None:
        """Run ``exchange`` with the coordinator, until its outcome is ``DONE``.

        If the tries or the time run out first, the call returns if the last try got a response,
        whatever its outcome, and raises otherwise.

        Args:
            exchange: sends the requests and judges the responses.
            tries: the limit of failed tries; None: as many as fit into the time.
            fetching: whether ``stop_fetching`` interrupts the call.

        Raises:
            TransportError: no coordinator was found, or it did not respond; or another thread
                interrupted the call.
            UnsupportedVersion: the brokers are older than 0.8.2.
            AuthenticationFailed: a broker refused our credentials, or we refused the broker's.
            BrokerError: a lookup failed for good: not authorised for the group, or an invalid id.
            RegistryError: the brokers could not be listed.
            LocalProtocolError: the request can't be sent.
        """
        running = self._begin(fetching=fetching)
        try:
            self._run(running, exchange, tries)
        finally:
            with self._lock:
                self._running = None

    def interrupt(self) -> None:
        """Interrupt the call in progress, if any. Thread: any."""
        with self._lock:
            running = self._running
        if running is not None:
            running.interrupt()

    def stop_fetching(self) -> None:
        """Interrupt a fetch of offsets in progress, and refuse later ones. Thread: any.

        For a member that leaves, which needs no more offsets but may still commit.
        """
        with self._lock:
            self._fetching_stopped = True
            running = self._running
        if running is not None and running.fetching:
            running.interrupt()

    def close(self) -> None:
        """Interrupt the call in progress, and refuse later ones. Idempotent. Thread: any."""
        with self._lock:
            self._closed = True
            pool = self._pool
        self.interrupt()
        if pool is not None:
            pool.stop()

    def _begin(self, *, fetching: bool) -> _CallInProgress:
        with self._lock:
            if self._closed or (fetching and self._fetching_stopped):
                raise ConnectionLost(f"group {self.group_id}: the offset channel is closed")
            if self._pool is None or self._pool.stopped:
                pool = ConnectionPool(self._dialer, self._clock)
                self._pool, self._coordinator = pool, None
            self._running = _CallInProgress(
                self._pool, self._settings, self._clock, fetching=fetching
            )
            return self._running

    def _run(self, running: _CallInProgress, exchange: Exchange, tries: int | None) -> None:
        call = st.CoordinatorCall(
            inherited=self._coordinator is not None,
            tries=tries,
            backoff_ms=self._settings.backoff_ms,
            deadline_ms=self._clock.now_ms() + running.deadline.left_ms,
        )
        action: st.Pause | st.End | None = None
        while action is None:
            result = self._try(running, exchange)
            action = call.after(result, self._clock.now_ms())
            if isinstance(action, st.Pause):
                running.stop.wait(action.delay_ms)
                action = call.after_pause(self._clock.now_ms())
            if running.stop.is_set and result.outcome is not st.ResponseOutcome.DONE:
                raise ConnectionLost(f"group {self.group_id}: the offset request was interrupted")
        if isinstance(action, st.RequestFailed):
            raise self._given_up(action)

    def _try(self, running: _CallInProgress, exchange: Exchange) -> st.AttemptResult:
        known, self._coordinator = self._coordinator, None
        try:
            found = known or self._look_up(running)
            if isinstance(found, st.AttemptResult):
                return found
            try:
                outcome = exchange(CoordinatorAttempt(found, running))
            except (TransportError, RemoteProtocolError) as error:
                closed = isinstance(error, ConnectionLost | ConnectFailed)
                return st.AttemptResult(reason=_described(found, error), closed=closed)
            if outcome is not st.ResponseOutcome.LOOK_UP:
                self._coordinator = found
            return st.AttemptResult(outcome=outcome)
        finally:
            running.pool.keep(self._coordinator)

    def _look_up(self, running: _CallInProgress) -> Broker | st.AttemptResult:
        """Look up the coordinator: request it from brokers in random order until one responds."""
        try:
            brokers = list(self._list_brokers())
        except TransportError as error:
            return st.AttemptResult(reason=str(error))
        if not brokers:
            return st.AttemptResult(reason="no broker is registered")
        self._shuffle(brokers)
        reasons: dict[Broker, str] = {}
        lookup = running.round(who_coordinates(self.group_id), brokers, reasons)
        try:
            reported = lookup.request()
        except (TransportError, RemoteProtocolError):
            failures = lookup.failures.values()
            hung_up = sum(isinstance(failure, ConnectionLost) for failure in failures)
            reason = _summary(sorted(reasons.values()))
            return st.AttemptResult(reason=reason, all_hung_up=hung_up == len(brokers))
        if isinstance(reported.coordinator, Broker):
            log.debug("group %s: offsets are with %s", self.group_id, reported.coordinator)
            # The broker as it was listed, so that the connection of this lookup is reused.
            return next(
                (broker for broker in brokers if _is_at(broker, reported.coordinator)),
                reported.coordinator,
            )
        reason = f"{reported.by} reports {explained(reported.coordinator)}"
        if reported.coordinator in st.FINAL_AT_LOOK_UP:
            about = f"group {self.group_id}: {reason}"
            raise BrokerError(reported.coordinator, "FindCoordinator", about)
        return st.AttemptResult(reason=reason)

    def _given_up(self, end: st.RequestFailed) -> TransportError | UnsupportedVersion:
        where = f"group {self.group_id}: no offset coordinator responds: {end.reason}"
        if end.too_old:
            return UnsupportedVersion(
                f"{where}: brokers of Kafka 0.8.0 and 0.8.1 close the connection on this request: "
                "offsets in Kafka need 0.8.2; set offsets.storage=zookeeper"
            )
        return TransportError(
            f"{where}: check that these brokers run, and that topic __consumer_offsets has "
            "leaders (offsets.topic.replication.factor must not be above the number of brokers)"
        )


def _is_at(listed: Broker, named: Broker) -> bool:
    # Ids differ for bootstrap addresses, and FindCoordinator returns no racks.
    return (listed.host, listed.port) == (named.host, named.port)


def _described(broker: Broker, error: Exception) -> str:
    # Unlike `request_round.named` it names the coordinator's id, not only its address.
    text = str(error)
    return text if str(broker) in text else f"{broker}: {text}"


def _summary(failures: Sequence[str]) -> str:
    shown = "; ".join(failures[:_SHOWN_FAILURES])
    more = len(failures) - _SHOWN_FAILURES
    return f"{shown}; and {more} more" if more > 0 else shown or "no broker was tried"
