"""Dialers for a single broker in memory of any version (see ``scripted_broker``)."""

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.scripted_broker import ScriptedBroker
from zkconsumer.clock import Clock
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.wire.api import ApiKey, Response
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.negotiation import BrokerVersions

ADDRESS = Broker(-1, "b", 9092)
LONG_MS = 10_000
SHORT_MS = 50
REQUEST = MetadataRequest(topics=("t",))
EMPTY_RESPONSE = MetadataResponse(brokers=(), topics=())


def answering(frame: RequestFrame) -> Response | None:
    """Respond to metadata requests; for all others return None."""
    return EMPTY_RESPONSE if frame.api_key is ApiKey.METADATA else None


def dialer_to(
    broker: ScriptedBroker,
    security: SecuritySettings = PLAINTEXT,
    clock: Clock | None = None,
    *,
    timeout_ms: int = LONG_MS,
    assumed: BrokerVersions | None = None,
) -> BrokerDialer:
    """Return a dialer for a broker."""
    network = MemoryNetwork()
    broker.listen(network)
    return BrokerDialer(
        network,
        client_id="test",
        security=security,
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=timeout_ms,
        assumed=assumed,
        clock=clock,
    )


def version_sent(broker: ScriptedBroker, connection: NegotiatedConnection) -> int:
    """Send a metadata request; return the version that the broker received."""
    assert connection.call(REQUEST, timeout_ms=LONG_MS) == EMPTY_RESPONSE
    return broker.requested(ApiKey.METADATA)[-1].version
