"""Connections with negotiated versions, while brokers change, on real threads."""

import pytest

from tests.fakes.loopback import LOOPBACK, LoopbackServer
from tests.support.scripted_broker import MODERN, ScriptedBroker, Serves
from tests.support.scripted_dialing import (
    ADDRESS,
    LONG_MS,
    answering,
)
from zkconsumer.errors import (
    ConnectionLost,
)
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import VersionRange

KAFKA_0_10_2: Serves = {
    **MODERN,
    ApiKey.API_VERSIONS: VersionRange(0, 0),
    ApiKey.METADATA: VersionRange(0, 2),
}


def test_versions_are_negotiated_again_after_a_delegated_connection_broke() -> None:
    """The broker may be back with another version, so the next connection asks for it."""
    broker = ScriptedBroker(ADDRESS, serves=KAFKA_0_10_2, response=answering)
    with LoopbackServer() as server:
        address = Broker(-1, LOOPBACK, server.listen(broker.accept))
        dialer = BrokerDialer(
            TcpConnector(), client_id="test", connect_timeout_ms=LONG_MS, request_timeout_ms=LONG_MS
        )
        delegated, other = dialer.dial(address), dialer.dial(address)
        assert broker.accepted == 3
        assert delegated.has_descriptor
        first, known = (request.version for request in broker.requested(ApiKey.API_VERSIONS)[1:])
        assert known < broker.requested(ApiKey.API_VERSIONS)[0].version
        with pytest.raises(ConnectionLost, match="borrowed"), delegated.delegate():
            raise ConnectionLost("borrowed, and gone")
        broker.serves = MODERN
        renewed = dialer.dial(address)
        assert broker.requested(ApiKey.API_VERSIONS)[-1].version > known == first
        for connection in (delegated, other, renewed):
            connection.close()
