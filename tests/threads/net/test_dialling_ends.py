"""Dials and calls that end early, on real threads (the unit tests hold the rest)."""

import pytest

from tests.support.scripted_broker import ScriptedAction, ScriptedBroker
from tests.support.scripted_dialing import (
    ADDRESS,
    LONG_MS,
    REQUEST,
    SHORT_MS,
)
from tests.support.waiting import wait_until
from zkconsumer.errors import (
    ConnectFailed,
    ConnectionLost,
    TransportError,
)
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration


def test_stop_ends_a_dial(broker: ScriptedBroker, dialer: BrokerDialer) -> None:
    """A hanging broker delays nothing, and later dials fail at once."""
    broker.response = lambda _: ScriptedAction.SILENCE
    ended: list[TransportError] = []

    def dial() -> None:
        try:
            dialer.dial(ADDRESS)
        except TransportError as error:
            ended.append(error)

    scope = ThreadScope("test-stop")
    scope.spawn("dial", dial, stop=dialer.stop)
    wait_until(lambda: broker.requests, what="the question")
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert len(ended) == 1
    accepted = broker.accepted
    with pytest.raises(ConnectionLost, match="aborted"):
        dialer.dial(ADDRESS)
    assert broker.accepted == accepted == 1


def test_a_twin_connects_on_its_own() -> None:
    """Stopping a sibling over TCP leaves the other one's connects alone."""
    connector = TcpConnector()
    elder = BrokerDialer(
        connector, client_id="test", connect_timeout_ms=SHORT_MS, request_timeout_ms=SHORT_MS
    )
    elder.sibling().stop()
    with pytest.raises(ConnectFailed, match="can't connect"):
        elder.dial(Broker(-1, "127.0.0.1", 1))


def test_close_ends_a_call_and_keeps_the_versions(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """Closing in another thread ends a wait, but says nothing against the known versions."""
    broker.become(BrokerGeneration.V0_8_2)
    other = dialer.dial(ADDRESS)
    connection = dialer.dial(ADDRESS)
    broker.response = lambda frame: (
        ScriptedAction.SILENCE if frame.api_key is ApiKey.METADATA else None
    )
    ended: list[ConnectionLost] = []

    def call() -> None:
        try:
            connection.call(REQUEST, timeout_ms=LONG_MS)
        except ConnectionLost as error:
            ended.append(error)

    scope = ThreadScope("test-close")
    scope.spawn("call", call, stop=connection.close)
    wait_until(lambda: broker.requested(ApiKey.METADATA), what="the question")
    assert scope.close(LONG_MS) == []
    assert len(ended) == 1
    assert not connection.is_idle
    accepted = broker.accepted
    dialer.dial(ADDRESS).close()
    assert broker.accepted == accepted + 1
    other.close()
