"""The cluster that examples in docstrings read and write: ``kafka1:9092`` and ``zk1:2181``.

Brokers and ZooKeeper are the in-memory fakes of ``tests/fakes``; everything above them is the
product itself, with its threads.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.memory_transport import MemoryNetwork
from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer import (
    ConsumerConfig,
    KafkaConsumer,
    KafkaProducer,
    ZookeeperConsumerConnector,
)
from zkconsumer.connector import assembly as connector_assembly
from zkconsumer.connector import connector, fetch_wiring
from zkconsumer.consumer import assembly as consumer_assembly
from zkconsumer.membership.zookeeper import polled
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce import kafka_producer

_BROKER = b'{"jmx_port":-1,"timestamp":"1","host":"kafka1","version":1,"port":9092}'
TOPICS = {"clicks": [b"/index.html", b"/about.html"], "views": []}
"""The topics of the cluster, each with one partition, and the values of their records."""


@contextmanager
def documented_world() -> Iterator[None]:
    """Let consumers, producers and connectors that are created in the context use the cluster."""
    cluster = FakeCluster()
    cluster.brokers[0] = Broker(0, "kafka1", 9092)
    for topic, values in TOPICS.items():
        cluster.create_topic(topic)
        records = [Record(0, None, value) for value in values]
        if records:
            cluster.append(TopicPartition(topic, 0), records)
    network = MemoryNetwork()
    FakeBrokers(cluster).listen_in_memory(network)
    server = MemoryZkServer()
    admin = server.connect()
    admin.ensure_paths(["/consumers", "/brokers/ids", "/brokers/topics"])
    admin.create("/brokers/ids/0", _BROKER, ephemeral=False)
    for topic in TOPICS:
        admin.create(
            f"/brokers/topics/{topic}", b'{"version":1,"partitions":{"0":[0]}}', ephemeral=False
        )

    def connect(_address: str, **_settings: object) -> MemoryZkStore:
        return server.connect()

    def network_of(**_settings: object) -> MemoryNetwork:
        return network

    with ExitStack() as patches:
        for module, name, fake in (
            (kafka_producer, "dialer_of", partial(dialer_of, connector=network)),
            (consumer_assembly, "TcpConnector", network_of),
            (fetch_wiring, "TcpConnector", network_of),
            (connector, "assemble", partial(connector_assembly.assemble, connect=connect)),
            (
                polled,
                "open_zookeeper_group",
                partial(polled.open_zookeeper_group, connect=connect),
            ),
        ):
            patches.enter_context(mock.patch.object(module, name, fake))
        yield


@contextmanager
def documented_names() -> Iterator[dict[str, Any]]:
    """Yield the names that examples use without creating them.

    ``consumer`` reads ``clicks`` from the beginning, ``producer`` writes, ``stream`` belongs to
    ``connector``, which reads ``clicks``.
    """
    config = ConsumerConfig(
        zookeeper_connect="zk1:2181",
        group_id="streams",
        auto_offset_reset="smallest",
        consumer_timeout_ms=500,
    )
    with (
        documented_world(),
        KafkaConsumer(
            "clicks",
            zookeeper_connect="zk1:2181",
            group_id="polls",
            auto_offset_reset="earliest",
            consumer_timeout_ms=500,
        ) as consumer,
        KafkaProducer(bootstrap_servers="kafka1:9092") as producer,
        ZookeeperConsumerConnector(config) as streaming,
    ):
        [stream] = streaming.create_message_streams({"clicks": 1})["clicks"]
        yield {
            "consumer": consumer,
            "producer": producer,
            "connector": streaming,
            "stream": stream,
        }
