"""Only offsets of owned partitions are committed to Kafka."""

from collections.abc import Collection, Iterator, Sequence

import pytest

from tests.fakes.fake_script import Fail
from tests.support.offset_bench import T0, T1, OffsetBench
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.wire.api import ApiKey

OFFSETS = {T0: OffsetAndMetadata(10), T1: OffsetAndMetadata(11)}


class Owners:
    """Owned partitions as read from ZooKeeper."""

    def __init__(self, *owned: TopicPartition) -> None:
        self.owned = set(owned)
        self.requested: list[list[TopicPartition]] = []
        self.broken: RegistryError | None = None

    def still_ours(self, partitions: Sequence[TopicPartition]) -> Collection[TopicPartition]:
        """Return which partitions are owned by this member."""
        self.requested.append(list(partitions))
        if self.broken is not None:
            raise self.broken
        return self.owned


@pytest.fixture
def bench() -> Iterator[OffsetBench]:
    """Three brokers; broker 0 is the coordinator."""
    bench = OffsetBench()
    yield bench
    bench.channel.close()


def store_of(bench: OffsetBench, owners: Owners) -> KafkaOffsetStore:
    """Return a member's store."""
    return KafkaOffsetStore(bench.channel, still_ours=owners.still_ours)


def kept(bench: OffsetBench) -> dict[TopicPartition, int | None]:
    """Return the offsets that the coordinator has."""
    return {tp: found.offset for tp, found in bench.store().fetch([T0, T1]).items()}


def test_offsets_of_owned_partitions_are_committed(bench: OffsetBench) -> None:
    """The owners are read once per commit, even if it is retried."""
    owners = Owners(T0, T1)
    loading = Fail(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    bench.net.brokers[0].script(ApiKey.OFFSET_COMMIT, loading)
    guarded = store_of(bench, owners)
    assert guarded.commit(OFFSETS, retry=True, rewind=True) == {T0: None, T1: None}
    assert kept(bench) == {T0: 10, T1: 11}
    assert owners.requested == [[T0, T1]]


def test_an_offset_of_a_lost_partition_is_refused(bench: OffsetBench) -> None:
    """It is not sent, and has its reason; the rest is written."""
    reported = store_of(bench, Owners(T1)).commit(OFFSETS)
    assert reported[T1] is None
    assert "the owner node of t-0 is gone, or another member's" in str(reported[T0])
    assert kept(bench) == {T0: None, T1: 11}


def test_without_owned_partitions_nothing_is_sent(bench: OffsetBench) -> None:
    """Without anything to commit, the owners are not read either."""
    owners = Owners()
    guarded = store_of(bench, owners)
    assert guarded.commit({}) == {}
    assert owners.requested == []
    assert None not in guarded.commit(OFFSETS).values()
    assert bench.requested(ApiKey.OFFSET_COMMIT) == []


def test_owners_that_can_not_be_read_fail_the_commit(bench: OffsetBench) -> None:
    """Nothing is sent, as the owners are unknown."""
    owners = Owners(T0, T1)
    owners.broken = RegistryError("away")
    with pytest.raises(RegistryError):
        store_of(bench, owners).commit(OFFSETS)
    assert bench.requested(ApiKey.OFFSET_COMMIT) == []


def test_offsets_are_read_without_owning_them(bench: OffsetBench) -> None:
    """Owners are not read."""
    owners = Owners()
    bench.store().commit({T0: OffsetAndMetadata(4)})
    guarded = store_of(bench, owners)
    assert guarded.fetch([T0, T1]) == {T0: FetchedOffset(4), T1: FetchedOffset(None)}
    assert owners.requested == []
    assert (guarded.storage, guarded.expires) == ("kafka", True)
