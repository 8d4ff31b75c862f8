"""``zkconsumer consume`` and ``mirror`` with ``--metrics-port``, on real brokers."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from tests.interop.traffic import Writer
from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.gated import descriptors, silent
from tests.support.metered import Samples, read_exposition, value
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
COUNT = 20


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """Run a command; yield the address of its metrics."""
    command = [sys.executable, "-m", "zkconsumer", *arguments, "--metrics-port", "0"]
    with warm.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            message, _, address = process.stderr.readline().rstrip("\n").partition(" at ")
            assert message == "metrics"
            yield address
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def filled(cluster: Sandbox) -> str:
    """Create a topic with two partitions and ``COUNT`` messages."""
    topic = fresh_name("metrics")
    cluster.create_topic(topic, partitions=2)
    writer = Writer(cluster)
    for number in range(2):
        writer.write(TopicPartition(topic, number), COUNT // 2)
    writer.close()
    return topic


def scraped(address: str) -> Samples:
    """Return what Prometheus would read there."""
    with urllib.request.urlopen(address, timeout=10) as response:
        return read_exposition(response.read())


def test_a_zookeeper_group_is_measured_while_it_runs(cluster: Sandbox) -> None:
    """The metrics count the messages it has printed, and its port closes when it ends."""
    topic, group = filled(cluster), fresh_name("group")
    of = {"group": group, "client_id": group}
    with running(
        "consume",
        *("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--group", group),
        "--from-beginning",
    ) as address:
        messages = {**of, "topic": topic}

        def all_came() -> bool:
            found = scraped(address)
            counts = found.get("zkconsumer_messages_total", {})
            return counts.get(tuple(sorted(messages.items()))) == COUNT

        wait_until(all_came, what="all messages in the metrics")
        found = scraped(address)
        assert value(found, "zkconsumer_owned_partitions", **messages) == 2
        assert value(found, "zkconsumer_max_lag", **of) == 0
        assert value(found, "zkconsumer_rebalance_seconds_count", **of) >= 1
        assert value(found, "zkconsumer_lag", **messages, partition="1") == 0


def test_idle_connections_to_the_port_do_not_delay_the_consumer(cluster: Sandbox) -> None:
    """There are more than it may open files: it reads on, and requests are still served."""
    topic, group = filled(cluster), fresh_name("group")
    arguments = ("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--group", group)
    name = "zkconsumer_messages_total"
    labels = {"group": group, "client_id": group, "topic": topic}
    with ExitStack() as stack:
        with descriptors(1_024):
            address = stack.enter_context(running("consume", *arguments, "--from-beginning"))
        stack.enter_context(silent(urlsplit(address).port or 0, 1_600))
        write(cluster, TopicPartition(topic, 0), [b"line"] * COUNT)
        key = tuple(sorted(labels.items()))
        wait_until(
            lambda: scraped(address).get(name, {}).get(key) == 2 * COUNT,
            what="what was written meanwhile",
        )


def test_a_coordinators_group_is_measured_while_it_polls(broker_of: BrokerOf) -> None:
    """The metrics are served by another thread than the one that polls."""
    broker = broker_of("3.9.1")
    topic, group = filled(broker), fresh_name("group")
    with running(
        "consume",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", topic, "--group", group),
        "--from-beginning",
    ) as address:

        def count() -> float:
            return sum(scraped(address).get("zkconsumer_messages_total", {}).values())

        wait_until(lambda: count() == COUNT, what="all messages in the metrics")
        found = scraped(address)
        ((labels, owned),) = found["zkconsumer_owned_partitions"].items()
        assert (dict(labels)["group"], dict(labels)["topic"], owned) == (group, topic, 2)


def test_the_members_of_a_mirror_are_measured_together(
    cluster: Sandbox, broker_of: BrokerOf
) -> None:
    """The count covers all messages of all its streams' members."""
    target = broker_of("3.9.1")
    topic, group = filled(cluster), fresh_name("group")
    with running(
        *("mirror", "--zookeeper", cluster.zookeeper_connect, "--group", group),
        *("--whitelist", topic, "--target-bootstrap-servers", target.bootstrap_servers),
        *("--num.streams", "2", "--create-topics"),
    ) as address:

        def read() -> list[float]:
            found = scraped(address).get("zkconsumer_messages_total", {})
            return [count for labels, count in found.items() if ("group", group) in labels]

        wait_until(lambda: read() == [COUNT], what="all messages in the metrics")
        owned = scraped(address)["zkconsumer_owned_partitions"]
        assert sum(owned.values()) == 2
