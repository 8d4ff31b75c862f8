"""Reads the headers of the record batches in a real broker's log."""

from tests.support.raw_connections import raw_connection
from zkconsumer.model import TopicPartition
from zkconsumer.records.batch_header import BATCH_HEADER, BatchHeader
from zkconsumer.records.entries import HEADER_BYTES
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

_FETCH_VERSION = 4
"""The first version that returns batches of magic 2."""

_MOST_BYTES = 1 << 24


def heads_of(cluster: Sandbox, tp: TopicPartition) -> list[BatchHeader]:
    """Return the headers of all batches of a partition; the cluster has one broker."""
    connection = raw_connection(cluster.brokers[0])
    try:
        wanted = FetchPartition(partition=tp.partition, fetch_offset=0, max_bytes=_MOST_BYTES)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=_MOST_BYTES,
            topics=(FetchTopic(topic=tp.topic, partitions=(wanted,)),),
        )
        response = connection.request(request, version=_FETCH_VERSION, timeout_ms=30_000)
        data = bytes(response.topics[0].partitions[0].records or b"")
    finally:
        connection.close()
    heads, at = [], 0
    while at < len(data):
        heads.append(BatchHeader._make(BATCH_HEADER.unpack_from(data, at)))
        at += HEADER_BYTES + heads[-1].size
    return heads
