"""What reading a large cluster from a real ZooKeeper costs.

The cost is in multiples of a fixed piece of Python, since seconds depend on the machine; and in
requests to ZooKeeper, each of which is a round trip for a distant client.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import pytest

from tests.support.large_cluster import LARGE, MEMBERS, PATIENCE_MS, connected
from tests.support.scripted_cluster import END_OFFSET
from tests.support.yardstick import cost_of
from zkconsumer.status.model import ClusterSnapshot, GroupState
from zkconsumer.status.reading.deadline import ReadingLimits
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.zk.pipeline import PendingResponse, Pipeline, Send

READ_MOST, LOOK_MOST = 65.0, 1.8
"""Multiples of the piece: a full read takes 35 to 50, a read of one group 1.0 to 1.3."""
BATCHES_MOST = 100
OTHERS = 50
TRIES = 3


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of requests in each batch to ZooKeeper."""
    sizes: list[int] = []
    run = Pipeline.run

    def counting(self: Pipeline, sends: Sequence[Send], fence: int) -> list[PendingResponse]:
        sizes.append(len(sends))
        return run(self, sends, fence)

    monkeypatch.setattr(Pipeline, "run", counting)
    return sizes


@pytest.mark.zk
@pytest.mark.alone
def test_a_large_cluster_is_read_at_little_cost(large_connect: str, batches: list[int]) -> None:
    """500 topics of 20 partitions, and 50 groups that read 20 topics each: 50,000 nodes."""
    with closing(connected(large_connect)) as store:
        dialer = LARGE.brokers().dialer()
        reads: list[float] = []
        looks: list[float] = []
        for _ in range(TRIES):
            # A new reader has cached nothing.
            reader = SnapshotReader(
                store,
                dialer,
                zookeeper_connect=large_connect,
                limits=ReadingLimits(cluster_ms=PATIENCE_MS, groups_ms=PATIENCE_MS),
            )
            with closing(reader):
                batches.clear()
                snapshot, cost = cost_of(reader.read, time.process_time)
                reads.append(cost)
                assert sum(batches) <= _requests(), batches
                assert len(batches) < BATCHES_MOST, batches
                key = next(iter(snapshot.groups))
                for _ in range(TRIES):
                    on_snapshot, cost = cost_of(
                        partial(reader.read_groups, [key]), time.process_time
                    )
                    looks.append(cost)
                    assert on_snapshot.failures == ()
            _check(snapshot)
    assert min(reads) < READ_MOST, reads
    assert min(looks) < LOOK_MOST, looks


def _requests() -> int:
    """The most requests: each node is read, and each parent is listed, or at least requested."""
    folders = LARGE.groups * LARGE.topics_each
    of_topics = LARGE.topics * (3 + LARGE.partitions)
    of_groups = LARGE.groups * (4 + MEMBERS) + 2 * folders * (2 + LARGE.partitions)
    return of_topics + of_groups + OTHERS


def _check(snapshot: ClusterSnapshot) -> None:
    assert snapshot.failures == ()
    assert len(snapshot.topics) == LARGE.topics
    assert {group.state for group in snapshot.groups.values()} == {GroupState.STABLE}
    assert {
        (partition.owner is not None, len(partition.committed), partition.log_end)
        for group in snapshot.groups.values()
        for partition in group.partitions
    } == {(True, 1, END_OFFSET)}
