"""Unreadable messages of a real broker, damaged on disk or too large, under each policy."""

import base64
import json
from pathlib import Path
from random import Random

import pytest

from tests.support.clusters import fresh_name
from tests.support.disk_damage import damage, log_size
from tests.support.members import Member
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import MessageTooLarge
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

BATCHES = [[b"batch %d message %d" % (batch, number) for number in range(3)] for batch in range(4)]
SMALL_FETCHES = {"fetch_message_max_bytes": 1_000, "fetch_message_growth_max_bytes": 10_000}


@pytest.fixture(scope="module")
def disk(disks: Path) -> Path:
    """Give the folder of the broker's logs."""
    return disks / "damaged"


@pytest.fixture(scope="module")
def cluster(damaged_cluster: Sandbox) -> Sandbox:
    """Give a broker whose log files the tests can change."""
    return damaged_cluster


def damaged_topic(cluster: Sandbox, disk: Path, codec: Codec) -> TopicPartition:
    """Write four batches of three messages; flip one bit in the last byte of the second one."""
    tp = TopicPartition(fresh_name("damaged"), 0)
    cluster.create_topic(tp.topic)
    sizes = []
    for batch in BATCHES:
        write(cluster, tp, batch, codec=codec)
        sizes.append(log_size(disk, tp))
    damage(disk, tp, sizes[1])
    return tp


def sound_offsets(codec: Codec) -> list[int]:
    """Return the readable offsets: all but the damaged message, or all but its set."""
    lost = {5} if codec is Codec.NONE else {3, 4, 5}
    return [offset for offset in range(12) if offset not in lost]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_skip_passes_over_what_is_damaged(cluster: Sandbox, disk: Path, codec: Codec) -> None:
    """All other messages come without an error, and the log's end is committed."""
    tp, group = damaged_topic(cluster, disk, codec), fresh_name("group")
    with Member(cluster, group, {tp.topic: 1}, poison_policy="skip") as member:
        wait_until(lambda: member.got(tp) == sound_offsets(codec), what="all that is sound")
        assert member.errors == []
    assert ZkTree(cluster).offsets(group) == {tp: 12}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_dead_letter_puts_aside_what_is_damaged(
    cluster: Sandbox, disk: Path, codec: Codec, tmp_path: Path
) -> None:
    """The dead letter has the bytes and the offset; the next member continues after it."""
    tp, group = damaged_topic(cluster, disk, codec), fresh_name("group")
    letters = tmp_path / "letters"
    settings = {"poison_policy": "dead_letter", "poison_dead_letter_file": str(letters)}
    with Member(cluster, group, {tp.topic: 1}, **settings) as member:
        wait_until(lambda: member.got(tp) == sound_offsets(codec), what="all that is sound")
        assert member.errors == []
    (letter,) = map(json.loads, letters.read_text().splitlines())
    first = 5 if codec is Codec.NONE else 3
    place = [letter[name] for name in ("topic", "partition", "offset", "next_offset")]
    assert place == [tp.topic, 0, first, 6]
    assert "CRC" in letter["reason"]
    raw = base64.b64decode(letter["raw"])
    (segment,) = disk.glob(f"broker-0/**/{tp}/*.log")
    assert letter["raw_is_whole"]
    assert raw in segment.read_bytes()
    decoded = decode_record_set(raw, fetch_offset=0, max_decompressed_bytes=10_000)
    assert decoded.error is not None
    assert decoded.error.offset == 5
    write(cluster, tp, [b"later"])
    with Member(cluster, group, {tp.topic: 1}, **settings) as member:
        wait_until(lambda: member.got(tp) == [12], what="what came later")
    assert len(letters.read_text().splitlines()) == 1


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_message_beyond_the_limit_is_put_aside(
    cluster: Sandbox, codec: Codec, tmp_path: Path
) -> None:
    """Reading continues after the message or its compressed set; the dead letter is truncated."""
    tp, group, letters = TopicPartition(fresh_name("huge"), 0), fresh_name("group"), tmp_path / "it"
    cluster.create_topic(tp.topic)
    noise = Random(1)
    write(cluster, tp, [b"small"])
    write(cluster, tp, [noise.randbytes(20_000) for _ in range(1 if codec is Codec.NONE else 3)])
    if codec is not Codec.NONE:
        write(cluster, tp, [noise.randbytes(20_000) for _ in range(3)], codec=codec)
    write(cluster, tp, [b"small", b"small"])
    large = 1 if codec is Codec.NONE else 6
    settings = {"poison_policy": "dead_letter", "poison_dead_letter_file": str(letters)}
    with Member(cluster, group, {tp.topic: 1}, **settings, **SMALL_FETCHES) as member:
        wait_until(lambda: member.got(tp) == [0, large + 1, large + 2], what="the small ones")
        assert member.errors == []
    found = [json.loads(line) for line in letters.read_text().splitlines()]
    places = [(letter["offset"], letter["next_offset"]) for letter in found]
    assert places == ([(1, 2)] if codec is Codec.NONE else [(1, 2), (2, 3), (3, 4), (4, 7)])
    assert not any(letter["raw_is_whole"] for letter in found)
    assert "raise fetch.message.growth.max.bytes" in found[0]["reason"]


def test_raise_stays_the_default(cluster: Sandbox, disk: Path) -> None:
    """Without a policy the partition stops before a message that is too large."""
    tp, group = TopicPartition(fresh_name("huge"), 0), fresh_name("group")
    cluster.create_topic(tp.topic)
    for value in (b"small", bytes(20_000), b"small"):
        write(cluster, tp, [value])
    assert log_size(disk, tp) > 20_000
    with Member(cluster, group, {tp.topic: 1}, **SMALL_FETCHES) as member:
        wait_until(lambda: member.errors, what="the error")
        assert isinstance(member.errors[0], MessageTooLarge)
        assert member.got(tp) == [0]
        assert member.claims()[tp].halted
