"""Finds the broker that keeps a group's offsets, and keeps one channel to it.

Every call is bounded in time as a whole, and other threads can break it off: in a pause, in a
connect, in a wait for an answer. (Not in the system's resolution of a broker's host name, which
nothing can break off.)

Source: Kafka 0.8.2.2 ``ClientUtils.channelToOffsetManager``, where all of this may last for ever.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    ConnectionLost,
    RemoteProtocolError,
    TransportError,
    UnsupportedVersion,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.offsets import coordinator_state as st
from zkconsumer.offsets.asking import Asking
from zkconsumer.offsets.dialer import BrokerAccess, ConnectorDialer, Dialer, tcp_dialer
from zkconsumer.scope import Mailbox
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.consumer_metadata import ConsumerMetadataRequest
from zkconsumer.wire.versions import BrokerGeneration, version_for

__all__ = [
    "Asking",
    "BrokerAccess",
    "ChannelSettings",
    "ConnectorDialer",
    "CoordinatorChannel",
    "Dialer",
    "tcp_dialer",
]

log = logging.getLogger(__name__)

_LOOK_UP_VERSION = version_for(ApiKey.CONSUMER_METADATA, BrokerGeneration.V0_8_2)
_SHOWN_FAILURES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """How patient a channel is.

    Attributes:
        timeout_ms: ``offsets.channel.socket.timeout.ms``: for one connect, or one answer.
        backoff_ms: ``offsets.channel.backoff.ms``: between two tries.
        limit_ms: for a whole call, all look-ups and tries included.
    """

    timeout_ms: int = 10_000
    backoff_ms: int = 1_000
    limit_ms: int = 30_000


class Exchange(Protocol):
    """What a call does with the channel: asks, takes the answer, and judges it."""

    def __call__(self, ask: Asking, /) -> st.Verdict:
        """Ask. May be called again, with another channel."""
        ...


class _Running:
    """A call under way, and what to break off to end it."""

    def __init__(self, dialer: Dialer, deadline_ms: int, *, fetching: bool) -> None:
        self.dialer = dialer
        self.deadline_ms = deadline_ms
        self.fetching = fetching
        self.connections: list[BrokerConnection] = []
        self.wake: Mailbox[None] = Mailbox()
        self.interrupted = False

    def interrupt(self) -> None:
        self.interrupted = True
        self.dialer.stop()
        for connection in list(self.connections):
            connection.close()
        self.wake.put(None)


class CoordinatorChannel:
    """A group's way to its offset coordinator. Thread: one at a time, but for the last three.

    Args:
        group_id: the group.
        access: the ways to the brokers.
        settings: how patient to be.
        clock: for deadlines.
    """

    def __init__(
        self,
        group_id: str,
        access: BrokerAccess,
        settings: ChannelSettings,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.group_id = group_id
        self._access = access
        self._settings = settings
        self._clock = clock or SystemClock()
        self._channel: BrokerConnection | None = None
        # Reentrant: a signal handler may shut down in the middle of a call.
        self._lock = threading.RLock()
        self._running: _Running | None = None
        self._fetches_no_more = False
        # Told where the time is over before anybody was asked again.
        self._last_reason = "nobody was asked in time"
        self._closed = False

    def call(self, exchange: Exchange, *, tries: int | None, fetching: bool = False) -> None:
        """Let ``exchange`` ask the coordinator, until its verdict is ``DONE`` or patience is over.

        When it returns, the last verdict stands, whatever it was.

        Args:
            exchange: asks and judges.
            tries: how many failures end it; None: as many as fit into the time.
            fetching: whether it is a call that ``stop_fetching`` ends.

        Raises:
            TransportError: no coordinator was found, or it did not answer; or another thread
                broke the call off.
            UnsupportedVersion: the brokers are older than 0.8.2.
            RegistryError: the brokers could not be listed.
            LocalProtocolError: the request can't be sent.
        """
        running = self._begin(fetching=fetching)
        try:
            self._run(running, exchange, tries)
        finally:
            with self._lock:
                self._running = None
                if self._closed:
                    self._drop()

    def interrupt(self) -> None:
        """Break off the call that is under way, if any. Thread: any."""
        with self._lock:
            running = self._running
        if running is not None:
            running.interrupt()

    def stop_fetching(self) -> None:
        """Break off a fetch that is under way, and let no other begin. Thread: any.

        For a member that leaves: it needs no offsets any more, but still has some to commit.
        """
        with self._lock:
            self._fetches_no_more = True
            running = self._running
        if running is not None and running.fetching:
            running.interrupt()

    def close(self) -> None:
        """Break off everything for good. Idempotent. Thread: any."""
        with self._lock:
            self._closed = True
            running = self._running
            if running is None:
                self._drop()
        if running is not None:
            running.interrupt()

    def _begin(self, *, fetching: bool) -> _Running:
        with self._lock:
            if self._closed or (fetching and self._fetches_no_more):
                raise ConnectionLost(f"group {self.group_id}: the offset channel is closed")
            deadline_ms = self._clock.now_ms() + self._settings.limit_ms
            self._running = _Running(self._access.new_dialer(), deadline_ms, fetching=fetching)
            if self._channel is not None:
                self._running.connections.append(self._channel)
            return self._running

    def _run(self, running: _Running, exchange: Exchange, tries: int | None) -> None:
        call = st.CoordinatorCall(
            has_channel=self._channel is not None,
            tries=tries,
            backoff_ms=self._settings.backoff_ms,
            deadline_ms=running.deadline_ms,
        )
        action = call.begin()
        while True:
            match action:
                case st.Finish():
                    return
                case st.GiveUp():
                    raise self._given_up(action)
                case st.LookUp():
                    event: st.Event = self._look_up(running)
                case st.Ask():
                    event = self._ask(running, exchange)
                case st.Pause(delay_ms):
                    running.wake.get(delay_ms)
                    event = st.Paused()
                case _:
                    assert_never(action)
            done = event == st.Answered(st.Verdict.DONE)
            if running.interrupted and not done:
                self._drop()
                raise ConnectionLost(f"group {self.group_id}: the offset call was broken off")
            action = call.receive(event, self._clock.now_ms())

    # --- asking -----------------------------------------------------------------------------------

    def _ask(self, running: _Running, exchange: Exchange) -> st.Event:
        channel = self._channel
        assert channel is not None
        verdict = st.Verdict.LOOK_UP
        asking = self._asking(running, channel)
        try:
            verdict = exchange(asking)
        except (TransportError, RemoteProtocolError) as error:
            return st.Broke(_told(channel.broker, error), isinstance(error, ConnectionLost))
        finally:
            self._channel = asking.connection
            if verdict is st.Verdict.LOOK_UP:
                self._drop()
        return st.Answered(verdict)

    def _asking(self, running: _Running, connection: BrokerConnection) -> Asking:
        broker = connection.broker
        return Asking(
            connection,
            self._timeout_ms(running),
            lambda timeout_ms: self._open(running, broker, at_most_ms=timeout_ms),
            self._clock,
        )

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    # --- looking for the coordinator --------------------------------------------------------------

    def _look_up(self, running: _Running) -> st.Found | st.NotFound:
        """One round: the brokers in random order, until one of them answers."""
        brokers = list(self._access.list_brokers())
        if not brokers:
            return st.NotFound("no broker is registered")
        self._access.shuffle(brokers)
        failures: list[str] = []
        hung_up = 0
        for broker in brokers:
            if running.interrupted or self._clock.now_ms() >= running.deadline_ms:
                break
            connection: BrokerConnection | None = None
            try:
                connection = self._open(running, broker)
                return self._question(running, connection)
            except (TransportError, RemoteProtocolError) as error:
                failures.append(_told(broker, error))
                hung_up += connection is not None and isinstance(error, ConnectionLost)
        if not failures:
            return st.NotFound(self._last_reason)
        reason = self._last_reason = f"asked {_some(failures)}"
        return st.NotFound(reason, all_hung_up=hung_up == len(brokers))

    def _question(self, running: _Running, connection: BrokerConnection) -> st.Found | st.NotFound:
        """Ask one broker, and connect to the coordinator that it names."""
        request = ConsumerMetadataRequest(group_id=self.group_id)
        keep = False
        asking = self._asking(running, connection)
        try:
            answer = asking.request_hedged(request, version=_LOOK_UP_VERSION)
            connection = asking.connection
            found = Broker(answer.coordinator_id, answer.host, answer.port)
            asked = connection.broker
            keep = not answer.error_code and (found.host, found.port) == (asked.host, asked.port)
        finally:
            if not keep:
                connection.close()
        if answer.error_code:
            text = ErrorCode.of(answer.error_code).text
            self._last_reason = f"{asked} says {error_name(answer.error_code)}: {text}"
            return st.NotFound(self._last_reason)
        if not keep:
            try:
                connection = self._open(running, found)
            except TransportError as error:
                return st.NotFound(f"{asked} names a coordinator: {_told(found, error)}")
        log.debug("group %s: offsets are with %s", self.group_id, found)
        self._channel = connection
        return st.Found()

    def _open(
        self, running: _Running, broker: Broker, *, at_most_ms: int | None = None
    ) -> BrokerConnection:
        limit_ms = self._timeout_ms(running)
        limit_ms = limit_ms if at_most_ms is None else min(limit_ms, at_most_ms)
        connection = running.dialer.open(broker, timeout_ms=limit_ms)
        running.connections.append(connection)
        if running.interrupted:
            # Opened while the other thread looked for something to close.
            connection.close()
        return connection

    def _timeout_ms(self, running: _Running) -> int:
        left_ms = running.deadline_ms - self._clock.now_ms()
        return max(1, min(self._settings.timeout_ms, left_ms))

    def _given_up(self, end: st.GiveUp) -> TransportError | UnsupportedVersion:
        where = f"group {self.group_id}: no offset coordinator answers: {end.reason}"
        if end.too_old:
            return UnsupportedVersion(
                f"{where}: brokers of Kafka 0.8.0 and 0.8.1 close the connection at this question: "
                "offsets in Kafka need 0.8.2; set offsets.storage=zookeeper"
            )
        return TransportError(
            f"{where}: check that these brokers run, and that topic __consumer_offsets has "
            "leaders (offsets.topic.replication.factor must not be above the number of brokers)"
        )


def _told(broker: Broker, error: Exception) -> str:
    text = str(error)
    return text if str(broker) in text else f"{broker}: {text}"


def _some(failures: Sequence[str]) -> str:
    shown = "; ".join(failures[:_SHOWN_FAILURES])
    more = len(failures) - _SHOWN_FAILURES
    return f"{shown}; and {more} more" if more > 0 else shown or "nobody"
