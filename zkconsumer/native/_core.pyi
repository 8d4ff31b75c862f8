from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar, final, overload

from zkconsumer.clock import Clock
from zkconsumer.model import Record, RecordFields, TimestampType, TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord as AnyRecord  # of either engine

K = TypeVar("K")
V = TypeVar("V")

CRC32_NAME: Final[str]
"""How CRC-32 is computed on this CPU: pclmul, armv8 or portable."""
CRC32C_NAME: Final[str]
"""How CRC-32C is: sse4.2, armv8 or portable."""
LIBRARIES: Final[dict[str, str | None]]
"""The libraries that decompress, by name, with the version that runs; None: the core was built
without it, and refuses what only it could read."""

ENDS: Final[int]
"""A set's status: all its whole entries were read."""
FULL: Final[int]
"""Enough is decompressed: from the position on the set is for another call."""
REFUSED: Final[int]
"""The entry at the position is not sound, or not for the native core to judge."""

def receive_into(descriptor: int, buffer: memoryview, *, timeout_ms: int) -> int:
    """Receive from a socket into a buffer, without the GIL, until it is full or nothing more comes.

    Returns:
        The number of bytes, at least 1; fewer than the buffer holds if the stream has ended, if
        nothing has followed for a moment, or 100 ms after the first bytes. 0: the stream has ended,
        or the buffer is empty.

    Raises:
        TimeoutError: nothing came in time.
        OSError: the connection failed.
    """

@final
class FrameBuffer:
    """Hold memory for a frame of ``size`` bytes, writable, its content undefined.

    Once it and all views of it are gone, the memory is reused for the next.
    """

    def __init__(self, size: int) -> None: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Origin(Generic[K, V]):
    """What the messages of one partition have in common; decoders as of ``MessageAndMetadata``."""

    topic: Final[str]
    partition: Final[int]

    def __init__(
        self, topic: str, partition: int, key_decoder: object = None, value_decoder: object = None
    ) -> None: ...

class Message(Generic[K, V]):
    """What ``MessageAndMetadata`` is, in one allocation and unknown to the garbage collector.

    Of a stream without decoders: ``key`` and ``value`` are read without a call.

    A decoder that keeps the messages it made is therefore never collected.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> K | None: ...
    @property
    def value(self) -> V | None: ...
    @property
    def raw_key(self) -> bytes | None: ...
    @property
    def raw_value(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> TimestampType: ...

@final
class DecodedMessage(Message[K, V]):
    """The same of a stream with decoders, which are called for each access."""

@final
class Run:
    """Checked messages that lie back to back in one buffer, which lives as long as a run of it.

    ``split`` is for one thread at a time, and not while the run is iterated.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Record]: ...
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Of its messages as they lie there, with their headers."""
    @property
    def held_bytes(self) -> int:
        """Of the whole buffer that it keeps alive, together with other runs perhaps."""
    @property
    def key_bytes(self) -> int: ...
    @property
    def value_bytes(self) -> int: ...
    @property
    def null_key_count(self) -> int: ...
    @property
    def null_value_count(self) -> int: ...
    @property
    def timestamp_count(self) -> int:
        """How many messages have a timestamp that is not negative."""
    @property
    def leader_epoch(self) -> int:
        """Of the leader that wrote them; -1 if it is not known."""
    def split(self, max_bytes: int, max_count: int = ...) -> Run:
        """Take messages off the front: one, and more up to these bounds. The rest stays here."""
    def headers(self) -> dict[int, tuple[tuple[str, bytes | None], ...]]:
        """Make the headers of the messages that have some, by offset."""
    def records(self) -> list[Record]:
        """Make all records at once.

        Raises:
            BufferError: somebody changed the bytes after they were checked.
        """

class ConsumerRecord:
    """What ``records.consumer_record.ConsumerRecord`` is, in one allocation.

    Of an origin without decoders: ``key`` and ``value`` are read without a call.

    A decoder that keeps the records it made is never collected.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> TimestampType: ...
    @property
    def key(self) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def raw_key(self) -> bytes | None: ...
    @property
    def raw_value(self) -> bytes | None: ...
    @property
    def headers(self) -> list[tuple[str, bytes | None]]: ...
    @property
    def checksum(self) -> None: ...
    @property
    def serialized_key_size(self) -> int: ...
    @property
    def serialized_value_size(self) -> int: ...
    @property
    def serialized_header_size(self) -> int: ...
    @property
    def _fields(self) -> tuple[str, ...]: ...
    def _asdict(self) -> dict[str, Any]: ...
    def _replace(self, **named: Any) -> RecordFields: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def index(self, value: object, *bounds: int) -> int: ...
    def count(self, value: object) -> int: ...

