"""What runs in a Spark task, in a Python worker on an executor: read a range as Arrow batches.

A worker is used for one task after the other, so connections outlive a task. They are kept by
broker, and belong to the process that opened them: workers are forked.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pyarrow as pa

from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.net.connection_cache import ConnectionCache
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.rows import RowBatches

_MOST_BYTES = 2**31 - 1
"""No answer is too large: what is asked for is bounded, and room is made for what really comes."""

_caches: Final[dict[tuple[str, int], ConnectionCache]] = {}


def connections_for(settings: RangeSettings) -> ConnectionCache:
    """This worker's connections for such settings. Thread: any."""
    key = settings.client_id, settings.timeout_ms
    cache = _caches.get(key)
    if cache is None:
        client_id, timeout_ms = key
        opener = BrokerConnector(
            TcpConnector(),
            client_id=client_id,
            timeout_ms=timeout_ms,
            max_response_bytes=_MOST_BYTES,
        )
        cache = _caches.setdefault(key, ConnectionCache(opener.open))
    return cache


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
    settings = partition.settings
    reader = RangeReader(
        partition.brokers, connections=connections_for(settings), settings=settings
    )
    batches = RowBatches(schema, partition.topic_partition)
    with closing(reader.read(partition.stretch, leader=partition.leader)) as parts:
        for part in parts:
            if isinstance(part, RangePart):
                yield batches.batch(part)
