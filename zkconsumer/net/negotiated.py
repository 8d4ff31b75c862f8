"""Opens connections to brokers of any version: TCP, TLS, SASL, version negotiation."""

import weakref
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    SaslAuthenticationFailedError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.forking import ForkedLock
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.known_versions import KnownBroker, KnownVersions
from zkconsumer.net.mechanism import ClosedOnCredentials
from zkconsumer.net.negotiated_connection import NegotiatedConnection
from zkconsumer.net.security import GSSAPI, PLAINTEXT, SecurityProtocol, SecuritySettings
from zkconsumer.net.traffic import NO_TRAFFIC, Traffic
from zkconsumer.net.transport import Connector, StoppableConnector, Transport
from zkconsumer.net.version_search import ClosedBeforeSasl, NegotiatedVersions, VersionSearch
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.probes import FIRST_PROBE
from zkconsumer.wire.response_bounds import DEFAULT_MAX_RESPONSE_BYTES, LARGEST_ENTRY_BYTES
from zkconsumer.wire.versions import BrokerGeneration

if TYPE_CHECKING:
    import ssl

    from zkconsumer.net.sasl import SaslSession

__all__ = ["BrokerDialer", "Dial", "NegotiatedConnection"]


class Dial(Protocol):
    """A function that connects to a broker, such as ``BrokerDialer.dial``."""

    def __call__(self, broker: Broker, /, *, timeout_ms: int | None = None) -> NegotiatedConnection:
        """See ``BrokerDialer.dial``."""
        ...


Assumed: TypeAlias = BrokerVersions | Callable[[Broker], BrokerVersions | None] | None
"""The versions that brokers are known to serve, so that they need not be probed."""


