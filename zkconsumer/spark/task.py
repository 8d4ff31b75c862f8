"""Read a range as Arrow batches in a Spark task, in a Python worker on an executor.

A worker is used for one task after the other, so connections outlive a task. They are kept by
broker, and belong to the process that opened them: workers are forked.
"""

import random
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pyarrow as pa

from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.spark.connecting import query_dialer
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.rows import RowBatches

_MOST_BYTES = 2**31 - 1
"""No response is too large: requests are bounded, and memory grows with what arrives."""

_pools: Final[dict[tuple[ClientSettings, bool], ConnectionPool]] = {}


def connections_for(partition: ZkInputPartition) -> ConnectionPool:
    """Return this worker's connections for a task. Thread: any."""
    settings = partition.settings
    client = ClientSettings(
        client_id=settings.client_id,
        timeout_ms=settings.timeout_ms,
        security=partition.security,
        max_response_bytes=_MOST_BYTES,
    )
    key = client, partition.are_old
    pool = _pools.get(key)
    if pool is None:
        dialer = query_dialer(client, are_old=partition.are_old)
        pool = _pools.setdefault(key, ConnectionPool(dialer, SystemClock()))
    return pool


def reader_for(partition: ZkInputPartition) -> RangeReader:
    """Create the reader of a task's range. Thread: any."""
    settings = partition.settings
    client = ClusterClient(
        connections_for(partition),
        partition.brokers,
        request_timeout_ms=settings.timeout_ms,
        # No second round: the reader counts its tries, and pauses between them itself.
        retry_backoff_ms=settings.timeout_ms,
        shuffle=random.shuffle,
    )
    return RangeReader(client, settings=settings)


def read_partition(partition: ZkInputPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read a task's range.

    Args:
        partition: the range.
        schema: of the batches, as ``rows.arrow_schema`` gives it.

    Yields:
        Batches of at least one row; about as much as one fetch brought, and of compressed sets
        about 16 MiB at most.

    Raises:
        DataLost: offsets are not there, with ``failOnDataLoss``. Without it they are passed over,
            and the executor's log names them.
        PartitionFailed: an entry can't be read, or no broker served the partition.
        MessageTooLarge: an entry is larger than the largest fetch allowed.
    """
    reader = reader_for(partition)
    batches = RowBatches(schema, partition.topic_partition)
    with closing(reader.read(partition.range_, leader=partition.leader)) as parts:
        for part in parts:
            if isinstance(part, RangePart):
                yield batches.batch(part)
