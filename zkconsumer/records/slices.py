"""What is fetched and waits, and the slices of it that go to the caller: what both engines have.

Fetched records wait as whatever their engine made of them. Objects are made when a slice is handed
over: what nobody asks for costs no object.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

if TYPE_CHECKING:
    from zkconsumer.native import _core


class RecordSlice(Protocol):
    """Records of one partition, one behind the other, for one caller; it does not change.

    Making its records twice makes them again.
    """

    @property
    def first_offset(self) -> int:
        """The offset of the first record; ``next_offset`` where there is none."""

    @property
    def next_offset(self) -> int:
        """Where to read on behind it: the position of a consumer that has taken it.

        That is behind the last record; where it took the last one of all, behind everything that
        was read (batches of markers, and what was aborted or compacted, among it).
        """

    @property
    def leader_epoch(self) -> int:
        """Of the leader that wrote what lies in front of ``next_offset``; -1 if not known.

        It is not known of a slice without records in front of others.
        """

    @property
    def size_bytes(self) -> int:
        """How many bytes its keys and values have."""

    def __len__(self) -> int: ...

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """Make all its records.

        Args:
            origin: of which partition they are, and what makes keys and values.
        """

    def parts(self) -> "list[_core.Run | Sequence[Row]]":
        """The same for columns: stretches of records, native runs or plain rows, in their order."""

    def headers(self) -> Mapping[int, Headers]:
        """Return the headers of the records that have some, by index."""

    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """As of ``DecodedBatches``: pairs of an index and the epoch from there on."""


class FetchedRecords(Protocol):
    """What one fetched record set held, and still holds.

    One thread at a time. Taking from it changes nothing about slices that were taken before.
    """

    @property
    def next_offset(self) -> int:
        """Where to fetch next; as of ``DecodedRows``. There may be progress without records."""

    @property
    def valid_bytes(self) -> int:
        """The size of the whole entries that were read."""

    @property
    def first_entry_size_bytes(self) -> int | None:
        """The size of the first entry where it does not fit into the data; else None."""

    @property
    def error(self) -> CorruptRecord | None:
        """What is wrong with the entry at which reading stopped; None if nothing."""

    @property
    def memory_bytes(self) -> int:
        """What it takes in memory as long as anything of it is there."""

    @property
    def last_leader_epoch(self) -> int:
        """Of the last batch that was read; -1 if not known. It belongs to ``next_offset``."""

    @property
    def first_offset(self) -> int | None:
        """The offset of the first record that is left; None where none is."""

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record that is left; None where none is."""

    def __len__(self) -> int: ...

    def take(self, count: int) -> RecordSlice:
        """Take records off the front, up to so many; the rest stays."""


class FetchedDecoder(Protocol):
    """What makes them; the arguments are those of ``decode_batches.decode_batches``."""

    def __call__(  # noqa: D102 - see above
        self,
        data: bytes | memoryview,
        *,
        fetch_offset: int,
        max_decompressed_bytes: int,
        enough_bytes: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        aborted: Iterable[AbortedTransaction] | None = None,
    ) -> FetchedRecords: ...
