"""A view that is kept current, by one thread, that ends when it is told to."""

from collections.abc import Iterator

import pytest

from tests.support.spoken_broker import Word
from tests.support.spoken_cluster import SpokenCluster
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


class KeeperWithReports:
    """A keeper with what it told."""

    def __init__(
        self, cluster: SpokenCluster, scope: ThreadScope, refresh_ms: int, backoff_ms: int = 20
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
    """Where it runs; its end is prompt, whatever the brokers do."""
    scope = ThreadScope("test-keeper")
    yield scope
    assert scope.close(2_000) == []
    assert scope.first_error() is None


@pytest.fixture
def cluster() -> SpokenCluster:
    """Two brokers and two topics."""
    return SpokenCluster(leaders={T0: 0, U0: 1})


@pytest.fixture
def kept(cluster: SpokenCluster, scope: ThreadScope) -> KeeperWithReports:
    """What asks on demand alone."""
    return KeeperWithReports(cluster, scope, NEVER_MS)


def test_what_it_begins_with_is_not_asked_for_again(
    cluster: SpokenCluster, kept: KeeperWithReports
) -> None:
    """The answer is a view as any other; what is watched then is what was asked about."""
    kept.metadata.begin(frozenset({"t"}), timeout_ms=LONG_MS)
    assert T0 in kept.metadata.view.leaders
    assert kept.views == [kept.metadata.view]
    assert len(cluster.requested(ApiKey.METADATA)) == 1
    kept.metadata.watch(frozenset({"t"}))
    assert not kept.metadata.wait_for(lambda view: U0 in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == 1
    kept.metadata.watch(frozenset({"t", "u"}))
    assert kept.metadata.wait_for(lambda view: U0 in view.leaders, LONG_MS)


def test_what_it_begins_with_gets_old(cluster: SpokenCluster, scope: ThreadScope) -> None:
    """It is asked for anew when its time has come, as any other."""
    metadata = KeeperWithReports(cluster, scope, refresh_ms=20).metadata
    metadata.begin(frozenset({"t"}), timeout_ms=LONG_MS)
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) > 2, what="more questions")


def test_a_beginning_without_an_answer_is_raised(
    cluster: SpokenCluster, kept: KeeperWithReports
) -> None:
    """With each broker and why; nothing is told, and nothing goes on asking."""
    for broker in cluster.brokers:
        broker.down = True
    with pytest.raises(NoBrokersAvailable, match=r"b0:9092.*b1:9092"):
        kept.metadata.begin(frozenset({"t"}), timeout_ms=50)
    assert kept.views == []
    assert kept.metadata.view.brokers == {}


def test_rests_until_somebody_wants_to_know(
    cluster: SpokenCluster, kept: KeeperWithReports
) -> None:
    """Then it asks at once, and tells what it found; one topic more is a new question."""
    assert kept.metadata.view.brokers == {}
    assert not kept.metadata.wait_for(lambda view: bool(view.brokers), 50)
    assert cluster.requested(ApiKey.METADATA) == []
    kept.metadata.watch(frozenset({"t"}))
    assert kept.metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    assert U0 not in kept.metadata.view.leaders
    kept.metadata.watch(frozenset({"t", "u"}))
    assert kept.metadata.wait_for(lambda view: U0 in view.leaders, LONG_MS)
    assert kept.views[-1] == kept.metadata.view
    requested = len(cluster.requested(ApiKey.METADATA))
    kept.metadata.watch(frozenset({"u"}))
    assert not kept.metadata.wait_for(lambda view: T0 not in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == requested
    kept.metadata.watch(None)
    wait_until(
        lambda: len(cluster.requested(ApiKey.METADATA)) > requested, what="the question for all"
    )


def test_a_new_topic_does_not_wait_for_the_pause_between_requests(
    cluster: SpokenCluster, scope: ThreadScope
) -> None:
    """Nothing can be fetched of it before; what is known already waits."""
    metadata = KeeperWithReports(cluster, scope, NEVER_MS, backoff_ms=NEVER_MS).metadata
    metadata.begin(frozenset(), timeout_ms=LONG_MS)
    metadata.watch(frozenset({"t"}))
    assert metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    metadata.watch(frozenset({"t", "u"}))
    assert metadata.wait_for(lambda view: U0 in view.leaders, LONG_MS)
    requested = len(cluster.requested(ApiKey.METADATA))
    metadata.watch(frozenset({"u"}))
    metadata.update()
    assert not metadata.wait_for(lambda view: T0 not in view.leaders, 50)
    assert len(cluster.requested(ApiKey.METADATA)) == requested == 3


def test_a_new_topic_waits_while_requests_fail(cluster: SpokenCluster, scope: ThreadScope) -> None:
    """Who subscribes again and again asks brokers that are down no more often for it."""
    kept = KeeperWithReports(cluster, scope, NEVER_MS, backoff_ms=NEVER_MS)
    for broker in cluster.brokers:
        broker.down = True
    kept.metadata.watch(frozenset({"t"}))
    wait_until(lambda: len(kept.failures) == 1, what="the failure")
    kept.metadata.watch(frozenset({"t", "u"}))
    assert not kept.metadata.wait_for(lambda _: len(kept.failures) > 1, 50)


def test_asks_anew_when_it_is_time(cluster: SpokenCluster, scope: ThreadScope) -> None:
    """And tells only what changed."""
    kept = KeeperWithReports(cluster, scope, 20)
    kept.metadata.watch(frozenset({"t"}))
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) >= 3, what="three questions")
    assert len(kept.views) == 1
    cluster.leaders[T0] = 1
    assert kept.metadata.wait_for(lambda view: view.leaders[T0] == B1, LONG_MS)


