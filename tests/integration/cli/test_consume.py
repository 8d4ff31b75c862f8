"""``zkconsumer consume`` as a process, on a real broker."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.clusters import fresh_name
from tests.support.set_producer import Producer
from zkconsumer.model import Record, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.kazoo_store import connect

pytestmark = pytest.mark.sandbox
TIMEOUT_S = 60


@pytest.fixture
def topic(cluster: Sandbox) -> str:
    """Create a topic of two partitions with ten lines that have keys."""
    name = fresh_name("consume")
    cluster.create_topic(name, partitions=2)
    for partition in range(2):
        produce(cluster, name, range(partition, 10, 2), partition)
    return name


def produce(cluster: Sandbox, topic: str, numbers: range, partition: int = 0) -> None:
    """Write ``line N`` with the key ``kN``, as one message set."""
    records = [Record(0, b"k%d" % number, b"line %d" % number) for number in numbers]
    with closing(Producer(cluster.brokers)) as producer:
        producer.send(TopicPartition(topic, partition), records)


def command(cluster: Sandbox, *arguments: str) -> list[str]:
    """Return the command line of our console consumer."""
    base = [sys.executable, "-m", "zkconsumer", "consume"]
    return [*base, "--zookeeper", cluster.zookeeper_connect, *arguments]


def consume(cluster: Sandbox, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run our console consumer until it exits."""
    return warm.run(
        command(cluster, *arguments), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


@contextmanager
def consuming(cluster: Sandbox, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run our console consumer in the background; kill it at the end."""
    with warm.Popen(
        command(cluster, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """Read the next lines that it prints."""
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def committed(cluster: Sandbox, group: str, topic: str) -> int:
    """Return how many messages the group has committed, over both partitions."""
    store = connect(cluster.zookeeper_connect, session_timeout_ms=6000, connection_timeout_ms=6000)
    try:
        paths = [f"/consumers/{group}/offsets/{topic}/{partition}" for partition in (0, 1)]
        return sum(int(node.data) for node in store.get_many(paths) if node is not None)
    finally:
        store.close()


def groups(cluster: Sandbox) -> list[str]:
    """Return all groups in ZooKeeper."""
    store = connect(cluster.zookeeper_connect, session_timeout_ms=6000, connection_timeout_ms=6000)
    try:
        return store.children_many(["/consumers"])[0] or []
    finally:
        store.close()


def test_it_prints_the_topic_and_continues_where_it_stopped(cluster: Sandbox, topic: str) -> None:
    """Messages beyond --max-messages are printed by the next run, and none twice."""
    group = fresh_name("group")
    first = consume(
        *(cluster, "--topic", topic, "--group", group, "--from-beginning"),
        *("--max-messages", "4", "--property", "print.key=true", "--property", "key.separator=|"),
    )
    assert (first.returncode, first.stderr) == (0, "Consumed 4 messages\n")
    assert committed(cluster, group, topic) == 4
    second = consume(cluster, "--topic", topic, "--group", group, "--timeout-ms", "3000")
    assert (second.returncode, second.stderr) == (0, "Consumed 6 messages\n")
    values = [line.partition("|")[2] for line in first.stdout.splitlines()]
    values += second.stdout.splitlines()
    assert sorted(values) == sorted(f"line {number}" for number in range(10))
    assert committed(cluster, group, topic) == 10


def test_json_has_the_topic_partition_and_offset_of_each_message(
    cluster: Sandbox, topic: str
) -> None:
    """Each line is an object; without --group nothing is left behind in ZooKeeper."""
    done = consume(
        *(cluster, "--whitelist", topic, "--from-beginning", "--timeout-ms", "3000"),
        *("--output", "json"),
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {item["key"]: item["value"] for item in found} == {
        f"k{n}": f"line {n}" for n in range(10)
    }
    assert len({(item["partition"], item["offset"]) for item in found}) == 10
    assert {item["topic"] for item in found} == {topic}
    assert not [group for group in groups(cluster) if group.startswith("console-consumer-")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_offsets_committed(
    cluster: Sandbox, topic: str, number: signal.Signals
) -> None:
    """Exactly the printed messages are committed."""
    group = fresh_name("group")
    with consuming(cluster, "--topic", topic, "--group", group, "--from-beginning") as process:
        assert len(set(read_lines(process, 10))) == 10
        process.send_signal(number)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, rest, errors) == (0, "", "Consumed 10 messages\n")
    assert committed(cluster, group, topic) == 10


def test_a_closed_pipe_ends_it_with_the_printed_messages_committed(
    cluster: Sandbox, topic: str
) -> None:
    """The message that could not be written is not committed."""
    group = fresh_name("group")
    with consuming(cluster, "--topic", topic, "--group", group, "--from-beginning") as process:
        read_lines(process, 10)
        assert process.stdout is not None
        process.stdout.close()
        produce(cluster, topic, range(10, 11))
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(TIMEOUT_S) == 0
    assert errors == "Consumed 10 messages\n"
    assert committed(cluster, group, topic) == 10


def test_a_reader_of_one_line_gets_one_line(cluster: Sandbox) -> None:
    """It does not commit a whole pipe buffer, and exits at once, even if no other message comes."""
    topic, group = fresh_name("topic"), fresh_name("group")
    cluster.create_topic(topic, partitions=1)
    produce(cluster, topic, range(5_000))
    with consuming(cluster, "--topic", topic, "--group", group, "--from-beginning") as process:
        head = subprocess.run(
            ["head", "-1"], stdin=process.stdout, capture_output=True, timeout=TIMEOUT_S, check=True
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 0
    assert head.stdout.count(b"\n") == 1
    assert 1 <= committed(cluster, group, topic) <= 5
    alone, last = fresh_name("topic"), fresh_name("group")
    cluster.create_topic(alone, partitions=1)
    produce(cluster, alone, range(1))
    with consuming(cluster, "--topic", alone, "--group", last, "--from-beginning") as process:
        assert len(read_lines(process, 1)) == 1
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 0
    assert committed(cluster, last, alone) == 1


def test_from_beginning_does_not_override_committed_offsets(cluster: Sandbox, topic: str) -> None:
    """As in the original, --from-beginning requires that they are deleted explicitly."""
    group = fresh_name("group")
    consume(cluster, "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "3")
    again = (cluster, "--topic", topic, "--group", group, "--from-beginning")
    refused = consume(*again, "--max-messages", "10")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"zkconsumer: group {group} has offsets already")
    assert "--delete-consumer-offsets" in refused.stderr
    done = consume(*again, "--delete-consumer-offsets", "--max-messages", "10")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 10)


def test_a_file_configures_it_and_may_turn_auto_commit_off(
    cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """The group and the start position come from the file; nothing is committed."""
    group = fresh_name("group")
    path = tmp_path / "consumer.properties"
    path.write_text(
        f"group.id={group}\nauto.offset.reset=smallest\nauto.commit.enable=false\n"
        "consumer.timeout.ms=3000\n"
    )
    done = consume(cluster, "--topic", topic, "--consumer.config", str(path))
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 10)
    assert committed(cluster, group, topic) == 0
