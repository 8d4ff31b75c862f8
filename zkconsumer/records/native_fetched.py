"""Decodes by the native core: like ``pure_fetched``, by ``csrc/batches.c``.

The core reads valid entries (``native_reader``). It stops before the first one that it rejects, and
``decode``, the reference, continues there: it finds the error, and the valid records before it. So
both engines raise the same error at the same position. Import it through ``records.fetched`` only.
"""

import copyreg
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record
from zkconsumer.native import _core
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, parts_of
from zkconsumer.records.decode import decode_rest
from zkconsumer.records.entries import cut_off_entry, offset_behind
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.native_reader import gathered_by, read_natively
from zkconsumer.records.pure_fetched import PureFetched, PureSlice
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

ConsumerRecord.register(_core.ConsumerRecord)
for _kind in (_core.ConsumerRecord, _core.DecodedConsumerRecord):
    copyreg.pickle(_kind, parts_of)


def native_origin(origin: RecordOrigin) -> "_core.Origin[object, object]":
    """Return the core's counterpart of an origin; made once."""
    if origin.native is None:
        origin.native = _core.Origin(
            origin.topic, origin.partition, origin.key_deserializer, origin.value_deserializer
        )
    return cast("_core.Origin[object, object]", origin.native)


class NativeSlice:
    """A ``slices.RecordSlice`` of runs, and perhaps of rows after them.

    Args:
        runs: the records that the core decoded.
        tail: those after them, which the reference decoded; None without.
        next_offset: see ``RecordSlice``.
        leader_epoch: see there.
    """

    __slots__ = ("_runs", "_tail", "leader_epoch", "next_offset")

    def __init__(
        self, runs: _core.Runs, tail: PureSlice | None, next_offset: int, leader_epoch: int
    ) -> None:
        self._runs = runs
        self._tail = tail
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch

    def __len__(self) -> int:
        return len(self._runs) + (0 if self._tail is None else len(self._tail))

    @property
    def first_offset(self) -> int:
        """See ``RecordSlice``; so for the others."""
        first = self._runs.first_offset
        if first is None:
            return self.next_offset if self._tail is None else self._tail.first_offset
        return first

    @property
    def size_bytes(self) -> int:
        """See there."""
        return self._runs.size_bytes + (0 if self._tail is None else self._tail.size_bytes)

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """See there."""
        made = cast("list[ConsumerRecord]", self._runs.records(native_origin(origin)))
        if self._tail is not None:
            made += self._tail.records(origin)
        return made

    def parts(self) -> "list[_core.Run | Sequence[Row]]":
        """See there."""
        found: list[_core.Run | Sequence[Row]] = [*self._runs.runs]
        return found if self._tail is None else found + self._tail.parts()

    def headers(self) -> Mapping[int, Headers]:
        """See there."""
        found = self._runs.headers()
        if self._tail is not None:
            before = len(self._runs)
            found |= {before + index: headers for index, headers in self._tail.headers().items()}
        return found

    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """See there."""
        found = self._runs.leader_epochs()
        if self._tail is None:
            return found
        before = len(self._runs)
        behind = [(before + index, epoch) for index, epoch in self._tail.leader_epochs()]
        if found and behind and found[-1][1] == behind[0][1]:
            del behind[0]
        return (*found, *behind)

    def __repr__(self) -> str:
        return f"NativeSlice({len(self)} records up to {self.next_offset})"


class NativeFetched:
    """A ``slices.FetchedRecords`` of runs, and perhaps of rows after them.

    Attributes:
        next_offset: see there; so for the others.
        valid_bytes: see there.
        first_entry_size_bytes: see there.
        error: see there.
        memory_bytes: see there.
        last_leader_epoch: see there.
        refused_at: the position at which the core stopped and the reference took over; None if not.
    """

    __slots__ = (
        "_runs",
        "_tail",
        "error",
        "first_entry_size_bytes",
        "last_leader_epoch",
        "memory_bytes",
        "next_offset",
        "refused_at",
        "valid_bytes",
    )

    def __init__(self, reader: _core.SetReader, first_entry_size_bytes: int | None) -> None:
        self._runs = reader.fetched()
        self._tail: PureFetched | None = None
        self.next_offset = reader.next_offset
        self.valid_bytes = reader.position
        self.first_entry_size_bytes = first_entry_size_bytes
        self.error: CorruptRecord | None = None
        self.memory_bytes = self._runs.memory_bytes
        self.last_leader_epoch = reader.last_leader_epoch
        self.refused_at: int | None = None

    def go_on_with(self, rest: PureFetched) -> None:
        """Add the records that the reference decoded after the core stopped."""
        self.refused_at = self.valid_bytes
        self._tail = rest or None
        self.next_offset = rest.next_offset
        self.valid_bytes = rest.valid_bytes
        self.error = rest.error
        self.memory_bytes += rest.memory_bytes
        self.last_leader_epoch = rest.last_leader_epoch

    def __len__(self) -> int:
        return len(self._runs) + (0 if self._tail is None else len(self._tail))

    @property
    def first_offset(self) -> int | None:
        """See ``FetchedRecords``."""
        first = self._runs.first_offset
        return self._tail.first_offset if first is None and self._tail is not None else first

    @property
    def last_offset(self) -> int | None:
        """See there."""
        last = None if self._tail is None else self._tail.last_offset
        return self._runs.last_offset if last is None else last

    def take(self, count: int) -> NativeSlice:
        """See there."""
        count = max(0, count)
        runs, tail = self._runs.take(count), None
        if self._tail is not None and len(runs) < count:
            tail = self._tail.take(count - len(runs))
        if not self:
            return NativeSlice(runs, tail, self.next_offset, self.last_leader_epoch)
        if tail is not None:
            return NativeSlice(runs, tail, tail.next_offset, tail.leader_epoch)
        last = runs.last_offset
        next_offset = self.first_offset if last is None else offset_behind(last)
        return NativeSlice(runs, None, cast("int", next_offset), runs.leader_epoch)

    def take_records(self) -> tuple[Sequence[Record], int]:
        """See there."""
        runs = self._runs.take(sys.maxsize)
        if self._tail is None:
            runs.settle()
            return (runs, runs.memory_bytes) if len(runs) else ((), 0)
        records = [*runs, *self._tail.take_records()[0]]
        return records, records_bytes(records)

    def __repr__(self) -> str:
        return f"NativeFetched({len(self)} records up to {self.next_offset}, error={self.error!r})"


def decode_fetched(  # noqa: PLR0913 - one part a line, all by name
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
    kept_codec: Codec = Codec.NONE,
) -> NativeFetched:
    """Decode like ``pure_fetched.decode_fetched``: same arguments, same results."""
    is_committed = isolation is IsolationLevel.READ_COMMITTED
    reader, status = read_natively(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
        aborted=(aborted or ()) if is_committed else None,
        kept_codec=kept_codec,
    )
    cut_off = cut_off_entry(data)
    fetched = NativeFetched(reader, None if cut_off is None else cut_off.size_bytes)
    if status == _core.REFUSED:
        gathered = gathered_by(reader, fetch_offset, max_decompressed_bytes, enough_bytes)
        rest = decode_rest(bytes(data), reader.position, gathered)
        fetched.go_on_with(PureFetched(rest))
    return fetched
