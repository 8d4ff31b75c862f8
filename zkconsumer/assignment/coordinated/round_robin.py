"""The round-robin assignor: all partitions of all topics, assigned one by one.

Source: Kafka ``RoundRobinAssignor`` of the 0.9+ clients. Unlike the one of ZooKeeper groups it
sorts by name and number, and allows members to read different topics.
"""

from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Return each member's partitions, for the whole group, including members without any.

    The members take turns, across all topics; one that does not read the topic is skipped.
    """
    circle = view.ordered_members()
    shares: dict[str, list[TopicPartition]] = {member_id: [] for member_id in circle}
    position = 0
    for topic in view.readers():
        for partition in view.partitions_of(topic):
            while topic not in view.members[circle[position]].topics:
                position = (position + 1) % len(circle)
            shares[circle[position]].append(partition)
            position = (position + 1) % len(circle)
    return {member_id: tuple(share) for member_id, share in shares.items()}
