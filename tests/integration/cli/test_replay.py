"""``zkconsumer replay`` on real brokers, old and new."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kraft_topics import create_topic
from tests.support.set_producer import Producer
from tests.support.traffic import write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode

pytestmark = pytest.mark.sandbox
FAR = "2100-01-01"


class ReplayWorld:
    """A topic of two partitions: 30 messages in three sets, and 5 messages with keys."""

    def __init__(self, cluster: Sandbox, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self.cluster = cluster
        self.topic = fresh_name("replay")
        cluster.create_topic(self.topic, partitions=2)
        self.first, self.second = (TopicPartition(self.topic, number) for number in range(2))
        for start in (0, 10, 20):
            write(
                cluster,
                self.first,
                [b"a%d" % number for number in range(start, start + 10)],
                codec=Codec.NONE if start == 10 else Codec.GZIP,
            )
        producer = Producer(cluster.brokers)
        try:
            records = [Record(0, b"k%d" % number, b"b%d" % number) for number in range(3)]
            producer.send(self.second, [*records, Record(0, None, b"\xff"), Record(0, b"", None)])
        finally:
            producer.close()
        self._capture = capfdbinary

    def replay(self, *flags: str, topic: bool = True) -> tuple[int, list[bytes], str]:
        """Run the command; return the exit status, the lines, and its standard error."""
        where = ("--zookeeper", self.cluster.zookeeper_connect)
        which = ("--topic", self.topic) if topic else ()
        status = main(["replay", *where, *which, *flags])
        out, err = self._capture.readouterr()
        return status, out.splitlines(), err.decode()


@pytest.fixture
def old(cluster: Sandbox, capfdbinary: pytest.CaptureFixture[bytes]) -> ReplayWorld:
    """Give a topic on 0.8.2.2."""
    return ReplayWorld(cluster, capfdbinary)


@pytest.fixture(params=["0.8.2.2", "3.9.1"])
def world(
    request: pytest.FixtureRequest,
    broker_of: BrokerOf,
    cluster: Sandbox,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> ReplayWorld:
    """Give a topic on each version."""
    return ReplayWorld(
        cluster if request.param == "0.8.2.2" else broker_of(request.param), capfdbinary
    )


def test_exactly_a_range_of_offsets_is_printed(world: ReplayWorld) -> None:
    """It may start and end inside compressed sets; no group is created."""
    status, lines, reported = world.replay(
        *("--partitions", "0", "--from-offset", "7", "--to-offset", "23")
    )
    assert (status, lines) == (0, [b"a%d" % number for number in range(7, 23)])
    assert reported == "zkconsumer: 16 messages of 1 partition\n"
    assert ZkTree(world.cluster).children("/consumers").count(world.topic) == 0
    status, lines, reported = world.replay()
    assert lines[:31] == [*(b"a%d" % number for number in range(30)), b"b0"]
    assert (status, len(lines), reported) == (0, 35, "zkconsumer: 35 messages of 2 partitions\n")
    status, lines, _ = world.replay("--max-messages", "12")
    assert (status, len(lines)) == (0, 12)


def test_messages_are_printed_in_each_format(world: ReplayWorld, tmp_path: Path) -> None:
    """Text with keys, JSON, and base64 for any bytes; a file appears only when complete."""
    flags = ("--partitions", "1", "--property", "print.key=true", "--property", "key.separator=|")
    assert world.replay(*flags)[1] == [b"k0|b0", b"k1|b1", b"k2|b2", b"null|\xff", b"|null"]
    file = tmp_path / "out"
    assert world.replay("--partitions", "1", "--output", "json", "--output-file", str(file))[0] == 0
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(item["offset"], item["key"], item["value"]) for item in found[:3]] == [
        (number, f"k{number}", f"b{number}") for number in range(3)
    ]
    assert found[3] | {"timestamp": 0} == {
        "topic": world.topic,
        "partition": 1,
        "offset": 3,
        "timestamp": 0,
        "key": None,
        "value": base64.b64encode(b"\xff").decode(),
        "value_encoding": "base64",
    }
    _, lines, _ = world.replay("--partitions", "1", "--output", "base64")
    raw = [json.loads(line) for line in lines]
    assert [item["key"] and base64.b64decode(item["key"]) for item in raw] == [
        *(b"k0", b"k1", b"k2", None, ""),
    ]
    # The producer is of 0.8; later brokers add timestamps to what it sends.
    assert {item["timestamp"] is None for item in found} == {world.cluster.kafka == "0.8.2.2"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_times_are_those_of_records_or_of_segments(world: ReplayWorld) -> None:
    """Old brokers only know the times of segments, and then a note says so."""
    status, lines, reported = world.replay("--from-time", "2020-01-01", "--to-time", FAR)
    assert (status, len(lines)) == (0, 35)
    knows = "whole segments" not in reported
    status, lines, _ = world.replay("--from-time", FAR)
    assert (status, len(lines)) == (0, 0)
    status, lines, _ = world.replay("--to-time", "2020-01-01")
    assert (status, len(lines)) == (0, 0 if knows else 35), "one segment: all of it or nothing"


def test_the_messages_between_two_offset_exports_are_printed(
    world: ReplayWorld, tmp_path: Path
) -> None:
    """The files also name the topics and partitions."""
    tree, group = ZkTree(world.cluster), fresh_name("replay")
    files = []
    for name, offsets in (("before", (28, 1)), ("after", (30, 3))):
        for tp, offset in zip((world.first, world.second), offsets, strict=True):
            tree.put(offset_path(group, tp), b"%d" % offset)
        file = tmp_path / name
        where = ("--zookeeper", world.cluster.zookeeper_connect)
        export = ["offsets", "export", *where, "--group", group, "--output-file", str(file)]
        assert main(export) == 0
        files.append(str(file))
    flags = ("--offsets-file", files[0], "--to-offsets-file", files[1])
    status, lines, reported = world.replay(*flags, topic=False)
    assert (status, lines) == (0, [b"a28", b"a29", b"b1", b"b2"])
    assert reported.endswith("zkconsumer: 4 messages of 2 partitions\n")


def test_missing_offsets_are_named(world: ReplayWorld, tmp_path: Path) -> None:
    """The error has the exact range; nothing is printed unless --allow-gaps is given."""
    file = tmp_path / "out"
    flags = ("--partitions", "1", "--from-offset", "3", "--to-offset", "9")
    status, lines, reported = world.replay(*flags, "--output-file", str(file))
    assert (status, lines, file.exists()) == (1, [], False)
    assert f"{world.second} [5, 9) is not available: the log ends at 5" in reported
    status, lines, reported = world.replay(*flags, "--allow-gaps")
    assert (status, lines) == (0, [b"\xff", b"null"])
    assert f"{world.second} [5, 9) is not available" in reported


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (["--partitions", "5"], "the cluster has no partition"),
        (["--topic", "no-such-topic"], "the cluster has no topic no-such-topic"),
        (["--from-offset", "3", "--to-offset", "2"], "start offset 3 is after the end offset 2"),
        (["--output", "json", "--property", "print.key=true"], "can't be combined with JSON"),
        (["--from-time", "soon"], "'soon' is not a time"),
    ],
)
def test_wrong_arguments_are_reported(old: ReplayWorld, flags: list[str], reported: str) -> None:
    """The exit status is 2, and nothing is printed."""
    status, lines, errors = old.replay(*flags, topic="--topic" not in flags)
    assert (status, lines) == (2, [])
    assert reported in errors


def replaying(world: ReplayWorld) -> "subprocess.Popen[bytes]":
    """Start a process whose output does not fit into a pipe's buffer."""
    write(world.cluster, world.first, [b"x" * 500_000])
    command = [sys.executable, "-m", "zkconsumer", "replay", "--topic", world.topic]
    brokers = ("--bootstrap-servers", world.cluster.bootstrap_servers)
    return warm.Popen([*command, *brokers], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_signal_ends_it(old: ReplayWorld) -> None:
    """The exit status is 130, and it reports how far it came."""
    with replaying(old) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a0\n"
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        reported = process.stderr.read().decode()
        assert process.wait(30) == 130
    assert "it stopped at" in reported


def test_a_closed_pipe_ends_it(old: ReplayWorld) -> None:
    """The reader has enough, so the exit status is 0; it reports how far it came."""
    with replaying(old) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a0\n"
        process.stdout.close()
        assert process.stderr is not None
        reported = process.stderr.read().decode()
        assert process.wait(30) == 0
    assert "it stopped at" in reported


def test_records_of_kafka_4_are_replayed_in_every_codec(
    kraft: KraftNode, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Kafka 4 serves none of the Fetch versions of 0.8; the record batches have magic 2."""
    topic = fresh_name("replay")
    create_topic(kraft, topic)
    for codec in ("zstd", "lz4"):
        kraft.run_tool(
            "org.apache.kafka.tools.ConsoleProducer",
            *("--bootstrap-server", kraft.bootstrap_servers, "--topic", topic),
            *("--compression-codec", codec),
            stdin=b"".join(b"%s %d\n" % (codec.encode(), number) for number in range(50)),
        )
    where = ("--bootstrap-servers", kraft.bootstrap_servers, "--topic", topic)
    assert main(["replay", *where, "--from-offset", "45", "--to-offset", "55"]) == 0
    out, err = capfdbinary.readouterr()
    assert out.splitlines() == [
        *(b"zstd %d" % number for number in range(45, 50)),
        *(b"lz4 %d" % number for number in range(5)),
    ]
    assert err == b"zkconsumer: 10 messages of 1 partition\n"
