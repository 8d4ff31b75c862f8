"""The memory of a process whose streams are not read, with a backlog that would not fit."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.loopback import LoopbackServer
from tests.support.queues import needs_native_engine
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.memory import records_bytes

PARTITIONS, STREAMS = 8, 2
BUDGET_BYTES = 8 << 20
RESPONSE_BYTES = 1 << 20
VALUE = b"a line of a log that says about the same each time, but for %s"
SLACK_BYTES = 3 << 20
"""Threads, sockets, a decompressor's buffers, and pages that the allocator can't free."""


def records_of(rng: Random, count: int) -> list[Record]:
    """Return records of text that compresses well."""
    return [Record(0, None, VALUE % rng.randbytes(4).hex().encode()) for _ in range(count)]


@contextmanager
def backlog(codec: Codec, sets: int, of_records: int) -> Iterator[int]:
    """Run a broker on loopback with ``sets`` message sets in each partition; yield its port."""
    cluster = FakeCluster()
    cluster.create_topic("t", PARTITIONS)
    chosen = records_of(Random(1), of_records)
    for number in range(PARTITIONS):
        for _ in range(sets):
            cluster.append(TopicPartition("t", number), chosen, codec)
    brokers = FakeBrokers(cluster)
    with LoopbackServer() as server:
        brokers.listen_on_loopback(server)
        yield brokers[0].address.port


def probe(
    port: int, records: int, budget_bytes: int = BUDGET_BYTES, *, is_native: bool = False
) -> dict[str, int]:
    """Run the probe process against the broker."""
    wanted = {
        "port": port,
        "partitions": PARTITIONS,
        "streams": STREAMS,
        "budget_bytes": budget_bytes,
        "fetch_bytes": 256 << 10,
        "max_bytes": RESPONSE_BYTES,
        "records": records,
        "is_native": is_native,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.memory_probe", json.dumps(wanted)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=100,
    )
    reported: dict[str, int] = json.loads(done.stdout)
    return reported


@pytest.mark.parametrize(
    ("codec", "sets", "of_records"),
    [(Codec.GZIP, 20, 1_500), (Codec.SNAPPY, 20, 1_500), (Codec.NONE, 1, 20_000)],
)
def test_memory_stays_within_the_promised_limit(codec: Codec, sets: int, of_records: int) -> None:
    """The limit: the budget, a response packed and one arriving, a piece of each stream."""
    records = PARTITIONS * sets * of_records
    with backlog(codec, sets, of_records) as port:
        reported = probe(port, records)
    assert reported["value_bytes"] == records * len(VALUE % b"12345678")
    assert reported["left"] == 0
    assert BUDGET_BYTES * 0.7 < reported["standing_bytes"] <= BUDGET_BYTES
    set_bytes = records_bytes(records_of(Random(1), of_records)) if codec else 0
    promised = BUDGET_BYTES + 2 * RESPONSE_BYTES + STREAMS * set_bytes
    assert reported["peak_bytes"] <= promised + SLACK_BYTES, reported


def test_without_a_budget_memory_grows_many_times_as_much() -> None:
    """This shows that the budget is what limits it."""
    records = PARTITIONS * 40 * 1_500
    with backlog(Codec.GZIP, 40, 1_500) as port:
        reported = probe(port, records, budget_bytes=1 << 40)
    assert reported["standing_bytes"] > 5 * BUDGET_BYTES
    assert reported["peak_bytes"] > 5 * BUDGET_BYTES


@needs_native_engine
def test_the_native_loop_stays_within_the_limit() -> None:
    """It counts its buffers' bytes; no message set is larger than a piece."""
    sets, of_records = 20, 1_500
    records = PARTITIONS * sets * of_records
    with backlog(Codec.SNAPPY, sets, of_records) as port:
        reported = probe(port, records, is_native=True)
    assert reported["value_bytes"] == records * len(VALUE % b"12345678")
    assert reported["left"] == 0
    assert BUDGET_BYTES * 0.7 < reported["standing_bytes"] <= BUDGET_BYTES
    piece_bytes = 1 << 20
    promised = BUDGET_BYTES + 2 * RESPONSE_BYTES + STREAMS * piece_bytes
    assert reported["peak_bytes"] <= promised + SLACK_BYTES, reported
