"""Finds the API versions that a broker serves, by sending probes (see ``wire.negotiation``).

A broker from 0.10 on reports them on the connection that is then used. A Heartbeat follows the
ApiVersions request (it identifies a 0.9), and its response is awaited, too: a port that requires
SASL responds to ApiVersions like any other, and closes the connection on every other request.

A probe without a response is sent again over a second connection (docs/decisions/0043).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple

from zkconsumer.clock import Clock
from zkconsumer.errors import (
    AuthenticationFailed,
    BrokerError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.hedging import HedgePace, TimeLimits, first_response
from zkconsumer.net.in_flight import Received
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import encode_request
from zkconsumer.wire.negotiation import (
    BrokerVersions,
    after_close,
    after_frame,
    request_bytes,
)
from zkconsumer.wire.probes import FIRST_PROBE, HEARTBEAT, SECOND_PROBE, Probe


class ClosedBeforeSasl(ConnectFailed):
    """A SASL port closed the connection on ApiVersions, before authentication."""


_ANOTHER_HEARTBEAT = encode_request(HEARTBEAT, version=0, correlation_id=3, client_id="")


class NegotiatedVersions(NamedTuple):
    """The result of a version search.

    Attributes:
        versions: the versions that the broker serves.
        fact: the versions, or the probe that found them: spares later connections the search.
        connection: the connection on which they were found; None if it can't be used further.
    """

    versions: BrokerVersions
    fact: BrokerVersions | Probe
    connection: BrokerConnection | None


@dataclass(slots=True, kw_only=True)
class VersionSearch:
    """Searches for the versions of one broker. Thread: one.

    Attributes:
        broker: the broker, for error messages.
        connect: opens a connection before a deadline, by the clock.
        client_id: sent with every request.
        before_sasl: whether the connection is to be authenticated after the search.
        in_tls: whether the connection is encrypted. A 0.10 port with SASL over TLS does not process
            buffered bytes until more arrive: so another request is sent.
        deadline_ms: the end of the search, by the clock.
        answer_ms: time limit of one response.
        stopped: returns whether the search was stopped, so that a closed connection proves nothing
            about the broker.
        clock: for the deadline.
    """

    broker: Broker
    connect: Callable[[int], BrokerConnection]
    client_id: str
    before_sasl: bool
    in_tls: bool
    deadline_ms: int
    answer_ms: int
    stopped: Callable[[], bool]
    clock: Clock

    def run(self, start: Probe = FIRST_PROBE) -> NegotiatedVersions:
        """Probe the broker until its versions are known.

        Args:
            start: the probe to begin with.

        Raises:
            TransportError: the broker can't be reached, closes every connection, or does not
                respond in time.
            UnsupportedVersion: the broker does not serve what the search needs.
            BrokerError: the broker refuses to report its versions.
            AuthenticationFailed: the broker accepts no requests without SASL.
            RemoteProtocolError: the response is invalid.
        """
        found: NegotiatedVersions | Probe = start
        silent = 0
        while isinstance(found, Probe):
            probe = found
            try:
                found = self._request(probe)
                if isinstance(found, NegotiatedVersions):
                    found = self._confirmed(found, probe)
            except ConnectionLost:
                self._check_running()
                found = self._after_close(probe)
            except _ClosedAfterResponse:
                self._check_running()
                silent += 1
                if silent > 1:
                    raise self._wants_sasl() from None
        return found

    def _request(self, probe: Probe) -> NegotiatedVersions | Probe:
        """Send a probe; also over a second connection, if the broker is silent on the first."""
        quiet_ms = HedgePace(self.answer_ms).hedge_delay_ms
        sent = [self._send(probe, self.deadline_ms)]

        def once_more(_: ZkConsumerError | None) -> _SentProbe | None:
            if sum(probe.is_open for probe in sent) > 1:
                return None
            sent.append(self._send(probe, self.clock.now_ms() + min(quiet_ms, self._left_ms())))
            return sent[-1]

        responder = first_response(
            sent[0],
            once_more,
            # Connecting may have used up some of the time.
            limits=TimeLimits(
                quiet_ms, max(1, min(self.answer_ms, self.deadline_ms - self.clock.now_ms()))
            ),
            clock=self.clock,
            whom=self.broker,
        )
        return responder.result()

    def _send(self, probe: Probe, connect_by_ms: int) -> "_SentProbe":
        connection = self.connect(connect_by_ms)
        return _SentProbe(connection, self._conversation(connection, probe))

    def _conversation(
        self, connection: BrokerConnection, probe: Probe
    ) -> Generator[None, memoryview, NegotiatedVersions | Probe]:
        """Send a probe, and the requests that must follow; each ``yield`` awaits a frame."""
        data = request_bytes(probe, client_id=self.client_id, before_sasl=self.before_sasl)
        connection.send_bytes(data, timeout_ms=self._left_ms())
        frame = yield
        try:
            response = after_frame(probe, frame)
        except BrokerError as error:
            raise BrokerError(error.code, error.api, f"{self.broker}: {error}") from error
        if isinstance(response, Probe):
            return response
        if response.generation is not None:
            return NegotiatedVersions(response, response, None)
        if not self.before_sasl:
            self._check_heartbeat(response)
            if self.in_tls:
                connection.send_bytes(_ANOTHER_HEARTBEAT, timeout_ms=self._left_ms())
                yield
            yield
        return NegotiatedVersions(response, probe, connection)

    def _check_heartbeat(self, versions: BrokerVersions) -> None:
        heartbeat = versions.common.get(ApiKey.HEARTBEAT)
        if heartbeat is None or heartbeat.first > 0:
            raise UnsupportedVersion(
                f"{self.broker}: does not support Heartbeat version 0, which a client must send "
                "before it can request versions"
            )

    def _after_close(self, probe: Probe) -> Probe:
        if self.before_sasl and probe.version == 0:
            raise ClosedBeforeSasl(
                f"{self.broker}: closes the connection when its versions are requested: it is down "
                "behind a proxy, or its port requires TLS (security_protocol), or it is older than "
                "Kafka 0.10, whose only SASL mechanism is GSSAPI"
            )
        try:
            return after_close(probe)
        except UnsupportedVersion as error:
            # A retry may succeed: a proxy whose broker is down closes connections, too.
            wants = (
                "SASL (security_protocol) or a client certificate (ssl_certfile)"
                if self.in_tls
                else "TLS or SASL (security_protocol)"
            )
            raise ConnectFailed(
                f"{self.broker}: closes the connection on every request: it is down behind a "
                f"proxy, requires {wants}, or is not Kafka 0.8 or later"
            ) from error

    def _confirmed(self, found: NegotiatedVersions, probe: Probe) -> NegotiatedVersions:
        """Confirm that a broker is old by another ApiVersions request, which it can't respond to.

        A newer broker that was shutting down, and is back now, can. A 0.9 that was identified by
        its Heartbeat response needs no confirmation; the others only closed connections.
        """
        if found.versions.generation is None or probe.proves is None:
            return found
        try:
            again = self._request(SECOND_PROBE)
        except (ConnectionLost, _ClosedAfterResponse):
            self._check_running()
            return found
        if isinstance(again, Probe):
            return found
        if again.connection is not None:
            again.connection.close()
        return NegotiatedVersions(again.versions, again.fact, None)

    def _left_ms(self) -> int:
        left_ms = self.deadline_ms - self.clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{self.broker}: did not report its versions in time")
        return min(left_ms, self.answer_ms)

    def _check_running(self) -> None:
        if self.stopped():
            raise ConnectionLost(f"{self.broker}: connecting was aborted")

    def _wants_sasl(self) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"{self.broker}: reports its versions, but closes the connection on every request: its "
            "port requires SASL (security_protocol, sasl_mechanism)"
        )


class _ClosedAfterResponse(Exception):
    """The broker responded to the probe, but closed the connection on the next request."""


class _SentProbe:
    """A probe in flight, as a ``PendingRequest``: complete once its result or error is known.

    Args:
        connection: used by this probe alone; the result may contain it.
        conversation: see ``VersionSearch._conversation``.

    Attributes:
        is_open: whether its connection has not been closed here.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        conversation: Generator[None, memoryview, NegotiatedVersions | Probe],
    ) -> None:
        self.is_open = True
        self._connection = connection
        self._conversation = conversation
        self._is_answered = False
        self._found: NegotiatedVersions | Probe | None = None
        self._error: Exception | None = None
        self._go_on(lambda: next(conversation))

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        if self._found is not None or self._error is not None:
            return Received.ALL
        return self._go_on(lambda: self._take_frame(timeout_ms))

    def result(self) -> NegotiatedVersions | Probe:
        """Return the result; close the connection unless the result contains it.

        Raises:
            ZkConsumerError: as ``VersionSearch.run``; ``ConnectionLost``: there was no response.
            _ClosedAfterResponse: the connection was closed after a response.
        """
        found, error, self._error = self._found, self._error, None
        if not isinstance(found, NegotiatedVersions) or found.connection is None:
            self.close()
        if error is not None:
            raise error
        assert found is not None
        return found

    def close(self) -> None:
        """See ``PendingRequest``."""
        self.is_open = False
        self._connection.close()

    def _take_frame(self, timeout_ms: int) -> Received:
        frame = self._connection.receive_frame(timeout_ms=timeout_ms)
        if frame is None:
            return Received.NOTHING
        self._is_answered = True
        self._conversation.send(frame)
        return Received.PART

    def _go_on(self, step: Callable[[], Received | None]) -> Received:
        """Take a step; keep an error, which is a result, too: old brokers close the connection."""
        try:
            return step() or Received.NOTHING
        except StopIteration as end:
            self._found = end.value
        except ConnectionLost as error:
            self._error = _ClosedAfterResponse() if self._is_answered else error
        except ZkConsumerError as error:
            self._error = error
        return Received.ALL
