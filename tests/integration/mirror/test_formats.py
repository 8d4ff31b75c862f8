"""Sets as they lie in the target: every codec, ids of idempotent producers, transactions."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden.jvm import no_compiler_because
from tests.integration.records.test_real_transactions import COMMITTED
from tests.interop.coordinated.test_transactions import write_transactions
from tests.support.batch_heads import heads_of
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.mirrors import mirror_settings, numbered, proof_of, read_topic, write_all
from zkconsumer.mirror.mirror import Mirror
from zkconsumer.mirror.settings import target_settings
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec

pytestmark = pytest.mark.sandbox

COUNT = 3_000


def test_every_codec_arrives_in_every_codec(broker_of: BrokerOf, tmp_path: Path) -> None:
    """And the target keeps account of who writes: the numbers of the batches follow each other."""
    source = target = broker_of("3.9.1")
    name = fresh_name("codecs")
    sources = {codec: TopicPartition(f"{name}-{codec.name.lower()}", 0) for codec in Codec}
    sent = {tp: numbered(tp, COUNT) for tp in sources.values()}
    for codec, tp in sources.items():
        source.create_topic(tp.topic)
        write_all(source.brokers, {tp: sent[tp]}, codec)
    for codec in Codec:
        prefix, file = f"to-{codec.name.lower()}-", tmp_path / codec.name
        group, servers = fresh_name("group"), target.bootstrap_servers
        settings = replace(
            mirror_settings(source, group, f"{name}-.*", servers, topic_prefix=prefix),
            stop_at_end=True,
            offsets_file=file,
            target=replace(target_settings({}, servers), codec=codec, set_bytes=30_000),
        )
        assert Mirror(settings).run().total.acknowledged == COUNT * len(Codec)
        proof = proof_of(source, group, servers, file)
        assert proof.is_proven
        assert sum(one.mirrored for one in proof.partitions) == COUNT * len(Codec)
        assert sum(one.copies for one in proof.partitions) == 0
        for tp in sources.values():
            heads = heads_of(target, TopicPartition(prefix + tp.topic, 0))
            assert {head.attributes & 7 for head in heads} == {codec}
            assert len({head.producer_id for head in heads}) == 1
            assert heads[0].producer_id >= 0
            numbers = [head.base_sequence for head in heads]
            assert numbers == sorted(numbers)
            assert len(numbers) > 1


@pytest.mark.skipif(no_compiler_because() is not None, reason=str(no_compiler_because()))
def test_what_is_not_committed_is_not_mirrored(broker_of: BrokerOf) -> None:
    """Aborted records and markers stay behind, in front of a transaction that is open it waits."""
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
    assert [(one.value or b"").decode() for one in found] == COMMITTED