def test_asks_soon_what_proved_wrong(cluster: SpokenCluster, kept: KeeperWithReports) -> None:
    """But not more often than ``retry.backoff.ms`` says, however often it is told."""
    kept.metadata.watch(frozenset({"t"}))
    assert kept.metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    cluster.leaders[T0] = 1
    for _ in range(1_000):
        kept.metadata.update()
    assert kept.metadata.wait_for(lambda view: view.leaders[T0] == B1, LONG_MS)
    kept.metadata.wait_for(lambda _: False, 100)
    assert len(cluster.requested(ApiKey.METADATA)) <= 4


def test_looks_again_for_what_is_missing(cluster: SpokenCluster, kept: KeeperWithReports) -> None:
    """A topic that comes to be, a leader that is found: without being told to."""
    later = TopicPartition("later", 0)
    kept.metadata.watch(frozenset({"later"}))
    assert kept.metadata.wait_for(lambda view: "later" in view.errors, LONG_MS)
    cluster.leaders[later] = -1
    assert kept.metadata.wait_for(lambda view: later in view.leaderless, LONG_MS)
    cluster.leaders[later] = 0
    assert kept.metadata.wait_for(lambda view: later in view.leaders, LONG_MS)


def test_tells_which_partitions_came_after_its_first_look(
    cluster: SpokenCluster, kept: KeeperWithReports
) -> None:
    """Of what is watched; before that look nobody knows."""
    later, second = TopicPartition("later", 0), TopicPartition("t", 1)
    metadata = kept.metadata
    assert metadata.is_new(T0) is False
    cluster.words[0] = cluster.words[1] = Word.SILENCE
    metadata.watch(frozenset({"t", "later"}))
    assert (metadata.is_new(T0), metadata.is_new(later)) == (None, None)
    cluster.words.clear()
    assert metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    assert (metadata.is_new(T0), metadata.is_new(later)) == (False, True)
    cluster.leaders |= {later: 0, second: 1}
    assert metadata.wait_for(lambda view: later in view.leaders, LONG_MS)
    assert [metadata.is_new(tp) for tp in (T0, second, later)] == [False, True, True]
    metadata.watch(frozenset({"u"}))
    assert metadata.is_new(later) is False


def test_does_not_go_back_to_a_leader_of_before(
    cluster: SpokenCluster, kept: KeeperWithReports
) -> None:
    """A broker that lags may say so; the epochs tell."""
    cluster.epochs[T0] = 5
    kept.metadata.watch(frozenset({"t"}))
    assert kept.metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    cluster.epochs[T0], cluster.leaders[T0] = 4, 1
    requested = len(cluster.requested(ApiKey.METADATA))
    kept.metadata.update()
    wait_until(lambda: len(cluster.requested(ApiKey.METADATA)) > requested, what="the question")
    assert not kept.metadata.wait_for(lambda view: view.leaders[T0] == B1, 50)
    cluster.epochs[T0] = 6
    kept.metadata.update()
    assert kept.metadata.wait_for(lambda view: view.leaders[T0] == B1, LONG_MS)


def test_says_why_nobody_answers(cluster: SpokenCluster, kept: KeeperWithReports) -> None:
    """The last view stays; the reason goes when somebody answers again."""
    kept.metadata.watch(frozenset({"t"}))
    assert kept.metadata.wait_for(lambda view: T0 in view.leaders, LONG_MS)
    for broker in cluster.brokers:
        broker.down = True
        broker.break_all()
    kept.metadata.update()
    wait_until(lambda: kept.metadata.failure, what="the reason")
    assert isinstance(kept.metadata.failure, ConnectFailed)
    assert kept.metadata.view.leaders == {T0: B0}
    assert len(kept.failures) >= 1
    for broker in cluster.brokers:
        broker.down = False
    cluster.leaders[T0] = 1
    assert kept.metadata.wait_for(lambda view: view.leaders[T0] == B1, LONG_MS)
    assert kept.metadata.failure is None


def test_who_we_are_may_be_wrong(cluster: SpokenCluster, kept: KeeperWithReports) -> None:
    """Told as what it is, and waiters need not wait for it to pass."""
    for broker in cluster.brokers:
        broker.response = lambda _: b"\x15\x03\x03\x00\x02\x02\x50"
    kept.metadata.watch(frozenset({"t"}))
    assert kept.metadata.wait_for(lambda _: kept.metadata.failure is not None, LONG_MS)
    assert isinstance(kept.metadata.failure, AuthenticationFailed)
    # Nor does it try again and again, whoever wants to know: that could lock a user out.
    called = sum(spoken_broker.accepted for spoken_broker in cluster.brokers)
    for _ in range(10):
        kept.metadata.update()
        kept.metadata.wait_for(lambda _: False, 20)
    assert sum(spoken_broker.accepted for spoken_broker in cluster.brokers) == called


def test_ends_in_the_middle_of_a_question(cluster: SpokenCluster, scope: ThreadScope) -> None:
    """Also while a broker hangs; and waiters with it."""
    cluster.words.update({0: Word.SILENCE, 1: Word.SILENCE})
    dialer = cluster.dialer()
    reported: list[ClusterView] = []
    client = cluster.client()
    metadata = MetadataManager(client, scope, refresh_ms=NEVER_MS, on_change=reported.append)
    waited: list[bool] = []
    waiters = ThreadScope("test-waiters")
    waiters.spawn(
        "wait",
        lambda: waited.append(metadata.wait_for(lambda view: bool(view.brokers), LONG_MS)),
        stop=metadata.stop,
    )
    metadata.watch(frozenset({"t"}))
    wait_until(lambda: cluster.brokers[0].requests, what="the question")
    assert waiters.close(2_000) == []
    assert waited == [False]
    dialer.stop()
