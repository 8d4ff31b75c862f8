"""The filter of read_committed: which records of which producer are dropped."""

import zlib

import pytest

from tests.support.batches import NOW, decode, of_producer, records, with_body
from tests.support.engines import each_engine
from tests.support.markers import build_marker
from zkconsumer.records.batch_header import BATCH_HEADER
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import (
    CommittedFilter,
    IsolationLevel,
    Marker,
    marker_of,
    readable_end,
)
from zkconsumer.wire.messages.fetch import AbortedTransaction

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")


def batch(producer_id: int, *offsets: int, is_transactional: bool = True) -> bytes:
    """Return a batch of a producer."""
    traits = of_producer(producer_id, is_transactional=is_transactional)
    return build_batch(records(*offsets), traits=traits)


def end(marker: Marker, producer_id: int, offset: int) -> bytes:
    """Return the marker that ends a producer's transaction."""
    return build_marker(marker, offset, timestamp=NOW, traits=of_producer(producer_id))


def abort(producer_id: int, offset: int) -> bytes:
    """Return the marker of an aborted transaction."""
    return end(Marker.ABORT, producer_id, offset)


def commit(producer_id: int, offset: int) -> bytes:
    """Return the marker of a committed transaction."""
    return end(Marker.COMMIT, producer_id, offset)


def seen(data: bytes, *aborted: tuple[int, int], fetch_offset: int = 0) -> list[int]:
    """Return the offsets that a read_committed reader gets."""
    some = [
        AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
        for producer_id, first_offset in aborted
    ]
    decoded = decode(data, fetch_offset, aborted=some)
    assert decoded.error is None
    return [record.offset for record in decoded.records]


OF_SEVEN = AbortedTransaction(producer_id=7, first_offset=0)
ONE_ABORTED = batch(7, 0, 1) + batch(8, 2) + batch(7, 3) + abort(7, 4) + commit(8, 5) + batch(7, 6)


def test_an_aborted_transaction_is_dropped_up_to_its_marker() -> None:
    """Records of others in between, and of the same producer after the marker, are returned."""
    assert seen(ONE_ABORTED, (7, 0)) == [2, 6]


def test_read_uncommitted_returns_all_but_markers() -> None:
    """With read_uncommitted the list of aborted transactions is ignored."""
    decoded = decode(ONE_ABORTED)
    assert [record.offset for record in decoded.records] == [0, 1, 2, 3, 6]
    assert decoded.next_offset == 7


def test_a_dropped_batch_moves_the_position() -> None:
    """A response with only aborted records is progress."""
    decoded = decode(batch(7, 0, 1), aborted=[OF_SEVEN])
    assert (list(decoded.records), decoded.next_offset, decoded.error) == ([], 2, None)


def test_a_dropped_batch_is_not_decompressed() -> None:
    """It needs no free bytes, and no known codec."""
    data = build_batch(records(0, 1), codec=Codec.GZIP, traits=of_producer(7))
    decoded = decode(data, room=0, aborted=[OF_SEVEN])
    assert (decoded.error, decoded.next_offset) == (None, 2)


def left_to_python(producer_id: int, offset: int) -> bytes:
    """Return a batch that the native core leaves to Python: its gzip header has a checksum."""
    data = build_batch(records(offset), codec=Codec.GZIP, traits=of_producer(producer_id))
    head = b"\x1f\x8b\x08\x02\x00\x00\x00\x00\x00\x03"
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    return with_body(data, head + data[BATCH_HEADER.size + 10 :])


def test_a_batch_decoded_in_python_does_not_end_an_aborted_transaction() -> None:
    """Open transactions stay open after it, and those that begin later are dropped."""
    data = batch(7, 0) + left_to_python(8, 1) + batch(7, 2) + batch(9, 3) + abort(9, 4)
    assert seen(data, (7, 0), (9, 3)) == [1]
    assert seen(data, (7, 0)) == [1, 3]
    assert seen(data, (9, 3)) == [0, 1, 2]
    assert seen(data, (8, 1)) == [0, 2, 3]


def test_a_producer_can_abort_again() -> None:
    """Its transactions follow each other, some committed; each has its own first offset."""
    data = batch(7, 0) + abort(7, 1) + batch(7, 2) + commit(7, 3) + batch(7, 4) + abort(7, 5)
    assert seen(data, (7, 4), (7, 0)) == [2]


def test_a_batch_outside_of_transactions_is_never_dropped() -> None:
    """An idempotent producer has an id, too; without an id there are no transactions."""
    data = batch(7, 0) + batch(7, 1, is_transactional=False) + build_batch(records(2))
    assert seen(data, (7, 0)) == [1, 2]


def test_a_transaction_that_begins_inside_of_a_batch_drops_it() -> None:
    """Compaction may move a batch's first offset below that of the transaction's first record."""
    traits = BatchTraits(base_offset=0, last_offset=9, producer_id=7, is_transactional=True)
    assert seen(build_batch(records(5), traits=traits), (7, 5)) == []


def test_markers_below_the_fetch_offset_count() -> None:
    """A set may begin before the fetch offset: transactions that ended there have ended."""
    data = batch(7, 0) + abort(7, 1) + batch(7, 2)
    assert seen(data, (7, 0), fetch_offset=2) == [2]


def test_a_marker_of_another_kind_ends_nothing() -> None:
    """Neither does one that compaction emptied; both are skipped."""
    traits = BatchTraits(base_offset=1, last_offset=1, producer_id=7, is_control=True)
    data = batch(7, 0) + build_batch([], traits=traits) + end(Marker.OTHER, 7, 2) + batch(7, 3)
    assert seen(data, (7, 0)) == []


def test_control_batches_without_a_producer_are_skipped() -> None:
    """The leaders of a metadata log write such batches."""
    data = build_marker(Marker.COMMIT, 0, timestamp=NOW, traits=BatchTraits())
    assert seen(data + batch(7, 1)) == [1]


def test_a_response_without_a_list_drops_nothing() -> None:
    """A broker sends null if there is no list."""
    keeps = CommittedFilter(None)
    assert repr(keeps) == "CommittedFilter(open=[], to_come=[])"
    assert seen(batch(7, 0)) == [0]


@pytest.mark.parametrize(
    ("key", "marker"),
    [
        ("00000000", Marker.ABORT),
        ("00000001", Marker.COMMIT),
        ("00000002", Marker.OTHER),
        ("0001000000", Marker.ABORT),
        ("0000ffff", Marker.OTHER),
    ],
)
def test_the_key_of_a_marker_has_its_type(key: str, marker: Marker) -> None:
    """It has a version and a type; later versions may append fields."""
    assert marker_of(bytes.fromhex(key)) is marker


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_an_invalid_key_of_a_marker_is_refused(key: bytes | None) -> None:
    """It is too short, or has an impossible version."""
    with pytest.raises(ValueError, match="control record"):
        marker_of(key)


def test_the_readable_end_depends_on_the_isolation_level() -> None:
    """It is the last stable offset or the high watermark, by isolation level; -1 means unknown."""
    committed, every = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
    assert readable_end(high_watermark=9, last_stable_offset=5, isolation=committed) == 5
    assert readable_end(high_watermark=9, last_stable_offset=5, isolation=every) == 9
    assert readable_end(high_watermark=9, last_stable_offset=0, isolation=committed) == 0
    assert readable_end(high_watermark=9, last_stable_offset=-1, isolation=committed) is None
    assert readable_end(high_watermark=-1, last_stable_offset=0, isolation=every) is None
