"""Which batches a consumer sees that reads committed records only: a core without bytes.

A transaction's records lie in the log among those of others, from its first one on, until a
*marker* says whether they were committed or aborted. With ``isolation_level`` 1 a broker answers
with records below the *last stable offset*, in front of which no transaction is open, and names the
aborted transactions among them: the producer, and the offset of the first record. A batch is
dropped from there until the producer's abort marker. Markers are never given to anybody.

Rules that are easy to get wrong:

- The list holds for *one answer*, to a fetch from the offset that was asked for: a transaction that
  ended before it is not in it. So each answer gets a filter of its own, which has to see every
  batch of it with a producer id, those below the fetch offset too: their markers end transactions.
- An answer's last stable offset is from before the broker read the log, so sound answers can hold
  records from there on. It is where a reader's lag ends, not what an answer is to be cut at.
- A producer has one transaction at a time in a partition, but several in one answer.

Source: Kafka 0.11 ``Fetcher.PartitionRecords``, 3.9 ``CompletedFetch``, ``Partition.readRecords``;
KIP-98.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum

from zkconsumer.records.batch_header import NO_PRODUCER_ID, BatchHeader
from zkconsumer.wire.messages.fetch import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    AbortedTransaction,
)

_KEY = struct.Struct(">hh")


class IsolationLevel(IntEnum):
    """What a Fetch or ListOffsets asks for."""

    READ_UNCOMMITTED = READ_UNCOMMITTED
    READ_COMMITTED = READ_COMMITTED


class Marker(IntEnum):
    """What a control batch says; OTHER is for brokers, or not known yet."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1


def marker_of(key: bytes | None) -> Marker:
    """Read the key of a control batch's record: ``version int16 | type int16``, perhaps more.

    Raises:
        ValueError: it is no such key.
    """
    if key is None or len(key) < _KEY.size:
        raise ValueError("control record without a type")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise ValueError(f"control record of version {version}")
    return Marker(number) if number in (Marker.ABORT, Marker.COMMIT) else Marker.OTHER


class CommittedFilter:
    """Says of the batches of one answer, in log order, which ones belong to aborted transactions.

    Args:
        aborted: as in the answer, in any order; None where the answer has no list.
    """

    __slots__ = ("_open", "_to_come")

    def __init__(self, aborted: Iterable[AbortedTransaction] | None) -> None:
        # The earliest is taken first, from the end.
        self._to_come = sorted(aborted or (), key=lambda one: one.first_offset, reverse=True)
        self._open: set[int] = set()

    @classmethod
    def resumed(
        cls, to_come: Iterable[AbortedTransaction], in_aborted: Iterable[int]
    ) -> "CommittedFilter":
        """Return a filter in the middle of an answer, which another one saw the front of.

        Args:
            to_come: the aborted transactions that have not begun.
            in_aborted: the producers that are in one.
        """
        made = cls(to_come)
        made._open.update(in_aborted)
        return made

    def drops(self, header: BatchHeader, marker: Marker | None = None) -> bool:
        """Return whether a user must not see the next batch.

        Args:
            header: the batch's.
            marker: what it says, if it is a control batch.
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
    """The offset up to which a consumer can read, from which its lag counts; None if not known.

    Args:
        high_watermark: of a Fetch answer, -1 if not known.
        last_stable_offset: of the same, -1 if not known (and in answers before version 4).
        isolation: what the consumer reads.
    """
    committed = isolation is IsolationLevel.READ_COMMITTED
    end = last_stable_offset if committed else high_watermark
    return None if end < 0 else end
