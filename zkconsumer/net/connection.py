"""Sends requests to one broker and receives their responses, in the same order.

Any failure closes the connection: a partial or late response must never be taken for the next one.
``begin`` sends a request and ``finish`` waits for its response, so that the caller can work in
between. At most one request is in flight, unless ``begin`` allows more.
"""

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    DecodeError,
    LocalProtocolError,
    RequestTimedOut,
)
from zkconsumer.model import Broker
from zkconsumer.net.in_flight import InFlight, RawStream, Received
from zkconsumer.net.incoming import IncomingFrame
from zkconsumer.net.traffic import NO_TRAFFIC, Traffic
from zkconsumer.net.transport import HasDescriptor, Transport
from zkconsumer.wire.api import ApiKey, Request
from zkconsumer.wire.codec import decode_response, encode_request
from zkconsumer.wire.framing import LENGTH_BYTES, checked_length
from zkconsumer.wire.response_bounds import LARGEST_ENTRY_BYTES, response_bound

R = TypeVar("R")

MAX_EXCHANGED_BYTES = 1 << 20
"""The largest frame accepted before requests can be sent (SASL tokens, ApiVersions)."""

_TLS_ALERT = b"\x15\x03"
"""The first bytes of a TLS alert; read as a length, they would be far above the bound."""


