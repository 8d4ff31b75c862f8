"""Lands messages in a modern Kafka cluster, through Spark's own Kafka sink.

Writes to a cluster can't be undone, and Spark's sink may write a message twice when a task is
retried. So exactly-once is checked, not assumed: the plan records the target's log ends before
anything is written; a retried batch first reads the messages after these ends that earlier attempts
wrote, and omits them; and a written batch is read back, for its count, its checksums, and the table
of offsets.
"""

import threading
from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr

from zkconsumer.clock import SystemClock
from zkconsumer.drain import layout
from zkconsumer.drain.fields import Fields, JsonValue, offsets_value
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.manifest import LandedPart, Manifest
from zkconsumer.drain.mirroring.mirrored_rows import read_rows, write_rows
from zkconsumer.drain.mirroring.target import TargetCluster
from zkconsumer.drain.mirroring.translation import (
    Runs,
    TranslatedRun,
    Translation,
    first_copies,
    from_files,
    to_file,
)
from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.drain.on_spark.landed import within
from zkconsumer.drain.on_spark.offset_runs import runs_by
from zkconsumer.drain.plan import BatchPlan, Positions
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition

TARGET_ENDS = "target_ends"
TRANSLATION = "translation"
COPIES = "copies"
"""The names of notes in plans and manifests."""

_LATE_WRITE_WAIT_MS = 3_000
_TIMEOUT_MS = 60_000


class KafkaLanding:
    """Lands batches in the topics of a target cluster. See ``Landing``.

    Args:
        session: the Spark session, with Spark's Kafka connector.
        options: options of Spark's Kafka source and sink; at least ``kafka.bootstrap.servers``.
        read: returns the rows of a plan, one task for each partition, in the order of their
            offsets.
        count: counts the rows of a plan, and returns a part for each of its ranges.
    """

    def __init__(
        self,
        storage: Storage,
        session: SparkSession,
        options: Mapping[str, str],
        *,
        read: Callable[[BatchPlan], DataFrame],
        count: Callable[[BatchPlan, DataFrame], tuple[LandedPart, ...]],
    ) -> None:
        self._storage = storage
        self._session = session
        self._options = options
        self._cluster = TargetCluster(session, options)
        self._read = read
        self._count = count
        self._clock = SystemClock()
        self._pause = threading.Event()

    def prepare(self, plan: BatchPlan) -> Mapping[str, JsonValue]:
        """Create missing topics; return the log ends before this batch, for the plan's notes."""
        counts: dict[str, int] = {}
        for topic, partition in plan.positions:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        self._cluster.make_topics(counts)
        ends = self._cluster.ends(wanted.topic_partition for wanted in plan.ranges)
        return {TARGET_ENDS: offsets_value(ends)}

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Write missing messages, then read the whole batch back."""
        starts = target_ends(plan)
        if len(self._storage.names(layout.staging_folder(plan.number))) > 1:
            self._await_earlier_attempts(starts)
        with described_by_spark(f"batch {plan.number}"):
            write_rows(self._unwritten_rows(plan, starts), self._options, self._drain_id())
            return self._read_back(plan, attempt, starts)

    def _read_back(self, plan: BatchPlan, attempt: str, starts: Positions) -> Manifest:
        mirrored = self._mirrored(plan, starts)
        found = translated_runs(mirrored)
        runs = {tp: first_copies(of_tp) for tp, of_tp in found.items()}
        copies = _rows(found) - _rows(runs)
        table = f"{layout.TRANSLATION}/{layout.batch_name(plan.number)}-{attempt}.json"
        self._storage.create(table, to_file(plan.number, runs))
        once = self._first_copies(mirrored, runs) if copies else mirrored
        return Manifest(
            number=plan.number,
            attempt=attempt,
            landed_ms=self._clock.wall_ms(),
            parts=self._count(plan, once.drop("target_offset")),
            notes={TRANSLATION: table, COPIES: copies},
        )

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Do nothing: acknowledged messages are visible already."""
        del plan, manifest

    def _drain_id(self) -> str:
        return BatchJournal(self._storage).drain_id()

    def _mirrored(self, plan: BatchPlan, starts: Positions) -> DataFrame:
        """Read the rows of a batch that are in the target.

        An abandoned task of an earlier batch may have written its copies so late that they come
        after this batch's starts: they are duplicates of that batch, and don't count here.
        """
        ends = self._cluster.ends(starts)
        rows = read_rows(self._session, self._options, self._drain_id(), starts, ends)
        ranges = {
            range_.topic_partition: Run(range_.from_offset, range_.until_offset)
            for range_ in plan.ranges
        }
        return within(rows, ranges)

    def _unwritten_rows(self, plan: BatchPlan, starts: Positions) -> DataFrame:
        """Return the plan's rows without those that an earlier attempt wrote."""
        rows = self._read(plan)
        if self._cluster.ends(starts) == starts:
            return rows
        with runs_by(self._mirrored(plan, starts), "topic", "partition") as runs:
            arrived = runs.collect()
        if not arrived:
            return rows
        there = broadcast(self._session.createDataFrame(arrived)).alias("there")
        same = (
            "there.topic = rows.topic AND there.partition = rows.partition "
            "AND rows.offset >= there.from_offset AND rows.offset < there.until_offset"
        )
        return rows.alias("rows").join(there, expr(same), "left_anti")

    def _first_copies(self, mirrored: DataFrame, runs: Runs) -> DataFrame:
        """Drop all copies of a message except the first."""
        schema = "topic string, partition int, from_offset bigint, until_offset bigint, at bigint"
        listed = [(*tp, *run) for tp, of_tp in runs.items() for run in of_tp]
        kept = broadcast(self._session.createDataFrame(listed, schema))
        joined = mirrored.join(kept, ["topic", "partition"])
        first = "target_offset - offset = at - from_offset"
        within = f"offset >= from_offset AND offset < until_offset AND {first}"
        return joined.where(within).select(*mirrored.columns)

    def _await_earlier_attempts(self, starts: Positions) -> None:
        """Wait until no more messages arrive: tasks of a killed driver may still be writing."""
        deadline = self._clock.now_ms() + _TIMEOUT_MS
        before = self._cluster.ends(starts)
        while self._clock.now_ms() < deadline:
            self._pause.wait(_LATE_WRITE_WAIT_MS / 1000)
            now = self._cluster.ends(starts)
            if now == before:
                return
            before = now


