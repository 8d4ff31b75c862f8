"""Fetched records that wait, and the slices that are taken from them."""

from dataclasses import replace

import pytest

from tests.support.batches import NOW, ROOM, of_producer, records
from tests.support.fetched_decoders import FetchedDecoder
from tests.support.markers import build_marker
from zkconsumer.errors import CorruptRecord
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely
from zkconsumer.records.slices import FetchedRecords, RecordSlice
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import AbortedTransaction

ORIGIN = RecordOrigin(TopicPartition("clicks", 3))
engines = pytest.mark.parametrize("decode", [decode_purely, decode_fetched], ids=["pure", "engine"])


def marker(kind: Marker, offset: int, leader_epoch: int = -1) -> bytes:
    """Return the end of a transaction of producer 9."""
    traits = replace(of_producer(9), leader_epoch=leader_epoch)
    return build_marker(kind, offset, timestamp=NOW, traits=traits)


def fetched(decode: FetchedDecoder, data: bytes, fetch_offset: int = 0) -> FetchedRecords:
    """Decode with a limit that no small batch reaches."""
    return decode(data, fetch_offset=fetch_offset, max_decompressed_bytes=ROOM)


@engines
def test_slices_are_taken_from_the_front(decode: FetchedDecoder) -> None:
    """Slices span batches, in order, with each record once."""
    data = build_batch(records(1, 2, 3)) + build_batch(records(7, 8))
    whole = fetched(decode, data, 2)
    assert (len(whole), whole.first_offset, whole.last_offset) == (4, 2, 8)
    first = whole.take(1)
    assert (len(first), first.first_offset, first.next_offset) == (1, 2, 3)
    second = whole.take(2)
    assert (len(second), second.first_offset, second.next_offset) == (2, 3, 8)
    assert (len(whole), whole.first_offset) == (1, 8)
    last = whole.take(500)
    assert [record.offset for record in last.records(ORIGIN)] == [8]
    assert (len(whole), whole.first_offset, whole.last_offset) == (0, None, None)
    assert [record.offset for record in first.records(ORIGIN)] == [2]
    assert [record.offset for record in second.records(ORIGIN)] == [3, 7]


@engines
def test_the_last_slice_ends_after_all_that_was_read(decode: FetchedDecoder) -> None:
    """This includes markers, and their leader epoch."""
    data = build_batch(records(1, 2), traits=BatchTraits(leader_epoch=3, last_offset=5))
    data += marker(Marker.COMMIT, 6, leader_epoch=4)
    whole = fetched(decode, data)
    assert (whole.next_offset, whole.last_leader_epoch) == (7, 4)
    first = whole.take(1)
    assert (first.next_offset, first.leader_epoch) == (2, 3)
    second = whole.take(1)
    assert (second.next_offset, second.leader_epoch) == (7, 4)
    nothing = whole.take(1)
    assert (len(nothing), nothing.first_offset, nothing.next_offset) == (0, 7, 7)
    assert nothing.records(ORIGIN) == []


@engines
def test_the_position_moves_without_records(decode: FetchedDecoder) -> None:
    """The set has only markers, or an aborted transaction."""
    data = build_batch(records(4, 5), traits=of_producer(9))
    data += marker(Marker.ABORT, 6)
    whole = decode(
        data,
        fetch_offset=4,
        max_decompressed_bytes=ROOM,
        isolation=IsolationLevel.READ_COMMITTED,
        aborted=[AbortedTransaction(producer_id=9, first_offset=4)],
    )
    assert (len(whole), whole.first_offset, whole.next_offset) == (0, None, 7)
    assert whole.take(3).next_offset == 7
    assert not fetched(decode, b"")
    assert fetched(decode, b"", 12).take(1).next_offset == 12


@engines
def test_taking_nothing_changes_nothing(decode: FetchedDecoder) -> None:
    """Neither does a negative count."""
    whole = fetched(decode, build_batch(records(4, 5)))
    for count in (0, -3):
        nothing = whole.take(count)
        assert (len(nothing), nothing.first_offset, nothing.next_offset) == (0, 4, 4)
        assert nothing.parts() == []
    assert len(whole.take(2)) == 2


