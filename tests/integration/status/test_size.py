"""How long it takes to read a large cluster out of a real ZooKeeper."""

import time
from contextlib import closing

import pytest

from tests.support.large_cluster import LARGE, PATIENCE_MS, connected
from tests.support.spoken_cluster import END_OFFSET
from zkconsumer.status.model import GroupState
from zkconsumer.status.reading.snapshot import ReadingLimits, SnapshotReader

GOAL_S = 5.0
LOOK_GOAL_S = 0.5
TRIES = 3


@pytest.mark.zk
@pytest.mark.alone
def test_a_large_cluster_is_read_in_seconds(large_connect: str) -> None:
    """500 topics of 20 partitions, and 50 groups that read 20 topics each: 50,000 nodes."""
    with closing(connected(large_connect)) as store:
        dialer = LARGE.brokers().dialer()
        took: list[float] = []
        snapshots: list[float] = []
        for _ in range(TRIES):
            # One that remembers nothing.
            reader = SnapshotReader(
                store,
                dialer,
                zookeeper_connect=large_connect,
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
