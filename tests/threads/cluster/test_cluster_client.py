"""The cluster client, on real threads (the unit tests of the same name hold the rest)."""

from collections.abc import Callable

import pytest

from tests.support.scripted_broker import ScriptedAction
from tests.support.scripted_cluster import ScriptedCluster
from tests.support.waiting import wait_until
from zkconsumer.cluster.cluster_client import LATEST, ClusterClient
from zkconsumer.errors import (
    ConnectFailed,
    TransportError,
)
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


@pytest.fixture
def cluster() -> ScriptedCluster:
    """Two brokers that lead a partition each."""
    return ScriptedCluster(leaders={T0: 0, T1: 1}, epochs={T0: 3, T1: 4})


@pytest.fixture
def client(cluster: ScriptedCluster) -> ClusterClient:
    """A client of this cluster."""
    return cluster.client()


def test_a_request_is_retried_until_a_broker_responds(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """The first of all brokers to come up is enough."""
    for broker in cluster.brokers:
        broker.down = True
    scope = ThreadScope("test-wait")
    views: list[object] = []
    scope.spawn(
        "ask", lambda: views.append(client.view(["t"], timeout_ms=LONG_MS)), stop=client.stop
    )
    cluster.brokers[1].down = False
    wait_until(lambda: views, what="a view")
    assert scope.close(LONG_MS) == []


# --- Stopping -------------------------------------------------------------------------------------


CALLS: list[Callable[[ClusterClient], object]] = [
    lambda client: client.view(["t"], timeout_ms=LONG_MS),
    lambda client: client.list_offsets({T0: LATEST}, timeout_ms=LONG_MS),
    lambda client: client.coordinator("g", timeout_ms=LONG_MS),
    lambda client: client.coordinator_of_offsets(timeout_ms=LONG_MS),
]


@pytest.mark.parametrize("send", CALLS)
@pytest.mark.parametrize("trouble", ["hangs", "is away"])
def test_stop_ends_a_call(
    cluster: ScriptedCluster, send: Callable[[ClusterClient], object], trouble: str
) -> None:
    """It ends a wait for a response and a pause before a retry; later calls fail at once."""
    client = cluster.client()
    client.view(["t"], timeout_ms=LONG_MS)
    requested = sum(len(scripted_broker.requests) for scripted_broker in cluster.brokers)
    if trouble == "hangs":
        cluster.actions.update({0: ScriptedAction.SILENCE, 1: ScriptedAction.SILENCE})
    else:
        for broker in cluster.brokers:
            broker.down = True
            broker.break_all()
    ended: list[object] = []

    def call() -> None:
        try:
            ended.append(send(client))
        except TransportError as error:
            ended.append(error)

    scope = ThreadScope("test-stop")
    scope.spawn("ask", call, stop=client.stop)
    if trouble == "hangs":
        wait_until(
            lambda: (
                sum(len(scripted_broker.requests) for scripted_broker in cluster.brokers)
                > requested
            ),
            what="the question",
        )
    assert scope.close(2_000) == []
    assert scope.first_error() is None
    assert len(ended) == 1
    with pytest.raises(ConnectFailed, match="stopped"):
        client.view(["t"], timeout_ms=LONG_MS)