@engines
def test_each_record_has_its_own_epoch_and_headers(decode: FetchedDecoder) -> None:
    """This holds wherever the slices begin and end."""
    data = build_message_set(records(1, 2), magic=1)
    data += build_batch(
        records(3, 4, 5), headers={1: (("h", b"4"),)}, traits=BatchTraits(leader_epoch=0)
    )
    data += build_batch(records(6), headers={0: (("h", b"6"),)}, traits=BatchTraits(leader_epoch=2))
    for step in (1, 2, 3, 10):
        whole = fetched(decode, data)
        found, pairs = [], []
        while whole:
            taken = whole.take(step)
            found += taken.records(ORIGIN)
            headers = taken.headers()
            pairs += [
                (record.leader_epoch, list(headers.get(index, ())))
                for index, record in enumerate(taken.records(ORIGIN))
            ]
        assert [record.leader_epoch for record in found] == [-1, -1, 0, 0, 0, 2]
        assert [record.headers for record in found] == [
            [],
            [],
            [],
            [("h", b"4")],
            [],
            [("h", b"6")],
        ]
        assert pairs == [(record.leader_epoch, record.headers) for record in found]


@engines
def test_sizes_are_those_of_keys_and_values(decode: FetchedDecoder) -> None:
    """This holds for both engines, and however the records are stored."""
    some = records(3, 4)
    whole = fetched(decode, build_batch(some))
    assert whole.memory_bytes > 0
    for record in some:
        assert whole.take(1).size_bytes == len(record.key or b"") + len(record.value or b"")


@engines
def test_an_error_follows_the_records_before_it(decode: FetchedDecoder) -> None:
    """They can be taken, and the position after them is that of the error."""
    bad = bytearray(build_batch(records(6, 7)))
    bad[-1] ^= 1
    whole = fetched(decode, build_batch(records(4, 5)) + bytes(bad))
    assert isinstance(whole.error, CorruptRecord)
    assert (len(whole), whole.next_offset) == (2, 6)
    assert whole.take(9).next_offset == 6


@engines
def test_the_size_of_a_truncated_set_is_returned(decode: FetchedDecoder) -> None:
    """Other readers report it the same way."""
    data = build_batch(records(6, 7))
    whole = fetched(decode, data[:-1], 6)
    assert (len(whole), whole.next_offset, whole.valid_bytes) == (0, 6, 0)
    assert whole.first_entry_size_bytes == len(data)
    assert fetched(decode, data).valid_bytes == len(data)


@engines
def test_joined_slices_are_one_slice(decode: FetchedDecoder) -> None:
    """Indexes of headers and epochs count through all of them."""
    epochs = (3, 3, 4)
    slices = [
        fetched(
            decode,
            build_batch(
                records(first, first + 1),
                headers={1: (("h", b"%d" % first),)},
                traits=BatchTraits(leader_epoch=epoch),
            ),
            first,
        ).take(2)
        for first, epoch in zip((1, 3, 5), epochs, strict=True)
    ]
    assert RecordSlice.joined(slices[:1]) is slices[0]
    whole = RecordSlice.joined(slices)
    assert (len(whole), whole.first_offset) == (6, 1)
    assert (whole.next_offset, whole.leader_epoch) == (7, 4)
    assert whole.size_bytes == sum(records.size_bytes for records in slices)
    assert [record.offset for record in whole.records(ORIGIN)] == [1, 2, 3, 4, 5, 6]
    assert [row[0] for part in whole.parts() for row in part] == [1, 2, 3, 4, 5, 6]
    assert dict(whole.headers()) == {at: (("h", b"%d" % at),) for at in (1, 3, 5)}
    assert [record.leader_epoch for record in whole.records(ORIGIN)] == [3, 3, 3, 3, 4, 4]
