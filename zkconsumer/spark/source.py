"""The data source that Spark loads for ``format("zkconsumer")``.

Options are checked on the driver, before planning. Each of Spark's planning processes creates its
own copy, so nothing but the options is kept here.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from zkconsumer.errors import ConfigError
from zkconsumer.spark.options import source_options
from zkconsumer.spark.rows import spark_schema


class ZkDataSource(DataSource):
    """Reads and writes topics, in batches and streams."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "zkconsumer"

    def schema(self) -> StructType:
        """Return the columns, exactly those of Spark's Kafka source.

        Raises:
            ConfigError: an option is wrong; names it.
        """
        options = source_options(self.options)
        return spark_schema(include_headers=options.include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a batch reader.

        Raises:
            ConfigError: an option is wrong, or a requested column does not exist.
        """
        from zkconsumer.spark.reader import batch_reader  # noqa: PLC0415 - not all are needed

        return batch_reader(source_options(self.options).for_batch(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a streaming reader; see ``reader``."""
        from zkconsumer.spark.stream_reader import stream_reader  # noqa: PLC0415

        return stream_reader(source_options(self.options).for_streaming(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """Return a batch writer, after all checks that need no rows.

        Raises:
            ConfigError: an option, a column, the topic or the mode is wrong.
            TransportError: no broker responds.
            RegistryError: ZooKeeper is needed to find brokers, and does not respond.
        """
        from zkconsumer.spark.sink.plan import sink_plan  # noqa: PLC0415
        from zkconsumer.spark.sink.writer import ZkWriter  # noqa: PLC0415

        if overwrite:
            raise ConfigError("mode overwrite: a topic can't be overwritten; use mode('append')")
        return ZkWriter(sink_plan(self.options, schema))

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002, FBT001 - Spark's; each batch appends, as in its own sink
    ) -> DataSourceStreamWriter:
        """Return a streaming writer; see ``writer``."""
        from zkconsumer.spark.sink.plan import sink_plan  # noqa: PLC0415
        from zkconsumer.spark.sink.writer import ZkStreamWriter  # noqa: PLC0415

        return ZkStreamWriter(sink_plan(self.options, schema))
