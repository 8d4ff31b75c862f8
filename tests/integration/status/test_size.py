"""How long it takes to read a large cluster out of a real ZooKeeper."""

import time
from contextlib import closing

import pytest

from tests.support.large_cluster import LargeCluster
from tests.support.spoken_cluster import END_OFFSET
from zkconsumer.sandbox import Sandbox
from zkconsumer.status.model import GroupState
from zkconsumer.status.reading.snapshot import ReadingLimits, SnapshotReader
from zkconsumer.zk.kazoo_store import KazooStore, connect

LARGE = LargeCluster(topics=500, partitions=20, groups=50, topics_each=20)
GOAL_S = 5.0
LOOK_GOAL_S = 0.5
TRIES = 3
PATIENCE_MS = 60_000


@pytest.mark.zk
@pytest.mark.alone
def test_a_large_cluster_is_read_in_seconds(zookeeper: Sandbox) -> None:
    """500 topics of 20 partitions, and 50 groups that read 20 topics each: 50,000 nodes."""
    host = zookeeper.zookeeper_connect.partition("/")[0]
    with closing(_connected(host)) as root:
        root.ensure_paths(["/large"])
    connect_text = f"{host}/large"
    with closing(_connected(connect_text)) as writer, closing(_connected(connect_text)) as store:
        LARGE.write(writer)
        dialer = LARGE.brokers().dialer()
        took: list[float] = []
        snapshots: list[float] = []
        for _ in range(TRIES):
            # One that remembers nothing.
            reader = SnapshotReader(
                store,
                dialer,
                zookeeper_connect=connect_text,
                limits=ReadingLimits(cluster_ms=PATIENCE_MS, groups_ms=PATIENCE_MS),
            )
            with closing(reader):
                began = time.perf_counter()
                snapshot = reader.read()
                took.append(time.perf_counter() - began)
                began = time.perf_counter()
                on_snapshot = reader.look([next(iter(snapshot.groups))])
                snapshots.append(time.perf_counter() - began)
            assert on_snapshot.failures == ()
            assert snapshot.failures == ()
            assert len(snapshot.topics) == LARGE.topics
            assert {group.state for group in snapshot.groups.values()} == {GroupState.STABLE}
            assert {
                (partition.owner is not None, len(partition.committed), partition.log_end)
                for group in snapshot.groups.values()
                for partition in group.partitions
            } == {(True, 1, END_OFFSET)}
            if took[-1] < GOAL_S:
                break  # the others are for a processor that somebody else needed
    assert min(took) < GOAL_S, took
    assert min(snapshots) < LOOK_GOAL_S, snapshots


def _connected(zookeeper_connect: str) -> KazooStore:
    return connect(zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=PATIENCE_MS)
