"""Real clusters that tests share: each is started once a session, by the first test that asks.

Tests keep apart by names: take topics and groups from ``fresh_name``. A test that stops, kills
or pauses a broker of a shared cluster does so by ``without`` and ``frozen``, which bring it back
also where the test fails; one that changes settings starts a ``Sandbox`` of its own.
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
"""Gives the one broker of a Kafka version; starts it when it is first asked for."""

SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}
"""Brokers refuse sessions under 6 s unless told otherwise: tests can't wait so long."""

_QUICK = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    # A 0.8 broker waits so long for a frozen one, as its controller and as its follower, and
    # answers nobody meanwhile.
    "controller.socket.timeout.ms": "1500",
    "replica.socket.timeout.ms": "1500",
    # Topics that ask for it are compacted soon.
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.io.buffer.size": "65536",
    "log.cleaner.min.cleanable.ratio": "0.01",
}

_numbers = itertools.count(1)
_session = uuid.uuid4().hex[:6]


def fresh_name(prefix: str) -> str:
    """A name for a topic or a group that nobody has used: ``prefix-<session>-<number>``."""
    return f"{prefix}-{_session}-{next(_numbers)}"


@contextmanager
def without(
    cluster: Sandbox,
    broker_id: int,
    *,
    end: Callable[[Sandbox, int], None] = Sandbox.kill_broker,
) -> Iterator[None]:
    """While this broker has crashed, or has ended by ``Sandbox.stop_broker``; then it is back."""
    end(cluster, broker_id)
    try:
        yield
    finally:
        cluster.start_broker(broker_id)


@contextmanager
def unclean_election(cluster: Sandbox, topic: str, work: Callable[[], object]) -> Iterator[None]:
    """While broker 1 leads the topic's one partition, without what broker 0 got in ``work``."""
    with ExitStack() as until_the_end:
        with without(cluster, 1, end=Sandbox.stop_broker):
            work()
            until_the_end.enter_context(without(cluster, 0))
        wait_until(lambda: ZkTree(cluster).leaders(topic) == {0: 1}, what="the election")
        yield


@contextmanager
def frozen(cluster: Sandbox, broker_id: int) -> Iterator[None]:
    """While this broker does not run, but keeps its connections; then it goes on."""
    cluster.pause_broker(broker_id)
    try:
        yield
    finally:
        cluster.resume_broker(broker_id)


def expire(cluster: Sandbox, folder: Path, tp: TopicPartition, *, broker_id: int) -> int:
    """Delete a log's first two segments as retention would; gives the first offset that is left.

    Retention itself first runs 30 s after a broker's start; what it leaves is the same.

    Args:
        cluster: its brokers; this one leads the partition.
        folder: where they keep their logs.
        tp: a partition with small segments, four at least.
        broker_id: the broker.
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
    """The working folders of shared clusters: by version for ``broker_of``, else by name."""
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
    """Three brokers 0.8.2.2 that are soon missed, for all tests of the session."""
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
    """Three brokers 3.9.1 that elect whatever is alive, for all tests of the session."""
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
    """The connect string of 50,000 nodes, for all tests of the session; no test changes them."""
    with large_cluster(zookeeper) as connect:
        yield connect


@pytest.fixture(scope="session")
def broker_of(disks: Path) -> Iterator[BrokerOf]:
    """One broker of each version that a test asks for, for all tests of the session.

    Coordinator groups may have sessions of half a second there.
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
