"""Counts and times that a connector's events add up to."""

import pytest

from zkconsumer.connector.measuring.event_counts import EventCounts
from zkconsumer.connector.measuring.numbers import REBALANCE_BOUNDS_MS
from zkconsumer.model import TopicPartition
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    DeliveryPaused,
    DeliveryResumed,
    Event,
    Fetched,
    Joined,
    Left,
    MessagePoisoned,
    OrphansSeen,
    PartitionsLost,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceTryFailed,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def counts_of(*events: tuple[Event, int]) -> EventCounts:
    """Return the counts after these events, each at its time."""
    counts = EventCounts(0, lambda: 0.5)
    for event, now_ms in events:
        counts.take(event, now_ms)
    return counts


def finished(duration_ms: int) -> RebalanceFinished:
    """Build the event of a rebalance that took ``duration_ms``."""
    return RebalanceFinished(cause="join", duration_ms=duration_ms, changed=True, owned={})


def test_fetches_count_for_their_broker_and_in_total() -> None:
    """An event of several fetches counts each of them with the mean of their times."""
    counts = counts_of(
        (Fetched(broker_id=1, partitions=2, size_bytes=100, records=3, duration_ms=20), 10),
        (
            Fetched(
                broker_id=2, partitions=2, size_bytes=900, records=9, duration_ms=300, fetches=3
            ),
            20,
        ),
    )
    every, of_two = counts.fetched.read(1_000), counts.fetched_from[2].read(1_000)
    assert (every.fetches.events, every.size_bytes.events) == (4, 1_000)
    assert (every.took_ms.least, every.took_ms.most, every.took_ms.values) == (20, 100, 4)
    assert (of_two.fetches.events, of_two.response_bytes.mean) == (3, 300)


def test_an_event_without_fetches_adds_no_fetch_time() -> None:
    """The native engine may report records of a response that it reported before."""
    counts = counts_of(
        (
            Fetched(broker_id=1, partitions=0, size_bytes=0, records=9, duration_ms=0, fetches=0),
            10,
        )
    )
    assert counts.fetched.read(20).took_ms.values == 0


def test_commits_count_offsets_by_storage() -> None:
    """A failed commit counts as sent for Kafka, as in the original, but not for ZooKeeper."""
    counts = counts_of(
        (Committed(storage="zookeeper", offsets={T0: 1, T1: 2}, duration_ms=1), 1),
        (Committed(storage="kafka", offsets={T0: 1}, duration_ms=1), 1),
        (CommitFailed("kafka", {T0: "x", T1: "x"}), 1),
        (CommitFailed("zookeeper", {T0: "x"}), 1),
    )
    assert (counts.zookeeper_commits.count, counts.kafka_commits.count) == (2, 3)
    assert counts.failed_commits == {"kafka": 2, "zookeeper": 1}


def test_rebalances_are_counted_by_duration() -> None:
    """Each histogram bound counts all rebalances that took no longer."""
    counts = counts_of((finished(100), 1), (finished(101), 2), (finished(9_999_999), 3))
    assert counts.rebalances.count == 3
    assert counts.rebalance_ms.read().most == 9_999_999
    assert counts.rebalances_within == (1, *[2] * (len(REBALANCE_BOUNDS_MS) - 1))


def test_a_rebalance_that_is_given_up_counts_from_its_first_round() -> None:
    """An abandoned rebalance is one, timed from its first attempt; the attempts do not count."""
    counts = counts_of(
        (RebalanceStarted("join"), 1_000),
        (RebalanceTryFailed(1, 50, "x"), 1_500),
        (RebalanceStarted("members"), 2_000),
        (RebalanceGivenUp(4, "x"), 4_000),
        (RebalanceStarted("members"), 9_000),
        (RebalanceGivenUp(4, "x"), 9_100),
    )
    assert (counts.failed_tries, counts.rebalances.count) == (1, 2)
    view = counts.rebalance_ms.read()
    assert (view.least, view.most) == (100, 3_000)


@pytest.mark.parametrize("is_over", [False, True])
def test_states_end_and_counts_remain(is_over: bool) -> None:
    """A pause and orphans are states that end; lost and poisoned messages stay counted."""
    over: list[tuple[Event, int]] = [(DeliveryResumed(), 2), (Left(), 2)]
    counts = counts_of(
        (DeliveryPaused(900), 1),
        (OrphansSeen([T0, T1]), 1),
        (PartitionsLost([T0], "x"), 1),
        (MessagePoisoned(T0, 1, 2, "skip", "x"), 1),
        (Joined(5), 1),
        *(over if is_over else []),
    )
    assert (counts.paused, counts.orphans) == ((False, 0) if is_over else (True, 2))
    assert (counts.lost, counts.poisoned) == (1, 1)