class BrokerConnection:
    """Sends requests to a broker and receives their responses.

    Thread: one at a time, except ``close``.

    Args:
        broker: the broker, for error messages.
        transport: connected; this object owns it.
        client_id: sent with every request.
        max_response_bytes: a larger response is refused before it is read; each request also has a
            bound of its own (``wire.response_bounds``).
        max_entry_bytes: the largest possible entry of a log.
        clock: for deadlines.
        traffic: notified when the connection opens and closes, and of requests and responses.
    """

    def __init__(  # noqa: PLR0913 - one part a line
        self,
        broker: Broker,
        transport: Transport,
        *,
        client_id: str,
        max_response_bytes: int,
        max_entry_bytes: int = LARGEST_ENTRY_BYTES,
        clock: Clock | None = None,
        traffic: Traffic = NO_TRAFFIC,
    ) -> None:
        self.broker = broker
        self._transport = transport
        # Checked once, since the descriptor is delegated to a pump many times a second.
        self._with_descriptor = transport if isinstance(transport, HasDescriptor) else None
        self._client_id = client_id
        self._max_response_bytes = max_response_bytes
        self._max_entry_bytes = max_entry_bytes
        self._clock = clock or SystemClock()
        self._correlation_id = 0
        self._in_flight: deque[InFlight[Any]] = deque()
        self._length = IncomingFrame(LENGTH_BYTES)
        self._frame: IncomingFrame | None = None
        self._closed = False
        self._traffic = traffic
        traffic.on_opened(broker)

    @property
    def is_idle(self) -> bool:
        """Whether it can take a request: open, as far as is known, and with nothing in flight."""
        return not self._closed and not self._in_flight

    def request(self, request: Request[R], *, version: int, timeout_ms: int) -> R:
        """Send a request and return its response.

        Raises:
            AuthenticationFailed: the port expects TLS; only for a connection's first request.
            LocalProtocolError: the request can't be encoded in that version.
            DecodeError: the response cannot be decoded; the connection is closed.
            TransportError: no response came, or none in time; the connection is closed.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        in_flight = self.begin(request, version=version, timeout_ms=timeout_ms)
        return self.finish(in_flight, timeout_ms=deadline_ms - self._clock.now_ms())

    def begin(
        self, request: Request[R], *, version: int, timeout_ms: int, most_in_flight: int = 1
    ) -> InFlight[R]:
        """Send a request whose response ``finish`` returns.

        Args:
            request: a request that the broker responds to.
            version: the API version to encode it in.
            timeout_ms: time limit of sending.
            most_in_flight: the maximum number of requests in flight, including this one.

        Raises:
            LocalProtocolError: the request can't be encoded in that version, or too many others are
                in flight; nothing was sent.
            TransportError: it could not be sent; the connection is closed.
        """
        self._require_none_in_flight(type(request).__name__, most_in_flight - 1)
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        data = encode_request(
            request, version=version, correlation_id=correlation_id, client_id=self._client_id
        )
        in_flight = InFlight(request, version, correlation_id, self._clock.now_ms())
        # Before it is sent: an interrupted caller must not leave a connection that looks idle.
        self._in_flight.append(in_flight)
        self._write(data, timeout_ms)
        self._traffic.on_sent(self.broker, len(data))
        return in_flight

    def finish(self, in_flight: InFlight[R], *, timeout_ms: int) -> R:
        """Wait for the response to a request that was sent with ``begin``, and return it.

        Args:
            in_flight: the return value of ``begin``.
            timeout_ms: the time limit, counted from this call and not from ``begin``.

        Raises:
            AuthenticationFailed: the port expects TLS; only for a connection's first request.
            LocalProtocolError: that request is not the first one in flight.
            DecodeError: the response cannot be decoded; the connection is closed.
            TransportError: no response, or none in time; the connection is closed.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        self._require_in_flight(in_flight)
        try:
            while self._frame is None or not self._frame.is_whole:
                self._receive_next(in_flight, deadline_ms)
            frame = self._frame.data()
            request = in_flight.request
            answered_id, response = decode_response(request, in_flight.version, frame)
            if answered_id != in_flight.correlation_id:
                name, expected_id = type(request).__name__, in_flight.correlation_id
                raise DecodeError(  # noqa: TRY301 - closing is the same for all of these
                    name, "correlation_id", 0, f"response to {answered_id}, not {expected_id}"
                )
        except BaseException:
            self.close()
            raise
        # In this order: an interrupt in between leaves a connection that is not idle.
        self._frame, self._length = None, IncomingFrame(LENGTH_BYTES)
        self._in_flight.popleft()
        took_ms = self._clock.now_ms() - in_flight.sent_ms
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        self._traffic.on_response(self.broker, request.API.key, len(frame), took_ms, throttle_ms)
        return response

    def receive(self, in_flight: InFlight[Any], *, timeout_ms: int) -> Received:
        """Receive more of the response to a request that was sent with ``begin``.

        Received bytes are kept: ``receive`` and ``finish`` continue after them. It is no failure if
        nothing arrives in time.

        Args:
            in_flight: the return value of ``begin``.
            timeout_ms: how long to wait for the next bytes.

        Returns:
            How much has arrived; with ``ALL``, ``finish`` need not wait.

        Raises:
            AuthenticationFailed: the port expects TLS; only for a connection's first request.
            LocalProtocolError: that request is not the first one in flight.
            DecodeError: the response's length is invalid; the connection is closed.
            TransportError: the connection failed, and is closed.
        """
        self._require_in_flight(in_flight)
        if self._frame is not None and self._frame.is_whole:
            return Received.ALL
        try:
            self._receive_next(in_flight, self._clock.now_ms() + timeout_ms)
        except RequestTimedOut:
            return Received.NOTHING
        except BaseException:
            self.close()
            raise
        return Received.ALL if self._frame is not None and self._frame.is_whole else Received.PART

    def exchange(
        self, data: bytes, *, timeout_ms: int, max_bytes: int = MAX_EXCHANGED_BYTES
    ) -> memoryview:
        """Send raw bytes and return one raw frame, for exchanges without request headers.

        Args:
            data: the bytes, with their length prefix; empty to only receive a frame.
            timeout_ms: time limit of sending and receiving together.
            max_bytes: the largest frame that is accepted.

        Raises:
            AuthenticationFailed: the port expects TLS; the connection is closed.
            LocalProtocolError: a request is in flight; nothing was sent.
            DecodeError: the length of the frame is invalid; the connection is closed.
            TransportError: as ``request``; the connection is closed.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        if data:
            self.send_bytes(data, timeout_ms=timeout_ms)
        left_ms = deadline_ms - self._clock.now_ms()
        frame = self.receive_frame(timeout_ms=left_ms, max_bytes=max_bytes)
        if frame is None:
            self.close()
            raise RequestTimedOut(f"{self.broker}: no response in time")
        return frame

    def receive_frame(
        self, *, timeout_ms: int, max_bytes: int = MAX_EXCHANGED_BYTES
    ) -> memoryview | None:
        """Receive one raw frame; return None if it is incomplete in time: the next call continues.

        Raises as ``exchange``.
        """
        self._require_none_in_flight("bytes")
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            while self._frame is None or not self._frame.is_whole:
                self._receive_next(None, deadline_ms, max_bytes)
        except RequestTimedOut:
            return None
        except BaseException:
            self.close()
            raise
        frame = self._frame.data()
        self._frame, self._length = None, IncomingFrame(LENGTH_BYTES)
        return frame

    def send_bytes(self, data: bytes, *, timeout_ms: int) -> None:
        """Send raw bytes, without waiting for a response.

        Raises:
            LocalProtocolError: a request is in flight; nothing was sent.
            TransportError: as ``request``; the connection is closed.
        """
        self._require_none_in_flight("bytes")
        self._write(data, timeout_ms)

    @property
    def has_descriptor(self) -> bool:
        """Whether the transport has a file descriptor that can be delegated."""
        return self._with_descriptor is not None

    @contextlib.contextmanager
    def delegate(self) -> Iterator[RawStream]:
        """Delegate the socket to native code between two requests; requires ``has_descriptor``.

        The user of the context must leave nothing in flight, or close the connection. Thread: as
        ``request``.

        Raises:
            ConnectionLost: the connection is closed.
        """
        assert self._with_descriptor is not None
        with self._with_descriptor.delegate() as descriptor:
            line = RawStream(
                descriptor,
                self._correlation_id,
                self._client_id.encode(),
                self._max_response_bytes,
                self._max_entry_bytes,
                self._on_exchanged,
            )
            try:
                yield line
            finally:
                self._correlation_id = line.correlation_id

    def _on_exchanged(
        self, sent_bytes: int, received_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """Report a Fetch that native code exchanged."""
        self._traffic.on_sent(self.broker, sent_bytes)
        self._traffic.on_response(self.broker, ApiKey.FETCH, received_bytes, took_ms, throttle_ms)

    def close(self) -> None:
        """Close the connection, and wake a thread that waits for a response. Thread: any."""
        was_open, self._closed = not self._closed, True
        self._transport.close()
        if was_open:
            self._traffic.on_closed(self.broker)

    def _require_in_flight(self, in_flight: InFlight[Any]) -> None:
        if not self._in_flight or self._in_flight[0] is not in_flight:
            name = type(in_flight.request).__name__
            raise LocalProtocolError(f"{self.broker}: this {name} is not in flight (field -)")

    def _write(self, data: bytes, timeout_ms: int) -> None:
        try:
            self._transport.set_timeout_ms(timeout_ms)
            self._transport.send(data)
        except BaseException:
            self.close()
            raise

    def _require_none_in_flight(self, name: str, most: int = 0) -> None:
        if len(self._in_flight) > most and not self._closed:
            raise LocalProtocolError(
                f"{self.broker}: {name} can't be sent while another request is in flight (field -)"
            )

    def _bound_of(self, in_flight: InFlight[Any]) -> int:
        request, version = in_flight.request, in_flight.version
        bound = response_bound(request, version, entry_bytes=self._max_entry_bytes)
        return min(bound, self._max_response_bytes)

    def _receive_next(
        self, in_flight: InFlight[Any] | None, deadline_ms: int, max_bytes: int = 0
    ) -> None:
        """Receive more of a frame, its length first; ``in_flight`` is None for a raw frame."""
        frame = self._frame
        self._receive(self._length if frame is None else frame, deadline_ms)
        if frame is None and self._length.is_whole:
            if in_flight is None or not in_flight.correlation_id:
                self._check_no_alert(self._length.data())
            if in_flight is None:
                size = checked_length(self._length.data(), max_bytes, 0)
            else:
                size = checked_length(self._length.data(), self._bound_of(in_flight))
            self._frame = IncomingFrame(size)

    def _check_no_alert(self, prefix: memoryview) -> None:
        """Raise ``AuthenticationFailed`` if the first response begins like a TLS alert."""
        if bytes(prefix[:2]) == _TLS_ALERT:
            raise AuthenticationFailed(
                f"{self.broker}: responds in TLS: its port requires TLS (security_protocol)"
            )

    def _receive(self, incoming: IncomingFrame, deadline_ms: int) -> None:
        left_ms = deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{self.broker}: no response in time")
        self._transport.set_timeout_ms(left_ms)
        if not incoming.receive(self._transport, self._with_descriptor):
            raise ConnectionLost(f"{self.broker}: closed the connection")
