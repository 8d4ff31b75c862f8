"""The JMX metrics of the original's consumer, compared with ours."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.traffic import Writer
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer import ConsumerConfig, Whitelist, ZookeeperConsumerConnector
from zkconsumer.connector.measuring.mbeans import MBean
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free

pytestmark = pytest.mark.sandbox
COUNT = 60
TEXTS = ("RateUnit", "EventType", "LatencyUnit")


@contextmanager
def scala_consumer(cluster: Sandbox, topic: str, group: str, folder: Path) -> Iterator[int]:
    """Run the console consumer; yield the port of its JMX once it has printed everything."""
    settings = folder / "consumer.properties"
    settings.write_text(f"group.id={group}\nclient.id={group}\nauto.commit.interval.ms=300\n")
    port = pick_free(set())
    jmx = "-Dcom.sun.management.jmxremote"
    with cluster.scala_tool(
        "kafka.tools.ConsoleConsumer",
        *("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--from-beginning"),
        *("--consumer.config", str(settings)),
        flags=[
            *(f"{jmx}.{name}={port}" for name in ("port", "rmi.port")),
            *(f"{jmx}.{name}=false" for name in ("authenticate", "ssl")),
            *(f"{jmx}.host=127.0.0.1", "-Djava.rmi.server.hostname=127.0.0.1"),
        ],
    ) as tool:
        wait_until(lambda: len(tool.lines) == COUNT, what="all messages in the original")
        yield port


def read_jmx(cluster: Sandbox, port: int) -> dict[str, MBean]:
    """Return all attributes of all of the consumer's MBeans."""
    with cluster.scala_tool(
        "kafka.tools.JmxTool",
        *("--jmx-url", f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"),
        *("--object-name", "kafka.consumer:*", "--object-name", "kafka.server:*"),
        *("--reporting-interval", "500"),
    ) as tool:
        wait_until(lambda: len(tool.lines) > 1, what="the values")
        # Its header has quoted names with commas, and lacks the last closing quote.
        heads, values = next(csv.reader([tool.lines[0]])), tool.lines[-1].split(",")
    found: dict[str, MBean] = {}
    for head, value in list(zip(heads, values, strict=True))[1:]:
        name, _, attribute = head.rpartition(":")
        of_name = found.setdefault(name, {})
        of_name[attribute] = value if attribute in TEXTS else float(value)
    return found


def test_our_metrics_have_the_originals_names_and_values(cluster: Sandbox, tmp_path: Path) -> None:
    """This holds after the same messages, except for bytes by topic, which we do not count."""
    topic, scala_group, our_group = (fresh_name(text) for text in ("mbeans", "scala", "ours"))
    cluster.create_topic(topic, partitions=2)
    writer = Writer(cluster)
    for number in range(2):
        writer.write(TopicPartition(topic, number), COUNT // 2)
    writer.close()
    with scala_consumer(cluster, topic, scala_group, tmp_path) as port:
        original = read_jmx(cluster, port)
    config = ConsumerConfig(
        {
            "zookeeper.connect": cluster.zookeeper_connect,
            "group.id": our_group,
            "client.id": our_group,
            "auto.offset.reset": "smallest",
            "auto.commit.enable": "false",
        }
    )
    with ZookeeperConsumerConnector(config) as connector:
        (stream,) = connector.create_message_streams_by_filter(Whitelist(topic))
        for _ in range(COUNT):
            next(stream)
        connector.commit_offsets()

        def ours() -> dict[str, MBean]:
            return {
                name.replace(our_group, scala_group): bean
                for name, bean in connector.metrics().items()
            }

        topics = "kafka.consumer:type=ConsumerTopicMetrics,name="
        received = f"{topics}BytesPerSec,clientId={scala_group}"
        # The native engine reports its fetches once a second.
        wait_until(
            lambda: ours()[received]["Count"] == original[received]["Count"], what="the same bytes"
        )
        found = ours()
    assert original.pop(f"{received},topic={topic}")
    assert {name: set(bean) for name, bean in found.items()} == {
        name: set(bean) for name, bean in original.items()
    }
    for name, bean in original.items():
        assert {text: found[name][text] for text in TEXTS if text in bean} == {
            text: bean[text] for text in TEXTS if text in bean
        }, name
    same = [
        f"{topics}MessagesPerSec,clientId={scala_group}",
        f"{topics}MessagesPerSec,clientId={scala_group},topic={topic}",
    ]
    for name in same:
        assert found[name]["Count"] == original[name]["Count"], name
    for name in (text for text in original if "Value" in original[text] and "Rate" not in text):
        assert found[name] == original[name], name
