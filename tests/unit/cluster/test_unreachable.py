"""What the log says of a wrong address or an unreachable cluster."""

import logging

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_cluster import PORT, ScriptedCluster
from zkconsumer.cluster.cluster_client import LATEST
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed
from zkconsumer.model import TopicPartition


def test_an_unreachable_cluster_is_logged_at_once_and_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The warning is logged at the first failure, not at the time-out, and not for each call."""
    cluster = ScriptedCluster(leaders={TopicPartition("t", 0): 0})
    client = cluster.client()
    with caplog.at_level(logging.WARNING, "zkconsumer.cluster.cluster_client"):
        for broker in cluster.brokers:
            broker.down = True
        for _ in range(2):
            with pytest.raises(ConnectFailed):
                client.view(["t"], timeout_ms=1000)
        [reported] = [record.getMessage() for record in caplog.records]
        assert reported.startswith("no broker responded to the request for topics t: ")
        assert "b0:9092: can't connect" in reported
        assert reported.endswith("; retrying")
        for broker in cluster.brokers:
            broker.down = False
        client.view(["t"], timeout_ms=1000)
        assert len(caplog.records) == 1


def test_an_unreachable_advertised_address_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log names the broker and the address that its ``advertised.listeners`` gave."""
    tp = TopicPartition("t", 0)
    cluster = ScriptedCluster(leaders={tp: 1})
    client = cluster.client()
    cluster.network.listen("b1", PORT, lambda: None)
    with caplog.at_level(logging.WARNING, "zkconsumer.cluster.connection_pool"):
        for _ in range(2):
            listed = client.list_offsets({tp: LATEST}, timeout_ms=100)
            assert listed == {tp: ErrorCode.NETWORK_EXCEPTION}
    [reported] = [record.getMessage() for record in caplog.records]
    assert reported.startswith(
        "broker 1 (b1:9092), as advertised by the cluster, can't be reached: "
    )


def test_a_call_that_sent_no_request_says_why() -> None:
    """The error says that the time was over, or that the client was stopped, before any request."""
    cluster = ScriptedCluster(leaders={TopicPartition("t", 0): 0})
    clock = ManualClock()
    clock.step_ms = 20  # at every reading: the time is over before a request is sent
    client = cluster.client(clock=clock)
    with pytest.raises(ConnectFailed, match="the time was over before a request was sent"):
        client.view(["t"], timeout_ms=1)
    client.stop()
    with pytest.raises(ConnectFailed, match="this client was stopped"):
        client.view(["t"], timeout_ms=1_000)
