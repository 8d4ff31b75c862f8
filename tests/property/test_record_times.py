"""The timestamp of the record at an offset, from any response of a leader."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.status.reading.record_times import RecordTimeFetch, time_at
from zkconsumer.wire.messages.fetch import FetchedPartition

OFFSETS = st.lists(st.integers(0, 200), min_size=1, max_size=8, unique=True).map(sorted)


@given(
    offsets=OFFSETS,
    wanted=st.integers(0, 220),
    magic=st.sampled_from([1, 2]),
    codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
    cut=st.integers(0, 40),
    data=st.data(),
)
def test_the_timestamp_is_that_of_the_first_record_from_the_offset_on(
    *, offsets: list[int], wanted: int, magic: int, codec: Codec, cut: int, data: st.DataObject
) -> None:
    """It is if the record came completely, and otherwise there is none."""
    times = {offset: data.draw(st.integers(0, 2**40)) for offset in offsets}
    records = [
        Record(offset, None, b"v", times[offset], TimestampType.CREATE_TIME) for offset in offsets
    ]
    if magic == 2:
        whole = build_batch(records, codec=codec)
    else:
        whole = build_message_set(records, magic=1, codec=codec)
    served = whole[: len(whole) - min(cut, len(whole))]
    response = FetchedPartition(
        partition=0, error_code=0, high_watermark=300, records=memoryview(served)
    )
    reported = time_at(response, RecordTimeFetch(wanted, 2**20, alone=True))
    right = next((times[offset] for offset in offsets if offset >= wanted), None)
    if isinstance(reported, int):
        assert reported == right
    elif not cut:
        assert right is None
        assert reported is None or reported.offset > offsets[-1]
