"""A connection that knows its broker: requests go out in the newest version that both know."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

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

R = TypeVar("R")


class Renewal(Protocol):
    """Says again who we are, on a connection whose authentication may have an end (KIP-368)."""

    @property
    def is_to_come(self) -> bool:
        """Whether it ever has to be said again."""
        ...

    def is_due(self, now_ms: int) -> bool:
        """Return whether it has to be said before the next request."""
        ...

    def renew(self, connection: BrokerConnection, *, timeout_ms: int) -> None:
        """Say it.

        Raises:
            AuthenticationFailed: the broker does not believe it any more.
            TransportError: no response.
        """
        ...


class NegotiatedConnection:
    """What a ``BrokerDialer`` gives. Thread: one at a time, but for ``close``.

    Whoever dialled it closes it. As with ``BrokerConnection``, every failure of the network closes
    it, and one request is in flight at most, unless ``begin`` is told otherwise.

    Attributes:
        broker: whom it leads to.
        versions: what the broker serves.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        versions: BrokerVersions,
        *,
        on_end: Callable[[bool], None],
        renewal: Renewal | None,
        clock: Clock,
    ) -> None:
        self.broker: Broker = connection.broker
        self.versions = versions
        self._connection = connection
        self._on_end = [on_end]
        self._renewal = renewal
        self._clock = clock

    @property
    def is_idle(self) -> bool:
        """Whether it can take a request: open, as far as we know, and with nothing in flight."""
        return self._connection.is_idle

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """Send a request and wait for its response.

        Args:
            request: what to ask.
            timeout_ms: for all of it.
            at_least: the first version that does what is needed.
            at_most: the last one, for APIs whose versions differ in meaning.

        Raises:
            UnsupportedVersion: the broker has no such version; nothing was sent.
            LocalProtocolError: the request can't be encoded in that version; nothing was sent.
            RemoteProtocolError: the response is not one; the connection is closed.
            TransportError: no response in time, or none at all; the connection is closed.
            AuthenticationFailed: the broker does not believe any more who we are.
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
        """Send a request; ``finish`` gives its response, to each in the order of their sending.

        ``most_in_flight``: how many may be in flight then. While something is in flight, nothing
        but this may be called that sends. An authentication is renewed only where nothing is in
        flight: where ``is_renewal_due``, send no more until all responses have come.

        Raises as ``call``; what it gives names the version that was chosen.
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
        """Whether we have to say again who we are, for which nothing may be in flight."""
        return self._renewal is not None and self._renewal.is_due(self._clock.now_ms())

    def finish(self, in_flight: InFlight[R], *, timeout_ms: int) -> R:
        """Wait for the response to what ``begin`` sent, ``timeout_ms`` from now on at most.

        Raises as ``call``.
        """
        with self._watched():
            return self._connection.finish(in_flight, timeout_ms=timeout_ms)

    def receive(self, in_flight: InFlight[Any], *, timeout_ms: int) -> Received:
        """Read on in the response to what ``begin`` sent; see ``BrokerConnection.receive``."""
        with self._watched():
            return self._connection.receive(in_flight, timeout_ms=timeout_ms)

    def send_only(self, request: Request[R], *, timeout_ms: int, at_least: int = 0) -> None:
        """Send a request that the broker does not answer (Produce with acks 0).

        Raises as ``call``.
        """
        version = self.version_of(request, at_least=at_least)
        with self._watched():
            self._renew_if_due(timeout_ms)
            self._connection.send_only(request, version=version, timeout_ms=timeout_ms)

    @property
    def has_descriptor(self) -> bool:
        """Whether it can be lent: what is sent is what goes over the wire, and all we ever say."""
        if self._renewal is not None and self._renewal.is_to_come:
            return False
        return self._connection.has_descriptor

    @contextlib.contextmanager
    def delegate(self) -> Iterator[RawStream]:
        """Lend the connection out, between two requests; see ``BrokerConnection.delegate``.

        A failure of the network that is raised inside counts as one of this connection.

        Raises:
            ConnectionLost: it is closed.
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
        """Return the version in which such a request would go out.

        Raises:
            UnsupportedVersion: there is none; names the broker.
        """
        try:
            return self.versions.version_for(request.API.key, at_least=at_least, at_most=at_most)
        except UnsupportedVersion as error:
            raise UnsupportedVersion(f"{self.broker}: {error}") from error

    def close(self) -> None:
        """Close; a thread that waits for a response wakes. Idempotent. Thread: any."""
        # Before the waiting thread wakes: what it meets then is not the broker's doing.
        self._end(lost=False)
        self._connection.close()

    def _renew_if_due(self, timeout_ms: int) -> None:
        if self._renewal is not None and self._renewal.is_due(self._clock.now_ms()):
            try:
                self._renewal.renew(self._connection, timeout_ms=timeout_ms)
            except AuthenticationFailed:
                self.close()
                raise
            except TransportError:
                # Also where it was a KDC, say, that did not answer: the broker waits for more.
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
        # Taking it is one step, so that only one of two threads gets it, and there is no lock that
        # a signal handler could meet.
        with contextlib.suppress(IndexError):
            self._on_end.pop()(lost)
