"""Metadata that one thread keeps current until it is stopped."""

from collections.abc import Iterator

import pytest

from tests.support.cluster_views import await_view
from tests.support.scripted_broker import ScriptedAction
from tests.support.scripted_cluster import ScriptedCluster
from tests.support.waiting import wait_until
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    NoBrokersAvailable,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey

LONG_MS = 10_000
NEVER_MS = 1 << 40
T0 = TopicPartition("t", 0)
U0 = TopicPartition("u", 0)
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)


class ManagerWithReports:
    """A metadata manager with the views and failures that it reported."""

    def __init__(
        self, cluster: ScriptedCluster, scope: ThreadScope, refresh_ms: int, backoff_ms: int = 20
    ) -> None:
        self.views: list[ClusterView] = []
        self.failures: list[ZkConsumerError] = []
        self.metadata = MetadataManager(
            cluster.client(),
            scope,
            refresh_ms=refresh_ms,
            backoff_ms=backoff_ms,
            metadata_timeout_ms=100,
            on_change=self.views.append,
            on_failure=self.failures.append,
        )


@pytest.fixture
def scope() -> Iterator[ThreadScope]:
    """The scope of the manager's thread, which ends promptly, whatever the brokers do."""
    scope = ThreadScope("test-keeper")
    yield scope
    assert scope.close(2_000) == []
    assert scope.first_error() is None


@pytest.fixture
def cluster() -> ScriptedCluster:
    """Two brokers and two topics."""
    return ScriptedCluster(leaders={T0: 0, U0: 1})


@pytest.fixture
def manager(cluster: ScriptedCluster, scope: ThreadScope) -> ManagerWithReports:
    """A manager that requests metadata on demand only."""
    return ManagerWithReports(cluster, scope, NEVER_MS)


def test_the_initial_metadata_is_not_requested_again(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """It is reported as any view; watching the same topics sends no request."""
    manager.metadata.begin(frozenset({"t"}), timeout_ms=LONG_MS)
    assert T0 in manager.metadata.view.leaders
    assert manager.views == [manager.metadata.view]
    assert len(cluster.requested(ApiKey.METADATA)) == 1
    manager.metadata.watch(frozenset({"t"}))
    assert not await_view(manager.metadata, lambda view: U0 in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == 1
    manager.metadata.watch(frozenset({"t", "u"}))
    assert await_view(manager.metadata, lambda view: U0 in view.leaders, LONG_MS)


def test_the_initial_metadata_expires(cluster: ScriptedCluster, scope: ThreadScope) -> None:
    """It is refreshed after the refresh interval, as any metadata."""
    metadata = ManagerWithReports(cluster, scope, refresh_ms=20).metadata
    metadata.begin(frozenset({"t"}), timeout_ms=LONG_MS)
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) > 2, what="more questions")


