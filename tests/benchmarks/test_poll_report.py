"""Reports of the poll API: tables, and outcomes of goals."""

import socket
import struct

from tests.benchmarks.bounds import bounds
from tests.benchmarks.clients.job import Job
from tests.benchmarks.clients.raw_batches import BatchReader
from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.figures import Run
from tests.benchmarks.poll import catalog
from tests.benchmarks.poll.report import overview, tables
from zkconsumer.model import Record
from zkconsumer.records.build_batch import build_batch

TOPIC = "100-none-p4"
LABELS = {program.name: program.label for program in catalog.everybody()}


def a_run(contestant: str, number: int, seconds: float) -> Run:
    """Return a pass over a million records."""
    return Run(
        topic=TOPIC,
        contestant=contestant,
        round=number,
        result=Pass(records=1_000_000, seconds=seconds, cpu_seconds=2.0, peak_kb=2048, join_ms=60),
        value_bytes=100,
        broker_cpu_seconds=0.25,
        foreign_cpu_seconds=0.0,
        wall_seconds=seconds,
    )


# Two contestants are half as fast in the second round, which must not change their ratio.
RUNS = [
    a_run(catalog.CONFLUENT, 0, 1.0),
    a_run(catalog.KAFKA_PYTHON, 0, 4.0),
    a_run(catalog.POLL, 0, 0.25),
    a_run(catalog.CONFLUENT, 1, 2.0),
    a_run(catalog.KAFKA_PYTHON, 1, 4.0),
    a_run(catalog.POLL, 1, 0.5),
]


def test_each_goal_that_was_measured_is_judged() -> None:
    """A ratio of 4 misses the goal of 6; a median of 12 reaches the goal of 10."""
    text = tables(RUNS, {}, LABELS)
    assert "- poll to confluent-kafka: 4.00 (4.00 - 4.00), at least 6: MISSED" in text
    assert "- poll to kafka-python: 12.00 (8.00 - 16.00), at least 10: reached" in text
    assert "| **3** | 2 - 4 | 12.00 | 4.00 |  | 2.00 | 0.25 | 2 | 60 |  | 0 of 2 |" in text
    slow = [a_run(catalog.POLL, 0, 1.0), a_run(catalog.KAFKA_PYTHON, 0, 9.0)]
    assert "9.00 (9.00 - 9.00), at least 10: MISSED" in tables(slow, {}, LABELS)


def test_who_is_missing_is_said() -> None:
    """The table has a row with the reason; the overview has rows only for those with runs."""
    text = tables(RUNS, {(TOPIC, catalog.ARROW): "pyarrow is not installed"}, LABELS)
    assert f"| {LABELS[catalog.ARROW]} | pyarrow is not installed |" in text
    other = [*RUNS, *(a_run(catalog.RAW, 0, 0.1) for _ in range(1))]
    assert f"| {LABELS[catalog.RAW]} | 10 |" in overview(other, LABELS)


def test_goals_and_floors_name_who_takes_part() -> None:
    """A bound with any other name would never be checked."""
    named = {
        name
        for kind in ("poll_goals", "poll_floors")
        for bound in bounds(kind)
        for name in (bound.contestant, bound.baseline)
    }
    assert named <= set(LABELS)
    assert {catalog.POLL, catalog.ITERATE} <= named


def test_the_raw_fetch_counts_whole_batches_by_their_heads() -> None:
    """A batch that the response cuts off is fetched again, from its base offset."""
    job = Job(
        bootstrap="h:1",
        zookeeper="",
        topic="t",
        partitions=1,
        records=9,
        value_bytes=1,
        fetch_bytes=1000,
        group="g",
    )
    first, second, cut = (
        build_batch([Record(offset, None, b"v") for offset in range(start, start + 3)])
        for start in (0, 3, 6)
    )
    sets = first + second + cut[:-1]
    response = struct.pack(">iiih1sii", 7, 0, 1, 1, b"t", 1, 0) + struct.pack(">hqqi", 0, 9, 9, -1)
    response += struct.pack(">i", len(sets)) + sets
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">i", len(response)) + response)
        reader = BatchReader(job, ours)
        assert reader.read() == 6
        theirs.sendall(struct.pack(">i", len(response)) + response)
        reader.read()
        requested = theirs.recv(1 << 16)  # both requests
    assert struct.unpack(">q", requested[-12:-4]) == (6,)
