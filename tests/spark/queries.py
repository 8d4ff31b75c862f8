"""Queries on topics whose messages have their position as the value, and their results."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tests.interop.traffic import Writer, value_of
from tests.support.clusters import fresh_name
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.group_progress import open_progress

Options = Mapping[str, str | int | bool]


def committed_in_kafka(group: str, tp: TopicPartition, address: ClusterAddress) -> int | None:
    """Return a group's committed offset in Kafka."""
    with (
        ClusterReader(address) as cluster,
        closing(open_progress(group, "kafka", address, cluster)) as progress,
    ):
        return progress.committed([tp])[tp]


def set_group_offsets(cluster: Sandbox, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Write a group's offsets to ZooKeeper, as its members would."""
    address, slash, chroot = cluster.zookeeper_connect.partition("/")
    host, _, port = address.partition(":")
    with ZooKeeperClient(host, int(port)) as client:
        for partition, offset in offsets.items():
            path = f"{slash}{chroot}/consumers/{group}/offsets/{topic}/{partition}"
            client.ensure(path)
            assert client.set(path, str(offset).encode())


class Topic:
    """A fresh topic on a real cluster; each value has the topic, its partition and offset."""

    def __init__(self, cluster: Sandbox, partitions: int = 1, prefix: str = "spark") -> None:
        self.cluster = cluster
        self.name = fresh_name(prefix)
        cluster.create_topic(self.name, partitions=partitions)
        self.partitions = [TopicPartition(self.name, number) for number in range(partitions)]
        self._writer = Writer(cluster)

    def write(self, count: int, *, codec: Codec = Codec.NONE, partition: int | None = None) -> None:
        """Write ``count`` messages as one set, to every partition or to one."""
        for tp in self.partitions:
            if partition in {None, tp.partition}:
                self._writer.write(tp, count, codec)

    @property
    def rows(self) -> list[tuple[int, int, str]]:
        """Partition, offset and value of everything that was written."""
        return [
            (tp.partition, number, value_of(tp, number))
            for tp, end in sorted(self._writer.ends.items())
            for number in range(end)
        ]

    def options(self, options: Options | None = None) -> dict[str, str | int | bool]:
        """Return options of a query that reads the whole topic, with further options."""
        basic = {"zookeeper.connect": self.cluster.zookeeper_connect, "subscribe": self.name}
        return {**basic, "startingOffsets": "earliest", **(options or {})}

    def read(
        self, spark: SparkSession, options: Options | None = None, schema: StructType | None = None
    ) -> DataFrame:
        """Return a batch query."""
        reader = spark.read.format("zkconsumer").options(**self.options(options))
        return (reader if schema is None else reader.schema(schema)).load()

    def stream(self, spark: SparkSession, options: Options | None = None) -> DataFrame:
        """Return a streaming query that is not started."""
        return spark.readStream.format("zkconsumer").options(**self.options(options)).load()

    def drain(
        self, spark: SparkSession, folder: Path, options: Options | None = None
    ) -> StreamingQuery:
        """Run a streaming query over everything available, into files; see ``landed``."""
        query = (
            self.stream(spark, options)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(folder / "rows"))
        )
        query.awaitTermination()
        return query

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


def rows_of(frame: DataFrame) -> list[tuple[int, int, str]]:
    """Return partition, offset and value of every row, sorted."""
    columns = frame.selectExpr("partition", "offset", "cast(value as string) as value")
    return sorted((row.partition, row.offset, row.value) for row in columns.collect())


def landed(spark: SparkSession, folder: Path) -> list[tuple[int, int, str]]:
    """Return the rows that ``Topic.drain`` wrote, sorted."""
    return rows_of(spark.read.parquet(str(folder / "rows")))


def batch_sizes(query: StreamingQuery) -> list[int]:
    """Return how many rows each batch had."""
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