def test_initial_metadata_without_a_response_is_an_error(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """The error names each broker and why; nothing is reported, and no request follows."""
    for broker in cluster.brokers:
        broker.down = True
    with pytest.raises(NoBrokersAvailable, match=r"b0:9092.*b1:9092"):
        manager.metadata.begin(frozenset({"t"}), timeout_ms=50)
    assert manager.views == []
    assert manager.metadata.view.brokers == {}


def test_no_metadata_is_requested_until_topics_are_watched(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """One more topic is requested at once; fewer topics are not."""
    assert manager.metadata.view.brokers == {}
    assert not await_view(manager.metadata, lambda view: bool(view.brokers), 50)
    assert cluster.requested(ApiKey.METADATA) == []
    manager.metadata.watch(frozenset({"t"}))
    assert await_view(manager.metadata, lambda view: T0 in view.leaders, LONG_MS)
    assert U0 not in manager.metadata.view.leaders
    manager.metadata.watch(frozenset({"t", "u"}))
    assert await_view(manager.metadata, lambda view: U0 in view.leaders, LONG_MS)
    assert manager.views[-1] == manager.metadata.view
    requested = len(cluster.requested(ApiKey.METADATA))
    manager.metadata.watch(frozenset({"u"}))
    assert not await_view(manager.metadata, lambda view: T0 not in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == requested
    manager.metadata.watch(None)
    wait_until(
        lambda: len(cluster.requested(ApiKey.METADATA)) > requested, what="the question for all"
    )


def test_a_new_topic_does_not_wait_for_the_pause_between_requests(
    cluster: ScriptedCluster, scope: ThreadScope
) -> None:
    """Nothing of it can be fetched before; a refresh of known topics waits."""
    metadata = ManagerWithReports(cluster, scope, NEVER_MS, backoff_ms=NEVER_MS).metadata
    metadata.begin(frozenset(), timeout_ms=LONG_MS)
    metadata.watch(frozenset({"t"}))
    assert await_view(metadata, lambda view: T0 in view.leaders, LONG_MS)
    metadata.watch(frozenset({"t", "u"}))
    assert await_view(metadata, lambda view: U0 in view.leaders, LONG_MS)
    requested = len(cluster.requested(ApiKey.METADATA))
    metadata.watch(frozenset({"u"}))
    metadata.update()
    assert not await_view(metadata, lambda view: T0 not in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == requested == 3


def test_a_new_topic_waits_while_requests_fail(
    cluster: ScriptedCluster, scope: ThreadScope
) -> None:
    """Subscribing again and again does not make requests to brokers that are down more frequent."""
    manager = ManagerWithReports(cluster, scope, NEVER_MS, backoff_ms=NEVER_MS)
    for broker in cluster.brokers:
        broker.down = True
    manager.metadata.watch(frozenset({"t"}))
    wait_until(lambda: len(manager.failures) == 1, what="the failure")
    manager.metadata.watch(frozenset({"t", "u"}))
    assert not await_view(manager.metadata, lambda _: len(manager.failures) > 1, 50)


def test_metadata_is_refreshed_regularly(cluster: ScriptedCluster, scope: ThreadScope) -> None:
    """Only views that changed are reported."""
    manager = ManagerWithReports(cluster, scope, 20)
    manager.metadata.watch(frozenset({"t"}))
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) >= 3, what="three questions")
    assert len(manager.views) == 1
    cluster.leaders[T0] = 1
    assert await_view(manager.metadata, lambda view: view.leaders[T0] == B1, LONG_MS)


def test_stale_metadata_is_refreshed_soon(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """However often an update is requested, ``retry.backoff.ms`` lies between two requests."""
    manager.metadata.watch(frozenset({"t"}))
    assert await_view(manager.metadata, lambda view: T0 in view.leaders, LONG_MS)
    cluster.leaders[T0] = 1
    for _ in range(1_000):
        manager.metadata.update()
    assert await_view(manager.metadata, lambda view: view.leaders[T0] == B1, LONG_MS)
    await_view(manager.metadata, lambda _: False, 100)
    assert len(cluster.requested(ApiKey.METADATA)) <= 4


def test_missing_metadata_is_requested_again(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """A topic that is created and a leader that is elected are found without being asked for."""
    later = TopicPartition("later", 0)
    manager.metadata.watch(frozenset({"later"}))
    assert await_view(manager.metadata, lambda view: "later" in view.errors, LONG_MS)
    cluster.leaders[later] = -1
    assert await_view(manager.metadata, lambda view: later in view.leaderless, LONG_MS)
    cluster.leaders[later] = 0
    assert await_view(manager.metadata, lambda view: later in view.leaders, LONG_MS)


def test_partitions_that_appeared_after_the_first_view_are_new(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """Only watched topics count; until the first view it is not known."""
    later, second = TopicPartition("later", 0), TopicPartition("t", 1)
    metadata = manager.metadata
    assert metadata.is_new(T0) is False
    cluster.actions[0] = cluster.actions[1] = ScriptedAction.SILENCE
    metadata.watch(frozenset({"t", "later"}))
    assert (metadata.is_new(T0), metadata.is_new(later)) == (None, None)
    cluster.actions.clear()
    assert await_view(metadata, lambda view: T0 in view.leaders, LONG_MS)
    assert (metadata.is_new(T0), metadata.is_new(later)) == (False, True)
    cluster.leaders |= {later: 0, second: 1}
    assert await_view(metadata, lambda view: later in view.leaders, LONG_MS)
    assert [metadata.is_new(tp) for tp in (T0, second, later)] == [False, True, True]
    metadata.watch(frozenset({"u"}))
    assert metadata.is_new(later) is False


def test_an_older_leader_epoch_does_not_replace_the_leader(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """A broker whose metadata lags may still name the former leader."""
    cluster.epochs[T0] = 5
    manager.metadata.watch(frozenset({"t"}))
    assert await_view(manager.metadata, lambda view: T0 in view.leaders, LONG_MS)
    cluster.epochs[T0], cluster.leaders[T0] = 4, 1
    requested = len(cluster.requested(ApiKey.METADATA))
    manager.metadata.update()
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) > requested, what="the question")
    assert not await_view(manager.metadata, lambda view: view.leaders[T0] == B1, 50)
    cluster.epochs[T0] = 6
    manager.metadata.update()
    assert await_view(manager.metadata, lambda view: view.leaders[T0] == B1, LONG_MS)


def test_the_failure_of_all_brokers_is_reported(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """The last view stays; the failure is gone once a broker responds again."""
    manager.metadata.watch(frozenset({"t"}))
    assert await_view(manager.metadata, lambda view: T0 in view.leaders, LONG_MS)
    for broker in cluster.brokers:
        broker.down = True
        broker.break_all()
    manager.metadata.update()
    wait_until(lambda: manager.metadata.failure, what="the reason")
    assert isinstance(manager.metadata.failure, ConnectFailed)
    assert manager.metadata.view.leaders == {T0: B0}
    assert len(manager.failures) >= 1
    for broker in cluster.brokers:
        broker.down = False
    cluster.leaders[T0] = 1
    assert await_view(manager.metadata, lambda view: view.leaders[T0] == B1, LONG_MS)
    assert manager.metadata.failure is None


def test_a_failed_authentication_is_not_retried(
    cluster: ScriptedCluster, manager: ManagerWithReports
) -> None:
    """It is reported as such."""
    for broker in cluster.brokers:
        broker.response = lambda _: b"\x15\x03\x03\x00\x02\x02\x50"
    manager.metadata.watch(frozenset({"t"}))
    assert await_view(manager.metadata, lambda _: manager.metadata.failure is not None, LONG_MS)
    assert isinstance(manager.metadata.failure, AuthenticationFailed)
    # Requested updates do not retry it either: repeated failures could lock the user out.
    called = sum(scripted_broker.accepted for scripted_broker in cluster.brokers)
    for _ in range(10):
        manager.metadata.update()
        await_view(manager.metadata, lambda _: False, 20)
    assert sum(scripted_broker.accepted for scripted_broker in cluster.brokers) == called


def test_the_manager_ends_in_the_middle_of_a_request(
    cluster: ScriptedCluster, scope: ThreadScope
) -> None:
    """It does even while a broker hangs."""
    cluster.actions.update({0: ScriptedAction.SILENCE, 1: ScriptedAction.SILENCE})
    dialer = cluster.dialer()
    reported: list[ClusterView] = []
    client = cluster.client()
    metadata = MetadataManager(client, scope, refresh_ms=NEVER_MS, on_change=reported.append)
    metadata.watch(frozenset({"t"}))
    wait_until(lambda: cluster.brokers[0].requests, what="the question")
    assert scope.close(2_000) == []
    dialer.stop()
