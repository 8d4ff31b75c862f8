"""Decides which batches a consumer of committed records sees, from headers and markers.

A transaction's records are in the log among those of others, from its first record to the *marker*
that commits or aborts it. With ``isolation_level`` 1 a broker returns records below the *last
stable offset*, before which no transaction is open, and lists the aborted transactions among them,
each with its producer and the offset of its first record. The producer's transactional batches are
dropped from there to its abort marker. Markers are never returned to the caller.

Rules that are easy to get wrong:

- The list is valid only for *one response* and its fetch offset: a transaction that ended before it
  is not listed. So each response needs its own filter, which must see every batch with a producer
  id, including those below the fetch offset: their markers end transactions.
- A response's last stable offset is older than its records, so valid responses can hold records
  beyond it. A consumer's lag is measured from it, but a response is not truncated there.
- A producer has one transaction at a time in a partition, but several in one response.

Source: Kafka 0.11 ``Fetcher.PartitionRecords``, 3.9 ``CompletedFetch``, ``Partition.readRecords``;
KIP-98.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum

from zkconsumer.records.batch_header import NO_PRODUCER_ID, BatchHeader
from zkconsumer.wire.messages.fetch import AbortedTransaction

_KEY = struct.Struct(">hh")


class IsolationLevel(IntEnum):
    """The isolation level of a Fetch or ListOffsets request.

    Example:
        >>> IsolationLevel.READ_COMMITTED.name
        'READ_COMMITTED'
    """

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Marker(IntEnum):
    """The kind of marker in a control batch; OTHER: for brokers, or unknown."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1


def marker_of(key: bytes | None) -> Marker:
    """Parse the key of a control batch's record: ``version int16 | type int16``, perhaps more.

    Raises:
        ValueError: the key is malformed.
    """
    if key is None or len(key) < _KEY.size:
        raise ValueError("control record without a type")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise ValueError(f"control record of version {version}")
    return Marker(number) if number in (Marker.ABORT, Marker.COMMIT) else Marker.OTHER


class CommittedFilter:
    """Decides, in log order, which batches of one response are dropped: aborted ones and markers.

    Args:
        aborted: the aborted transactions of the response, in any order; None if it has no list.
    """

    __slots__ = ("_open", "_to_come")

    def __init__(self, aborted: Iterable[AbortedTransaction] | None) -> None:
        # The earliest is popped first, from the end.
        self._to_come = sorted(
            aborted or (), key=lambda transaction: transaction.first_offset, reverse=True
        )
        self._open: set[int] = set()

    @classmethod
    def resumed(
        cls, to_come: Iterable[AbortedTransaction], in_aborted: Iterable[int]
    ) -> "CommittedFilter":
        """Return a filter for the rest of a response that another filter began.

        Args:
            to_come: the aborted transactions that have not begun yet.
            in_aborted: the ids of the producers within an aborted transaction.
        """
        made = cls(to_come)
        made._open.update(in_aborted)
        return made

    def drops(self, header: BatchHeader, marker: Marker | None) -> bool:
        """Return whether the next batch is to be dropped.

        Args:
            header: the batch's header.
            marker: the batch's marker; None: it is not a control batch, or can't be read.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return header.is_control
        while self._to_come and self._to_come[-1].first_offset <= header.last_offset:
            self._open.add(self._to_come.pop().producer_id)
        if header.is_control:
            if marker is Marker.ABORT:
                self._open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._open

    def __repr__(self) -> str:
        return f"CommittedFilter(open={sorted(self._open)}, to_come={self._to_come[::-1]})"


def readable_end(
    *, high_watermark: int, last_stable_offset: int, isolation: IsolationLevel
) -> int | None:
    """Return the offset up to which a consumer can read; None if unknown. Lag is measured from it.

    Args:
        high_watermark: that of a Fetch response, -1 if unknown.
        last_stable_offset: that of the same response, -1 if unknown (always before version 4).
        isolation: the consumer's isolation level.
    """
    committed = isolation is IsolationLevel.READ_COMMITTED
    end = last_stable_offset if committed else high_watermark
    return None if end < 0 else end
