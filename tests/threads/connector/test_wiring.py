"""A connector's fetchers, on real threads (the unit tests of the same name hold the rest)."""

import json
import socket
import ssl

from tests.fakes.loopback import LOOPBACK
from tests.fakes.memory_zk import MemoryZkServer
from tests.support.chunks import ListSink
from zkconsumer.clock import SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.fetch_wiring import wire_fetching
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.configured import member_context
from zkconsumer.model import TopicPartition
from zkconsumer.net.security import SecuritySettings
from zkconsumer.observe import MemberName
from zkconsumer.scope import ThreadScope

T0 = TopicPartition("t", 0)


def test_a_broker_that_hangs_in_a_handshake_does_not_delay_shutdown() -> None:
    """Its port accepts the connection, but nothing answers the TLS handshake."""
    zookeeper = MemoryZkServer()
    store = zookeeper.connect()
    scope = ThreadScope("hanging")
    context = ssl.create_default_context()
    with socket.create_server((LOOPBACK, 0)) as silent:
        address = f"SSL://{LOOPBACK}:{silent.getsockname()[1]}"
        node = {"version": 2, "host": None, "port": -1, "endpoints": [address]}
        store.ensure_paths(["/brokers/ids"])
        store.set_or_create_many({"/brokers/ids/1": json.dumps(node).encode()})
        security = SecuritySettings(protocol="SSL", ssl_context=context)
        member = member_context(
            ConsumerConfig(None, zookeeper_connect="h:2181", group_id="g1"),
            name=MemberName("g1", "c1"),
            store=store,
            clock=SystemClock(),
            observers=(),
            security=security,
        )
        fetching = wire_fetching(member, scope, security)
        fetching.add([(PartitionClaim(T0, ListSink(), 0), 0)])
        connected, _ = silent.accept()
        with connected:
            assert connected.recv(1) == b"\x16", "a handshake of TLS"
            assert scope.close(10_000) == [], "which may take thirty seconds"
    assert scope.first_error() is None