class BrokerDialer:
    """Opens negotiated connections to brokers. Thread: any; several may dial at a time.

    Args:
        connector: opens the transports, for this dialer alone; ``stop`` stops it if it can be
            stopped.
        client_id: sent with every request.
        security: the TLS and SASL settings.
        connect_timeout_ms: time limit of one TCP connect.
        request_timeout_ms: time limit of each later step: TLS, versions, SASL. Dialling takes no
            longer than both limits together.
        max_response_bytes: the largest response that a connection accepts.
        max_entry_bytes: the largest possible entry of a log.
        clock: for deadlines.
        traffic: notified of each connection and request.
        assumed: versions that every broker is known to serve, or a function that returns those of
            a broker: it is not probed then, unless SASL is used, which depends on its version.
            None: probe.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        connector: Connector,
        *,
        client_id: str,
        security: SecuritySettings = PLAINTEXT,
        connect_timeout_ms: int,
        request_timeout_ms: int,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        max_entry_bytes: int = LARGEST_ENTRY_BYTES,
        clock: Clock | None = None,
        traffic: Traffic = NO_TRAFFIC,
        assumed: Assumed = None,
    ) -> None:
        self._assumed = assumed
        self._traffic = traffic
        self._client_id = client_id
        self._security = _with_objects(security, request_timeout_ms)
        self._tls = _tls_context(security) if security.uses_tls else None
        self._session_class = _session_class() if security.uses_sasl else None
        self._connect_timeout_ms = connect_timeout_ms
        self._request_timeout_ms = request_timeout_ms
        self._max_response_bytes = max_response_bytes
        self._max_entry_bytes = max_entry_bytes
        self._clock = clock or SystemClock()
        self._known = KnownVersions()
        self._begin(connector)

    def _begin(self, connector: Connector) -> None:
        """Start without connections, and not stopped."""
        self._connector = connector
        self._lock = ForkedLock()
        self._dialling: set[BrokerConnection] = set()
        self._siblings: weakref.WeakSet[BrokerDialer] = weakref.WeakSet()
        self._stopped = False

    @property
    def protocol(self) -> SecurityProtocol:
        """The security protocol, by which a broker's listener is chosen."""
        return self._security.protocol

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> NegotiatedConnection:
        """Connect, authenticate, and negotiate versions.

        Args:
            broker: the broker to connect to; a bootstrap broker has a negative id.
            timeout_ms: time limit of the whole, if it is less than the settings allow.

        Raises:
            TransportError: the connection failed (a retry may succeed), or ``stop`` was called.
            AuthenticationFailed: TLS or SASL failed; a retry will fail, too.
            UnsupportedVersion: the broker lacks a version that is needed.
            BrokerError: the broker refuses to report its versions.
            RemoteProtocolError: the peer is no Kafka broker.
        """
        limit_ms = self._connect_timeout_ms + self._request_timeout_ms
        deadline_ms = self._clock.now_ms() + min(
            limit_ms, limit_ms if timeout_ms is None else timeout_ms
        )
        opened: list[BrokerConnection] = []
        connected = False
        try:
            connection = self._dial(broker, deadline_ms, opened)
            connected = True
        except TransportError:
            if not self._stopped:
                self._known.forget((broker.host, broker.port))
            raise
        finally:
            with self._lock:
                self._dialling.difference_update(opened)
            if not connected:
                for pending in opened:
                    pending.close()
        return connection

    def stop(self) -> None:
        """Interrupt all calls of ``dial`` and make later ones fail; open connections stay open.

        Idempotent. Thread: any.
        """
        self._stopped = True
        if isinstance(self._connector, StoppableConnector):
            self._connector.stop()
        with self._lock:
            dialling, siblings = list(self._dialling), list(self._siblings)
        for connection in dialling:
            connection.close()
        for sibling in siblings:
            sibling.stop()

    def sibling(self) -> "BrokerDialer":
        """Return another dialer that shares the known versions and the loaded security files.

        Stopping the sibling leaves this dialer running; stopping this dialer stops both.
        """
        sibling = copy(self)
        connector = self._connector
        own = connector.sibling() if isinstance(connector, StoppableConnector) else connector
        sibling._begin(own)  # noqa: SLF001 - an instance of this class
        with self._lock:
            self._siblings.add(sibling)
        if self._stopped:
            sibling.stop()
        return sibling

    def _dial(
        self, broker: Broker, deadline_ms: int, opened: list[BrokerConnection]
    ) -> NegotiatedConnection:
        def connect(by_ms: int) -> BrokerConnection:
            connection = self._open(broker, by_ms)
            opened.append(connection)
            return connection

        found = self._find(broker, deadline_ms, connect)
        connection = found.connection or connect(deadline_ms)
        if not self._security.uses_sasl:
            return self._negotiated(connection, found, None)
        try:
            session = self._authenticated(connection, found, deadline_ms)
        except ClosedOnCredentials:
            # Try again, so that a broker that is shutting down is not taken for one that refuses.
            self._check_running(broker)
            found = self._find(broker, deadline_ms, connect)
            connection = found.connection or connect(deadline_ms)
            try:
                session = self._authenticated(connection, found, deadline_ms)
            except ClosedOnCredentials as error:
                self._check_running(broker)
                raise SaslAuthenticationFailedError(f"{error}, twice") from error
        return self._negotiated(connection, found, session)

    def _authenticated(
        self, connection: BrokerConnection, found: NegotiatedVersions, deadline_ms: int
    ) -> "SaslSession":
        assert self._session_class is not None
        session = self._session_class(self._security, found.versions, self._clock)
        limit_ms = self._clock.now_ms() + self._request_timeout_ms
        session.authenticate(connection, deadline_ms=min(limit_ms, deadline_ms))
        return session

    def _find(
        self, broker: Broker, deadline_ms: int, connect: Callable[[int], BrokerConnection]
    ) -> NegotiatedVersions:
        assumed = self._assumed(broker) if callable(self._assumed) else self._assumed
        if assumed is not None and not self._security.uses_sasl:
            return NegotiatedVersions(assumed, assumed, None)
        known = self._known.of((broker.host, broker.port))
        if isinstance(known, BrokerVersions):
            return NegotiatedVersions(known, known, None)
        search = self._search(broker, deadline_ms, connect, before_sasl=self._security.uses_sasl)
        try:
            return search.run(known or FIRST_PROBE)
        except ClosedBeforeSasl as error:
            if self._security.sasl_mechanism != GSSAPI:
                raise
            return self._find_after_tickets(broker, deadline_ms, connect, error)

    def _search(
        self,
        broker: Broker,
        deadline_ms: int,
        connect: Callable[[int], BrokerConnection],
        *,
        before_sasl: bool,
        in_the_clear: bool = False,
    ) -> VersionSearch:
        return VersionSearch(
            broker=broker,
            connect=connect,
            client_id="" if in_the_clear else self._client_id,
            before_sasl=before_sasl,
            in_tls=self._security.uses_tls and not in_the_clear,
            deadline_ms=deadline_ms,
            answer_ms=self._request_timeout_ms,
            stopped=lambda: self._stopped,
            clock=self._clock,
        )

    def _find_after_tickets(
        self,
        broker: Broker,
        deadline_ms: int,
        connect: Callable[[int], BrokerConnection],
        closed: ClosedBeforeSasl,
    ) -> NegotiatedVersions:
        """Find out whether the broker is a 0.9, which takes the first bytes for a GSSAPI token.

        So GSSAPI tokens are sent first, without a handshake, and the probe after them. Newer
        brokers accept such tokens, too, and then report their versions.

        Raises:
            ConnectFailed: the broker closes this connection, too.
        """
        old = of_generation(BrokerGeneration.V0_9)

        def let_in(by_ms: int) -> BrokerConnection:
            connection = connect(by_ms)
            try:
                self._authenticated(connection, NegotiatedVersions(old, old, None), by_ms)
            except ClosedOnCredentials as error:
                connection.close()
                self._check_running(broker)
                raise ConnectFailed(
                    f"{closed}; or it is that old, and refuses the client's ticket"
                ) from error
            except BaseException:
                # It may be a second connection, which the search abandons while the first succeeds.
                connection.close()
                raise
            return connection

        found = self._search(broker, deadline_ms, let_in, before_sasl=False).run()
        if found.connection is not None:
            found.connection.close()
        return NegotiatedVersions(found.versions, found.fact, None)

    def _negotiated(
        self, connection: BrokerConnection, found: NegotiatedVersions, sasl: "SaslSession | None"
    ) -> NegotiatedConnection:
        broker = connection.broker
        finding: KnownBroker = self._known.use((broker.host, broker.port), found.fact)
        return NegotiatedConnection(
            connection,
            found.versions,
            on_end=lambda lost: self._known.release(finding, lost=lost),
            sasl=sasl,
            clock=self._clock,
        )

    def _open(self, broker: Broker, deadline_ms: int) -> BrokerConnection:
        """Connect, and do the TLS handshake if TLS is used."""
        transport = self._transport(broker, deadline_ms)
        if self._tls is None:
            return self._held(broker, transport)
        from zkconsumer.net.tls import TlsTransport  # noqa: PLC0415 - few need it

        tls = TlsTransport(transport, self._tls, broker.host, clock=self._clock)
        connection = self._held(broker, tls)
        try:
            left_ms = max(1, deadline_ms - self._clock.now_ms())
            tls.handshake(timeout_ms=min(left_ms, self._request_timeout_ms))
        except ConnectFailed as error:
            connection.close()
            self._check_no_plain_port(broker, deadline_ms, error)
            raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _transport(self, broker: Broker, deadline_ms: int) -> Transport:
        self._check_running(broker)
        left_ms = deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{broker}: no connection in time")
        return self._connector.connect(
            broker.host, broker.port, timeout_ms=min(left_ms, self._connect_timeout_ms)
        )

    def _check_no_plain_port(self, broker: Broker, deadline_ms: int, closed: ConnectFailed) -> None:
        """Find out whether a broker closed a connection in the TLS handshake for lack of TLS.

        A broker that shuts down closes it, too, and so does a proxy whose broker is down. Only a
        response to an unencrypted request proves that the port does not use TLS. The request
        contains no credentials.

        Raises:
            AuthenticationFailed: the port does not use TLS.
        """
        opened: list[BrokerConnection] = []

        def connect(by_ms: int) -> BrokerConnection:
            opened.append(self._held(broker, self._transport(broker, by_ms)))
            return opened[-1]

        try:
            # A SASL port responds only to requests that may precede SASL, a 0.9 to none of them.
            is_plain = any(
                self._responds(
                    self._search(
                        broker, deadline_ms, connect, before_sasl=before_sasl, in_the_clear=True
                    )
                )
                for before_sasl in (False, True)
            )
        finally:
            with self._lock:
                self._dialling.difference_update(opened)
            for connection in opened:
                connection.close()
        if is_plain:
            raise AuthenticationFailed(
                f"{broker}: this port does not use TLS: connect to the broker's TLS port, or set "
                "security_protocol to the protocol of this port (PLAINTEXT or SASL_PLAINTEXT)"
            ) from closed

    @staticmethod
    def _responds(search: VersionSearch) -> bool:
        """Return whether a search finds the versions of a broker."""
        try:
            search.run()
        except ZkConsumerError:
            return False
        return True

    def _held(self, broker: Broker, transport: Transport) -> BrokerConnection:
        """Wrap a transport in a connection and register it, so that ``stop`` closes it."""
        connection = BrokerConnection(
            broker,
            transport,
            client_id=self._client_id,
            max_response_bytes=self._max_response_bytes,
            max_entry_bytes=self._max_entry_bytes,
            clock=self._clock,
            traffic=self._traffic,
        )
        with self._lock:
            self._dialling.add(connection)
        try:
            self._check_running(broker)
        except ConnectionLost:
            connection.close()
            raise
        return connection

    def _check_running(self, broker: Broker) -> None:
        if self._stopped:
            raise ConnectionLost(f"{broker}: connecting was aborted")


def _tls_context(security: SecuritySettings) -> "ssl.SSLContext | None":
    from zkconsumer.net.tls import context_for  # noqa: PLC0415 - slow to import, and few need it

    return context_for(security)


def _session_class() -> "type[SaslSession]":
    from zkconsumer.net.sasl import SaslSession  # noqa: PLC0415 - few need it

    return SaslSession


def _with_objects(security: SecuritySettings, timeout_ms: int) -> SecuritySettings:
    """Return settings in which objects that fetch tokens or tickets replace the credentials.

    Raises:
        ConfigError: the keytab or the Kerberos library can't be used.
    """
    # Importing these takes a third of a consumer's import time, and few need them.
    if security.client_credentials is not None:
        from zkconsumer.net.oauth import FetchedTokens  # noqa: PLC0415

        tokens = FetchedTokens(security.client_credentials, timeout_ms=timeout_ms)
        return replace(security, client_credentials=None, token_source=tokens.token)
    if security.tickets is not None:
        from zkconsumer.net.gssapi import KerberosLogin  # noqa: PLC0415

        login = KerberosLogin(security.tickets)
        return replace(security, tickets=None, kerberos=login.conversation_with)
    return security
