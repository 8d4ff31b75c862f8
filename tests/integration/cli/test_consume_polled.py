"""``zkconsumer consume --bootstrap-server`` as a process, on a real broker."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
TIMEOUT_S = 60
LINES = [f"line {number}" for number in range(10)]


@pytest.fixture(scope="module")
def broker(broker_of: BrokerOf) -> Sandbox:
    """Give a broker that has group coordinators."""
    return broker_of("3.9.1")


@pytest.fixture
def topic(broker: Sandbox) -> str:
    """Create a topic of two partitions with ten lines."""
    name = fresh_name("consume")
    broker.create_topic(name, partitions=2)
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {
                TopicPartition(name, number): [
                    Record(0, b"key", line.encode()) for line in LINES[number::2]
                ]
                for number in (0, 1)
            }
        )
    return name


def command(broker: Sandbox, *arguments: str) -> list[str]:
    """Return the command line of our console consumer."""
    base = [sys.executable, "-m", "zkconsumer", "consume"]
    return [*base, "--bootstrap-server", broker.bootstrap_servers, *arguments]


def consume(broker: Sandbox, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it until it exits."""
    return warm.run(
        command(broker, *arguments), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def committed(broker: Sandbox, group: str, topic: str) -> int:
    """Return how many messages the group has committed, over both partitions."""
    with KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=group) as us:
        return sum(us.committed(TopicPartition(topic, number)) or 0 for number in (0, 1))


def test_it_prints_the_topic_and_continues_where_it_stopped(broker: Sandbox, topic: str) -> None:
    """Messages beyond --max-messages are printed by the next run, and none twice.

    Both partitions have offsets by then; one without would be read from its end.
    """
    group = fresh_name("group")
    mine = ("--topic", topic, "--group", group)
    first = consume(broker, *mine, "--from-beginning", "--max-messages", "7")
    assert (first.returncode, first.stderr) == (0, "Consumed 7 messages\n")
    assert committed(broker, group, topic) == 7
    refused = consume(broker, *mine, "--from-beginning")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"zkconsumer: group {group} has offsets already")
    second = consume(broker, *mine, "--timeout-ms", "2000", "--output", "json")
    assert (second.returncode, second.stderr) == (0, "Consumed 3 messages\n")
    values = first.stdout.splitlines()
    values += [json.loads(line)["value"] for line in second.stdout.splitlines()]
    assert sorted(values) == LINES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_offsets_committed(
    broker: Sandbox, topic: str, number: signal.Signals
) -> None:
    """Exactly the printed messages are committed."""
    group = fresh_name("group")
    arguments = ("--topic", topic, "--group", group, "--from-beginning")
    with warm.Popen(
        command(broker, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            printed = {process.stdout.readline().rstrip("\n") for _ in LINES}
            process.send_signal(number)
            rest, errors = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
    assert printed == set(LINES)
    assert (process.returncode, rest, errors) == (0, "", "Consumed 10 messages\n")
    assert committed(broker, group, topic) == 10


def test_a_whitelist_with_a_configuration_file_and_no_group(
    broker: Sandbox, topic: str, tmp_path: Path
) -> None:
    """The file has the poll API's settings by their dotted names."""
    path = tmp_path / "consumer.properties"
    path.write_text("isolation.level=read_committed\nauto.offset.reset=earliest\n")
    done = consume(
        *(broker, "--whitelist", f"{topic}|no-such", "--consumer.config", str(path)),
        *("--timeout-ms", "2000", "--property", "print.key=true"),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"key\t{line}" for line in LINES]