@final
class DecodedConsumerRecord(ConsumerRecord):
    """The same of an origin with decoders, which are called for each access."""

@final
class SetReader:
    """Reads a record set of any magic from its first byte on, without the GIL.

    One thread at a time.

    Args:
        data: kept alive, not copied, unless it can be written to.
        fetch_offset: records below it are left out; not negative.
        bound_bytes: what all that is compressed may become.
        enough_bytes: with so much decompressed nothing compressed is begun any more.
        aborted: the aborted transactions of a reader of committed records, pairs of a first offset
            and a producer; None for any other reader.
        piece_bytes: about how large runs of messages and arenas become.
        kept_codec: whole batches of this codec, unless they are small, can be written as they came
            (``pass_batch``); 0: none.

    Attributes:
        position: after the last entry that was read.
        next_offset: after the last record; never below the fetch offset.
        remaining_bytes: what is left of the bound.
        last_leader_epoch: of the last batch that was read; -1 if not known.
    """

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        *,
        fetch_offset: int,
        bound_bytes: int,
        enough_bytes: int,
        aborted: list[tuple[int, int]] | None = None,
        piece_bytes: int = ...,
        kept_codec: int = 0,
    ) -> None: ...
    def read(self) -> int:
        """Read on: ENDS, FULL or REFUSED."""
    @property
    def position(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def remaining_bytes(self) -> int: ...
    @property
    def last_leader_epoch(self) -> int: ...
    def transactions(self) -> tuple[list[tuple[int, int]], list[int]] | None:
        """Of a filter: the aborted transactions to come, and the producers that are in one."""
    def fetched(self) -> Fetched:
        """Hand over what was found."""

@final
class Fetched:
    """Runs that wait for their caller; one thread at a time.

    Attributes:
        memory_bytes: what their buffers take, those of others too.
    """

    @property
    def memory_bytes(self) -> int: ...
    def __len__(self) -> int: ...
    @property
    def first_offset(self) -> int | None: ...
    @property
    def last_offset(self) -> int | None: ...
    def take(self, count: int) -> Runs:
        """Take records off the front, up to so many.

        Raises:
            BufferError: somebody changed the bytes after they were checked.
        """

class Progress:
    """What ``fetch.progress.PureProgress`` is, in C: active, its offsets unknown."""

    active: bool
    consumed_offset: int | None
    delivered_offset: int | None
    high_watermark: int
    log_start: int

@final
class Wakeup:
    """The event on which a native loop waits, for tests that do what the loop does."""

    def notify(self) -> None:
        """End the present wait, or the next one. Thread: any."""
    def wait(self, timeout_ms: int = 0) -> bool:
        """Wait for a notification, without the GIL, and clear it; return whether there was one."""

@final
class Runs(Sequence[Record]):
    """Runs of one partition: of a chunk, or taken of what was fetched; immutable.

    As a sequence it creates its records again each time, and all of them even for a single one. For
    the rest see ``records.slices.RecordSlice``.
    """

    @property
    def first_offset(self) -> int | None: ...
    @property
    def last_offset(self) -> int | None: ...
    @property
    def leader_epoch(self) -> int:
        """Of its last record."""
    @property
    def memory_bytes(self) -> int:
        """What a chunk of it is charged: the whole buffers that it keeps."""
    @property
    def size_bytes(self) -> int:
        """Of keys and values."""
    @property
    def runs(self) -> list[Run]: ...
    def settle(self) -> None:
        """Copy runs that use less than half of their buffers; call it before reading them."""
    def split(self, max_bytes: int) -> tuple[Runs, Runs]:
        """Make two: what is charged at most so much (or one message), and at least one message.

        Raises:
            ValueError: there is not more than one message.
        """
    def records(self, origin: Origin[Any, Any]) -> list[ConsumerRecord]:
        """Make all records as of a poll.

        Raises:
            BufferError: somebody changed the bytes after they were checked.
        """
    def headers(self) -> dict[int, tuple[tuple[str, bytes | None], ...]]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Record]: ...
    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...

