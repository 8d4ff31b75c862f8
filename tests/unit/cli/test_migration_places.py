"""Which partitions offset commands consider to be in the cluster."""

from types import SimpleNamespace
from typing import Any, cast

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.cli.offsets.opening import OffsetsCluster
from zkconsumer.cluster.view import NOTHING_KNOWN
from zkconsumer.model import TopicPartition


def test_partitions_unknown_to_a_broker_are_read_from_zookeeper() -> None:
    """A broker that has just started knows no topics for a moment; ZooKeeper does."""
    store = MemoryZkServer().connect()
    topic = b'{"version": 1, "partitions": {"0": [1], "1": [1]}}'
    store.set_or_create_many({"/brokers/topics/t": topic})
    client = SimpleNamespace(view=lambda _topics, timeout_ms: NOTHING_KNOWN)  # noqa: ARG005
    access = SimpleNamespace(zookeeper=store, client=client, timeout_ms=1)
    cluster = OffsetsCluster(cast("Any", access))
    assert cluster.partitions == {TopicPartition("t", number) for number in range(2)}
