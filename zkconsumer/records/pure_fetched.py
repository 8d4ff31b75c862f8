"""Fetched records and their slices in Python: the reference implementation of ``slices``."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from zkconsumer.model import Record
from zkconsumer.records.batch_header import NO_LEADER_EPOCH
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.records.entries import offset_behind
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

if TYPE_CHECKING:
    from zkconsumer.native import _core


class PureSlice:
    """A ``slices.RecordSlice`` of rows: the records of a decoded set from one index to another.

    Args:
        decoded: the set.
        start: the index of the first record.
        stop: the index after the last one.
    """

    __slots__ = ("_decoded", "_start", "_stop")

    def __init__(self, decoded: DecodedSet, start: int, stop: int) -> None:
        self._decoded = decoded
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def _takes_the_end(self) -> bool:
        return self._stop == len(self._decoded.records)

    @property
    def first_offset(self) -> int:
        """See ``RecordSlice``; so for the others."""
        rows = self._decoded.records.plain
        return rows[self._start][0] if self._start < self._stop else self.next_offset

    @property
    def next_offset(self) -> int:
        """See there."""
        if self._takes_the_end:
            return self._decoded.next_offset
        rows = self._decoded.records.plain
        if self._start == self._stop:
            return rows[self._start][0]
        return offset_behind(rows[self._stop - 1][0])

    @property
    def leader_epoch(self) -> int:
        """See there."""
        if self._takes_the_end:
            return self._decoded.last_leader_epoch
        return self._decoded.leader_epoch(self._stop - 1) if self else NO_LEADER_EPOCH

    @property
    def size_bytes(self) -> int:
        """See there."""
        return sum(len(row[1] or b"") + len(row[2] or b"") for row in self._rows())

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """See there."""
        headers, index = self._decoded.headers, self._start
        made: list[ConsumerRecord] = []
        for stop, epoch in self._stretches():
            rows = self._decoded.records.plain[index:stop]
            if headers:
                made += [
                    consumer_record(origin, row, headers.get(at, ()), epoch)
                    for at, row in enumerate(rows, index)
                ]
            else:
                made += [consumer_record(origin, row, (), epoch) for row in rows]
            index = stop
        return made

    def parts(self) -> "list[_core.Run | Sequence[Row]]":
        """See there."""
        rows = self._rows()
        return [rows] if rows else []

    def headers(self) -> Mapping[int, Headers]:
        """See there."""
        found = self._decoded.headers
        if not found:
            return {}
        wanted = range(self._start, self._stop)
        return {index - self._start: found[index] for index in wanted if index in found}

    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """See there."""
        found, at = [], self._start
        for stop, epoch in self._stretches():
            found.append((at - self._start, epoch))
            at = stop
        return tuple(found)

    def _rows(self) -> list[Row]:
        return self._decoded.records.plain[self._start : self._stop]

    def _stretches(self) -> Iterable[tuple[int, int]]:
        """Yield the end index of each run of one epoch, with that epoch."""
        if self._start == self._stop:
            return
        epochs = self._decoded.leader_epochs
        first = bisect_right(epochs, self._start, key=lambda pair: pair[0])
        last = bisect_left(epochs, self._stop, key=lambda pair: pair[0])
        for place in range(first, last + 1):
            stop = epochs[place][0] if place < last else self._stop
            yield stop, epochs[place - 1][1] if place else NO_LEADER_EPOCH

    def __repr__(self) -> str:
        return f"PureSlice({len(self)} records up to {self.next_offset})"


class PureFetched:
    """A ``slices.FetchedRecords`` of rows; its attributes are those of the ``DecodedSet``."""

    __slots__ = (
        "_decoded",
        "_start",
        "error",
        "first_entry_size_bytes",
        "last_leader_epoch",
        "memory_bytes",
        "next_offset",
        "valid_bytes",
    )

    def __init__(self, decoded: DecodedSet) -> None:
        self._decoded = decoded
        self._start = 0
        self.next_offset = decoded.next_offset
        self.valid_bytes = decoded.valid_bytes
        self.first_entry_size_bytes = decoded.first_entry_size_bytes
        self.error = decoded.error
        self.memory_bytes = decoded.memory_bytes
        self.last_leader_epoch = decoded.last_leader_epoch

    def __len__(self) -> int:
        return len(self._decoded.records) - self._start

    @property
    def first_offset(self) -> int | None:
        """See ``FetchedRecords``; so for the others."""
        return self._decoded.records.plain[self._start][0] if self else None

    @property
    def last_offset(self) -> int | None:
        """See there."""
        return self._decoded.records.plain[-1][0] if self else None

    def take(self, count: int) -> PureSlice:
        """See there."""
        start = self._start
        self._start = min(start + max(0, count), len(self._decoded.records))
        return PureSlice(self._decoded, start, self._start)

    def take_records(self) -> tuple[Sequence[Record], int]:
        """See there."""
        start, self._start = self._start, len(self._decoded.records)
        return self._decoded.records[start:], self.memory_bytes

    def __repr__(self) -> str:
        return f"PureFetched({len(self)} records up to {self.next_offset}, error={self.error!r})"


def decode_fetched(  # noqa: PLR0913 - one part a line, all by name
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
    kept_codec: Codec = Codec.NONE,  # noqa: ARG001 - rows are all that there is
) -> PureFetched:
    """Decode a fetched record set; the arguments are those of ``decode_record_set``."""
    return PureFetched(
        decode_record_set(
            data,
            fetch_offset=fetch_offset,
            max_decompressed_bytes=max_decompressed_bytes,
            enough_bytes=enough_bytes,
            isolation=isolation,
            aborted=aborted,
        )
    )
