"""A log that was damaged on the broker's disk: the broker serves it, the consumer detects it."""

from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from tests.support.disk_damage import damage, log_size
from tests.support.members import Member
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer import PartitionFailed
from zkconsumer.errors import CorruptRecord
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

BATCHES = [[b"batch %d message %d" % (batch, number) for number in range(3)] for batch in range(4)]


@pytest.fixture(scope="module")
def disk(disks: Path) -> Path:
    """Give the folder of the broker's logs."""
    return disks / "damaged"


@pytest.fixture(scope="module")
def cluster(damaged_cluster: Sandbox) -> Sandbox:
    """Give a broker whose log files the tests can change."""
    return damaged_cluster


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_flipped_bit_stops_its_partition_alone(
    cluster: Sandbox, disk: Path, codec: Codec
) -> None:
    """Earlier messages are delivered, the error has the offset, the other partition goes on."""
    topic, group = fresh_name("damaged"), fresh_name("group")
    bad, good = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    sizes = []
    for batch in BATCHES:
        write(cluster, bad, batch, codec=codec)
        sizes.append(log_size(disk, bad))
    damage(disk, bad, sizes[1])  # in the last message of the second batch
    sound = list(range(5 if codec is Codec.NONE else 3))
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: member.errors, what="the error")
        write(cluster, good, BATCHES[0])
        wait_until(lambda: len(member.got(good)) == 3, what="the other partition")
        (error,) = member.errors
        assert isinstance(error, PartitionFailed)
        assert isinstance(error.__cause__, CorruptRecord)
        assert (error.topic_partition, error.offset) == (bad, len(sound))
        assert member.got(bad) == sound
