"""How long a topic's metadata is used."""

from typing import Any, cast

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.cluster.call_deadline import StopFlag
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConnectFailed
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.produce.topic_partitions import PartitionLookup

BROKER = Broker(0, "a", 1)


class DescribingClient:
    """A client that describes a topic with ``partitions`` partitions, or fails."""

    def __init__(self) -> None:
        self.partitions = 1
        self.calls = 0

    def view(self, topics: list[str], **_: object) -> ClusterView:
        """See ``ClusterClient``."""
        self.calls += 1
        if not self.partitions:
            raise ConnectFailed("no broker there")
        numbers = tuple(range(self.partitions))
        return ClusterView(
            brokers={0: BROKER},
            leaders={TopicPartition(topics[0], number): BROKER for number in numbers},
            leaderless={},
            errors={},
            partitions={topics[0]: numbers},
        )


def test_only_one_call_waits_for_brokers_that_are_down() -> None:
    """Metadata that is known stays valid; otherwise each call would wait for ``max_block_ms``."""
    client, clock = DescribingClient(), ManualClock()
    topics = PartitionLookup(cast("Any", client), clock, StopFlag(), max_age_ms=100, creating=True)
    assert topics.look_up("t", timeout_ms=10) == (0,)
    client.partitions = 0
    clock.advance(100)
    assert [topics.look_up("t", timeout_ms=10) for _ in range(3)] == [(0,)] * 3
    assert client.calls == 2
    client.partitions = 2
    clock.advance(100)
    assert topics.look_up("t", timeout_ms=10) == (0, 1)
    assert topics.choose("t", 1, None, None) == 1


def test_a_partition_that_was_just_added_is_looked_up_before_it_is_refused() -> None:
    """There is one lookup per call, as in Java; if brokers are down, the error says so."""
    client = DescribingClient()
    topics = PartitionLookup(
        cast("Any", client), ManualClock(), StopFlag(), max_age_ms=100, creating=True
    )
    topics.look_up("t", timeout_ms=10)
    client.partitions = 3
    assert topics.look_up("t", timeout_ms=10, partition=2) == (0, 1, 2)
    assert topics.choose("t", 2, None, None) == 2
    assert topics.look_up("t", timeout_ms=10, partition=3) == (0, 1, 2)
    assert client.calls == 3
    client.partitions = 0
    with pytest.raises(ConnectFailed):
        topics.look_up("t", timeout_ms=10, partition=3)
