"""Offsets in two stores: which one counts, and what is committed."""

import pytest
from hypothesis import given, strategies

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

fetched_offsets = strategies.builds(
    FetchedOffset, strategies.none() | strategies.integers(0, 3), strategies.just(None)
) | strategies.builds(
    FetchedOffset, strategies.just(None), strategies.sampled_from(["bad", "worse"])
)


@pytest.fixture
def kafka() -> ScriptedOffsets:
    """The store that is committed to first, and whose offsets expire."""
    return ScriptedOffsets("kafka", expires=True)


@pytest.fixture
def zookeeper() -> ScriptedOffsets:
    """The store that gets what the other accepted."""
    return ScriptedOffsets("zookeeper")


@pytest.fixture
def both(kafka: ScriptedOffsets, zookeeper: ScriptedOffsets) -> DualOffsetStore:
    """Both stores as one."""
    return DualOffsetStore(kafka, zookeeper)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
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
    first: FetchedOffset, second: FetchedOffset, expected: FetchedOffset
) -> None:
    """An unreadable offset does not count as none, which would skip or repeat everything."""
    assert larger(first, second) == expected
    if expected.error != "bad; worse":
        assert larger(second, first) == expected


@given(fetched_offsets, fetched_offsets)
def test_no_committed_offset_is_ignored(first: FetchedOffset, second: FetchedOffset) -> None:
    """It is one of the committed offsets if there is any, and none only if neither has one."""
    counted = larger(first, second)
    offsets = {migrated.offset for migrated in (first, second)} - {None}
    assert counted.offset in (offsets or {None})
    assert all(
        counted.offset >= offset
        for offset in offsets
        if offset is not None and counted.offset is not None
    )
    assert (counted == NONE) == (first == second == NONE)


def test_fetch_reads_both_stores(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """It is decided by partition: during its migration a group may be ahead in either store."""
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
    """The rebalance is retried; starting from the other store could repeat days of messages."""
    zookeeper.kept = kafka.kept = {T0: 5}
    zookeeper.broken = RegistryError("zookeeper away")
    with pytest.raises(RegistryError):
        both.fetch([T0])
    kafka.broken = TransportError("kafka away")
    with pytest.raises(TransportError):
        both.fetch([T0])


def test_a_commit_is_written_to_both_stores(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """The flags are passed on."""
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
    """So ZooKeeper is never ahead; the reason says which store refused."""
    kafka.refused = {T1: "too long"}
    assert both.commit(OFFSETS) == {
        T0: None,
        T1: "not in Kafka, and so not in ZooKeeper: too long",
    }
    assert zookeeper.kept == {T0: 10}


def test_an_offset_that_only_kafka_has_counts_as_not_committed(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """The next commit writes it again; the reason says which store lacks it."""
    zookeeper.refused = {T0: "not yours"}
    assert both.commit(OFFSETS) == {
        T0: "in Kafka, but not in ZooKeeper: not yours",
        T1: None,
    }
    assert kafka.kept == {T0: 10, T1: 11}


def test_a_failure_of_zookeeper_fails_each_partition_that_kafka_has(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """It is known that Kafka has these offsets."""
    zookeeper.broken = RegistryError("away")
    kafka.refused = {T1: "too long"}
    assert both.commit(OFFSETS) == {
        T0: "in Kafka, but not in ZooKeeper: away",
        T1: "not in Kafka, and so not in ZooKeeper: too long",
    }


def test_a_failure_of_kafka_leaves_zookeeper_alone(
    both: DualOffsetStore, kafka: ScriptedOffsets, zookeeper: ScriptedOffsets
) -> None:
    """Nothing is known, so the whole call fails."""
    kafka.broken = TransportError("away")
    with pytest.raises(TransportError):
        both.commit(OFFSETS)
    assert zookeeper.commits == []


def test_it_expires_as_its_part_in_kafka_does(both: DualOffsetStore) -> None:
    """Unchanged offsets must be committed again, or Kafka would forget its part."""
    assert (both.storage, both.expires) == ("both", True)


@pytest.mark.parametrize("reason", ["not yours", CommittedFurther("at 700")])
def test_the_reason_that_another_member_committed_further_is_kept(
    both: DualOffsetStore, zookeeper: ScriptedOffsets, reason: str
) -> None:
    """A stream drops records that another member got, and keeps them after any other failure."""
    zookeeper.refused = {T0: reason}
    reported = both.commit(OFFSETS)[T0]
    assert reported == f"in Kafka, but not in ZooKeeper: {reason}"
    assert isinstance(reported, CommittedFurther) == isinstance(reason, CommittedFurther)
