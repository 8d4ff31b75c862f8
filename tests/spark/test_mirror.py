"""A drain into a modern cluster writes each message once, and a table that translates offsets."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.clusters import fresh_name
from tests.support.traffic import write
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.mirroring.mirror import COPIES, read_translation
from zkconsumer.drain.mirroring.mirrored_rows import write_rows
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.launch import drain, verify
from zkconsumer.drain.on_spark.rows import SparkRangeRows, drain_session
from zkconsumer.drain.proving.coverage import Discrepancy
from zkconsumer.drain.proving.proof import DrainProof, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox, pytest.mark.timeout(400)]

_COUNT = 30


@pytest.fixture(scope="module")
def modern() -> Iterator[Sandbox]:
    """Start the cluster that is the target."""
    with Sandbox(kafka="3.9.1", brokers=1) as sandbox:
        yield sandbox


@pytest.fixture
def topic(cluster: Sandbox) -> str:
    """Create a topic of two partitions with some messages in each."""
    name = fresh_name("mirrored")
    cluster.create_topic(name, partitions=2)
    _fill(cluster, name)
    return name


@pytest.fixture
def settings(
    cluster: Sandbox,
    modern: Sandbox,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> DrainSettings:
    """Return settings of a drain of the topic into the modern cluster.

    The wait for late writes is short: no process of these tests is killed while it writes.
    """
    monkeypatch.setattr("zkconsumer.drain.mirroring.mirror._LATE_WRITE_WAIT_MS", 200)
    return DrainSettings(
        path=str(tmp_path / "state"),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic,),
        format="kafka",
        target_bootstrap_servers=modern.bootstrap_servers,
    )


def _fill(cluster: Sandbox, topic: str) -> None:
    for partition in range(2):
        tp = TopicPartition(topic, partition)
        write(cluster, tp, [b"%d-%d" % (partition, at) for at in range(_COUNT)])


def _verify(spark: SparkSession, settings: DrainSettings, cluster: Sandbox) -> DrainProof:
    session = drain_session(spark)
    options = {"zookeeper.connect": cluster.zookeeper_connect}
    return verify(session, HadoopStorage(session, settings.path), cluster=options)


def test_batches_arrive_once_and_their_offsets_translate(
    spark: SparkSession, cluster: Sandbox, settings: DrainSettings, topic: str
) -> None:
    """A killed run wrote a part of a batch: the next run writes the rest.

    The drain creates the target's topics, and verify proves that nothing is missing.
    """
    session = drain_session(spark)
    storage = HadoopStorage(session, settings.path)
    _die_in_batch(session, settings, storage, topic, wrote=[(0, 12)])
    drain(spark, settings)
    _fill(cluster, topic)
    drain(spark, settings)
    assert BatchJournal(storage).manifest(1).notes[COPIES] == 0
    proof = _verify(spark, settings, cluster)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert [partition_coverage.coverage.rows for partition_coverage in proof.partitions] == [
        2 * _COUNT
    ] * 2
    translation = read_translation(storage)
    for partition in range(2):
        tp = TopicPartition(topic, partition)
        assert [translation.target(tp, at) for at in (0, _COUNT, 2 * _COUNT)] == [
            0,
            _COUNT,
            2 * _COUNT,
        ]


def test_copies_are_reported_whoever_wrote_them(
    spark: SparkSession, cluster: Sandbox, settings: DrainSettings, topic: str
) -> None:
    """Messages that are in the target twice stay there: the manifest and verify report them.

    Spark wrote some within a batch. Others were written late by an earlier batch, behind the end
    offsets that the next batch's plan recorded: these don't disturb that batch.
    """
    session = drain_session(spark)
    storage = HadoopStorage(session, settings.path)
    _die_in_batch(session, settings, storage, topic, wrote=[(0, 12), (3, 5)])
    drain(spark, settings)
    assert BatchJournal(storage).manifest(1).notes[COPIES] == 2
    _fill(cluster, topic)
    _die_in_batch(session, settings, storage, topic, wrote=[(7, 9), (_COUNT, _COUNT + 2)])
    drain(spark, settings)
    assert BatchJournal(storage).manifest(2).rows == 2 * _COUNT
    assert BatchJournal(storage).manifest(2).notes[COPIES] == 0
    proof = _verify(spark, settings, cluster)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    duplicates = proof.partitions[0].coverage.of(Discrepancy.DUPLICATE)
    assert duplicates.shown == ((3, 5), (7, 9))
    assert proof.partitions[1].coverage.complete
    translation = read_translation(storage)
    tp = TopicPartition(topic, 0)
    assert [translation.target(tp, at) for at in (0, 3, 11, 12)] == [0, 3, 11, 14]


def test_a_mirror_of_an_empty_topic_is_proven(
    spark: SparkSession, cluster: Sandbox, settings: DrainSettings
) -> None:
    """The first batch of an empty topic reads nothing, and writes nothing to the target."""
    empty = fresh_name("empty")
    cluster.create_topic(empty, partitions=1)
    settings = replace(settings, topics=(empty,))
    assert drain(spark, settings).batches == 1
    proof = _verify(spark, settings, cluster)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)


def test_a_target_with_fewer_partitions_is_refused(
    spark: SparkSession, modern: Sandbox, settings: DrainSettings, topic: str
) -> None:
    """The drain fails before it writes: messages for missing partitions would wait forever."""
    modern.create_topic(topic, partitions=1)
    with pytest.raises(DrainError, match=f"{topic} has 1 of 2"):
        drain(spark, settings)


def _die_in_batch(
    session: SparkSession,
    settings: DrainSettings,
    storage: HadoopStorage,
    topic: str,
    *,
    wrote: list[tuple[int, int]],
) -> None:
    """Leave the state of a drain that was killed while it wrote a batch."""

    class Killed(BaseException):
        pass

    rows = SparkRangeRows(session, settings.reading())
    with pytest.MonkeyPatch.context() as patch:

        def die(left: object, options: Mapping[str, str], drain: str) -> None:
            del left
            for start, end in wrote:
                requested = OffsetRange(
                    topic_partition=TopicPartition(topic, 0), from_offset=start, until_offset=end
                )
                write_rows(rows.read([requested], divided=False), options, drain)
            raise Killed

        patch.setattr("zkconsumer.drain.mirroring.mirror.write_rows", die)
        with pytest.raises(Killed):
            drain(session, settings)
    assert BatchJournal(storage).read_state().manifest is None
