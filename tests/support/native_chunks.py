"""Native chunks for tests: record sets put into a queue, as a native fetch loop does."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.support.record_sets import records
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.budget import ByteBudget

if TYPE_CHECKING:
    from zkconsumer.native._core import Lease, NativeCursor, Runs, Wakeup
    from zkconsumer.streams.queues import NativeChunkQueue


def native_queue(max_chunks: int = 1_000, share_bytes: int | None = None) -> "NativeChunkQueue":
    """Return a queue that does not share its budget."""
    module = import_module("zkconsumer.streams.queues")
    budget = None if share_bytes is None else ByteBudget(share_bytes)
    made: NativeChunkQueue = module.NativeChunkQueue(max_chunks, budget)
    return made


def new_wakeup() -> "Wakeup":
    """Return a wakeup that is not set."""
    made: Wakeup = import_module("zkconsumer.native._core").Wakeup()
    return made


def cursor(
    *, consumes_delivered: bool = False, lease: "Lease | None" = None
) -> "NativeCursor[bytes, bytes]":
    """Return an empty native cursor without decoders."""
    core = import_module("zkconsumer.native._core")
    made: NativeCursor[bytes, bytes] = core.NativeCursor(
        consumes_delivered=consumes_delivered,
        lease=core.Lease(SystemClock()) if lease is None else lease,
        key_decoder=None,
        value_decoder=None,
    )
    return made


def cursor_on(
    claim: PartitionClaim,
    data: bytes,
    fetch_offset: int = 0,
    *,
    key_decoder: Callable[[bytes], Any] | None = None,
    value_decoder: Callable[[bytes], Any] | None = None,
) -> "NativeCursor[Any, Any]":
    """Return a native cursor before the messages of a record set."""
    core = import_module("zkconsumer.native._core")
    queue = native_queue()
    assert queue.native.put_set(claim, data, fetch_offset) is None
    made: NativeCursor[Any, Any] = core.NativeCursor(
        consumes_delivered=False,
        lease=core.Lease(SystemClock()),
        key_decoder=key_decoder,
        value_decoder=value_decoder,
    )
    made.chunk = queue.head(0)
    return made


def set_of(offsets: Iterable[int]) -> bytes:
    """Return a record set as a broker sends it; see ``record_sets.records``."""
    return build_message_set(records(*offsets))


def put(
    queue: "NativeChunkQueue",
    claim: PartitionClaim,
    offsets: Iterable[int],
    signal: "Wakeup | None" = None,
) -> int | None:
    """Put a native chunk; return None, or the first offset that did not fit."""
    offsets = list(offsets)
    first = offsets[0] if offsets else 0
    return queue.native.put_set(claim, set_of(offsets), first, signal)


def offsets_in(item: object) -> list[int]:
    """Return the offsets of a chunk's records, native or not."""
    assert isinstance(item, Chunk)
    return [record.offset for record in item.records]


def native_records(item: object) -> "Runs":
    """Return the records of a native chunk as they are stored."""
    assert isinstance(item, Chunk)
    runs: type[Runs] = import_module("zkconsumer.native._core").Runs
    assert isinstance(item.records, runs)
    return item.records
