"""Connections, on real threads (the unit tests of the same name hold the rest)."""

from tests.fakes.fake_script import Hang
from tests.support.fake_net import LONG_MS, FakeNet, request_metadata
from tests.support.waiting import wait_until
from zkconsumer.errors import (
    ConnectionLost,
)
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataRequest

QUESTION = MetadataRequest(topics=("t",))


def test_close_ends_a_request_that_waits(net: FakeNet) -> None:
    """Closing in another thread makes the request raise ConnectionLost."""
    net.brokers[0].script(ApiKey.METADATA, Hang())
    connection = net.connect()
    received: list[ConnectionLost] = []

    def wait_for_answer() -> None:
        try:
            request_metadata(connection)
        except ConnectionLost as error:
            received.append(error)

    scope = ThreadScope("test-connection")
    scope.spawn("ask", wait_for_answer, stop=connection.close)
    wait_until(lambda: net.brokers[0].requests, what="the question")
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert len(received) == 1
