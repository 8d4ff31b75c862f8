"""Metadata from chosen brokers, on real threads (the unit tests of the same name hold the rest)."""

import pytest

from tests.fakes.fake_script import Hang
from tests.support.fake_net import LONG_MS, FakeNet, fake_net, requested_brokers
from tests.support.plain_connections import short_timeout_client
from tests.support.waiting import wait_until
from zkconsumer.errors import TransportError
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey


@pytest.fixture
def net() -> FakeNet:
    """Three brokers, and a topic of which each leads a partition."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    return net


def test_stop_ends_a_request_and_all_later_ones(net: FakeNet) -> None:
    """Stopped from another thread, the client sends no request to further brokers."""
    for broker in net.brokers:
        broker.script(ApiKey.METADATA, Hang())
    client = short_timeout_client(net, LONG_MS)
    refused: list[TransportError] = []

    def request() -> None:
        try:
            client.view_by(net.brokers.addresses, ["t"])
        except TransportError as error:
            refused.append(error)

    scope = ThreadScope("test-view-by")
    scope.spawn("ask", request, stop=client.stop)
    wait_until(lambda: requested_brokers(net), what="the first broker to be asked")
    assert scope.close(LONG_MS) == []
    assert "stopped" in str(refused[0]) or "closed by us" in str(refused[0])
    request()
    assert len(refused) == 2
    assert requested_brokers(net) == [0]
