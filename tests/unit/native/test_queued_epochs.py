"""The leader epoch of a chunk that a pump queued belongs to the offset after it (KIP-320)."""

import pytest

from tests.support.chunks import claim_of
from tests.support.engines import needs_native
from tests.support.markers import build_marker
from tests.support.native_chunks import native_queue
from tests.support.polled import TP, batch
from zkconsumer.records.build_batch import BatchTraits
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.transactions import Marker

pytestmark = needs_native

_MARKER = build_marker(
    Marker.COMMIT, 3, timestamp=1, traits=BatchTraits(leader_epoch=5, producer_id=1)
)


@pytest.mark.parametrize(
    ("data", "first"),
    [
        pytest.param(batch(0, 3, epoch=2) + batch(3, 1, epoch=5), 0, id="records"),
        pytest.param(batch(0, 3, epoch=2) + _MARKER, 0, id="a marker at the end"),
        pytest.param(_MARKER, 3, id="a marker alone"),
    ],
)
def test_a_chunk_ends_with_the_epoch_of_its_last_entry(data: bytes, first: int) -> None:
    """As a set that Python decodes; an older epoch ends before, so the log would seem truncated."""
    queue = native_queue().native
    queue.put_set(claim_of(TP), data, first)
    taken = queue.take_chunk()
    assert taken is not None
    wanted = decode_record_set(data, fetch_offset=first, max_decompressed_bytes=1 << 20)
    _, next_offset, epoch, _, _ = taken
    assert (next_offset, epoch) == (wanted.next_offset, wanted.last_leader_epoch) == (4, 5)
