"""Our measurement of a topic and the original's: the same rows, except for times."""

import contextlib
import json
import os
import re
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
PERFORMANCE = "kafka.tools.ConsumerPerformance"
COUNT = 6_000
VALUE = b"x" * 150
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
NUMBER = r"-?\d+\.\d{4}"
RATES = (4, 6)


@pytest.fixture
def topic(cluster: Sandbox) -> str:
    """Create two partitions: one with all the messages, the other with none."""
    topic = fresh_name("perf")
    cluster.create_topic(topic, partitions=2)
    fill(cluster, topic)
    return topic


def fill(cluster: Sandbox, topic: str) -> None:
    """Write the messages."""
    with closing(BatchProducer(cluster.brokers)) as producer:
        producer.write({TopicPartition(topic, 0): [Record(0, b"key", VALUE)] * COUNT})


def ours(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Run our command; return status and lines."""
    status = main(["perf", "--idle-ms", "700", *arguments])
    return status, capsys.readouterr().out.splitlines()


def without_times(line: str) -> str:
    """Replace what differs between runs: times, and rates, which follow from them.

    The number of a thread, too: in the original it is chance which thread gets a partition.
    """
    cells = line.split(", ")
    for place, cell in enumerate(cells):
        if re.fullmatch(TIME, cell):
            cells[place] = "TIME"
        elif place == 1 and cell.isdigit():
            cells[place] = "THREAD"
        elif place in RATES and re.fullmatch(NUMBER, cell):
            cells[place] = "RATE"
    return ", ".join(cells)


def test_the_same_rows(cluster: Sandbox, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Header and row have the same bytes and messages; no group stays behind."""
    where = ("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--threads", "2")
    flags = (*where, "--show-detailed-stats", "--reporting-interval", "2500")
    result = cluster.run_scala_tool(PERFORMANCE, *flags)
    groups = set(ZkTree(cluster).children("/consumers"))
    status, lines = ours(capsys, *flags, "--format", "scala")
    assert status == 0
    assert sorted(map(without_times, lines)) == sorted(map(without_times, result.lines))
    assert len(lines) == 1 + 2 + 2, lines
    assert set(ZkTree(cluster).children("/consumers")) == groups

    status, (header, row) = ours(capsys, *where, "--messages", "4000", "--format", "scala")
    assert status == 0
    assert header == (
        "start.time, end.time, fetch.size, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, "
        "nMsg.sec"
    )
    assert without_times(row) == "TIME, TIME, 1048576, 0.5722, RATE, 4000, RATE"


def test_an_existing_group_is_not_touched(
    cluster: Sandbox, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --delete-consumer-offsets a new one replaces it, and is deleted at the end."""
    tree, group = ZkTree(cluster), fresh_name("perf")
    tree.put(f"/consumers/{group}/offsets/{topic}/0", b"5")
    where = ("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--group", group)
    assert main(["perf", *where]) == 2
    assert "there is a group" in capsys.readouterr().err
    assert tree.children("/consumers").count(group) == 1
    status, lines = ours(capsys, *where, "--threads", "1", "--delete-consumer-offsets", "--json")
    assert (status, json.loads("".join(lines))["messages"]) == (0, COUNT)
    assert group not in tree.children("/consumers")


def test_without_zookeeper(cluster: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """All partitions are read, spread over threads; no group is joined."""
    topic = fresh_name("perf")
    cluster.create_topic(topic, partitions=3)
    with closing(BatchProducer(cluster.brokers)) as producer:
        partitions = [TopicPartition(topic, number) for number in range(3)]
        producer.write({tp: [Record(0, b"key", VALUE)] * 1_000 for tp in partitions})
    where = ("--bootstrap-server", cluster.bootstrap_servers, "--topic", topic)
    for more in ((), ("--one-by-one",)):
        status, lines = ours(capsys, *where, "--threads", "2", "--json", *more)
        found = json.loads("".join(lines))
        assert (status, found["messages"], found["bytes"]) == (0, 3_000, 450_000)
        assert sorted(stream["messages"] for stream in found["streams"]) == [1_000, 2_000]
        assert (found["ended"], found["topic"]) == ("all", topic)


def test_nothing_to_read(cluster: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty topic is measured; a missing one is refused; with ZooKeeper and without."""
    topic = fresh_name("perf")
    cluster.create_topic(topic)
    zookeeper = ("--zookeeper", cluster.zookeeper_connect, "--threads", "1")
    brokers = ("--bootstrap-server", cluster.bootstrap_servers)
    for where in (zookeeper, brokers):
        status, lines = ours(capsys, *where, "--topic", topic)
        assert (status, lines[-1]) == (0, "nothing was read: no more messages came")
        status, lines = ours(capsys, *where, "--topic", f"{topic}-not")
        assert (status, lines) == (2, [])


def test_a_signal_ends_it(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """It prints what was read until then, at once, and leaves no group behind."""
    groups = set(ZkTree(cluster).children("/consumers"))
    arguments = ["--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--threads", "1"]
    arguments += ["--idle-ms", "60000", "--show-detailed-stats", "--reporting-interval", str(COUNT)]
    arguments += ["--messages", str(COUNT + 1)]
    log = tmp_path / "out"
    with log.open("wb") as out:
        process = warm.Popen(
            [sys.executable, "-m", "zkconsumer", "perf", *arguments],
            stdout=out,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        try:
            wait_until(lambda: b"messages" in log.read_bytes(), what="all messages")
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(10)
    *_, total, reported = log.read_text().splitlines()
    assert total.split()[:3:2] == ["all", str(COUNT)]
    assert reported == "stopped by a signal"
    assert set(ZkTree(cluster).children("/consumers")) == groups
