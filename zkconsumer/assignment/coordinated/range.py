"""The range assignor: assigns each topic separately, in runs of consecutive partitions.

Source: Kafka ``RangeAssignor`` of the 0.9+ clients, without racks (KIP-881).
"""

from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Return each member's partitions, for the whole group, including members without any.

    If a topic can't be divided evenly, its first readers get one more.
    """
    shares: dict[str, list[TopicPartition]] = {member_id: [] for member_id in view.members}
    for topic, readers in view.readers().items():
        partitions = view.partitions_of(topic)
        share, rest = divmod(len(partitions), len(readers))
        start = 0
        for position, member_id in enumerate(readers):
            end = start + share + (position < rest)
            shares[member_id] += partitions[start:end]
            start = end
    return {member_id: tuple(share) for member_id, share in shares.items()}