def target_ends(plan: BatchPlan) -> dict[TopicPartition, int]:
    """Return the target's log ends before a batch, as noted in its plan.

    A batch without messages has no such note.

    Raises:
        DrainError: the plan is damaged.
    """
    if not plan.ranges:
        return {}
    return Fields(layout.plan_file(plan.number), dict(plan.notes)).offsets(TARGET_ENDS)


def translated_runs(mirrored: DataFrame) -> Runs:
    """Map every message to its target offsets, with all copies."""
    moved = mirrored.withColumn("moved", expr("target_offset - offset"))
    found: dict[TopicPartition, list[TranslatedRun]] = {}
    with runs_by(moved, "topic", "partition", "moved") as runs:
        for row in runs.collect():
            run = TranslatedRun(row.from_offset, row.until_offset, row.from_offset + row.moved)
            found.setdefault(TopicPartition(row.topic, row.partition), []).append(run)
    return found


def _rows(runs: Runs) -> int:
    return sum(run.until_offset - run.from_offset for of_tp in runs.values() for run in of_tp)


def read_translation(storage: Storage) -> Translation:
    """Read the source-to-target offsets of a whole drain.

    Raises:
        DrainError: a file is missing or damaged.
    """
    return from_files(_tables(storage))


def _tables(storage: Storage) -> Iterator[tuple[str, bytes]]:
    for manifest in BatchJournal(storage).manifests():
        table = manifest.notes.get(TRANSLATION)
        if isinstance(table, str):
            data = storage.read(table)
            if data is None:
                raise DrainError(f"{storage.uri(table)} is gone: restore it from a backup")
            yield storage.uri(table), data
