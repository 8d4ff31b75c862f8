"""A process whose signal handler closes its consumer, observed from outside."""

import json
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.matrix import in_matrix
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.clock import SystemClock
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

CLOCK = SystemClock()
ROOT = Path(__file__).parents[3]
PARTITIONS, EACH = 2, 400
SESSION_MS = 30_000
SOON_MS = 10_000
TERM, INT = signal.SIGTERM, signal.SIGINT
Positions = list[tuple[int, int]]


def filled(sandbox: Sandbox) -> str:
    """Create a topic with ``EACH`` records in each of its partitions."""
    topic = fresh_name("signals")
    sandbox.create_topic(topic, partitions=PARTITIONS)
    for tp in partitions_of(topic, PARTITIONS):
        write(sandbox, tp, [b"%d" % number for number in range(EACH)])
    return topic


class Child:
    """A process that consumes, and the records that it got.

    Args:
        folder: for its output.
        way: see ``closing_consumer``.
        settings: of its consumer.
    """

    def __init__(self, folder: Path, way: str, **settings: Any) -> None:
        self._way = way
        self._out, self._errors = folder / "out", folder / "errors"
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = warm.Popen(
                [sys.executable, "-m", "tests.support.closing_consumer", way, json.dumps(settings)],
                cwd=ROOT,
                stdout=out,
                stderr=errors,
            )

    def ended(self, count: int, signals: list[signal.Signals]) -> Positions:
        """Send signals after ``count`` records, wait for its prompt end, and return the records."""
        try:
            wait_until(lambda: len(self._lines()) >= count, what="records")
            for number in signals:
                self._process.send_signal(number)
            status = self._process.wait(SOON_MS / 1000)
        finally:
            self._process.kill()
            self._process.wait()
        assert (status, self._errors.read_text()) == (0, "")
        lines = self._lines()
        if self._way != "exit":
            assert lines.pop() == "ended with 0 more threads"
        return [(int(number), int(offset)) for number, offset in map(str.split, lines)]

    def _lines(self) -> list[str]:
        return self._out.read_text().splitlines()


def rest_of(topic: str, count: int, **settings: Any) -> Positions:
    """Return what another member gets at once, which needs the former member to have left."""
    found: Positions = []
    with closing(KafkaConsumer(topic, **settings)) as consumer:
        deadline_ms = CLOCK.now_ms() + SOON_MS
        while len(found) < count and CLOCK.now_ms() < deadline_ms:
            for records in consumer.poll(200).values():
                found += [(record.partition, record.offset) for record in records]
        while len(consumer.assignment()) < PARTITIONS and CLOCK.now_ms() < deadline_ms:
            consumer.poll(200)
        assert len(consumer.assignment()) == PARTITIONS
        # Nothing more comes.
        for records in consumer.poll(500).values():
            found += [(record.partition, record.offset) for record in records]
    return found


def check(topic: str, received: Positions, settings: dict[str, Any]) -> None:
    """Check that exactly these records are committed, and that another member gets the rest."""
    counts = {
        number: [at for partition, at in received if partition == number]
        for number in range(PARTITIONS)
    }
    assert all(offsets == list(range(len(offsets))) for offsets in counts.values())
    with closing(KafkaConsumer(**settings)) as outside:
        for number, offsets in counts.items():
            assert (outside.committed(TopicPartition(topic, number)) or 0) == len(offsets)
    rest = rest_of(topic, PARTITIONS * EACH - len(received), **settings)
    everything = {(number, at) for number in range(PARTITIONS) for at in range(EACH)}
    assert sorted(received + rest) == sorted(everything)


CASES = [
    pytest.param("iterate", 100, [TERM], id="iterate-busy"),
    pytest.param("iterate", PARTITIONS * EACH, [TERM], id="iterate-waiting"),
    pytest.param("poll", 100, [TERM], id="poll-busy"),
    pytest.param("poll", PARTITIONS * EACH, [TERM], id="poll-waiting"),
    pytest.param("poll", 100, [TERM, INT] * 10, id="poll-impatient"),
    pytest.param("exit", PARTITIONS * EACH, [TERM], id="exit-waiting"),
    pytest.param("interrupt", PARTITIONS * EACH, [INT], id="interrupt-waiting"),
]
IN_ZOOKEEPER = [
    case
    if case.id in {"iterate-waiting", "poll-busy", "poll-impatient"}
    else pytest.param(*case.values, id=case.id, marks=pytest.mark.matrix)
    for case in CASES
]
"""Only leaving differs from coordinators' groups, so most ways to end are in the full matrix."""


@pytest.mark.parametrize(("way", "count", "signals"), CASES)
@in_matrix("version", ["0.9.0.1", "3.9.1"], ["3.9.1"])
def test_a_member_closed_by_a_signal_commits_and_leaves(
    broker_of: BrokerOf,
    tmp_path: Path,
    version: str,
    way: str,
    count: int,
    signals: list[signal.Signals],
) -> None:
    """The other members get its partitions before its session times out, and continue there."""
    sandbox = broker_of(version)
    topic = filled(sandbox)
    settings = {
        "bootstrap_servers": sandbox.bootstrap_servers,
        "group_id": fresh_name("g"),
        "auto_offset_reset": "earliest",
        "session_timeout_ms": SESSION_MS,
    }
    received = Child(tmp_path, way, topics=[topic], **settings).ended(count, signals)
    check(topic, received, settings)


@pytest.mark.parametrize(("way", "count", "signals"), IN_ZOOKEEPER)
def test_a_zookeeper_member_closed_by_a_signal_commits_and_leaves(
    cluster: Sandbox, tmp_path: Path, way: str, count: int, signals: list[signal.Signals]
) -> None:
    """Its nodes are deleted."""
    topic, group = filled(cluster), fresh_name("g")
    settings = {
        "zookeeper_connect": cluster.zookeeper_connect,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "zookeeper_session_timeout_ms": SESSION_MS,
    }
    received = Child(tmp_path, way, topics=[topic], **settings).ended(count, signals)
    tree = ZkTree(cluster)
    assert tree.members(group) == []
    assert tree.owners(group, topic) == {}
    check(topic, received, settings)
