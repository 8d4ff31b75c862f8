"""Offsets in two places: what counts, and what is committed."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.support.offset_bench import T0, T1, T2
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import RegistryError, TransportError
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.offsets.dual import DualOffsetStore, larger
from zkconsumer.offsets.store import CommittedFurther, FetchedOffset

NONE = FetchedOffset(None)
BAD = FetchedOffset(None, "bad")
WORSE = FetchedOffset(None, "worse")
OFFSETS = {T0: OffsetAndMetadata(10), T1: OffsetAndMetadata(11)}

fetched_offsets = some.builds(
    FetchedOffset, some.none() | some.integers(0, 3), some.just(None)
) | some.builds(FetchedOffset, some.just(None), some.sampled_from(["bad", "worse"]))


@pytest.fixture
def kafka() -> ScriptedOffsets:
    """The store that is committed to first, and forgets."""
    return ScriptedOffsets("kafka", expires=True)


@pytest.fixture
def zookeeper() -> ScriptedOffsets:
    """The store that gets what the other accepted."""
    return ScriptedOffsets("zookeeper")


@pytest.fixture
def both(kafka: ScriptedOffsets, zookeeper: ScriptedOffsets) -> DualOffsetStore:
    """The two in one."""
    return DualOffsetStore(kafka, zookeeper)


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        (NONE, NONE, NONE),
        (FetchedOffset(5), NONE, FetchedOffset(5)),
        (FetchedOffset(0), NONE, FetchedOffset(0)),
        (FetchedOffset(5), FetchedOffset(7), FetchedOffset(7)),
        (BAD, FetchedOffset(7), FetchedOffset(7)),
        (BAD, NONE, BAD),
        (BAD, WORSE, FetchedOffset(None, "bad; worse")),
    ],
)
def test_the_larger_offset_counts(
    one: FetchedOffset, other: FetchedOffset, counts: FetchedOffset
) -> None:
    """An error where nothing else is known is no "none": that would skip or repeat everything."""
    assert larger(one, other) == counts
    if counts.error != "bad; worse":
        assert larger(other, one) == counts


@given(fetched_offsets, fetched_offsets)
def test_nothing_that_was_committed_is_passed_over(
    one: FetchedOffset, other: FetchedOffset
) -> None:
    """The answer is one of the committed offsets if there is any, and none only if both say so."""
    counts = larger(one, other)
    offsets = {migrated.offset for migrated in (one, other)} - {None}
    assert counts.offset in (offsets or {None})
    assert all(
        counts.offset >= offset
        for offset in offsets
        if offset is not None and counts.offset is not None
    )
    assert (counts == NONE) == (one == other == NONE)


def test_fetch_asks_both(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """Partition by partition: a group in the middle of its move is ahead here or there."""
    kafka.kept = {T0: 5, T1: 6}
    zookeeper.kept = {T0: 9, T2: 1}
    kafka.unreadable = {T2: "away"}
    assert both.fetch([T0, T1, T2]) == {
        T0: FetchedOffset(9),
        T1: FetchedOffset(6),
        T2: FetchedOffset(1),
    }


def test_a_store_that_can_not_be_read_at_all_is_an_error(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """The rebalance tries again; starting from the other alone could repeat days of messages."""
    zookeeper.kept = kafka.kept = {T0: 5}
    zookeeper.broken = RegistryError("zookeeper away")
    with pytest.raises(RegistryError):
        both.fetch([T0])
    kafka.broken = TransportError("kafka away")
    with pytest.raises(TransportError):
        both.fetch([T0])


def test_what_is_committed_is_in_both(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """Flags are passed on."""
    assert both.commit(OFFSETS, retry=True) == {T0: None, T1: None}
    assert both.commit({T0: OffsetAndMetadata(3)}, rewind=True) == {T0: None}
    assert kafka.kept == zookeeper.kept == {T0: 3, T1: 11}
    assert (
        kafka.commits
        == zookeeper.commits
        == [
            ({T0: 10, T1: 11}, True, False),
            ({T0: 3}, False, True),
        ]
    )


def test_zookeeper_gets_only_what_kafka_accepted(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """So that it is never ahead; the reason says which one refused."""
    kafka.refused = {T1: "too long"}
    assert both.commit(OFFSETS) == {
        T0: None,
        T1: "not in Kafka, and so not in ZooKeeper: too long",
    }
    assert zookeeper.kept == {T0: 10}


def test_one_that_only_kafka_has_is_not_committed(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """The next commit writes it again; the reason says which one lacks it."""
    zookeeper.refused = {T0: "not yours"}
    assert both.commit(OFFSETS) == {
        T0: "in Kafka, but not in ZooKeeper: not yours",
        T1: None,
    }
    assert kafka.kept == {T0: 10, T1: 11}


def test_zookeeper_that_does_not_answer_fails_each_partition_that_kafka_has(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """Something is known: Kafka has them."""
    zookeeper.broken = RegistryError("away")
    kafka.refused = {T1: "too long"}
    assert both.commit(OFFSETS) == {
        T0: "in Kafka, but not in ZooKeeper: away",
        T1: "not in Kafka, and so not in ZooKeeper: too long",
    }


def test_kafka_that_does_not_answer_leaves_zookeeper_alone(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """Nothing is known: an error of the whole call."""
    kafka.broken = TransportError("away")
    with pytest.raises(TransportError):
        both.commit(OFFSETS)
    assert zookeeper.commits == []


def test_it_expires_as_soon_as_one_does(both: DualOffsetStore) -> None:
    """Unchanged offsets must be committed again, or Kafka's part is forgotten."""
    assert (both.storage, both.expires) == ("both", True)
    assert not DualOffsetStore(ScriptedOffsets(), ScriptedOffsets()).expires


@pytest.mark.parametrize("reason", ["not yours", CommittedFurther("at 700")])
def test_only_who_went_further_is_told_as_having_gone_further(
    both: DualOffsetStore, zookeeper: ScriptedOffsets, reason: str
) -> None:
    """A stream drops what somebody else was handed; what failed otherwise it keeps."""
    zookeeper.refused = {T0: reason}
    reported = both.commit(OFFSETS)[T0]
    assert reported == f"in Kafka, but not in ZooKeeper: {reason}"
    assert isinstance(reported, CommittedFurther) == isinstance(reason, CommittedFurther)
