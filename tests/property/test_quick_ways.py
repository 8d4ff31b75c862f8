"""The quick ways through plain messages change nothing: sets decode as they do without them."""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_native_decode import damaged
from tests.support.engines import set_facts
from tests.support.shares import examples
from zkconsumer.model import Record
from zkconsumer.records import legacy
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.entries import Gathered

SIZES = st.sampled_from([0, 1, 2, 40, 40, 100, 2033, 2034, 2035])
STEPS = st.sampled_from([1, 1, 1, 1, 2, 7, 0, -1, -5])
KEYS = st.sampled_from([None, None, None, b"", b"k"])
MAGICS = st.sampled_from([0, 0, 0, 1])
COMPRESSING = st.sampled_from([Codec.GZIP, Codec.SNAPPY])


@st.composite
def sets(draw: st.DrawFn) -> bytes:
    """Draw rows of messages of one size, messages of any, and some that they leave."""
    data, offset = b"", draw(st.integers(0, 9))
    for _ in range(draw(st.integers(1, 5))):
        part: list[Record] = []
        key, size, is_null = draw(KEYS), draw(SIZES), draw(st.integers(0, 9)) == 0
        step, is_alike = draw(STEPS), draw(st.booleans())
        for _ in range(draw(st.integers(1, 5))):
            if not is_alike:
                key, size, step = draw(KEYS), draw(SIZES), draw(STEPS)
            offset = max(0, offset + step)
            value = None if is_null else bytes([offset % 256]) * size
            part.append(Record(offset, key, value))
        data += build_message_set(part, magic=draw(MAGICS))
    return data


def slow_way(_data: bytes, position: int, _gathered: Gathered) -> int:
    """Read nothing."""
    return position


def decoded_both_ways(data: bytes, fetch_offset: int) -> None:
    """Decode with them and without, and compare all that came of it."""
    quick = decode_record_set(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
    with (
        patch.object(legacy, "read_unkeyed", slow_way),
        patch.object(legacy, "read_keyed", slow_way),
    ):
        slow = decode_record_set(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
    assert set_facts(quick) == set_facts(slow)


@settings(max_examples=examples(300), deadline=None)
@given(sets(), st.integers(-3, 12), st.data())
def test_nothing_changes_whatever_the_messages(
    whole: bytes, fetch_offset: int, data: st.DataObject
) -> None:
    """Sound sets, whole and cut off anywhere, from any offset on."""
    decoded_both_ways(whole, fetch_offset)
    decoded_both_ways(whole[: data.draw(st.integers(0, len(whole)))], fetch_offset)


@settings(max_examples=examples(300), deadline=None)
@given(sets(), st.integers(0, 12), st.data())
def test_nothing_changes_whatever_the_damage(
    whole: bytes, fetch_offset: int, data: st.DataObject
) -> None:
    """Bits, sizes and offsets may be wrong, and CRCs right all the same."""
    decoded_both_ways(data.draw(damaged(whole)), fetch_offset)


@settings(max_examples=examples(100), deadline=None)
@given(sets(), COMPRESSING, st.integers(0, 12), st.data())
def test_nothing_changes_inside_of_a_wrapper(
    whole: bytes, codec: Codec, fetch_offset: int, data: st.DataObject
) -> None:
    """There they are taken, too."""
    inner = data.draw(damaged(whole)) if data.draw(st.booleans()) else whole
    wrapper = wrap_message_set(inner, offset=data.draw(st.integers(0, 12)), codec=codec)
    decoded_both_ways(wrapper + whole, fetch_offset)