@final
class Queue:
    """The store of ``streams.native_queue``; see there for most methods.

    In a forked child it is empty, takes nothing and never waits.

    Args:
        max_chunks: maximum number of chunks of active claims.
        make_chunk: makes the Python object of a native chunk from its claim, the requested offset,
            the next offset, the records and the bytes that it is charged; None: ``head`` is not
            called.
        on_change: called, with the GIL, as ``await_chunk`` says; ``listen`` replaces it.

    Attributes:
        waiters: called when there is capacity.
    """

    waiters: deque[Callable[[], None]]

    def __init__(
        self,
        max_chunks: int,
        make_chunk: Callable[..., object] | None,
        on_change: Callable[[], None] | None = None,
    ) -> None: ...
    @property
    def half_share_bytes(self) -> int: ...
    def set_share(self, share_bytes: int) -> None:
        """Limit its bytes; they are unlimited before."""
    def has_capacity(self, size_bytes: int) -> bool: ...
    @property
    def free_bytes(self) -> int:
        """The size of the largest chunk that it takes now; 0: it counts as full."""
    def wait_for_capacity(self, on_capacity: Callable[[], None]) -> None: ...
    def notify_capacity(self) -> None:
        """Call all ``waiters`` and notify all pumps that wait for capacity, once."""
    @property
    def chunk_count(self) -> int: ...
    @property
    def record_count(self) -> int:
        """The number of records in chunks of active claims that Python has no objects for."""
    @property
    def used_bytes(self) -> int: ...
    @property
    def queued_bytes(self) -> int:
        """``used_bytes`` without the chunk that was taken last."""
    @property
    def waiting_pumps(self) -> int:
        """The number of native loops that wait for capacity."""
    def adopt(self, claim: Progress) -> None:
        """Register the claim of chunks that native code is going to put. Thread: any."""
    @property
    def claim_count(self) -> int:
        """The number of registered claims; inactive ones are removed in time."""
    def add(self, item: object, claim: Progress | None, size_bytes: int) -> bool:
        """Append an item; return False for a chunk (it has a claim) that does not fit."""
    def put_set(
        self,
        claim: Progress,
        data: bytes | bytearray | memoryview,
        fetch_offset: int,
        wakeup: Wakeup | None = None,
    ) -> int | None:
        """Read a record set and put it as a native loop does, without the GIL.

        Args:
            claim: the claim under which it was fetched; it is adopted.
            data: the set, which is copied.
            fetch_offset: records below it are left out.
            wakeup: notified once the queue may have capacity, if it is full.

        Returns:
            None, or the offset from which on the records did not fit: they may be put again.

        Raises:
            ValueError: the set is not sound.
        """
    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Call this after each native put, with the GIL."""
    def wake(self) -> None: ...
    def head(self, timeout_ms: int | None) -> object | None: ...
    def pause(self, timeout_ms: int | None) -> None: ...
    @property
    def named_head(self) -> object | None:
        """The head, if ``head`` returned it or Python put it; else None."""
    def remove(self) -> None:
        """Remove ``named_head``; a chunk is pending from then on."""
    def release(self, item: object) -> None: ...
    def take_chunk(self) -> tuple[int, int, int, int, Fetched] | None:
        """Take the next chunk without making an object of it; for pumps' queues of no stream.

        Its charge lasts until the next call. Items that ``head`` returned or Python put are not
        taken: it stops in front of them. Notifies the pumps that wait for capacity; ``waiters`` are
        not called.

        Returns:
            The requested offset, the next offset, the leader epoch before that (-1 if not known),
            the bytes that it is charged, and its records; None if no chunk is there.

        Raises:
            MemoryError: the chunk stays where it is.
        """
    def await_chunk(self) -> bool:
        """Return whether a chunk of an active claim is there; if not, await one.

        Then ``on_change`` is called after the next native put, and only after that one.
        """
    def named_items(self) -> list[object]:
        """Return all items that Python put, and the native chunk that ``head`` returned."""
    def discard(self) -> None:
        """Free native chunks of inactive claims, and charge nothing for the others."""

class Lease:
    """What ``streams.lease.PureLease`` is, in C."""

    def __init__(self, clock: Clock) -> None: ...
    @property
    def now_s(self) -> Callable[[], float]:
        """See there."""

    @property
    def until_s(self) -> float:
        """See there."""

    def end_at(self, until_ms: int | None) -> None:
        """See there."""

@final
class ChunkPosition:
    """How far a chunk was handed over; used by its ``NativeCursor`` only."""

@final
class NativeCursor(Generic[K, V]):
    """A ``streams.chunk_cursor.ChunkCursor`` for chunks whose records are ``Runs``.

    Args:
        consumes_delivered: see ``streams.delivery``.
        lease: nothing is delivered after its end.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
    """

    position: ChunkPosition

    def __init__(
        self,
        *,
        consumes_delivered: bool,
        lease: Lease,
        key_decoder: Callable[[bytes], K] | None,
        value_decoder: Callable[[bytes], V] | None,
    ) -> None: ...
    @property
    def chunk(self) -> Any:
        """The current chunk; its ``claim`` is a ``Progress`` with a ``topic_partition``.

        Raises:
            TypeError: (on storing) its records are not ``Runs``; the current chunk is kept.
        """
    @chunk.setter
    def chunk(self, chunk: Any) -> None: ...
    @property
    def is_exhausted(self) -> bool: ...
    def __iter__(self) -> Iterator[Message[K, V]]: ...
    def __next__(self) -> Message[K, V]: ...
    def iterate(self, slow: Callable[[], Message[K, V]]) -> Iterator[Message[K, V]]: ...
    def peek(self, most: int) -> tuple[list[Message[K, V]], ChunkPosition]: ...
    def peek_runs(self, most: int) -> tuple[list[Run], ChunkPosition]:
        """Return the runs of the next messages, at most ``most``, and the position after them.

        As ``peek``: hands nothing over.
        """

BUILT: int
BUILD_HEADERS: int
BUILD_TIMES: int
BUILD_TOO_LARGE: int

def build_records(
    runs: list[Run], *, magic: int, with_headers: bool, now_ms: int, front_bytes: int = 0
) -> tuple[int, bytes, int, int, int]:
    """Build the records of a set to produce, numbered from 0; without the GIL.

    Args:
        runs: whose records, in their order.
        magic: of the entries to make: 0, 1 or 2 (records without their batch).
        with_headers: keep headers.
        now_ms: the time of records that have none.
        front_bytes: so many zeros come first.

    Returns:
        BUILT, or why it stopped (a BUILD value: headers in front of magic 2, times that lie too far
        apart for a batch, a record that is too large); the bytes; how many records they are; the
        first one's time; the newest time.
    """

def seal_batch(
    records: bytes,
    *,
    attributes: int,
    count: int,
    base_time: int,
    max_time: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """Make a batch of magic 2: a head, its CRC, and the records, compressed or not."""

def pass_batch(
    run: Run,
    *,
    codec: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes | None:
    """Make a batch of magic 2 of the compressed records as they came.

    None where they were not kept (``kept_codec``), or are of another codec.
    """

def cut_set(runs: list[Run], max_bytes: int) -> tuple[list[Run], list[Run]]:
    """Cut a set off the front: a batch that was kept compressed, else as ``cut_runs``."""

def cut_runs(
    runs: list[Run], max_bytes: int, max_count: int = ...
) -> tuple[list[Run], list[Run], int]:
    """Cut runs in two, which share their bytes; the given ones stay as they are.

    Returns:
        Those in front, which take at most ``max_bytes`` in a log of magic 0 (with their headers as
        ``outgoing_bytes`` counts) and are at most ``max_count`` records, or one larger record; the
        rest; how many records the front has.
    """

def offsets_of(runs: list[Run]) -> list[tuple[int, int]]:
    """Offsets as ``[from, until)`` ranges without a gap, ascending as the runs are."""

ColumnBytes: TypeAlias = bytes | FrameBuffer
"""Bytes of a column; the memory of large ones is reused once the column is gone."""

def arrow_columns(
    runs: list[Run],
    *,
    keys: bool = True,
    values: bool = True,
    offsets: bool = True,
    timestamps: bool = True,
    timestamp_types: bool = True,
) -> tuple[
    int,
    tuple[bytes | None, ColumnBytes, ColumnBytes] | None,
    tuple[bytes | None, ColumnBytes, ColumnBytes] | None,
    ColumnBytes | None,
    ColumnBytes | None,
    ColumnBytes | None,
]:
    """Fill the buffers of Arrow columns, without the GIL, by one copy of every key and value.

    A column that is not wanted is not made, and None.

    Returns:
        The number of rows; of the keys and of the values the validity bitmap (None where none is
        null), the int32 offsets and the data; the offsets in the log (int64), the timestamps
        (int64, microseconds, -1000 where there is none), and who set them (int32).

    Raises:
        OverflowError: there is more than an int32 can count.
        BufferError: somebody changed the bytes after they were checked.
    """

def crc32(data: bytes | memoryview, value: int = 0, *, portable: bool = False) -> int:
    """Compute what ``zlib.crc32`` does; ``portable``: as on a CPU without instructions for it."""

def crc32c(data: bytes | memoryview, value: int = 0, *, portable: bool = False) -> int:
    """Compute the CRC-32C; the arguments are those of ``crc32``."""

def decompress(codec: int, data: bytes | memoryview, *, magic: int, max_bytes: int) -> bytes | None:
    """Decompress as ``records.codecs`` does; None where that would raise (or might)."""

def look_ahead(data: bytes | memoryview, fetch_offset: int) -> tuple[int, int, int, bool] | None:
    """Return next offset, leader epoch, size of a cut-off entry, and whether any is compressed.

    See ``fetch.core.ahead.HeaderSummary``.
    """

def offsets_rise(
    data: bytes | memoryview, *, position: int, low: int, is_first: bool, end: int
) -> tuple[int, int, bool] | None:
    """Find the first entry whose offset does not fit; see ``records.offset_order``."""

PUMP_CALLED: Final[int]
"""A pump's end: it is for Python to look, with nothing in flight."""
PUMP_STOPPED: Final[int]
"""``stop`` was called."""
PUMP_BROKEN: Final[int]
"""The connection failed, or the answer made no sense."""
PUMP_SILENT: Final[int]
"""An answer is awaited, and nothing of it came for a while; another ``run`` waits on."""
IO_NONSENSE: Final[int]
IO_TIMED_OUT: Final[int]
IO_CLOSED: Final[int]

