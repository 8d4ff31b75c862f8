"""The range assignor: assigns each topic separately, in runs of consecutive partitions.

Source: Kafka 0.8.2.2 ``RangeAssignor``.
"""

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.model import ConsumerThreadId, TopicPartition


def assign(view: GroupView) -> dict[TopicPartition, ConsumerThreadId]:
    """Return the owner of each partition, for the whole group.

    Each topic's partitions are assigned in number order to its threads in text order; if they
    can't be divided evenly, the first threads get one more.
    """
    owners: dict[TopicPartition, ConsumerThreadId] = {}
    for topic, threads in view.threads_by_topic().items():
        partitions = view.partitions_of(topic)
        share, rest = divmod(len(partitions), threads.count)
        start = 0
        for position, thread in enumerate(threads.first(len(partitions))):
            end = start + share + (position < rest)
            owners.update(dict.fromkeys(partitions[start:end], thread))
            start = end
    return owners
