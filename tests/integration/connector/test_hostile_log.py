"""A log tampered with on a real broker's disk: decompression bombs and impossible offsets."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tests.support.clusters import fresh_name
from tests.support.disk_damage import log_size, overwrite
from tests.support.matrix import in_matrix
from tests.support.members import Member
from tests.support.ranges import client_of, offset_range
from tests.support.record_sets import gzip_of_zeros, wrapper_around
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import KafkaConsumer, PartitionFailed
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

BOMBS = 8
"""So many that they would not fit into the memory limit at once."""
BOUND_BYTES = 32 << 20
"""``fetch.max.decompressed.bytes`` here: at its default, a set takes a second to decompress."""
BIT_36 = 1 << 36


@pytest.fixture(scope="module")
def disk(disks: Path) -> Path:
    """Give the folder of the broker's logs."""
    return disks / "damaged"


@pytest.fixture(scope="module")
def cluster(damaged_cluster: Sandbox) -> Sandbox:
    """Give a broker whose log files the tests can change."""
    return damaged_cluster


@pytest.fixture(scope="module")
def bombs(cluster: Sandbox, disk: Path) -> TopicPartition:
    """Write messages of 36 KB that decompress to 36 MB each, and a sound message after them.

    Brokers would refuse them, so they replace other messages of the same size on the disk.
    """
    tp = TopicPartition(fresh_name("bombs"), 0)
    cluster.create_topic(tp.topic)
    bomb = gzip_of_zeros(36)
    for offset in range(BOMBS):
        before = log_size(disk, tp)
        write(cluster, tp, [Random(offset).randbytes(len(bomb))])
        entry = wrapper_around(offset, bomb)
        assert log_size(disk, tp) - before == len(entry)
        overwrite(disk, tp, entry, before)
    write(cluster, tp, [b"sound"])
    return tp


@in_matrix(
    ("way", "engine"),
    product(["stream", "poll", "range"], ["native", "pure"]),
    [("stream", "native"), ("poll", "native"), ("range", "native"), ("stream", "pure")],
)
def test_refused_messages_do_not_stay_in_memory(
    cluster: Sandbox, bombs: TopicPartition, way: str, engine: str
) -> None:
    """Only one is decompressed at a time, up to the limit; no garbage collection is needed."""
    wanted = {
        "way": way,
        "zookeeper": cluster.zookeeper_connect,
        "bootstrap": cluster.bootstrap_servers,
        "topic": bombs.topic,
        "count": BOMBS,
        "bound": BOUND_BYTES,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.refused_probe", json.dumps(wanted)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
        env={**os.environ, "ZKCONSUMER_PURE": str(int(engine == "pure"))},
    )
    reported = json.loads(done.stdout)
    assert reported["found"] == [BOMBS]
    assert reported["taken_bytes"] < 2 * BOUND_BYTES


@pytest.fixture
def flipped(cluster: Sandbox, disk: Path) -> TopicPartition:
    """Write ten messages, and flip one bit of the fifth one's offset on the disk.

    Each is large enough for an entry in the broker's index. Otherwise the broker would look for the
    end of the log by the same headers, find it before the fifth message, and serve nothing after
    it.
    """
    tp = TopicPartition(fresh_name("flipped"), 0)
    cluster.create_topic(tp.topic)
    for number in range(10):
        before = log_size(disk, tp)
        write(cluster, tp, [b"message %d" % number * 500])
        if number == 4:
            overwrite(disk, tp, (number + BIT_36).to_bytes(8, "big"), before)
    return tp


def test_skip_skips_an_impossible_offset(cluster: Sandbox, flipped: TopicPartition) -> None:
    """Only that message is lost; the log's end is committed, not the impossible offset."""
    group = fresh_name("group")
    rest = [0, 1, 2, 3, 5, 6, 7, 8, 9]
    with Member(cluster, group, {flipped.topic: 1}, poison_policy="skip") as member:
        wait_until(lambda: member.got(flipped) == rest, what="all that is sound")
        assert member.errors == []
    assert ZkTree(cluster).offsets(group) == {flipped: 10}


def test_raise_stops_before_an_impossible_offset(cluster: Sandbox, flipped: TopicPartition) -> None:
    """The position does not jump to that offset, and nothing after it is committed."""
    group = fresh_name("group")
    with Member(cluster, group, {flipped.topic: 1}) as member:
        wait_until(lambda: member.errors, what="the error")
        (error,) = member.errors
        assert isinstance(error, PartitionFailed)
        assert error.offset == 4
        assert f"claims offset {4 + BIT_36}, but the log ends at 10" in str(error)
        assert member.got(flipped) == [0, 1, 2, 3]
    assert ZkTree(cluster).offsets(group) == {flipped: 4}


def test_polls_and_ranges_stop_at_an_impossible_offset(
    cluster: Sandbox, flipped: TopicPartition
) -> None:
    """The error has the next offset; after a seek there the rest is read."""
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([flipped])
        consumer.seek(flipped, 0)
        seen: list[int] = []

        def read() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                seen.extend(record.offset for record in records)
            return False

        with pytest.raises(PartitionFailed, match="to skip it, seek to 5"):
            wait_until(read, what="the error")
        assert seen == [0, 1, 2, 3]
        consumer.seek(flipped, 5)
        wait_until(lambda: read() or len(seen) == 9, what="the rest")
        assert seen[4:] == [5, 6, 7, 8, 9]
    client = client_of(cluster.brokers)
    reader = RangeReader(client, settings=RangeSettings())
    with pytest.raises(PartitionFailed, match=f"offset 4: the entry claims offset {4 + BIT_36}"):
        list(reader.read(offset_range(0, 10, flipped)))
    client.stop()
