"""A connection with negotiated versions: requests use the newest version that both sides know."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import (
    AuthenticationFailed,
    RemoteProtocolError,
    TransportError,
    UnsupportedVersion,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.in_flight import InFlight, RawStream, Received
from zkconsumer.wire.api import Request
from zkconsumer.wire.negotiation import BrokerVersions

if TYPE_CHECKING:
    from zkconsumer.net.sasl import SaslSession

R = TypeVar("R")


class NegotiatedConnection:
    """Sends requests to a broker in the newest common versions; a ``BrokerDialer`` opens it.

    Thread: one at a time, except ``close``.

    The caller of ``dial`` closes it. As with ``BrokerConnection``, a network failure closes it, and
    at most one request is in flight, unless ``begin`` allows more.

    Attributes:
        broker: the broker at the other end.
        versions: the versions that it serves.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        versions: BrokerVersions,
        *,
        on_end: Callable[[bool], None],
        sasl: "SaslSession | None",
        clock: Clock,
    ) -> None:
        self.broker: Broker = connection.broker
        self.versions = versions
        self._connection = connection
        self._on_end = [on_end]
        self._sasl = sasl
        self._clock = clock

    @property
    def is_idle(self) -> bool:
        """Whether it can take a request: open, as far as is known, and with nothing in flight."""
        return self._connection.is_idle

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """Send a request and return its response.

        Args:
            request: the request to send.
            timeout_ms: time limit of the whole call.
            at_least: the lowest version with the needed feature.
            at_most: the highest usable version, for APIs whose versions differ in meaning; None:
                any.

        Raises:
            UnsupportedVersion: the broker serves no such version; nothing was sent.
            LocalProtocolError: the request can't be encoded in that version; nothing was sent.
            RemoteProtocolError: the response is invalid; the connection is closed.
            TransportError: no response, or none in time; the connection is closed.
            AuthenticationFailed: the broker no longer accepts our credentials.
        """
        version = self.version_of(request, at_least=at_least, at_most=at_most)
        deadline_ms = self._clock.now_ms() + timeout_ms
        with self._watched():
            self._renew_if_due(timeout_ms)
            left_ms = max(1, deadline_ms - self._clock.now_ms())
            return self._connection.request(request, version=version, timeout_ms=left_ms)

    def begin(
        self,
        request: Request[R],
        *,
        timeout_ms: int,
        at_least: int = 0,
        at_most: int | None = None,
        most_in_flight: int = 1,
    ) -> InFlight[R]:
        """Send a request; ``finish`` returns the responses in the order of sending.

        ``most_in_flight``: the maximum number of requests in flight. While anything is in flight,
            only this method may send. Re-authentication requires that nothing is in flight: once
            ``is_renewal_due``, wait for all responses before sending more.

        Raises as ``call``; the result contains the chosen version.
        """
        version = self.version_of(request, at_least=at_least, at_most=at_most)
        with self._watched():
            if self._connection.is_idle:
                self._renew_if_due(timeout_ms)
            return self._connection.begin(
                request, version=version, timeout_ms=timeout_ms, most_in_flight=most_in_flight
            )

    @property
    def is_renewal_due(self) -> bool:
        """Whether the connection must be re-authenticated, once nothing is in flight."""
        return self._sasl is not None and self._sasl.is_due(self._clock.now_ms())

    def finish(self, in_flight: InFlight[R], *, timeout_ms: int) -> R:
        """Wait up to ``timeout_ms`` from now for the response to a request sent by ``begin``.

        Raises as ``call``.
        """
        with self._watched():
            return self._connection.finish(in_flight, timeout_ms=timeout_ms)

    def receive(self, in_flight: InFlight[Any], *, timeout_ms: int) -> Received:
        """Receive more of the response to ``begin``'s request; see ``BrokerConnection.receive``."""
        with self._watched():
            return self._connection.receive(in_flight, timeout_ms=timeout_ms)

    @property
    def has_descriptor(self) -> bool:
        """Whether it can be delegated: it is not encrypted and never has to re-authenticate."""
        if self._sasl is not None and self._sasl.expires:
            return False
        return self._connection.has_descriptor

    @contextlib.contextmanager
    def delegate(self) -> Iterator[RawStream]:
        """Delegate the socket between two requests; see ``BrokerConnection.delegate``.

        A network failure that is raised inside counts as a failure of this connection.

        Raises:
            ConnectionLost: the connection is closed.
        """
        with self._watched(), self._connection.delegate() as line:
            yield line

    def version_of(
        self,
        request: Request[R] | type[Request[R]],
        *,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> int:
        """Return the version in which such a request would be sent.

        Raises:
            UnsupportedVersion: there is no common version; names the broker.
        """
        try:
            return self.versions.version_for(request.API.key, at_least=at_least, at_most=at_most)
        except UnsupportedVersion as error:
            raise UnsupportedVersion(f"{self.broker}: {error}") from error

    def close(self) -> None:
        """Close, and wake a thread that waits for a response. Idempotent. Thread: any."""
        # Before the waiting thread wakes: we caused its failure, not the broker.
        self._end(lost=False)
        self._connection.close()

    def _renew_if_due(self, timeout_ms: int) -> None:
        if self._sasl is not None and self._sasl.is_due(self._clock.now_ms()):
            try:
                self._sasl.renew(self._connection, timeout_ms=timeout_ms)
            except AuthenticationFailed:
                self.close()
                raise
            except TransportError:
                # Even if only a KDC did not respond: the broker still expects the remaining tokens.
                self._connection.close()
                raise

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (TransportError, RemoteProtocolError):
            self._end(lost=True)
            raise

    def _end(self, *, lost: bool) -> None:
        # Popping is atomic, so that only one of two threads gets it, without a lock that a signal
        # handler could deadlock on.
        with contextlib.suppress(IndexError):
            self._on_end.pop()(lost)
