"""Finds the API versions that a broker serves, over connections (see ``wire.negotiation``).

A broker of 0.10 or later is asked on the connection that is then used. A Heartbeat follows the
ApiVersions request (it identifies a 0.9), and its response is awaited, too: a port that requires
SASL responds to ApiVersions like any other, and closes the connection on everything else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.errors import (
    AuthenticationFailed,
    BrokerError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    UnsupportedVersion,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import encode_request
from zkconsumer.wire.messages.group_members import HeartbeatRequest
from zkconsumer.wire.negotiation import (
    FIRST_PROBE,
    PROBE_GROUP,
    PROBES,
    BrokerVersions,
    Probe,
    after_close,
    after_frame,
    request_bytes,
)


class ClosedBeforeSasl(ConnectFailed):
    """A SASL port closes the connection on ApiVersions, before authentication."""


_QUESTION_ID = 1
_ANOTHER_HEARTBEAT = encode_request(
    HeartbeatRequest(group_id=PROBE_GROUP, generation_id=-1, member_id=""),
    version=0,
    correlation_id=3,
    client_id="",
)


@dataclass(frozen=True, slots=True)
class NegotiatedVersions:
    """The result of a version search.

    Attributes:
        versions: the versions that the broker serves.
        fact: spares later connections the search.
        connection: the connection that found it, if it can be used further.
    """

    versions: BrokerVersions
    fact: BrokerVersions | Probe
    connection: BrokerConnection | None


@dataclass(slots=True, kw_only=True)
class VersionSearch:
    """A search for the versions of one broker. Thread: one.

    Attributes:
        broker: for messages.
        connect: opens a connection, within the remaining time.
        client_id: sent with every request.
        before_sasl: whether the connection is to be authenticated after the search.
        in_tls: whether the connection is encrypted. A 0.10 port with SASL over TLS does not process
            buffered bytes before more arrive: so another request is sent.
        deadline_ms: the end of the search, by the clock.
        answer_ms: time limit of one response.
        stopped: whether the search was stopped: then a closed connection says nothing of the
            broker.
        clock: for the deadline.
    """

    broker: Broker
    connect: Callable[[], BrokerConnection]
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
            connection = self.connect()
            try:
                found = self._request(connection, probe)
            except ConnectionLost:
                self._check_running()
                found = self._after_close(probe)
            except _ClosedBehind:
                self._check_running()
                silent += 1
                if silent > 1:
                    raise self._wants_sasl() from None
            finally:
                if not isinstance(found, NegotiatedVersions) or found.connection is not connection:
                    connection.close()
        return found

    def _request(self, connection: BrokerConnection, probe: Probe) -> NegotiatedVersions | Probe:
        frame = connection.exchange(self._lookup(probe), timeout_ms=self._left_ms())
        try:
            response = after_frame(probe, frame)
        except BrokerError as error:
            raise BrokerError(error.code, error.api, f"{self.broker}: {error}") from error
        if isinstance(response, Probe):
            return response
        if response.generation is not None:
            # A 0.9 is identified by its response; other brokers only by closing connections.
            found = NegotiatedVersions(response, response, None)
            return found if probe.proves is None else self._confirmed(found)
        if not self.before_sasl and not self._is_open_behind(connection, response):
            raise _ClosedBehind
        return NegotiatedVersions(response, probe, connection)

    def _is_open_behind(self, connection: BrokerConnection, versions: BrokerVersions) -> bool:
        """Return whether the broker responds to the Heartbeat, too."""
        heartbeat = versions.common.get(ApiKey.HEARTBEAT)
        if heartbeat is None or heartbeat.first > 0:
            raise UnsupportedVersion(
                f"{self.broker}: does not serve Heartbeat in version 0, which a client has to send "
                "before it can ask"
            )
        try:
            if self.in_tls:
                connection.exchange(_ANOTHER_HEARTBEAT, timeout_ms=self._left_ms())
            connection.exchange(b"", timeout_ms=self._left_ms())
        except ConnectionLost:
            return False
        return True

    def _lookup(self, probe: Probe) -> bytes:
        if not self.before_sasl:
            return request_bytes(probe, client_id=self.client_id)
        # Nothing else may precede the SASL handshake.
        return encode_request(
            probe.request,
            version=probe.version,
            correlation_id=_QUESTION_ID,
            client_id=self.client_id,
        )

    def _after_close(self, probe: Probe) -> Probe:
        if self.before_sasl and probe.version == 0:
            raise ClosedBeforeSasl(
                f"{self.broker}: closes the connection when asked what it serves: it is down "
                "behind a proxy, or its port wants TLS (security_protocol), or it is older than "
                "Kafka 0.10, whose only mechanism of SASL is GSSAPI"
            )
        try:
            return after_close(probe)
        except UnsupportedVersion as error:
            # May pass: a proxy whose broker is down does so, too.
            wants = (
                "SASL (security_protocol) or to know who we are (ssl_certfile)"
                if self.in_tls
                else "TLS or SASL (security_protocol)"
            )
            raise ConnectFailed(
                f"{self.broker}: closes the connection whatever it is asked: it is down behind a "
                f"proxy, wants {wants}, or is no Kafka of 0.8 or later"
            ) from error

    def _confirmed(self, found: NegotiatedVersions) -> NegotiatedVersions:
        """Send an old broker another ApiVersions request, which it can't answer.

        A newer broker that was stopping before, and is back since, can.
        """
        probe = PROBES[1]
        connection = self.connect()
        try:
            again = self._request(connection, probe)
        except (ConnectionLost, _ClosedBehind):
            self._check_running()
            return found
        finally:
            connection.close()
        if isinstance(again, Probe):
            return found
        return NegotiatedVersions(again.versions, again.fact, None)

    def _left_ms(self) -> int:
        left_ms = self.deadline_ms - self.clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{self.broker}: does not say in time what it serves")
        return min(left_ms, self.answer_ms)

    def _check_running(self) -> None:
        if self.stopped():
            raise ConnectionLost(f"{self.broker}: connecting was broken off")

    def _wants_sasl(self) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"{self.broker}: says what it serves, but closes the connection on every request: its "
            "port wants SASL (security_protocol, sasl_mechanism)"
        )


class _ClosedBehind(Exception):
    """The broker responded to the probe, and closed the connection on the next request."""
