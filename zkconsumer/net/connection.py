"""A connection to one broker: requests out, their answers in, one at a time.

Any failure closes it: half an answer, or a late one, must never be taken for the next one.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectionLost, DecodeError, RequestTimedOut
from zkconsumer.model import Broker
from zkconsumer.net.transport import HasDescriptor, Transport
from zkconsumer.wire.codec import Request, decode_response, encode_request
from zkconsumer.wire.framing import LENGTH_BYTES, checked_length

R = TypeVar("R")

_READ_BYTES = 1 << 20


@dataclass(slots=True, eq=False)
class Line:
    """A connection in the hands of somebody who writes and reads the bytes himself.

    Attributes:
        descriptor: the socket's.
        correlation_id: of the next request; to be moved on with every one.
        client_id: sent with every request, as UTF-8.
        max_response_bytes: no larger answer is to be taken.
    """

    descriptor: int
    correlation_id: int
    client_id: bytes
    max_response_bytes: int


class BrokerConnection:
    """Thread: one at a time, but for ``close``.

    Args:
        broker: for messages.
        transport: connected; this object owns it.
        client_id: sent with every request.
        max_response_bytes: a larger answer is refused before any of it is kept.
        clock: for deadlines.
    """

    def __init__(
        self,
        broker: Broker,
        transport: Transport,
        *,
        client_id: str,
        max_response_bytes: int,
        clock: Clock | None = None,
    ) -> None:
        self.broker = broker
        self._transport = transport
        self._client_id = client_id
        self._max_response_bytes = max_response_bytes
        self._clock = clock or SystemClock()
        self._correlation_id = 0

    def request(self, request: Request[R], *, version: int, timeout_ms: int) -> R:
        """Send a request and wait for its answer.

        Raises:
            LocalProtocolError: the request can't be encoded in that version.
            DecodeError: the answer is not one; the connection is closed.
            TransportError: no answer in time, or none at all; the connection is closed.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        correlation_id = self._send(request, version, timeout_ms)
        try:
            frame = self._receive_frame(deadline_ms)
            answered_id, response = decode_response(request, version, frame)
            if answered_id != correlation_id:
                name = type(request).__name__
                raise DecodeError(  # noqa: TRY301 - closing is the same for all of these
                    name, "correlation_id", 0, f"answer to {answered_id}, not {correlation_id}"
                )
        except BaseException:
            self.close()
            raise
        return response

    def send_only(self, request: Request[R], *, version: int, timeout_ms: int) -> None:
        """Send a request that the broker does not answer (Produce with acks 0)."""
        self._send(request, version, timeout_ms)

    @property
    def has_descriptor(self) -> bool:
        """Whether it can be lent."""
        return isinstance(self._transport, HasDescriptor)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Line]:
        """Lend the connection out, between two requests; only where it ``has_descriptor``.

        Whoever borrowed it gives it back with nothing in flight, or closes it. Thread: as
        ``request``.

        Raises:
            ConnectionLost: it is closed.
        """
        transport = self._transport
        assert isinstance(transport, HasDescriptor)
        with transport.lend() as descriptor:
            line = Line(
                descriptor, self._correlation_id, self._client_id.encode(), self._max_response_bytes
            )
            try:
                yield line
            finally:
                self._correlation_id = line.correlation_id

    def close(self) -> None:
        """Close; a thread that waits for an answer wakes. Thread: any."""
        self._transport.close()

    def _send(self, request: Request[R], version: int, timeout_ms: int) -> int:
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
        return correlation_id

    def _receive_frame(self, deadline_ms: int) -> memoryview:
        prefix = self._receive_exactly(LENGTH_BYTES, deadline_ms)
        size = checked_length(prefix, self._max_response_bytes)
        return self._receive_exactly(size, deadline_ms)

    def _receive_exactly(self, size: int, deadline_ms: int) -> memoryview:
        """Read ``size`` bytes into a buffer that grows with what really comes."""
        buffer = bytearray(min(size, _READ_BYTES))
        filled = 0
        while filled < size:
            left_ms = deadline_ms - self._clock.now_ms()
            if left_ms <= 0:
                raise RequestTimedOut(f"{self.broker}: no answer in time")
            self._transport.set_timeout_ms(left_ms)
            if filled == len(buffer):
                buffer.extend(bytes(min(size - filled, len(buffer))))
            with memoryview(buffer) as view:
                count = self._transport.receive_into(view[filled:])
            if count == 0:
                raise ConnectionLost(f"{self.broker}: closed the connection")
            filled += count
        return memoryview(buffer)
