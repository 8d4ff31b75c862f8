"""What can't be written into a batch is refused; traits are fields of its header."""

import struct

import pytest

from tests.support.batches import NOW, records
from tests.support.markers import build_marker
from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.batch_header import BATCH_HEADER, BatchHeader
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.transactions import Marker


def header_of(batch: bytes) -> BatchHeader:
    """Return the header of a batch."""
    return BatchHeader._make(BATCH_HEADER.unpack_from(batch))


def test_traits_are_in_the_header() -> None:
    """Each trait is in its field, attributes in their bits."""
    traits = BatchTraits(
        base_offset=3,
        last_offset=9,
        leader_epoch=4,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
        is_transactional=True,
        delete_horizon_ms=NOW,
    )
    header = header_of(build_batch(records(4, 8), traits=traits))
    assert header[:3] == (3, header.size, 4)
    assert (header.attributes, header.last_offset_delta, header.record_count) == (0x50, 6, 2)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 8)
    assert header[9:12] == (5, 6, 7)
    assert (header.last_offset, header.is_control, header.is_transactional) == (9, False, True)


def test_a_marker_is_a_control_batch_of_a_transaction() -> None:
    """This holds whatever the traits are."""
    header = header_of(build_marker(Marker.COMMIT, 5, timestamp=NOW, traits=BatchTraits()))
    assert (header.is_control, header.is_transactional, header.attributes) == (True, True, 0x30)
    assert (header.base_offset, header.last_offset, header.base_sequence) == (5, 5, -1)


@pytest.mark.parametrize("offsets", [(2, 1), (1, 1), (0, 2**31 + 1), (-1, 0)])
def test_offsets_must_ascend_and_fit(offsets: tuple[int, int]) -> None:
    """They are written as 32-bit deltas from the first."""
    with pytest.raises(LocalProtocolError):
        build_batch(records(*offsets))


@pytest.mark.parametrize(
    "traits",
    [BatchTraits(), BatchTraits(base_offset=5, last_offset=9), BatchTraits(last_offset=3)],
)
def test_bounds_must_enclose_the_records(traits: BatchTraits) -> None:
    """An empty batch needs both bounds; a batch has no record outside of them."""
    some = [] if traits == BatchTraits() else records(4)
    with pytest.raises(LocalProtocolError):
        build_batch(some, traits=traits)


def test_times_too_far_apart_are_refused() -> None:
    """They are written as 64-bit deltas from the first; one more would read as corrupt."""
    ends = [Record(0, None, None, -(2**62), TimestampType.CREATE_TIME)]
    build_batch([*ends, Record(1, None, None, 2**62 - 1, TimestampType.CREATE_TIME)])
    with pytest.raises(LocalProtocolError, match="too far apart in time"):
        build_batch([*ends, Record(1, None, None, 2**62, TimestampType.CREATE_TIME)])


def test_timestamps_must_be_of_one_type() -> None:
    """With append time all must be equal, too."""
    kinds = [TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]
    some = [Record(at, None, None, NOW, kind) for at, kind in enumerate(kinds)]
    with pytest.raises(LocalProtocolError, match="one kind"):
        build_batch(some)
    with pytest.raises(LocalProtocolError, match="one kind"):
        build_batch([Record(at, None, None, NOW + at, kinds[1]) for at in range(2)])


@pytest.mark.parametrize(("marker", "kind"), [(Marker.ABORT, 0), (Marker.COMMIT, 1)])
def test_a_marker_is_a_record_of_the_first_version(marker: Marker, kind: int) -> None:
    """Brokers write it so: version and type as key, version and epoch as value."""
    traits = BatchTraits(producer_id=1, producer_epoch=0)
    built = build_marker(marker, 5, timestamp=NOW, traits=traits, coordinator_epoch=9)
    assert built.endswith(struct.pack(">hh", 0, kind) + b"\x0c" + struct.pack(">hi", 0, 9) + b"\0")
