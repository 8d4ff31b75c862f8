"""What a member subscribes to, and which queue each thread's partitions go to."""

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.membership.zookeeper.threads.subscription import (
    FilterSubscription,
    StaticSubscription,
)
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.zk.nodes import Pattern, encode_registration


def queues(count: int) -> tuple[ChunkQueue, ...]:
    """Return ``count`` queues."""
    return tuple(ChunkQueue(1) for _ in range(count))


def test_named_topics_have_queues_of_their_own() -> None:
    """Each thread of each topic has a queue: thread 0 of one topic is not thread 0 of another."""
    queues_of_a, queues_of_b = queues(2), queues(1)
    subscription = StaticSubscription({"a": queues_of_a, "b": queues_of_b})
    assert subscription.queue_of(TopicPartition("a", 5), 1) is queues_of_a[1]
    assert subscription.queue_of(TopicPartition("b", 5), 0) is queues_of_b[0]
    assert subscription.queues() == (*queues_of_a, *queues_of_b)
    assert (subscription.wildcard, subscription.static_topics) == (False, ("a", "b"))


def test_a_queue_of_several_topics_counts_once() -> None:
    """What goes wrong is put into it once, not once per topic."""
    (shared,) = queues(1)
    subscription = StaticSubscription({"a": (shared,), "b": (shared,)})
    assert subscription.queues() == (shared,)


def test_named_topics_register_in_the_order_given() -> None:
    """The original's round-robin depends on the order of topics in a registration."""
    subscription = StaticSubscription({"b": queues(2), "a": queues(1)})
    registration = subscription.registration(1_400_000_000_000)
    assert list(registration.subscription.items()) == [("b", 2), ("a", 1)]
    assert encode_registration(registration) == (
        b'{"version":1,"subscription":{"b":2,"a":1},"pattern":"static","timestamp":"1400000000000"}'
    )


def test_an_empty_subscription_registers_no_topics() -> None:
    """An empty subscription is legal, and owns nothing."""
    subscription = StaticSubscription({})
    assert subscription.queues() == ()
    assert dict(subscription.registration(1).subscription) == {}


@pytest.mark.parametrize(
    ("chosen", "pattern"),
    [(Whitelist("t1, t2"), Pattern.WHITE_LIST), (Blacklist("t1, t2"), Pattern.BLACK_LIST)],
)
def test_a_filter_shares_its_queues_among_all_topics(
    chosen: Whitelist | Blacklist, pattern: Pattern
) -> None:
    """All matching topics share the threads' queues; the rewritten pattern is registered."""
    shared = queues(2)
    subscription = FilterSubscription(chosen, shared)
    assert subscription.queue_of(TopicPartition("t1", 0), 1) is shared[1]
    assert subscription.queue_of(TopicPartition("t2", 0), 1) is shared[1]
    assert subscription.queues() == shared
    assert (subscription.wildcard, subscription.static_topics) == (True, ())
    registration = subscription.registration(1)
    assert (dict(registration.subscription), registration.pattern) == ({"t1|t2": 2}, pattern)
