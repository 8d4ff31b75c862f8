"""A connection to one broker: requests out, their responses in, in the same order.

Any failure closes it: half a response, or a late one, must never be taken for the next one.
A request may be sent before its response is waited for (``begin``, ``finish``), so that the broker
works while we do. One is in flight at most, unless ``begin`` is told otherwise.
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
from zkconsumer.net.traffic import NO_TRAFFIC, Traffic
from zkconsumer.net.transport import HasDescriptor, Transport
from zkconsumer.wire.codec import Request, decode_response, encode_request
from zkconsumer.wire.framing import LENGTH_BYTES, checked_length
from zkconsumer.wire.response_bounds import LARGEST_ENTRY_BYTES, response_bound

__all__ = ["BrokerConnection", "InFlight", "RawStream", "Received"]

R = TypeVar("R")

_READ_BYTES = 1 << 23
"""The room that is made for a response on its word; for more, as it comes."""

MAX_EXCHANGED_BYTES = 1 << 20
"""Enough for what brokers say before requests can be sent."""

_TLS_ALERT = b"\x15\x03"
"""How an alert of TLS begins; as a length it would be far above the bound."""


class _Incoming:
    """Bytes that are on their way, in a buffer that grows with what really comes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffer = bytearray(min(size, _READ_BYTES))
        self._filled = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of it has come."""
        return self._filled >= self._size

    def receive(self, transport: Transport) -> int:
        """Take what comes next; how many bytes, 0 at the end of the stream."""
        if self._filled == len(self._buffer):
            self._buffer.extend(bytes(min(self._size - self._filled, len(self._buffer))))
        with memoryview(self._buffer) as view:
            count = transport.receive_into(view[self._filled :])
        self._filled += count
        return count

    def data(self) -> memoryview:
        """Return all of it."""
        return memoryview(self._buffer)


class BrokerConnection:
    """Thread: one at a time, but for ``close``.

    Args:
        broker: for messages.
        transport: connected; this object owns it.
        client_id: sent with every request.
        max_response_bytes: a larger answer is refused before any of it is kept, whatever was asked;
            each request has a bound of its own besides (``wire.response_bounds``).
        max_entry_bytes: how large a single entry of a log may be.
        clock: for deadlines.
        traffic: hears of each request.
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
        # Found out once: a pump is lent the descriptor many times a second.
        self._lendable = transport if isinstance(transport, HasDescriptor) else None
        self._client_id = client_id
        self._max_response_bytes = max_response_bytes
        self._max_entry_bytes = max_entry_bytes
        self._clock = clock or SystemClock()
        self._correlation_id = 0
        self._in_flight: deque[InFlight[Any]] = deque()
        self._length = _Incoming(LENGTH_BYTES)
        self._frame: _Incoming | None = None
        self._closed = False
        self._traffic = traffic
        traffic.opened(broker)

    @property
    def is_idle(self) -> bool:
        """Whether it can take a request: open, as far as we know, and with nothing in flight."""
        return not self._closed and not self._in_flight

    def request(self, request: Request[R], *, version: int, timeout_ms: int) -> R:
        """Send a request and wait for its response.

        Raises:
            AuthenticationFailed: as ``exchange``, to the first request of a connection.
            LocalProtocolError: the request can't be encoded in that version.
            DecodeError: the response is not one; the connection is closed.
            TransportError: no response in time, or none at all; the connection is closed.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        in_flight = self.begin(request, version=version, timeout_ms=timeout_ms)
        return self._take_response(in_flight, deadline_ms)

    def begin(
        self, request: Request[R], *, version: int, timeout_ms: int, most_in_flight: int = 1
    ) -> InFlight[R]:
        """Send a request; ``finish`` gives its response.

        Args:
            request: one that the broker answers.
            version: in which to send it.
            timeout_ms: for the sending.
            most_in_flight: how many requests may be in flight then, this one among them.

        Raises:
            LocalProtocolError: the request can't be encoded in that version, or too many others are
                in flight; nothing was sent.
            TransportError: it could not be sent; the connection is closed.
        """
        correlation_id = self._send(request, version, timeout_ms, most_in_flight - 1)
        in_flight = InFlight(request, version, correlation_id, self._clock.now_ms())
        self._in_flight.append(in_flight)
        return in_flight

    def finish(self, in_flight: InFlight[R], *, timeout_ms: int) -> R:
        """Wait for the response to a request that was sent with ``begin``.

        Args:
            in_flight: what ``begin`` gave.
            timeout_ms: counted from this call: who sends early may come late for the response.

        Raises:
            AuthenticationFailed: as ``exchange``, to the first request of a connection.
            LocalProtocolError: that request is not the first one in flight.
            DecodeError: the response is not one; the connection is closed.
            TransportError: no response in time, or none at all; the connection is closed.
        """
        return self._take_response(in_flight, self._clock.now_ms() + timeout_ms)

    def receive(self, in_flight: InFlight[Any], *, timeout_ms: int) -> Received:
        """Read on in the response to what ``begin`` sent, as far as it comes within a time.

        What came is kept: ``receive`` goes on after it, and so does ``finish``. That nothing came
        is no failure.

        Args:
            in_flight: what ``begin`` gave.
            timeout_ms: how long to wait for the next bytes.

        Returns:
            Whether anything came; ``ALL`` when ``finish`` need not wait.

        Raises:
            AuthenticationFailed: as ``exchange``, to the first request of a connection.
            LocalProtocolError: that request is not in flight.
            DecodeError: the response's length is invalid; the connection is closed.
            TransportError: there will be no response; the connection is closed.
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

    def send_only(self, request: Request[R], *, version: int, timeout_ms: int) -> None:
        """Send a request that the broker does not answer (Produce with acks 0)."""
        self._send(request, version, timeout_ms)

    def exchange(
        self, data: bytes, *, timeout_ms: int, max_bytes: int = MAX_EXCHANGED_BYTES
    ) -> memoryview:
        """Send bytes as they are, and read one frame as it is: for what has no header, or none yet.

        Args:
            data: with their length in front; may be empty, to read one frame more.
            timeout_ms: for both.
            max_bytes: no larger frame is taken.

        Raises:
            AuthenticationFailed: the port wants TLS; the connection is closed.
            LocalProtocolError: a request is in flight; nothing was sent.
            DecodeError: the length of the frame is invalid; the connection is closed.
            TransportError: as ``request``; the connection is closed.
        """
        self._require_none_in_flight("bytes")
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            if data:
                self._transport.set_timeout_ms(timeout_ms)
                self._transport.send(data)
            prefix = self._receive_exactly(LENGTH_BYTES, deadline_ms)
            self._check_no_alert(prefix)
            size = checked_length(prefix, max_bytes, 0)
            return self._receive_exactly(size, deadline_ms)
        except BaseException:
            self.close()
            raise

    def send_bytes(self, data: bytes, *, timeout_ms: int) -> None:
        """Send bytes as they are, to which there is no response.

        Raises:
            LocalProtocolError: a request is in flight; nothing was sent.
            TransportError: as ``request``; the connection is closed.
        """
        self._require_none_in_flight("bytes")
        try:
            self._transport.set_timeout_ms(timeout_ms)
            self._transport.send(data)
        except BaseException:
            self.close()
            raise

    @property
    def has_descriptor(self) -> bool:
        """Whether it can be lent."""
        return self._lendable is not None

    @contextlib.contextmanager
    def delegate(self) -> Iterator[RawStream]:
        """Lend the connection out, between two requests; only where it ``has_descriptor``.

        Whoever borrowed it gives it back with nothing in flight, or closes it. Thread: as
        ``request``.

        Raises:
            ConnectionLost: it is closed.
        """
        assert self._lendable is not None
        with self._lendable.delegate() as descriptor:
            line = RawStream(
                descriptor,
                self._correlation_id,
                self._client_id.encode(),
                self._max_response_bytes,
                self._max_entry_bytes,
            )
            try:
                yield line
            finally:
                self._correlation_id = line.correlation_id

    def close(self) -> None:
        """Close; a thread that waits for a response wakes. Thread: any."""
        was_open, self._closed = not self._closed, True
        self._transport.close()
        if was_open:
            self._traffic.closed(self.broker)

    def _take_response(self, in_flight: InFlight[R], deadline_ms: int) -> R:
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
                    name, "correlation_id", 0, f"answer to {answered_id}, not {expected_id}"
                )
        except BaseException:
            self.close()
            raise
        self._in_flight.popleft()
        self._frame, self._length = None, _Incoming(LENGTH_BYTES)
        took_ms = self._clock.now_ms() - in_flight.sent_ms
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        self._traffic.on_response(self.broker, request.API.key, len(frame), took_ms, throttle_ms)
        return response

    def _require_in_flight(self, in_flight: InFlight[Any]) -> None:
        if not self._in_flight or self._in_flight[0] is not in_flight:
            name = type(in_flight.request).__name__
            raise LocalProtocolError(f"{self.broker}: this {name} is not in flight (field -)")

    def _send(
        self, request: Request[R], version: int, timeout_ms: int, most_in_front: int = 0
    ) -> int:
        self._require_none_in_flight(type(request).__name__, most_in_front)
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        data = encode_request(
            request, version=version, correlation_id=correlation_id, client_id=self._client_id
        )
        try:
            self._transport.set_timeout_ms(timeout_ms)
            self._transport.send(data)
        except BaseException:
            self.close()
            raise
        self._traffic.sent(self.broker, len(data))
        return correlation_id

    def _require_none_in_flight(self, name: str, most: int = 0) -> None:
        if len(self._in_flight) > most and not self._closed:
            raise LocalProtocolError(
                f"{self.broker}: {name} can't be sent while another request is in flight (field -)"
            )

    def _bound_of(self, in_flight: InFlight[Any]) -> int:
        request, version = in_flight.request, in_flight.version
        bound = response_bound(request, version, entry_bytes=self._max_entry_bytes)
        return min(bound, self._max_response_bytes)

    def _receive_next(self, in_flight: InFlight[Any], deadline_ms: int) -> None:
        """Receive some more of the frame that responses, whose length comes first."""
        frame = self._frame
        self._receive(self._length if frame is None else frame, deadline_ms)
        if frame is None and self._length.is_whole:
            if not in_flight.correlation_id:
                self._check_no_alert(self._length.data())
            size = checked_length(self._length.data(), self._bound_of(in_flight))
            self._frame = _Incoming(size)

    def _check_no_alert(self, prefix: memoryview) -> None:
        """Raise ``AuthenticationFailed`` where a first response begins as an alert of TLS does."""
        if bytes(prefix[:2]) == _TLS_ALERT:
            raise AuthenticationFailed(
                f"{self.broker}: answers in TLS: its port wants that (security_protocol)"
            )

    def _receive_exactly(self, size: int, deadline_ms: int) -> memoryview:
        incoming = _Incoming(size)
        while not incoming.is_whole:
            self._receive(incoming, deadline_ms)
        return incoming.data()

    def _receive(self, incoming: _Incoming, deadline_ms: int) -> None:
        left_ms = deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{self.broker}: no answer in time")
        self._transport.set_timeout_ms(left_ms)
        if not incoming.receive(self._transport):
            raise ConnectionLost(f"{self.broker}: closed the connection")
