"""Comparing a landing with what the cluster still has."""

from collections.abc import Collection, Sequence
from typing import Self

import pytest

from zkconsumer.drain.proving import against_cluster
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import ClusterCheck
from zkconsumer.model import TopicPartition
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.subscription import Subscription

LOGS = {
    TopicPartition("clicks", 0): (3, 20),
    TopicPartition("clicks", 1): (0, 5),
    TopicPartition("clicks", 2): (4, 9),
    TopicPartition("other", 0): (0, 7),
    TopicPartition("again", 0): (0, 30),
}


class FixedClusterReader:
    """A ``ClusterReader`` with fixed logs."""

    @classmethod
    def of(cls, _options: SourceOptions) -> Self:
        """Build a reader."""
        return cls()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def partitions(self, _subscription: Subscription) -> tuple[TopicPartition, ...]:
        """Return all partitions."""
        return tuple(LOGS)

    def creations(self, topics: Collection[str]) -> dict[str, str]:
        """Return the creation of the only topic for which it is known."""
        return {"again": "czxid:9"} if "again" in topics else {}

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: LOGS[tp][0] for tp in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: LOGS[tp][1] for tp in partitions}


def test_the_cluster_check_says_what_can_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expired offsets are left out, a log that ends too early is an obstacle.

    New partitions have nothing to compare yet.
    """
    monkeypatch.setattr(against_cluster, "ClusterReader", FixedClusterReader)
    landed = {
        TopicPartition("clicks", 0): Run(0, 15),
        TopicPartition("clicks", 1): Run(0, 8),
        TopicPartition("gone", 0): Run(2, 6),
    }
    found = against_cluster._read_checks({"zookeeper.connect": "zk:1"}, landed, {})
    assert found.keys() == landed.keys() | {TopicPartition("clicks", 2)}
    assert found[TopicPartition("clicks", 0)] == ClusterCheck(compared=Run(3, 15), log_end=20)
    assert "ends at 5" in str(found[TopicPartition("clicks", 1)].obstacle)
    assert found[TopicPartition("clicks", 2)] == ClusterCheck(compared=Run(4, 4), log_end=9)
    assert found[TopicPartition("gone", 0)].obstacle == "the cluster does not have it"


def test_a_recreated_topic_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds other messages, however long its log is."""
    monkeypatch.setattr(against_cluster, "ClusterReader", FixedClusterReader)
    tp = TopicPartition("again", 0)
    options = {"zookeeper.connect": "zk:1"}
    found = against_cluster._read_checks(options, {tp: Run(0, 8)}, {"again": "czxid:5"})
    assert found[tp].compared == Run(8, 8)
    assert "deleted and created again" in str(found[tp].obstacle)
    same = against_cluster._read_checks(options, {tp: Run(0, 8)}, {"again": "czxid:9"})
    assert same[tp] == ClusterCheck(compared=Run(0, 8), log_end=30)
