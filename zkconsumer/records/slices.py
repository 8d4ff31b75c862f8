"""The interfaces of fetched records and the slices of them that go to the caller, for both engines.

Fetched records wait in the form of their engine. Objects are made when a slice is handed over:
records that nobody reads cost no object.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

if TYPE_CHECKING:
    from zkconsumer.native import _core


class RecordSlice(Protocol):
    """Consecutive records of one partition, for one caller; immutable.

    Each call of ``records`` makes them again.
    """

    @property
    def first_offset(self) -> int:
        """The offset of the first record; ``next_offset`` if it is empty."""

    @property
    def next_offset(self) -> int:
        """The position of a consumer that has taken this slice.

        It is after the last record; if the slice ends with the last record of all, it is after
        everything that was read (markers, aborted and compacted batches included).
        """

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the data before ``next_offset``; -1 if unknown.

        It is unknown for a slice without records that precedes others.
        """

    @property
    def size_bytes(self) -> int:
        """The size of its keys and values in bytes."""

    def __len__(self) -> int: ...

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """Make all its records.

        Args:
            origin: their partition and deserializers.
        """

    def parts(self) -> "list[_core.Run | Sequence[Row]]":
        """Return the parts for columns: native runs or plain rows, in order."""

    def headers(self) -> Mapping[int, Headers]:
        """Return the headers of the records that have any, by index."""

    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """Return pairs of an index and the epoch from there on; see ``DecodedSet``."""


class FetchedRecords(Protocol):
    """The content of a fetched record set that has not been taken yet.

    Thread: one at a time. Taking records does not affect slices taken before.
    """

    @property
    def next_offset(self) -> int:
        """The next fetch offset, as of ``DecodedSet``. There may be progress without records."""

    @property
    def valid_bytes(self) -> int:
        """The size of the entries read."""

    @property
    def first_entry_size_bytes(self) -> int | None:
        """The size of the first entry if it is incomplete; else None."""

    @property
    def error(self) -> CorruptRecord | None:
        """The error of the entry at which reading stopped; None if there is none."""

    @property
    def memory_bytes(self) -> int:
        """The memory that it takes until it is released."""

    @property
    def last_leader_epoch(self) -> int:
        """The leader epoch of the last batch read; -1 if unknown. It belongs to ``next_offset``."""

    @property
    def first_offset(self) -> int | None:
        """The offset of the first record left; None if none is."""

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record left; None if none is."""

    def __len__(self) -> int: ...

    def take(self, count: int) -> RecordSlice:
        """Remove up to ``count`` records from the front and return them."""

    def take_records(self) -> tuple[Sequence[Record], int]:
        """Remove all records; return them as a chunk of a stream holds them, and their memory.

        The native engine's are runs, and made records only if some of them were decoded in Python.
        """


class FetchedDecoder(Protocol):
    """The type of ``decode_fetched``; the arguments are those of ``decode_record_set``.

    With ``kept_codec`` the runs of whole batches of that codec keep the compressed bytes, too.
    """

    def __call__(  # noqa: D102, PLR0913 - see above
        self,
        data: bytes | memoryview,
        *,
        fetch_offset: int,
        max_decompressed_bytes: int,
        enough_bytes: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        aborted: Iterable[AbortedTransaction] | None = None,
        kept_codec: Codec = Codec.NONE,
    ) -> FetchedRecords: ...
