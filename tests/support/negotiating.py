"""Negotiation of versions over real connections, with each request on a new one."""

from collections.abc import Callable

from tests.fakes.frame_reader import FrameReader
from zkconsumer.errors import ConnectionLost
from zkconsumer.net.transport import Transport
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.negotiation import BrokerVersions, after_close, after_frame, request_bytes
from zkconsumer.wire.probes import FIRST_PROBE, Probe

TIMEOUT_MS = 10_000
MAX_BYTES = 1 << 20
Asked = list[tuple[ApiKey, int]]


def negotiate(connect: Callable[[], Transport]) -> tuple[BrokerVersions, Asked]:
    """Return the broker's versions, and the requests that were sent to find out."""
    state: BrokerVersions | Probe = FIRST_PROBE
    requested: Asked = []
    while isinstance(state, Probe):
        probe = state
        requested.append((probe.request.API.key, probe.version))
        transport = connect()
        try:
            transport.set_timeout_ms(TIMEOUT_MS)
            transport.send(request_bytes(probe, client_id="probe"))
            state = after_frame(probe, _first_frame(transport))
        except ConnectionLost:
            state = after_close(probe)
        finally:
            transport.close()
    return state, requested


def _first_frame(transport: Transport) -> memoryview:
    reader = FrameReader(MAX_BYTES)
    buffer = memoryview(bytearray(1 << 16))
    while (frame := reader.next_frame()) is None:
        count = transport.receive_into(buffer)
        if not count:
            raise ConnectionLost("closed instead of an answer")
        reader.receive(buffer[:count])
    return frame
