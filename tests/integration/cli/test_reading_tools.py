"""The commands that read, on real groups: times, live groups, groups at coordinators."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.members import settings_for
from tests.support.set_producer import Producer
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer import KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.clock import SystemClock
from zkconsumer.model import OffsetAndMetadata, Record, TimestampType
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a function that runs a command and returns its exit status and its JSON."""

    def as_json(command: str, cluster: Sandbox, *flags: str) -> tuple[int, Any]:
        capsys.readouterr()
        status = main([command, *flags, "--zookeeper", cluster.zookeeper_connect, "--json"])
        printed = capsys.readouterr().out
        return status, json.loads(printed) if printed else None

    return as_json


def test_a_group_at_a_coordinator(broker_of: BrokerOf, run: Run) -> None:
    """Its lag in seconds is from record timestamps; it can be deleted once it has no members."""
    cluster = broker_of("3.9.1")
    topic, group = fresh_name("lag"), fresh_name("lag")
    cluster.create_topic(topic, partitions=3)
    partitions = partitions_of(topic, 3)
    now_ms = SystemClock().wall_ms()
    kind = TimestampType.CREATE_TIME
    with closing(Producer(cluster.brokers)) as producer:
        times = [now_ms - 3_000_000, now_ms - 2_000_000, now_ms - 1_000_000]
        # A broker omits large records from a fetch of several partitions, but not of one.
        for tp, value in zip(partitions, (b"v", b"v" * 20_000, b"v" * 20_000), strict=True):
            producer.send(tp, [Record(0, None, value, at_ms, kind) for at_ms in times])
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    with closing(consumer):
        consumer.subscribe([topic])
        wait_until(lambda: consumer.poll(timeout_ms=200), what="its partition")
        consumer.commit(dict.fromkeys(partitions, OffsetAndMetadata(1)))
        status, reported = run("lag", cluster, "--group", group, "--max-seconds", "1999")
        rows = reported["groups"][0]["partitions"]
        assert (status, len(rows)) == (3, 3)
        for row in rows:
            assert (row["offset"], row["lag"], row["seconds_estimated"]) == (1, 2, False)
            assert 2_000 <= row["seconds"] < 2_100
        assert run("groups", cluster, "delete", "--group", group, "--yes") == (2, None)
    status, reported = run("groups", cluster, "delete", "--group", group, "--yes")
    assert (status, reported["deleted"][0]["result"]) == (0, "done")
    assert run("groups", cluster, "describe", "--group", group) == (2, None)


def test_seconds_are_estimated_from_the_growth_of_a_log(cluster: Sandbox, run: Run) -> None:
    """Brokers of 0.8 have no timestamps, so the log's growth during a sample must do."""
    topic, group = fresh_name("lag"), fresh_name("lag")
    cluster.create_topic(topic, partitions=2)
    busy, idle = partitions_of(topic, 2)
    tree = ZkTree(cluster)
    for tp in (busy, idle):
        write(cluster, tp, [b"v"] * 1_000)
        tree.put(offset_path(group, tp), b"0")
    with Traffic(cluster, [busy]):
        _, reported = run("lag", cluster, "--group", group, "--sample-ms", "500")
    first, second = reported["groups"][0]["partitions"]
    assert first["seconds_estimated"]
    assert first["seconds"] > 0
    assert (second["lag"], second["seconds"]) == (1_000, None)


@contextmanager
def watching(cluster: Sandbox, group: str) -> Iterator[Iterator[dict[str, Any]]]:
    """Run ``groups watch``; yield its snapshots."""
    words = ["groups", "watch", "--zookeeper", cluster.zookeeper_connect, "--group", group]
    process = warm.Popen(
        [sys.executable, "-m", "zkconsumer", *words, "--json", "--interval", "0.2"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield (json.loads(line) for line in process.stdout)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
        finally:
            process.kill()


def test_a_live_group(cluster: Sandbox, run: Run) -> None:
    """It verifies; a join is reported with the partitions that moved; it can't be deleted."""
    topic, group = fresh_name("live"), fresh_name("live")
    cluster.create_topic(topic, partitions=2)

    def join(name: str) -> ZookeeperConsumerConnector:
        member = ZookeeperConsumerConnector(settings_for(cluster, group, consumer_id=name))
        member.create_message_streams({topic: 1})
        return member

    tree = ZkTree(cluster)
    with contextlib.ExitStack() as members:
        members.enter_context(join("a"))
        wait_until(lambda: len(tree.owners(group, topic)) == 2, what="its owners")
        status, reported = run("verify", cluster, "--group", group)
        assert (status, reported["groups"][0]["strategies"]["range"]["met"]) == (0, True)
        with watching(cluster, group) as snapshots:
            assert next(snapshots)["members"] == 1
            members.enter_context(join("b"))
            rebalances = (snapshot["rebalance"] or {} for snapshot in snapshots)
            rebalance = next(item for item in rebalances if item.get("ended_at") and item["moved"])
        assert rebalance["reasons"] == [f"member {group}_b joined"]
        [moved] = rebalance["moved"]
        assert moved["after"] == f"{group}_b-0"
        assert run("groups", cluster, "delete", "--group", group, "--yes") == (2, None)
    status, reported = run("groups", cluster, "delete", "--group", group, "--yes")
    assert (status, tree.children("/consumers").count(group)) == (0, 0)
