"""The output of ``kafka.admin.ConsumerGroupCommand`` (``kafka-consumer-groups``) of Kafka 0.9."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from zkconsumer.cli.formats.offset_checker import offsets_and_lag
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    PartitionStatus,
)

HEADER: Final = "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER"
_NO_TOPICS: Final = "No topic available for consumer group provided"
_NO_OFFSET: Final = (
    "Could not fetch offset from zookeeper for group {} partition [{},{}] due to missing offset "
    "data in zookeeper."
)
_NO_BROKER: Final = "Could not parse broker info due to Broker id {} does not exist"


class Deletion(Enum):
    """The result of deleting a group, or its data of a topic; the values are the original's."""

    DONE = (
        "Deleted all consumer group information for group {} in zookeeper.",
        "Deleted consumer group information for group {} topic {} in zookeeper.",
    )
    ACTIVE = (
        "Delete for group {} failed because its consumers are still active.",
        "Delete for group {} topic {} failed because its consumers are still active.",
    )
    NO_GROUP = (
        "Delete for group {} failed because group does not exist.",
        "Delete for group {} topic {} failed because group does not exist.",
    )


def group_list_text(group_ids: Iterable[str]) -> str:
    """Return the output of ``--list``, in the given order: ZooKeeper's or the broker's."""
    return "".join(f"{group_id}\n" for group_id in group_ids)


def deletion_text(group_id: str, deletion: Deletion, topic: str | None = None) -> str:
    """Return the output of ``--delete --group``, with ``--topic`` or without."""
    whole, of_topic = deletion.value
    line = whole.format(group_id) if topic is None else of_topic.format(group_id, topic)
    return f"{line}\n"


def all_topic_deletion_text(topic: str) -> str:
    """Return the output of ``--delete --topic``."""
    return (
        "Deleted consumer group information for all inactive consumer groups for topic "
        f"{topic} in zookeeper.\n"
    )


def describe_group_text(
    snapshot: ClusterSnapshot,
    group: GroupStatus | None,
    group_id: str,
    topics: Sequence[str] = (),
) -> str:
    """Return the output of ``--describe`` for a group of either kind.

    Args:
        snapshot: the cluster.
        group: the group; None if there is none in ZooKeeper.
        group_id: its name.
        topics: the topics to show of a ZooKeeper group, in order. (The original takes the children
            of its ``owners`` node.)
    """
    if group is None:
        return f"{_NO_TOPICS}\n{HEADER}\n"
    if group.kind is GroupKind.COORDINATOR:
        return _coordinated_text(group)
    lines = [HEADER] if topics else [_NO_TOPICS, HEADER]
    known = {topic.name: topic.partitions for topic in snapshot.topics}
    brokers = frozenset(broker.broker.id for broker in snapshot.brokers)
    of_group = group.by_partition
    for topic in topics:
        partitions = known.get(topic, ())
        held = [
            of_group.get(partition.topic_partition) or GroupPartition(partition.topic_partition)
            for partition in partitions
        ]
        lines += [
            _NO_OFFSET.format(group_id, *partition.topic_partition)
            for partition in held
            if not partition.committed
        ]
        for partition, status in zip(partitions, held, strict=True):
            lines.append(_zookeeper_line(group_id, partition, status, brokers))
    return "".join(line + "\n" for line in lines)


def _zookeeper_line(
    group_id: str, partition: PartitionStatus, held: GroupPartition, brokers: frozenset[int]
) -> str:
    if partition.leader is not None and partition.leader not in brokers:
        return _NO_BROKER.format(partition.leader)
    found = held.committed_in("kafka") or held.committed_in("zookeeper")
    offset = None if found is None else found.offset
    log_end = None if partition.leader is None else partition.log_end
    return _row(group_id, held, offset, log_end, held.owner)


def _coordinated_text(group: GroupStatus) -> str:
    """Return the output for a coordinator's group: only its members' partitions, by member."""
    if group.state is not GroupState.STABLE or not group.members:
        return f"Consumer group `{group.group_id}` does not exist or is rebalancing.\n"
    owned: dict[str | None, list[GroupPartition]] = {}
    for partition in group.partitions:
        owned.setdefault(partition.owner, []).append(partition)
    lines = [HEADER]
    for member in group.members:
        name = f"{member.client_id}_{member.host}"
        # By number before topic: the original sorts the assignor's partitions by number.
        for partition in sorted(
            owned.get(member.member_id, ()),
            key=lambda partition: partition.topic_partition.partition,
        ):
            found = partition.committed_in("kafka")
            offset = None if found is None else found.offset
            lines.append(_row(group.group_id, partition, offset, partition.log_end, name))
    return "".join(line + "\n" for line in lines)


def _row(
    group_id: str,
    held: GroupPartition,
    offset: int | None,
    log_end: int | None,
    owner: str | None,
) -> str:
    topic, partition = held.topic_partition
    numbers = offsets_and_lag(offset, log_end)
    return ", ".join([group_id, topic, str(partition), *numbers, owner or "none"])
