"""Negotiation over real connections, each question on a new one."""

from collections.abc import Callable

from tests.fakes.frame_reader import FrameReader
from zkconsumer.errors import ConnectionLost
from zkconsumer.net.transport import Transport
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.negotiation import (
    FIRST_PROBE,
    BrokerVersions,
    Probe,
    after_close,
    after_frame,
    request_bytes,
)

TIMEOUT_MS = 10_000
MAX_BYTES = 1 << 20
Asked = list[tuple[ApiKey, int]]


def negotiate(connect: Callable[[], Transport]) -> tuple[BrokerVersions, Asked]:
    """What the broker serves, and what it was asked until that was known."""
    found: BrokerVersions | Probe = FIRST_PROBE
    requested: Asked = []
    while isinstance(found, Probe):
        probe = found
        requested.append((probe.request.API.key, probe.version))
        transport = connect()
        try:
            transport.set_timeout_ms(TIMEOUT_MS)
            transport.send(request_bytes(probe, client_id="probe"))
            found = after_frame(probe, _first_frame(transport))
        except ConnectionLost:
            found = after_close(probe)
        finally:
            transport.close()
    return found, requested


def _first_frame(transport: Transport) -> memoryview:
    reader = FrameReader(MAX_BYTES)
    buffer = memoryview(bytearray(1 << 16))
    while (frame := reader.next_frame()) is None:
        count = transport.receive_into(buffer)
        if not count:
            raise ConnectionLost("closed instead of an answer")
        reader.receive(buffer[:count])
    return frame
