"""Reads a range as Arrow batches in a Spark task, in a Python worker on an executor.

A worker runs one task after another, so connections outlive a task. They are kept by broker, and
belong to the process that opened them, since workers are forked.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.spark.connecting import range_parts, reading_client, reading_pool
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.row_batches import row_batch

_pools: Final[dict[tuple[ClientSettings, bool], ConnectionPool]] = {}


def connections_for(partition: ZkInputPartition) -> ConnectionPool:
    """Return this worker's connections for a task. Thread: any."""
    key = reading_client(partition.settings, partition.security), partition.are_old
    pool = _pools.get(key)
    if pool is None:
        pool = _pools.setdefault(key, reading_pool(key[0], are_old=partition.are_old))
    return pool


def parts_of(partition: ZkInputPartition) -> Iterator[RangePart]:
    """Yield the records of a task's range. Thread: any."""
    return range_parts(
        connections_for(partition),
        partition.brokers,
        partition.settings,
        partition.range_,
        partition.leader,
    )


def read_partition(partition: ZkInputPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read a task's range.

    Args:
        partition: the range.
        schema: the schema of the batches, a result of ``rows.arrow_schema``.

    Yields:
        Batches of at least one row, each from about one fetch, and at most about 16 MiB of
        compressed sets.

    Raises:
        DataLost: offsets are missing, and ``failOnDataLoss`` is true; if it is false, they are
            skipped, and named in the executor's log.
        PartitionFailed: an entry can't be read, or no broker served the partition.
        MessageTooLarge: an entry is larger than the largest fetch allowed.
    """
    for part in parts_of(partition):
        yield row_batch(schema, partition.topic_partition, part)
