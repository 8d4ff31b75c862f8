"""Read exact ranges of a cluster in threads of this process."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.drain.local.columns import batch_of
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.workers import Cancellation, in_threads
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.model import Broker, OffsetRange
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.connecting import query_dialer
from zkconsumer.spark.offset_ranges import divide
from zkconsumer.spark.options import SourceOptions

R = TypeVar("R")
RECORDS_PER_PIECE = 1_000_000
_MOST_BYTES = 2**31 - 1
"""No response is too large: requests are bounded, and memory grows with what arrives."""
_LEAST_PIECE = 50_000
"""Offsets that are not worth another connection and another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The input of one job: ranges of one topic.

    Attributes:
        number: of the piece, from 0.
        topic: whose messages they are.
        rows: reads its ranges, one after the other: batches of at least one row, each of one
            partition, in order.
    """

    number: int
    topic: str
    rows: Callable[[], Iterator[pa.RecordBatch]]


class LocalRangeRows:
    """Reads ranges, several at once.

    Args:
        options: of the source; without subscription.
        with_headers: whether rows have a column ``headers``.
    """

    def __init__(
        self, options: SourceOptions, shares: Shares, *, with_headers: bool = False
    ) -> None:
        self._options = options
        self._with_headers = with_headers
        self._shares = shares
        requested = options.range_settings()
        self._settings = replace(
            requested,
            fetch_bytes=min(requested.fetch_bytes, shares.fetch_bytes),
            part_bytes=min(requested.part_bytes, shares.part_bytes),
        )

    def each(
        self, ranges: Sequence[OffsetRange], job: Callable[[Piece, Cancellation], R]
    ) -> Iterator[R]:
        """Run a job for each piece of some ranges; yield results as they complete.

        Raises:
            ZkConsumerError: the cluster can't be read; or what a job raises.
        """
        options = self._options
        most = options.max_records_per_partition or RECORDS_PER_PIECE
        total = sum(wanted.count for wanted in ranges)
        least = options.min_partitions or min(self._shares.threads, -(-total // _LEAST_PIECE))
        pieces = divide(ranges, max(least, 1), most)
        with ClusterReader.of(options) as cluster:
            leaders = cluster.leaders([piece.topic_partition for piece in pieces])
            brokers, are_old = tuple(cluster.brokers()), cluster.are_old
        client = ClientSettings(
            client_id=self._settings.client_id,
            timeout_ms=self._settings.timeout_ms,
            security=options.address.broker_security,
            max_response_bytes=_MOST_BYTES,
        )
        dialer = query_dialer(client, are_old=are_old)
        pool = ConnectionPool(dialer, SystemClock())

        def rows(wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
            reader = RangeReader(self._client(pool, brokers), settings=self._settings)
            tp = wanted.topic_partition
            with closing(reader.read(wanted, leader=leaders.get(tp))) as parts:
                for part in parts:
                    if isinstance(part, RangePart):
                        yield batch_of(part, tp.partition, with_headers=self._with_headers)

        def described(number: int, some: Sequence[OffsetRange]) -> Piece:
            return Piece(
                number=number,
                topic=some[0].topic_partition.topic,
                rows=lambda: chain.from_iterable(map(rows, some)),
            )

        try:
            yield from in_threads(
                job,
                [described(number, some) for number, some in enumerate(bundled(pieces))],
                threads=self._shares.threads,
                name="drain",
            )
        finally:
            pool.stop()
            dialer.stop()

    def _client(self, pool: ConnectionPool, brokers: Sequence[Broker]) -> ClusterClient:
        return ClusterClient(
            pool,
            brokers,
            request_timeout_ms=self._settings.timeout_ms,
            # No second round: the reader counts its tries, and pauses between them itself.
            retry_backoff_ms=self._settings.timeout_ms,
            shuffle=random.shuffle,
        )


def bundled(pieces: Sequence[OffsetRange], least: int = _LEAST_PIECE) -> list[list[OffsetRange]]:
    """Merge a topic's small pieces, so that each does not become a file."""
    bundles: list[list[OffsetRange]] = []
    counted = 0
    for piece in pieces:
        same = bool(bundles) and bundles[-1][0].topic_partition.topic == piece.topic_partition.topic
        if not same or counted + piece.count > least:
            bundles.append([])
            counted = 0
        bundles[-1].append(piece)
        counted += piece.count
    return bundles
