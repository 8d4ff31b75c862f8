"""Reads and writes a drain's messages with Spark."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from pyspark.sql import SparkSession

from zkconsumer.drain import layout
from zkconsumer.drain.engine import Ends
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.on_spark.decoding import BatchDecoding
from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.landed import SparkRows, read_files
from zkconsumer.drain.on_spark.rows import SparkRangeRows, SparkWriter, count_rows, drain_session
from zkconsumer.drain.protocols import Landing
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage
from zkconsumer.model import TopicPartition
from zkconsumer.spark.session import register


class SparkEngine:
    """Runs a drain on Spark. See ``DrainEngine``.

    Args:
        session: the Spark session; its settings are not changed.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = drain_session(session)
        register(self._session)

    def storage(self, path: str) -> Storage:
        """See ``DrainEngine``: on any file system that Spark can write to."""
        return HadoopStorage(self._session, path)

    def landing(self, settings: DrainSettings, storage: Storage, ends: Ends) -> Landing:
        """See ``DrainEngine``."""
        decoding = None
        if settings.decode is not None:
            topic = "".join(settings.topics[:1])
            decoding = BatchDecoding(self._session, settings.decode, topic, storage)
        with_headers = {} if decoding is None else {"includeHeaders": "true"}
        rows = SparkRangeRows(self._session, {**settings.reading(), **with_headers})
        match settings.format:
            case "delta":
                from zkconsumer.drain.landing_delta import DeltaLanding  # noqa: PLC0415 - optional

                writer = SparkWriter(rows, ends, storage, "parquet", decoding)
                columns = None if decoding is None else decoding.columns
                return DeltaLanding(storage, writer, settings, columns=columns)
            case "iceberg":
                from zkconsumer.drain.local.iceberg_landing import IcebergLanding  # noqa: PLC0415 - optional
                from zkconsumer.drain.local.iceberg_table import IcebergTable  # noqa: PLC0415
                from zkconsumer.drain.on_spark.table_writing import TableWriting  # noqa: PLC0415

                table = IcebergTable(settings.table_name(), storage, settings.target_options)
                to_table = TableWriting(table, storage)
                writer = SparkWriter(rows, ends, storage, "parquet", decoding, to_table)
                return IcebergLanding(storage, table.files, table, writer)
            case "kafka":
                from zkconsumer.drain.mirroring.mirror import KafkaLanding  # noqa: PLC0415 - loads much

                servers = {"kafka.bootstrap.servers": settings.target_bootstrap_servers or ""}
                return KafkaLanding(
                    storage,
                    self._session,
                    {**settings.target_options, **servers},
                    # Not divided: one task reads a partition, so that the target has the same
                    # order.
                    read=lambda plan: rows.read(plan.ranges, divided=False),
                    count=partial(count_rows, rows, ends),
                )
            case file_format:
                writer = SparkWriter(rows, ends, storage, file_format, decoding)
                return FilesLanding(storage, writer)

    def landed(self, storage: Storage, paths: Sequence[str], file_format: str) -> SparkRows:
        """See ``DrainEngine``."""
        return SparkRows(read_files(self._session, storage.uri(""), paths, file_format))

    def mirrored(
        self, storage: Storage, identity: DrainIdentity, last: int, options: Mapping[str, str]
    ) -> SparkRows:
        """See ``DrainEngine``."""
        from zkconsumer.drain.mirroring.mirror import target_ends  # noqa: PLC0415 - loads much
        from zkconsumer.drain.mirroring.mirrored_rows import read_rows  # noqa: PLC0415
        from zkconsumer.drain.mirroring.target import TargetCluster  # noqa: PLC0415

        journal = BatchJournal(storage)
        options = {"kafka.bootstrap.servers": identity.target or "", **options}
        starts: dict[TopicPartition, int] = {}
        for number in range(1, last + 1):
            starts = {**target_ends(journal.plan(number)), **starts}
        ends = TargetCluster(self._session, options).ends(starts)
        # Plans are listed after the ends were read, so each batch that wrote before has a plan.
        for number in reversed(layout.numbers_of_files(storage.names(layout.PLANS))):
            if number > last:
                ends |= target_ends(journal.plan(number))
        rows = read_rows(self._session, options, identity.id, starts, ends)
        return SparkRows(rows.drop("target_offset"))

    def converted_errors(self, what: str) -> AbstractContextManager[None]:
        """See ``DrainEngine``."""
        return described_by_spark(what)
