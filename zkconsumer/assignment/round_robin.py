"""The round-robin assignor: all partitions of all topics, assigned one by one.

Source: Kafka 0.8.2.2 ``RoundRobinAssignor``.
"""

from itertools import cycle

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.java_order import (
    immutable_map_order,
    mutable_map_order,
    string_hash,
)
from zkconsumer.model import ConsumerThreadId, TopicPartition


def uneven_topics(view: GroupView) -> tuple[str, str] | None:
    """Return two topics that are not read by the same threads, or None.

    Round-robin needs every member to read the same topics with the same number of streams.
    """
    by_topic = sorted(view.threads_by_topic().items())
    for topic, threads in by_topic[1:]:
        if threads != by_topic[0][1]:
            return by_topic[0][0], topic
    return None


def assign(view: GroupView, own_consumer_id: str) -> dict[TopicPartition, ConsumerThreadId]:
    """Return the owner of each partition, for the whole group, as ``own_consumer_id`` sees it.

    Partitions are sorted by the Java hash of ``[topic,partition]`` and assigned to all threads
    in text order. All members get the same result, with one exception that the original has, too:
    if the hashes of two partitions are equal, the order of the topics in the member's own
    registration can decide.

    All topics must be read by the same threads (see ``uneven_topics``).
    """
    threads = next(iter(view.threads_by_topic().values()), None)
    if threads is None:
        return {}
    partitions = [
        tp for topic in _walk_order(view, own_consumer_id) for tp in view.partitions_of(topic)
    ]
    partitions.sort(key=lambda tp: string_hash(f"[{tp.topic},{tp.partition}]"))
    return dict(zip(partitions, cycle(threads.first(len(partitions))), strict=False))


def _walk_order(view: GroupView, consumer_id: str) -> list[str]:
    """Return the order in which the original iterates over a member's topics before it sorts.

    Their names pass through one immutable map (the registration read from JSON) and three mutable
    ones (threads by topic, replicas by topic, partitions by topic).
    """
    order = immutable_map_order(view.members[consumer_id])
    for _ in range(3):
        order = mutable_map_order(order)
    return order
