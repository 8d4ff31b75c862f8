"""Responses that come in pieces, on real sockets (the unit tests hold the rest)."""

import socket

from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.in_flight import Received
from zkconsumer.net.tcp import TcpTransport
from zkconsumer.wire.codec import encode_response
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def test_a_response_is_received_piece_by_piece() -> None:
    """No byte is lost between two reads, be it of the length or after it."""
    ours, theirs = socket.socketpair()
    with theirs:
        transport = TcpTransport(ours, "fake:9092")
        broker = Broker(1, "fake", 9092)
        connection = BrokerConnection(broker, transport, client_id="c", max_response_bytes=1_000)
        request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
        response = HeartbeatResponse(error_code=27)
        for _ in range(2):
            in_flight = connection.begin(request, version=0, timeout_ms=1_000)
            frame = encode_response(response, version=0, correlation_id=in_flight.correlation_id)
            assert connection.receive(in_flight, timeout_ms=1) is Received.NOTHING
            for piece in (frame[:2], frame[2:4], frame[4:7]):
                theirs.sendall(piece)
                assert connection.receive(in_flight, timeout_ms=5_000) is Received.PART
                assert connection.receive(in_flight, timeout_ms=1) is Received.NOTHING
            theirs.sendall(frame[7:])
            assert connection.receive(in_flight, timeout_ms=5_000) is Received.ALL
            assert connection.receive(in_flight, timeout_ms=1) is Received.ALL
            assert not connection.is_idle
            assert connection.finish(in_flight, timeout_ms=0) == response
            assert connection.is_idle
        connection.close()
