"""``zkconsumer consume --tail --follow`` as a process, on real brokers."""

import json
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name, without
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
TIMEOUT_S = 60
PROMPT_S = 10
"""How long a process may take to exit on a busy machine."""


@pytest.fixture(scope="module", params=["0.8.2.2", "2.8.2"])
def brokers(request: pytest.FixtureRequest, broker_of: BrokerOf, cluster: Sandbox) -> Sandbox:
    """Give a broker without timestamps, and one with them."""
    return cluster if request.param == "0.8.2.2" else broker_of(request.param)


@pytest.fixture
def topic(brokers: Sandbox) -> str:
    """Create a topic of two partitions with three messages each."""
    name = fresh_name("follow")
    brokers.create_topic(name, partitions=2)
    for tp in partitions_of(name, 2):
        write(brokers, tp, [b'{"n": %d}' % number for number in range(3)])
    return name


@contextmanager
def following(brokers: Sandbox, topic: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the command in the background; kill it at the end."""
    words = [sys.executable, "-m", "zkconsumer", "consume", "--topic", topic, "--follow"]
    place = ["--zookeeper", brokers.zookeeper_connect]
    with warm.Popen(
        [*words, *place, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read(process: "subprocess.Popen[str]", count: int) -> list[str]:
    """Read the next lines that it prints."""
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def offsets(lines: Sequence[str]) -> dict[int, list[int]]:
    """Parse lines of JSON; return their offsets by partition."""
    found = defaultdict(list)
    for line in lines:
        message = json.loads(line)
        found[message["partition"]].append(message["offset"])
    return dict(found)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_new_messages_are_printed_once_until_ctrl_c(
    brokers: Sandbox, topic: str, number: signal.Signals
) -> None:
    """They follow the tail in the order of each log; Ctrl-C ends it at once and leaves no group."""
    groups = ZkTree(brokers).children("/consumers")
    with following(brokers, topic, "--tail", "6", "--output", "json") as process:
        lines = read(process, 6)
        for batch in range(3):
            for tp in partitions_of(topic, 2):
                write(brokers, tp, [b"%d" % batch] * 20)
            lines += read(process, 40)
        process.send_signal(number)
        rest, errors = process.communicate(timeout=PROMPT_S)
    assert offsets(lines) == {0: [*range(63)], 1: [*range(63)]}
    assert (process.returncode, rest) == (0, "")
    assert errors == "126 of 126 messages read\n"
    assert ZkTree(brokers).children("/consumers") == groups


def test_a_filter_applies_to_new_messages(brokers: Sandbox, topic: str) -> None:
    """--max-messages counts the messages that pass it, and ends the command."""
    arguments = ("--tail", "--filter", ".n >= 2", "--max-messages", "4")
    (tp, _) = partitions_of(topic, 2)
    with following(brokers, topic, *arguments) as process:
        lines = read(process, 2)
        write(brokers, tp, [b'{"n": 1}', b'{"n": 7}', b"other", b'{"n": 8}', b'{"n": 9}'])
        rest, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, [*lines, *rest.splitlines()]) == (
        0,
        ['{"n": 2}', '{"n": 2}', '{"n": 7}', '{"n": 8}'],
    )
    assert errors.startswith("4 of 11 messages read")


def test_a_closed_pipe_ends_it(brokers: Sandbox, topic: str) -> None:
    """It exits even if no message comes whose output would fail."""
    with following(brokers, topic, "--tail", "6") as process:
        read(process, 6)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 0


def test_it_ends_when_no_message_comes(
    brokers: Sandbox, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """--timeout-ms ends it; a table has its header once; --follow without --tail is refused."""
    place = ["--zookeeper", brokers.zookeeper_connect, "--topic", topic]
    flags = ["--tail", "2", "--follow", "--timeout-ms", "1200", "--output", "table"]
    assert main(["consume", *place, *flags]) == 0
    out, err = capfd.readouterr()
    assert out.count("VALUE") == 1
    assert len(out.splitlines()) == 3
    assert err.startswith("2 of 4 messages read")
    for wrong in (["--follow"], ["--follow", "--from-time", "2026-01-01"]):
        assert main(["consume", *place, *wrong]) == 2
        assert "it needs --tail" in capfd.readouterr().err


def test_reading_continues_when_a_broker_comes_back(cluster3: Sandbox) -> None:
    """Messages from after the outage come once, and the outage is reported at most once."""
    topic = fresh_name("follow")
    cluster3.create_topic(topic, assignment={0: [0], 1: [1]})
    first, second = partitions_of(topic, 2)
    with following(cluster3, topic, "--tail", "1", "--output", "json") as process:
        write(cluster3, first, [b"a"])
        lines = read(process, 1)
        with without(cluster3, 0):
            write(cluster3, second, [b"b"])
            lines += read(process, 1)
        write(cluster3, first, [b"c"])
        lines += read(process, 1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
    values = [json.loads(line)["value"] for line in lines]
    assert (values, rest, process.returncode) == (["a", "b", "c"], "", 0)
    assert errors.count("no leader that responds") <= 1, errors
