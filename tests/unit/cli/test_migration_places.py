"""What commands on offsets take for the partitions of the cluster."""

from types import SimpleNamespace
from typing import Any, cast

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.cli.offsets.opening import OffsetsCluster
from zkconsumer.cluster.view import NOTHING_KNOWN
from zkconsumer.model import TopicPartition


def test_a_broker_that_has_just_started_leaves_nothing_out() -> None:
    """It knows of no topics for a moment; ZooKeeper does."""
    store = MemoryZkServer().connect()
    topic = b'{"version": 1, "partitions": {"0": [1], "1": [1]}}'
    store.set_or_create_many({"/brokers/topics/t": topic})
    client = SimpleNamespace(view=lambda _topics, timeout_ms: NOTHING_KNOWN)  # noqa: ARG005
    access = SimpleNamespace(zookeeper=store, client=client, timeout_ms=1)
    cluster = OffsetsCluster(cast("Any", access))
    assert cluster.partitions == {TopicPartition("t", number) for number in range(2)}
