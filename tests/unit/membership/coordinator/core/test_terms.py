"""The strategies' user data compared with Kafka's, and malformed user data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.group_members import tps
from zkconsumer.membership.coordinator.core.terms import (
    changed,
    cooperative_data,
    from_wire,
    read_cooperative_data,
    read_sticky_data,
    sticky_data,
    to_wire,
)
from zkconsumer.model import TopicPartition

partitions = st.frozensets(
    st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 9)), max_size=8
)
generations = st.integers(-1, 2**31 - 1)

# Kafka's StickyAssignor: topics, partitions, then the generation (KIP-341).
STICKY_V1 = bytes.fromhex("00000001 0001 74 00000002 00000000 00000002 00000007".replace(" ", ""))
STICKY_V0 = STICKY_V1[:-4]


def test_sticky_user_data_is_kafkas() -> None:
    """The format has no version number in front."""
    assert sticky_data(tps("t", 2, 0), 7) == STICKY_V1
    assert read_sticky_data(STICKY_V1) == (tps("t", 0, 2), 7)


def test_old_members_have_no_generation() -> None:
    """Version 0 of sticky's user data has no generation."""
    assert read_sticky_data(STICKY_V0) == (tps("t", 0, 2), -1)


@pytest.mark.parametrize("data", [None, b"", b"\x00", b"\xff" * 20, STICKY_V1[:-6]])
def test_unreadable_user_data_is_ignored(data: bytes | None) -> None:
    """Malformed user data of another client counts as none."""
    assert read_sticky_data(data) == (frozenset(), -1)


@given(partitions, generations)
def test_sticky_user_data_round_trips(
    remembered: frozenset[TopicPartition], generation: int
) -> None:
    """Decoding returns what was encoded."""
    assert read_sticky_data(sticky_data(remembered, generation)) == (remembered, generation)


@given(st.binary(max_size=40))
def test_any_bytes_can_be_read(data: bytes) -> None:
    """User data of any bytes raises no error."""
    read_sticky_data(data)
    read_cooperative_data(data)


@given(generations)
def test_cooperative_user_data_round_trips(generation: int) -> None:
    """The generation is encoded in four bytes."""
    data = cooperative_data(generation)
    assert (len(data), read_cooperative_data(data)) == (4, generation)
    assert read_cooperative_data(None) == -1


@given(partitions)
def test_partitions_round_trip(original: frozenset[TopicPartition]) -> None:
    """Decoding returns what was encoded, in the embedded protocol's form."""
    assert from_wire(to_wire(original)) == original


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"t": (0, 1)}, False),
        ({}, False),
        ({"t": (0, 1, 2)}, True),
        ({"t": (0, 1), "u": (0,)}, True),
        ({"t": (0, 1), "u": ()}, False),
    ],
)
def test_a_change_of_topics_is_noticed(now: dict[str, tuple[int, ...]], *, expected: bool) -> None:
    """A topic that is missing may just not have been requested."""
    assert changed({"t": (0, 1), "u": ()}, now) is expected
