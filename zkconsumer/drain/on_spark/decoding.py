"""Decodes values in Spark's tasks, with the code of the local engine.

A frame's columns are fixed before its tasks run, but a column of decoded values grows with the
schemas of the values. So the tasks of a pass decode with the schemas that the drain has adopted,
and report new ones; if there are any, they are adopted, and the batch is written again. Which
values are dead letters depends on the adopted schemas alone, so two passes agree on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from zkconsumer.drain.adopted_schemas import AdoptedSchemas
from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.local.columns import WITH_HEADERS, as_columns
from zkconsumer.drain.local.decoded import DEAD, RowDecoder, SplitRows, row_decoder
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.schemas.decoding import AdoptedSchema, SchemaCatalog, SchemaUse
from zkconsumer.schemas.definition import SchemaSource
from zkconsumer.schemas.folder import SchemaFolder
from zkconsumer.schemas.memory_catalog import FixedCatalog
from zkconsumer.schemas.registry import RegistryClient
from zkconsumer.schemas.registry_settings import RegistrySettings
from zkconsumer.schemas.remembered import RememberedSchemas
from zkconsumer.spark.compat import takes_nested_records
from zkconsumer.spark.decoded_types import has_nested_record, in_spark, spark_type


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of a pass's tasks.

    Attributes:
        schemas: schemas that decoded values, but are not adopted yet.
        rejects: ranges that hold all dead letters.
    """

    schemas: dict[SchemaUse, AdoptedSchema] = field(default_factory=dict)
    rejects: dict[TopicPartition, Run] = field(default_factory=dict)

    def note(self, topic: str, dead: pa.RecordBatch) -> None:
        """Record the offsets of dead letters.

        Args:
            topic: the topic of the dead letters.
            dead: rows with the columns of ``DEAD``.
        """
        offsets, partitions = dead.column("offset"), dead.column("partition")
        for partition in pc.unique(partitions).to_pylist():
            some = pc.min_max(offsets.filter(pc.equal(partitions, partition))).as_py()
            run = Run(some["min"], some["max"] + 1)
            self.add(Findings(rejects={TopicPartition(topic, partition): run}))

    def add(self, other: "Findings") -> None:
        """Merge the findings of another task."""
        for use, schema in other.schemas.items():
            self.schemas.setdefault(use, schema)
        for tp, more in other.rejects.items():
            known = self.rejects.get(tp, more)
            self.rejects[tp] = Run(min(known[0], more[0]), max(known[1], more[1]))

    def ranges(self) -> list[OffsetRange]:
        """Return ranges that hold all dead letters."""
        return [OffsetRange(tp, *run) for tp, run in sorted(self.rejects.items())]


class BatchDecoding:
    """Decodes batches of a drain. Thread: one at a time.

    Args:
        session: the session whose tasks decode.
        topic: the topic of the values; any topic if ids are only recognised.
        storage: the drain's storage, which keeps the schemas.

    Raises:
        ConfigError: a library is not installed, or files of the settings can't be used.
        DrainError: stored schemas can't be read.
    """

    def __init__(
        self, session: SparkSession, settings: DecodeSettings, topic: str, storage: Storage
    ) -> None:
        # One accumulator for all passes, since PySpark never frees any.
        self._found = session.sparkContext.accumulator(Findings(), _FindingsParam())
        self._settings = settings
        self._topic = topic
        self._catalog: AdoptedSchemas | None = None
        self._folder: SchemaFolder | None = None

        def catalog(source: SchemaSource) -> SchemaCatalog:
            self._folder = source if isinstance(source, SchemaFolder) else None
            self._catalog = AdoptedSchemas(storage, source)
            return self._catalog

        self._decoder = row_decoder(settings, topic, catalog)

    def columns(self) -> pa.Schema:
        """Return the current columns of landed rows."""
        return self._decoder.columns()

    def begin(self) -> "DecodingPass":
        """Begin a pass over a batch."""
        if self._folder is not None:
            self._folder.hold()
        adopted = () if self._catalog is None else tuple(self._catalog.adopted())
        tasks = TaskDecoding(self._settings, self._topic, adopted, self._folder)
        self._found.value = Findings()
        return DecodingPass(self._found, tasks)

    def adopt(self, done: "DecodingPass") -> bool:
        """Adopt the schemas that the tasks of a pass found.

        Returns:
            Whether schemas were added that the pass did not use.
        """
        if self._catalog is None or not done.findings.schemas:
            return False
        for schema in done.findings.schemas.values():
            self._catalog.adopt(schema)
        return len(self._catalog.adopted()) > len(done.tasks.adopted)


