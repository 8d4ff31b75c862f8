"""Writes one task's rows, each acknowledged, in bounded memory.

Rows of one partition of a topic keep their order. A task fails as a whole: Spark repeats it and
writes all its rows again, so rows may be duplicated, but none is lost.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import pyarrow as pa
from pyspark import TaskContext

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import RowRefused
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings
from zkconsumer.produce.outgoing import outgoing_bytes
from zkconsumer.produce.partitioner import Chooser, chooser_of, key_hash
from zkconsumer.spark.sink.rows import Row, SinkColumns, rows_of

FLUSH_BYTES = 8 << 20
"""The number of bytes that a task collects before it writes; a larger row is written by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlan:
    """The settings of a writing task, created on the driver.

    Attributes:
        brokers: the brokers to request leaders from.
        client: the settings of connections; not in ``repr``.
        topic: the topic of all rows; None: the ``topic`` column decides.
        columns: the positions of the columns.
        partitioner: the class name of the original's partitioner.
        batch: how records are written.
    """

    brokers: tuple[Broker, ...]
    client: ClientSettings = field(repr=False)
    topic: str | None
    columns: SinkColumns
    partitioner: str
    batch: BatchSettings


WrittenCounts = Counter[TopicPartition]
"""The numbers of rows written, by partition."""


class SinkTask:
    """Writes the rows of one task.

    Args:
        plan: the settings from the driver.
        producer: the producer; the caller closes it.
        task: the task's number, by which the first partition of rows without keys is chosen.
        flush_bytes: the number of bytes to collect before writing.
    """

    def __init__(
        self,
        plan: SinkPlan,
        producer: BatchProducer,
        *,
        task: int,
        flush_bytes: int = FLUSH_BYTES,
    ) -> None:
        self._written: WrittenCounts = Counter()
        self._plan = plan
        self._producer = producer
        self._task = task
        self._flush_bytes = flush_bytes
        self._hash_of = key_hash(plan.partitioner)
        self._choosers: dict[str, Chooser] = {}
        self._held: dict[TopicPartition, list[Record]] = defaultdict(list)
        self._held_bytes = 0
        self._row = 0

    def write(self, batches: Iterable[pa.RecordBatch]) -> WrittenCounts:
        """Write all rows.

        Returns:
            The counts of the written rows, all of which are acknowledged.

        Raises:
            RowRefused: a row has no topic, or its topic or partition does not exist.
            WriteFailed: brokers did not acknowledge some rows.
        """
        for batch in batches:
            for row in rows_of(batch, self._plan.columns):
                self._take(row)
        self._flush()
        return self._written

    def _take(self, row: Row) -> None:
        topic, partition, key, value = row
        self._row += 1
        chooser = self._chooser(self._plan.topic or topic)
        if partition is None:
            partition = chooser[1].choose(key)
        elif partition not in chooser[1].partitions:
            there = sorted(chooser[1].partitions)
            self._refuse(
                f"partition {partition} of topic {chooser[0]} is not there, only "
                f"{there[0]} to {there[-1]}"
            )
        record = Record(0, key, value)
        self._held[TopicPartition(chooser[0], partition)].append(record)
        self._held_bytes += outgoing_bytes(record)
        if self._held_bytes >= self._flush_bytes:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            for written in self._producer.write(self._held):
                self._written[written.topic_partition] += written.count
            self._held.clear()
            self._held_bytes = 0

    def _chooser(self, topic: str | None) -> tuple[str, Chooser]:
        if topic is None:
            self._refuse("its topic is null: set the option topic for rows without one")
        chooser = self._choosers.get(topic)
        if chooser is None:
            self._learn(self._producer.whole_cluster())
            chooser = self._choosers.get(topic)
        if chooser is None:
            self._refuse(f"topic {topic} does not exist: create it first")
        return topic, chooser

    def _learn(self, view: ClusterView) -> None:
        for topic in view.partitions.keys() - self._choosers.keys():
            self._choosers[topic] = chooser_of(view, topic, hash_of=self._hash_of, start=self._task)

    def _refuse(self, reason: str) -> NoReturn:
        held = sum(map(len, self._held.values()))
        raise RowRefused(
            f"row {self._row} of this task can't be written: {reason}. {self._written.total()} "
            f"rows of the task were written before it, and {held} buffered rows were not"
        )


def write_rows(plan: SinkPlan, batches: Iterator[pa.RecordBatch]) -> WrittenCounts:
    """Write one task's rows. Runs on an executor.

    Raises:
        RowRefused: a row can't be written as it is.
        WriteFailed: brokers did not acknowledge some rows.
    """
    context = TaskContext.get()
    dialer = dialer_of(plan.client)
    producer = BatchProducer(plan.brokers, dialer=dialer, settings=plan.batch)
    try:
        task = SinkTask(plan, producer, task=context.partitionId() if context else 0)
        return task.write(batches)
    finally:
        producer.close()
        dialer.stop()


def in_words(written: Iterable[WrittenCounts]) -> str:
    """Describe the rows that tasks wrote, in total and by topic."""
    by_topic: Counter[str] = Counter()
    for counts in written:
        for tp, count in counts.items():
            by_topic[tp.topic] += count
    topics = ", ".join(f"{topic} {count}" for topic, count in sorted(by_topic.items()))
    return f"{by_topic.total()} rows" + (f" ({topics})" if topics else "")