@final
class Pump:
    """Fetches, checks and queues without the GIL; ``csrc/pump.h`` says what it does, and when not.

    Thread: one, but for ``call`` and ``stop``.
    """

    def configure(
        self,
        *,
        min_bytes: int,
        max_bytes: int,
        max_wait_ms: int,
        timeout_ms: int,
        max_decompressed_bytes: int,
        growth_max_bytes: int,
        report_ms: int,
    ) -> None:
        """Set the constants; ``report_ms``: interval of returns for the counts, or 0."""
    def load(
        self,
        queues: list[Queue],
        topics: list[tuple[bytes, list[tuple[object, ...]]]],
        *,
        part_bytes: int,
        grown_bytes: int,
        others_wait: bool,
        ends_at_head: bool = False,
    ) -> None:
        """Delegate partitions to the pump.

        Args:
            queues: the queues of their chunks; each has adopted the claims of its partitions.
            topics: with each name its slots: index of the queue, partition, claim, fetch offset,
                needed bytes, grown bytes, the packed set (None, or bytes, position in them,
                requested offset and requested bytes), the leader epoch to send (-1: none),
                whether it is behind: more waits for it than one response brings, and the offset at
                which its range ends (-1: none), from which on nothing is requested. For a version
                of Fetch from 13 on a topic's id, 16 bytes, takes the place of its name.
            part_bytes: max bytes of a partition in a request.
            grown_bytes: the limit of that for a partition that lags far behind.
            others_wait: the broker is not to wait for data.
            ends_at_head: once a response came, or a partition got to its end, and no partition is
                behind, ``run`` returns as if it was called, until the next ``load``. One at its end
                is not behind, nor one with an end that got an empty response.
        """
    def unload(self) -> list[tuple[Any, ...]]:
        """Take the partitions back, in the order of ``load``.

        Returns:
            For each what ``fetch.core.delegated.Returned`` holds.
        """
    def run(
        self,
        socket: int,
        *,
        version: int,
        correlation_id: int,
        client_id: bytes,
        max_response_bytes: int,
        max_entry_bytes: int,
        quiet_ms: int,
    ) -> tuple[int, int, bool, int, int, str, bool]:
        """Fetch in a version of the request until it must return.

        Also returns when no byte came for ``quiet_ms`` (0: never).

        Returns:
            A PUMP value; the next correlation id; whether Python must take the partitions back; the
            failure (an IO value), its errno and its text, if it is broken; and whether part of a
            response came.

        Raises:
            ValueError: the version is not known, or one with topic ids, and a topic has a name.
        """
    def quiet_ms(self) -> int:
        """Return how long from now on no request may be sent (the broker's quota)."""
    def last_request(self) -> bytes:
        """Return the last request, with its length in front."""
    def counts(self) -> tuple[int, int, int, int, int, int, int, int, int, int, int]:
        """Fetches, partitions, bytes, records, milliseconds since this was last called.

        And the longest pause in milliseconds that the broker asked for (quotas); the bytes of whole
        requests that were sent, and of complete responses; the milliseconds of the longest fetch;
        the bytes of records in the largest response; and the throttle times of all responses, ms.
        """
    def clear_call(self) -> None:
        """Clear all calls so far."""
    def call(self) -> None:
        """Have ``run`` return soon. Thread: any."""
    def stop(self) -> None:
        """Have this and every later ``run`` return at once. Thread: any."""
    def close(self) -> None:
        """Close its descriptors, after the last ``run``; only ``call`` and ``stop`` may follow."""

