"""Fixed ranges of real logs: compressed, expired, compacted; leaders that move and die."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters import expire, fresh_name, without
from tests.support.ranges import client_of, offset_range, offsets
from tests.support.set_producer import Producer
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import DataLost
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
SETTINGS = RangeSettings(timeout_ms=3_000, max_wait_ms=100)
Reading = Iterator[RangePart | LostRange]


Clients = Callable[[Sandbox], ClusterClient]


@pytest.fixture
def clients() -> Iterator[Clients]:
    """Give a function that returns a cluster's client; connections are kept until the end."""
    made: dict[tuple[Broker, ...], ClusterClient] = {}

    def client(cluster: Sandbox) -> ClusterClient:
        return made.setdefault(cluster.brokers, client_of(cluster.brokers))

    yield client
    for cluster_client in made.values():
        cluster_client.stop()


def reader(
    cluster: Sandbox,
    clients: Clients,
    settings: RangeSettings = SETTINGS,
) -> RangeReader:
    """Create a reader that knows the cluster's brokers."""
    return RangeReader(clients(cluster), settings=settings)


def leader_of(tp: TopicPartition, cluster: Sandbox, clients: Clients) -> Broker:
    """Return the partition's leader."""
    return clients(cluster).view({tp.topic}, timeout_ms=3_000).leaders[tp]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_a_range_of_a_real_log_is_read_exactly(
    cluster: Sandbox, clients: Clients, codec: Codec
) -> None:
    """It starts and ends inside sets, with fetches of any size, several times on one connection."""
    tp = TopicPartition(fresh_name("ranges"), 0)
    cluster.create_topic(tp.topic)
    for start in range(0, 2_000, 100):
        write(
            cluster, tp, [b"%d " % number * 9 for number in range(start, start + 100)], codec=codec
        )
    for fetch_bytes in (400, 5_000, 1 << 22):
        settings = replace(SETTINGS, fetch_bytes=fetch_bytes)
        ranges = reader(cluster, clients, settings)
        read = [
            record
            for part in ranges.read(offset_range(150, 1_950, tp))
            for record in part.records()  # type: ignore[union-attr]
        ]
        assert [(record.offset, record.value) for record in read] == [
            (number, b"%d " % number * 9) for number in range(150, 1_950)
        ]


def test_offsets_beyond_the_end_are_waited_for_and_then_lost(
    cluster: Sandbox, clients: Clients
) -> None:
    """A fetch far beyond the end is refused; one at the end gets an empty response."""
    tp = TopicPartition(fresh_name("beyond"), 0)
    cluster.create_topic(tp.topic)
    write(cluster, tp, [b"%d" % number for number in range(10)])
    settings = replace(SETTINGS, timeout_ms=1_000, fail_on_data_loss=False)
    ranges = reader(cluster, clients, settings=settings)
    *parts, lost = ranges.read(offset_range(5, 12, tp))
    assert offsets(parts) == [5, 6, 7, 8, 9]
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(10, 12, tp)
    strict = reader(cluster, clients, settings=replace(SETTINGS, timeout_ms=1_000))
    with pytest.raises(DataLost, match=r"\[50, 60\).*ends at offset 10"):
        list(strict.read(offset_range(50, 60, tp)))


@pytest.mark.parametrize("end", [Sandbox.stop_broker, Sandbox.kill_broker], ids=["stop", "kill"])
def test_a_leader_that_stops_within_a_range_loses_nothing(
    cluster3: Sandbox, clients: Clients, end: Callable[[Sandbox, int], None]
) -> None:
    """It stops cleanly, or crashes: the range is continued at the next leader."""
    tp = TopicPartition(fresh_name("moved"), 0)
    cluster3.create_topic(tp.topic, replication=3)
    for start in range(0, 3_000, 500):
        write(cluster3, tp, [b"%d" % number * 20 for number in range(start, start + 500)])
    leader = leader_of(tp, cluster3, clients)
    small = replace(SETTINGS, fetch_bytes=10_000)
    reading = reader(cluster3, clients, settings=small).read(
        offset_range(0, 3_000, tp), leader=leader
    )
    read = [next(reading), next(reading)]
    with without(cluster3, leader.id, end=end):
        read += reading
        assert offsets(read) == list(range(3_000))


def test_an_expired_head_is_reported_with_exact_offsets(
    cluster3: Sandbox, clients: Clients, disks: Path
) -> None:
    """The log's first segments are deleted, as retention does."""
    tp = TopicPartition(fresh_name("expired"), 0)
    cluster3.create_topic(tp.topic, assignment={0: [1]}, config={"segment.bytes": "1000"})
    for number in range(40):
        write(cluster3, tp, [b"x" * 100 + b"%d" % number])
    first = expire(cluster3, disks / "cluster3", tp, broker_id=1)
    with pytest.raises(DataLost) as error:
        list(reader(cluster3, clients).read(offset_range(3, 40, tp)))
    assert (error.value.from_offset, error.value.until_offset) == (3, first)
    easy = replace(SETTINGS, fail_on_data_loss=False)
    lost, *parts = reader(cluster3, clients, settings=easy).read(offset_range(3, 40, tp))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(3, first, tp)
    assert offsets(parts) == list(range(first, 40))


def test_a_gap_left_by_compaction_is_no_loss(cluster3: Sandbox, clients: Clients) -> None:
    """The real log cleaner leaves gaps, also inside of compressed sets."""
    tp = TopicPartition(fresh_name("compacted"), 0)
    config = {"cleanup.policy": "compact", "segment.bytes": "2000"}
    cluster3.create_topic(tp.topic, assignment={0: [0]}, config=config)
    producer = Producer(cluster3.brokers)
    end = 0
    for number in range(60):
        records = [
            Record(0, b"%d" % (offset % 7), b"%d " % offset * 9)
            for offset in range(number, number + 5)
        ]
        end = producer.send(tp, records, codec=Codec.GZIP if number % 2 else Codec.NONE) + 5
    producer.close()

    def read(start: int, stop: int) -> list[int]:
        return offsets(reader(cluster3, clients).read(offset_range(start, stop, tp)))

    whole: Callable[[], list[int]] = lambda: read(0, end)  # noqa: E731 - asked for again below
    wait_until(lambda: len(whole()) < end // 2, what="the cleaner")
    kept = read(end // 2, end)
    assert kept[-1] == end - 1
    first = whole()
    # A range that ends in a gap, or is one, ends without an error.
    for start, stop in [(0, first[1]), (first[0] + 1, first[1]), (0, 5), (end - 3, end)]:
        assert set(read(start, stop)) <= set(range(start, stop))
