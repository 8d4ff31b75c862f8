"""The strategies' own bytes against those of Kafka, and what strangers send instead."""

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


def test_sticky_bytes_are_kafkas() -> None:
    """No version in front."""
    assert sticky_data(tps("t", 2, 0), 7) == STICKY_V1
    assert read_sticky_data(STICKY_V1) == (tps("t", 0, 2), 7)


def test_old_members_tell_no_generation() -> None:
    """Sticky user data of version 0 has no generation."""
    assert read_sticky_data(STICKY_V0) == (tps("t", 0, 2), -1)


@pytest.mark.parametrize("data", [None, b"", b"\x00", b"\xff" * 20, STICKY_V1[:-6]])
def test_what_cannot_be_read_says_nothing(data: bytes | None) -> None:
    """A stranger's bytes stop nobody."""
    assert read_sticky_data(data) == (frozenset(), -1)


@given(partitions, generations)
def test_sticky_there_and_back(remembered: frozenset[TopicPartition], generation: int) -> None:
    """What was written is read."""
    assert read_sticky_data(sticky_data(remembered, generation)) == (remembered, generation)


@given(st.binary(max_size=40))
def test_any_bytes_are_read(data: bytes) -> None:
    """User data of any bytes raises no error."""
    read_sticky_data(data)
    read_cooperative_data(data)


@given(generations)
def test_cooperative_there_and_back(generation: int) -> None:
    """The generation is encoded in four bytes."""
    data = cooperative_data(generation)
    assert (len(data), read_cooperative_data(data)) == (4, generation)
    assert read_cooperative_data(None) == -1


@given(partitions)
def test_partitions_there_and_back(some: frozenset[TopicPartition]) -> None:
    """As the embedded protocol has them."""
    assert from_wire(to_wire(some)) == some


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
def test_changed(now: dict[str, tuple[int, ...]], *, expected: bool) -> None:
    """A topic that is missing may just not have been asked for."""
    assert changed({"t": (0, 1), "u": ()}, now) is expected