@final
class Steps:
    """``consumer.steps.PureSteps`` in C; taking a record needs no call."""

    def __init__(self, records: list[AnyRecord]) -> None: ...
    @property
    def last(self) -> AnyRecord | None:
        """See there."""

    def __length_hint__(self) -> int: ...
    def take(self, count: int) -> list[AnyRecord]:
        """See there."""

    def end(self) -> None:
        """See there."""

@final
class Walk:
    """What ``consumer.walk.PureWalk`` is, in C."""

    steps: Steps | None

    def __init__(self, clock: Clock) -> None: ...
    @property
    def lease(self) -> Lease:
        """See there."""

class RecordIterator(Iterator[AnyRecord]):
    """What ``consumer.walk.PureRecordIterator`` is, in C: a loop calls no Python for a record."""

    _walk: Walk

    def __iter__(self) -> Self: ...
    def __next__(self) -> AnyRecord: ...
    def _find_next(self) -> bool:
        """See there; a subclass has it."""

_Binaries = tuple[memoryview | None, memoryview | None, memoryview | None]

def hash_rows(
    first: int,
    count: int,
    offsets: memoryview,
    keys: _Binaries,
    values: _Binaries,
    times: tuple[memoryview | None, memoryview] | None,
    timestamp_types: memoryview,
) -> bytes:
    """Hash rows as Spark's ``xxhash64`` does a message's columns, without the GIL.

    Args:
        first: where the rows begin in every column.
        count: how many rows there are.
        offsets: int64.
        keys: the validity bitmap (None where none is null), the int32 offsets, and the data.
        values: likewise.
        times: the validity bitmap and the int64 microseconds; None to hash as without timestamps.
        timestamp_types: int32.

    Returns:
        An int64 for each row.

    Raises:
        ValueError: a buffer is too short for its column.
    """
