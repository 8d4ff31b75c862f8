"""Real clusters that tests share: each is started once a session, by the first test that uses it.

Tests are isolated by names: topics and groups come from ``fresh_name``. A test that stops, kills
or pauses a broker of a shared cluster uses ``without`` and ``frozen``, which bring it back even if
the test fails; a test that changes settings starts a ``Sandbox`` of its own.
"""

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.large_cluster import large_cluster
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode

BrokerOf = Callable[[str], Sandbox]
"""Returns the single broker of a Kafka version, which is started at the first call."""

SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}
"""By default brokers refuse sessions under 6 s, which is too long for tests."""

_QUICK = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    # A 0.8 broker waits for a frozen one this long, as its controller and as its follower, and
    # answers no requests meanwhile.
    "controller.socket.timeout.ms": "1500",
    "replica.socket.timeout.ms": "1500",
    # Compacts topics that are configured for it.
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.io.buffer.size": "65536",
    "log.cleaner.min.cleanable.ratio": "0.01",
}

_numbers = itertools.count(1)
_session = uuid.uuid4().hex[:6]


def fresh_name(prefix: str) -> str:
    """Return an unused name for a topic or a group: ``prefix-<session>-<number>``."""
    return f"{prefix}-{_session}-{next(_numbers)}"


@contextmanager
def without(
    cluster: Sandbox,
    broker_id: int,
    *,
    end: Callable[[Sandbox, int], None] = Sandbox.kill_broker,
) -> Iterator[None]:
    """Kill this broker (or end it by ``Sandbox.stop_broker``) during the context."""
    end(cluster, broker_id)
    try:
        yield
    finally:
        cluster.start_broker(broker_id)


@contextmanager
def unclean_election(cluster: Sandbox, topic: str, work: Callable[[], object]) -> Iterator[None]:
    """Let broker 1 lead the topic's only partition without what broker 0 got in ``work``."""
    with ExitStack() as until_the_end:
        with without(cluster, 1, end=Sandbox.stop_broker):
            work()
            until_the_end.enter_context(without(cluster, 0))
        wait_until(lambda: ZkTree(cluster).leaders(topic) == {0: 1}, what="the election")
        yield


@contextmanager
def frozen(cluster: Sandbox, broker_id: int) -> Iterator[None]:
    """Freeze this broker during the context; its connections stay open."""
    cluster.pause_broker(broker_id)
    try:
        yield
    finally:
        cluster.resume_broker(broker_id)


def expire(cluster: Sandbox, folder: Path, tp: TopicPartition, *, broker_id: int) -> int:
    """Delete a log's first two segments as retention would; return the new log start offset.

    Retention itself first runs 30 s after a broker's start; the result is the same.

    Args:
        cluster: the cluster.
        folder: the folder with its brokers' logs.
        tp: a partition with at least four small segments.
        broker_id: the partition's leader.
    """
    with without(cluster, broker_id, end=Sandbox.stop_broker):
        segments = sorted(folder.glob(f"broker-{broker_id}/**/{tp}/*.log"))
        assert len(segments) > 3
        for segment in segments[:2]:
            segment.unlink()
            segment.with_suffix(".index").unlink()
    return int(segments[2].stem)


@pytest.fixture(scope="session")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parent of the shared clusters' folders: by version for ``broker_of``, else by name."""
    return tmp_path_factory.mktemp("disks")


@pytest.fixture(scope="session")
def cluster(disks: Path) -> Iterator[Sandbox]:
    """One broker 0.8.2.2, for all tests of the session."""
    with Sandbox(kafka="0.8.2.2", brokers=1, work_dir=disks / "cluster") as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def damaged_cluster(disks: Path) -> Iterator[Sandbox]:
    """One broker 0.8.2.2 whose logs tests damage on disk; no test stops it."""
    with Sandbox(kafka="0.8.2.2", brokers=1, work_dir=disks / "damaged") as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def cluster3(disks: Path) -> Iterator[Sandbox]:
    """Three brokers 0.8.2.2 with short failure detection, for all tests of the session."""
    with Sandbox(
        kafka="0.8.2.2",
        brokers=3,
        zookeeper_tick_ms=200,
        broker_properties=_QUICK,
        work_dir=disks / "cluster3",
    ) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def modern3() -> Iterator[Sandbox]:
    """Three brokers 3.9.1 with unclean leader election, for all tests of the session."""
    quick = {"unclean.leader.election.enable": "true", "replica.lag.time.max.ms": "2000"}
    with Sandbox(kafka="3.9.1", brokers=3, broker_properties=quick | SHORT_SESSIONS) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Sandbox]:
    """ZooKeeper 3.4.6 without brokers, under a chroot, for all tests of the session."""
    with Sandbox(kafka="0.8.2.2", brokers=0) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def large_connect(zookeeper: Sandbox) -> Iterator[str]:
    """The connect string of a chroot with 50,000 nodes, which no test changes."""
    with large_cluster(zookeeper) as connect:
        yield connect


@pytest.fixture(scope="session")
def broker_of(disks: Path) -> Iterator[BrokerOf]:
    """Single brokers by version, each started at first use, for all tests of the session.

    Their coordinator groups may have sessions of half a second.
    """
    with ExitStack() as running:
        started: dict[str, Sandbox] = {}

        def broker(version: str) -> Sandbox:
            if version not in started:
                started[version] = running.enter_context(
                    Sandbox(
                        kafka=version,
                        brokers=1,
                        broker_properties=SHORT_SESSIONS,
                        work_dir=disks / version,
                    )
                )
            return started[version]

        yield broker


@pytest.fixture(scope="session")
def kraft() -> Iterator[KraftNode]:
    """One node of Kafka 4, which has no ZooKeeper, for all tests of the session."""
    with KraftNode() as node:
        yield node
