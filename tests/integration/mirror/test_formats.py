"""Record batches in the target: every codec, ids of idempotent producers, transactions."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden.jvm import no_compiler_because
from tests.integration.records.test_real_transactions import COMMITTED
from tests.interop.coordinated.test_transactions import write_transactions
from tests.support.batch_heads import heads_of
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.mirrors import mirror_settings, proof_of, read_topic, write_all
from tests.support.real_topics import keyed_lines, write_lines
from zkconsumer.mirror.mirror import Mirror
from zkconsumer.mirror.settings import TargetSettings, target_settings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.settings import SET_BYTES
from zkconsumer.records.batch_header import BatchHeader
from zkconsumer.records.codecs import Codec

pytestmark = pytest.mark.sandbox

COUNT, BATCHES = 3_000, 3


def bodies(headers: list[BatchHeader]) -> list[tuple[int, ...]]:
    """Return size, record count and base timestamp of each batch."""
    return [(header.size, header.record_count, header.base_timestamp) for header in headers]


def _target(servers: str, codec: Codec, set_bytes: int = SET_BYTES) -> TargetSettings:
    """Return a target whose sets are compressed with a codec."""
    target = target_settings({}, servers)
    return replace(target, batches=replace(target.batches, codec=codec, set_bytes=set_bytes))


def test_every_codec_arrives_in_every_codec(broker_of: BrokerOf, tmp_path: Path) -> None:
    """The target's batches have one producer id and ascending sequence numbers.

    Batches that had the target's codec already are copied as they are.
    """
    source = target = broker_of("3.9.1")
    name = fresh_name("codecs")
    sources = {codec: TopicPartition(f"{name}-{codec.name.lower()}", 0) for codec in Codec}
    noise = random.Random(5)
    for codec, tp in sources.items():
        source.create_topic(tp.topic)
        for _ in range(BATCHES):
            records = [
                Record(0, b"key %d" % number, noise.randbytes(90))
                for number in range(COUNT // BATCHES)
            ]
            write_all(source.brokers, {tp: records}, codec)
    for codec in Codec:
        prefix, file = f"to-{codec.name.lower()}-", tmp_path / codec.name
        group, servers = fresh_name("group"), target.bootstrap_servers
        settings = replace(
            mirror_settings(source, group, f"{name}-.*", servers, topic_prefix=prefix),
            stop_at_end=True,
            offsets_file=file,
            target=_target(servers, codec, set_bytes=120_000),
        )
        assert Mirror(settings).run().total.acknowledged == COUNT * len(Codec)
        proof = proof_of(source, group, servers, file)
        assert proof.is_proven
        assert sum(partition.mirrored for partition in proof.partitions) == COUNT * len(Codec)
        assert sum(partition.copies for partition in proof.partitions) == 0
        for source_codec, tp in sources.items():
            headers = heads_of(target, TopicPartition(prefix + tp.topic, 0))
            if codec is source_codec is not Codec.NONE:
                assert bodies(headers) == bodies(heads_of(source, tp))
            assert {header.attributes & 7 for header in headers} == {codec}
            assert len({header.producer_id for header in headers}) == 1
            assert headers[0].producer_id >= 0
            numbers = [header.base_sequence for header in headers]
            assert numbers == sorted(numbers)
            assert len(numbers) > 1


def test_batches_of_a_java_producer_are_copied_as_they_are(
    broker_of: BrokerOf, tmp_path: Path
) -> None:
    """From 0.11 to 3.9, readers get the same records, in the same batches for gzip."""
    source, target = broker_of("0.11.0.3"), broker_of("3.9.1")
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        topic = fresh_name(f"java-{codec.name.lower()}")
        for where in (source, target):
            where.create_topic(topic)
        lines = keyed_lines(COUNT)
        write_lines(source, topic, lines, codec, java=True)
        settings = replace(
            mirror_settings(source, topic, topic, target.bootstrap_servers),
            stop_at_end=True,
            offsets_file=tmp_path / topic,
            target=_target(target.bootstrap_servers, codec),
        )
        assert Mirror(settings).run().total.acknowledged == COUNT
        assert proof_of(source, topic, target.bootstrap_servers, tmp_path / topic).is_proven
        tp = TopicPartition(topic, 0)
        if codec is Codec.GZIP:  # small batches of the others are joined
            assert bodies(heads_of(target, tp)) == bodies(heads_of(source, tp))
        found = read_topic(target.bootstrap_servers, topic)[0]
        assert [(record.key, record.value) for record in found] == [
            (key.encode(), value.encode()) for key, value in lines
        ]


@pytest.mark.skipif(no_compiler_because() is not None, reason=str(no_compiler_because()))
def test_only_committed_records_are_mirrored(broker_of: BrokerOf) -> None:
    """Aborted records and markers are left out, and it waits before an open transaction."""
    source = target = broker_of("3.9.1")
    tp = TopicPartition(fresh_name("transactions"), 0)
    source.create_topic(tp.topic)
    write_transactions(source, tp.topic, "lz4")
    settings = mirror_settings(
        source,
        fresh_name("group"),
        tp.topic,
        target.bootstrap_servers,
        topic_prefix="copy-",
        max_messages=len(COMMITTED),
    )
    Mirror(settings).run()
    found = read_topic(target.bootstrap_servers, f"copy-{tp.topic}")[0]
    assert [(record.value or b"").decode() for record in found] == COMMITTED
