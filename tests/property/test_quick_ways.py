"""The fast paths for uncompressed messages change nothing: sets decode as without them."""

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
    """Draw messages of equal and of different sizes, and some that fast paths don't support."""
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


def no_fast_path(_data: bytes, position: int, _gathered: Gathered) -> int:
    """Read nothing, in place of a fast path."""
    return position


def check_both_paths(data: bytes, fetch_offset: int) -> None:
    """Decode with the fast paths and without, and compare the results."""
    quick = decode_record_set(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
    with (
        patch.object(legacy, "read_unkeyed", no_fast_path),
        patch.object(legacy, "read_keyed", no_fast_path),
    ):
        slow = decode_record_set(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
    assert set_facts(quick) == set_facts(slow)


@settings(max_examples=examples(300), deadline=None)
@given(sets(), st.integers(-3, 12), st.data())
def test_nothing_changes_whatever_the_messages(
    whole: bytes, fetch_offset: int, data: st.DataObject
) -> None:
    """Valid sets decode alike, complete or truncated, from any fetch offset."""
    check_both_paths(whole, fetch_offset)
    check_both_paths(whole[: data.draw(st.integers(0, len(whole)))], fetch_offset)


@settings(max_examples=examples(300), deadline=None)
@given(sets(), st.integers(0, 12), st.data())
def test_nothing_changes_whatever_the_damage(
    whole: bytes, fetch_offset: int, data: st.DataObject
) -> None:
    """Bits, sizes and offsets may be wrong although the CRCs are right."""
    check_both_paths(data.draw(damaged(whole)), fetch_offset)


@settings(max_examples=examples(100), deadline=None)
@given(sets(), COMPRESSING, st.integers(0, 12), st.data())
def test_nothing_changes_inside_a_wrapper(
    whole: bytes, codec: Codec, fetch_offset: int, data: st.DataObject
) -> None:
    """The fast paths are used there, too."""
    inner = data.draw(damaged(whole)) if data.draw(st.booleans()) else whole
    wrapper = wrap_message_set(inner, offset=data.draw(st.integers(0, 12)), codec=codec)
    check_both_paths(wrapper + whole, fetch_offset)
