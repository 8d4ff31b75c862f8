"""Which target partition a message goes to."""

import pytest

from tests.support.mirroring import SOURCE
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.routing import Partitioning, Router
from zkconsumer.model import TopicPartition
from zkconsumer.produce.partitioner import murmur_hash

COPY = "copy-clicks"
KEYS = [b"a", None, b"b", None, b"a"]


def test_same_keeps_the_partition() -> None:
    """They go to the partition of the same number, in the topic with the prefix."""
    router = Router(Partitioning.SAME, "copy-")
    assert router.topic("clicks") == COPY
    assert router.locations(SOURCE, KEYS, [0, 1]) == {TopicPartition(COPY, 0): [0, 1, 2, 3, 4]}


def test_a_partition_that_the_target_lacks_is_refused() -> None:
    """Messages are not silently written elsewhere."""
    router = Router(Partitioning.SAME)
    with pytest.raises(
        MirrorError, match=r"clicks-7 has no partition in the target.*has 2 partitions"
    ):
        router.locations(TopicPartition("clicks", 7), KEYS, [0, 1])


def test_keys_choose_the_partition_of_the_java_producer() -> None:
    """A key always goes to the same partition; messages without one are spread round-robin."""
    router = Router(Partitioning.KEY)
    locations = router.locations(SOURCE, KEYS, [0, 1, 2])
    chosen = {index: target.partition for target, some in locations.items() for index in some}
    assert chosen[0] == chosen[4] == murmur_hash(b"a") % 3
    assert chosen[2] == murmur_hash(b"b") % 3
    assert [chosen[1], chosen[3]] == [0, 1]


def test_round_robin_ignores_keys() -> None:
    """It continues where the last call ended, and uses partitions that were added."""
    router = Router(Partitioning.ROUND_ROBIN)
    first = router.locations(SOURCE, [b"a"] * 3, [0, 1])
    assert first == {TopicPartition("clicks", 0): [0, 2], TopicPartition("clicks", 1): [1]}
    assert router.locations(SOURCE, [b"a"], [0, 1]) == {TopicPartition("clicks", 1): [0]}
    assert len(router.locations(SOURCE, [b"a"] * 3, [0, 1, 2])) == 3