class DecodingPass:
    """Decodes a batch with the schemas adopted before; valid until the next pass begins.

    Attributes:
        tasks: decodes rows in Spark's tasks.
        columns: the columns of landed rows.
        findings: the results of all written frames.
    """

    def __init__(self, found: Accumulator[Findings], tasks: "TaskDecoding") -> None:
        self.tasks = tasks
        self.columns = tasks.columns()
        if any(map(has_nested_record, self.columns.types)) and not takes_nested_records():
            raise DrainError(
                f"values of {tasks.topic!r} hold a record within a record, which Spark before 3.5 "
                "takes from no Python task: go on with --engine local, which lands them"
            )
        self._found = found

    @property
    def findings(self) -> Findings:
        """The results of all written frames."""
        return self._found.value

    def landed(self, rows: DataFrame) -> DataFrame:
        """Return the decodable rows, with their columns and topic."""
        return self._mapped(rows, self.columns, lambda split: split.landed)

    def dead(self, rows: DataFrame) -> DataFrame:
        """Return the undecodable rows, with the columns of dead letters and topic."""
        return self._mapped(rows, DEAD, lambda split: split.dead)

    def _mapped(
        self, rows: DataFrame, columns: pa.Schema, chosen: Callable[[SplitRows], pa.RecordBatch]
    ) -> DataFrame:
        kinds = [in_spark(kind) for kind in columns.types]
        made = pa.schema([*zip(columns.names, kinds, strict=True), ("topic", pa.string())])
        tasks, found = self.tasks, self._found

        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            findings = Findings()
            for topic, split in tasks.decoded(batches, findings):
                some = chosen(split)
                if len(some):
                    topics = pa.repeat(pa.scalar(topic), len(some))
                    cast = [
                        column if column.type.equals(kind) else column.cast(kind)
                        for column, kind in zip(some.columns, kinds, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays([*cast, topics], schema=made)
            found.add(findings)

        fields = [StructField(field.name, spark_type(field.type)) for field in made]
        return rows.mapInArrow(task, StructType(fields))


@dataclass(frozen=True)
class TaskDecoding:
    """Decodes rows in a task, on any executor.

    Attributes:
        settings: the drain's settings.
        topic: the topic of the values.
        adopted: the adopted schemas, which the column has fields for.
        source: finds other schemas; None: the registry of the settings.
    """

    settings: DecodeSettings
    topic: str
    adopted: Sequence[AdoptedSchema]
    source: SchemaSource | None

    def decoded(
        self, batches: Iterable[pa.RecordBatch], findings: Findings
    ) -> Iterator[tuple[str, SplitRows]]:
        """Yield decoded rows with their topic; after the last one, record the schemas found."""
        met: list[FixedCatalog] = []
        decoder = self._decoder(met)
        for batch in batches:
            for topic in pc.unique(batch.column("topic")).to_pylist():
                rows = batch.filter(pc.equal(batch.column("topic"), topic))
                for split in decoder.decode(as_columns(rows, WITH_HEADERS)):
                    findings.note(topic, split.dead)
                    yield topic, split
        for catalog in met:
            findings.schemas.update(catalog.met)

    def columns(self) -> pa.Schema:
        """Return the columns of landed rows."""
        return self._decoder([]).columns()

    def _decoder(self, catalogs: list[FixedCatalog]) -> RowDecoder:
        """Create the decoder; add its catalog to the list, if it has one."""

        def catalog(source: SchemaSource) -> FixedCatalog:
            catalogs.append(FixedCatalog(source, self.adopted))
            return catalogs[-1]

        source = self.source or _registry(self.settings)
        return row_decoder(self.settings, self.topic, catalog, source)


def _registry(settings: DecodeSettings) -> SchemaSource | None:
    """Return the settings' registry; None if they name none."""
    if settings.format is None or settings.registry is None:
        return None
    reached = RegistrySettings.of(settings.registry, settings.registry_options)
    return _remembered(reached, settings.format)


@lru_cache(maxsize=100)
def _remembered(reached: RegistrySettings, kind: str) -> RememberedSchemas:
    """Return a registry with its cache: this process runs many tasks, with a decoder each."""
    return RememberedSchemas(RegistryClient(reached, kind))


class _FindingsParam(AccumulatorParam[Findings]):
    """Merges findings in Spark's accumulator."""

    def zero(self, value: Findings) -> Findings:
        """Return no findings."""
        del value
        return Findings()

    def addInPlace(self, value1: Findings, value2: Findings) -> Findings:  # noqa: N802 - Spark's
        """Merge the findings of two tasks."""
        value1.add(value2)
        return value1
