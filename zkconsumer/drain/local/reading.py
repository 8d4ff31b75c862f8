"""Reads exact ranges of a cluster in threads of this process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from zkconsumer.drain.local.columns import SCHEMA, WITH_HEADERS
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.workers import Cancellation, in_threads
from zkconsumer.model import OffsetRange
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.connecting import range_parts, reading_client, reading_pool
from zkconsumer.spark.offset_ranges import divide
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.row_batches import row_batch

R = TypeVar("R")
RECORDS_PER_PIECE = 1_000_000
_LEAST_PIECE = 50_000
"""The number of offsets below which a piece is not worth a connection and a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The input of one job: ranges of one topic.

    Attributes:
        number: the number of the piece, from 0.
        topic: the topic of the messages.
        rows: iterates over the rows of its ranges, in order: batches of at least one row, each of
            one partition.
    """

    number: int
    topic: str
    rows: Callable[[], Iterator[pa.RecordBatch]]


class LocalRangeRows:
    """Reads ranges of a cluster, several at once.

    Args:
        options: the options of the source, without the subscription.
        with_headers: whether rows have a column ``headers``.

    Attributes:
        shares: the memory limits of reading, and of what is done with the rows.
    """

    def __init__(
        self, options: SourceOptions, shares: Shares, *, with_headers: bool = False
    ) -> None:
        self._options = options
        self._schema = WITH_HEADERS if with_headers else SCHEMA
        self.shares = shares
        requested = options.ranges
        self._settings = replace(
            requested,
            fetch_bytes=min(requested.fetch_bytes, shares.fetch_bytes),
            part_bytes=min(requested.part_bytes, shares.part_bytes),
            ahead_bytes=0,  # it gains nothing where each processor has a range (0122)
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
        least = options.min_partitions or min(self.shares.threads, -(-total // _LEAST_PIECE))
        pieces = divide(ranges, max(least, 1), most)
        with ClusterReader.of(options) as cluster:
            leaders = cluster.leaders([piece.topic_partition for piece in pieces])
            brokers, are_old = tuple(cluster.brokers()), cluster.are_old
        client = reading_client(self._settings, options.address.broker_security)
        pool = reading_pool(client, are_old=are_old)

        def rows(wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
            tp = wanted.topic_partition
            for part in range_parts(pool, brokers, self._settings, wanted, leaders.get(tp)):
                yield row_batch(self._schema, tp, part)

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
                threads=self.shares.threads,
                name="drain",
            )
        finally:
            pool.stop()


def bundled(pieces: Sequence[OffsetRange], least: int = _LEAST_PIECE) -> list[list[OffsetRange]]:
    """Bundle a topic's small pieces, so that they don't become a file each."""
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
