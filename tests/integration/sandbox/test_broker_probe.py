"""What the sandbox reads from a broker's response, with a scripted broker."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox.broker_probe import leads, request_view
from zkconsumer.scope import ThreadScope

# Correlation id; broker 7 at h:1; topic t: partition 0 led by 7, partition 1 without a leader.
METADATA = (
    struct.pack(">i", 1)
    + struct.pack(">iih1si", 1, 7, 1, b"h", 1)
    + struct.pack(">ihh1si", 1, 0, 1, b"t", 2)
    + struct.pack(">hiiiii", 0, 0, 7, 1, 7, 1)
    + struct.pack(">i", 7)
    + struct.pack(">hiiiiii", 5, 1, -1, 2, 7, 8, 1)
    + struct.pack(">i", 8)
)


@contextmanager
def broker_responding_with(reply: bytes) -> Iterator[Broker]:
    """Run a broker on loopback that sends the same bytes to every request, then closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(reply)

        scope = ThreadScope("broker")
        scope.spawn("serve", serve, stop=lambda: server.shutdown(socket.SHUT_RDWR))
        yield Broker(7, "127.0.0.1", server.getsockname()[1])
        assert scope.close(timeout_ms=5_000) == []


def framed(reply: bytes) -> bytes:
    """Return the response with its length in front."""
    return struct.pack(">i", len(reply)) + reply


def test_metadata_has_brokers_topics_and_leaders() -> None:
    """A partition without a leader is known, with its in-sync replicas."""
    with broker_responding_with(framed(METADATA)) as broker:
        known = request_view(broker)
    assert known is not None
    assert known.topics == {"t"}
    assert known.leaders == {TopicPartition("t", 0): 7}
    assert known.partitions[TopicPartition("t", 1)].isr == (8,)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\0\0",
        struct.pack(">i", -5),
        struct.pack(">i", 0),
        framed(METADATA[:-1]),
        framed(METADATA)[:-9],
        framed(METADATA[:4] + struct.pack(">i", 1_000_000_000)),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_an_invalid_response_counts_as_none(reply: bytes) -> None:
    """Whatever listens there, the request ends."""
    with broker_responding_with(reply) as broker:
        assert request_view(broker) is None
        assert not leads(broker, TopicPartition("t", 0))


@pytest.mark.parametrize(("code", "led"), [(0, True), (3, False), (6, False)])
def test_a_leader_is_the_broker_that_serves_the_partition(code: int, led: bool) -> None:
    """Any error code means that it does not."""
    reply = struct.pack(">iih1siihi", 1, 1, 1, b"t", 1, 0, code, 0)
    with broker_responding_with(framed(reply)) as broker:
        assert leads(broker, TopicPartition("t", 0)) is led
