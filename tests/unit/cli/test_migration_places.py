"""What a migration takes for the partitions of the cluster."""

from types import SimpleNamespace
from typing import Any, cast

from zkconsumer.cli.offsets.offset_stores import OpenOffsetStores
from zkconsumer.model import TopicPartition

A, B = (TopicPartition("t", number) for number in range(2))


def test_a_broker_that_has_just_started_leaves_nothing_out() -> None:
    """It knows of no topics for a moment; ZooKeeper does."""
    one = cast("Any", SimpleNamespace(partitions=lambda: frozenset({A})))
    other = cast("Any", SimpleNamespace(partitions=lambda: frozenset({B})))
    assert OpenOffsetStores("g", zookeeper=one, kafka=other).partitions() == {A, B}
