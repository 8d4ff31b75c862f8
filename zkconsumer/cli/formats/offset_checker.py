"""The output of ``kafka.tools.ConsumerOffsetChecker`` of Kafka 0.8.2.2.

The original fails at the first topic for which the group has no offset, and at an offset that is
not a number; here these rows are printed, too.
"""

from collections.abc import Collection, Iterable, Iterator

from zkconsumer.assignment.java_order import mutable_int_map_order
from zkconsumer.status.model import ClusterSnapshot, GroupPartition, GroupStatus, PartitionStatus

_NO_BROKER = "Could not parse broker info due to null"
_NO_OFFSET = -1


def offsets_and_lag(offset: int | None, log_end: int | None) -> list[str]:
    """Return the cells of a committed offset, the log end and the lag; None: unknown.

    An offset of -1, of a group without one, has no lag; an offset after the end has a negative one.
    """
    lag = None if offset is None or offset == _NO_OFFSET or log_end is None else log_end - offset
    return ["unknown" if value is None else str(value) for value in (offset, log_end, lag)]


def _row(*cells: object) -> str:
    return "{:<15} {:<30} {:<3} {:<15} {:<15} {:<15} {}".format(*map(str, cells))


HEADER = _row("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner")


def checker_text(
    snapshot: ClusterSnapshot,
    group: GroupStatus,
    *,
    topics: Collection[str] | None = None,
    broker_info: bool = False,
) -> str:
    """Return the whole output.

    Args:
        snapshot: the cluster.
        group: the group, of either kind: the original supports only those of ZooKeeper.
        topics: the topics to show; None: all of the group's. (The original takes the children of
            its ``owners`` node.)
        broker_info: whether to list the brokers.
    """
    if topics is None:
        topics = {partition.topic_partition.topic for partition in group.partitions}
    known = {
        partition.topic_partition: partition
        for topic in snapshot.topics
        if topic.name in topics
        for partition in topic.partitions
    }
    addresses = {broker.broker.id: broker.broker for broker in snapshot.brokers}
    lines = [HEADER, *_lines(group, known.values(), addresses)]
    if broker_info:
        lines.append("BROKER INFO")
        leaders = (partition.leader for tp, partition in sorted(known.items()))
        requested = mutable_int_map_order(-1 if leader is None else leader for leader in leaders)
        lines += [
            f"{number} -> {addresses[number].host}:{addresses[number].port}"
            for number in requested
            if number in addresses
        ]
    return "".join(line + "\n" for line in lines)


def _lines(
    group: GroupStatus, partitions: Iterable[PartitionStatus], brokers: Collection[int]
) -> Iterator[str]:
    of_group = group.by_partition
    missing: set[int | None] = set()
    for partition in sorted(partitions, key=lambda partition: partition.topic_partition):
        if partition.leader not in brokers:
            # Once for each broker, as the original remembers that it can't connect.
            if partition.leader not in missing:
                missing.add(partition.leader)
                yield _NO_BROKER
            continue
        tp = partition.topic_partition
        held = of_group.get(tp, GroupPartition(tp))
        numbers = offsets_and_lag(_offset(held), partition.log_end)
        yield _row(group.group_id, *tp, *numbers, held.owner or "none")


def _offset(held: GroupPartition) -> int | None:
    """Return the offset as the original chooses it: Kafka's, or else ZooKeeper's."""
    found = held.committed_in("kafka") or held.committed_in("zookeeper")
    if found is not None:
        return found.offset
    return _NO_OFFSET if held.problem is None else None


def no_group_text(group_id: str) -> str:
    """Return the output, with exit status 0, for a group without an ``owners`` node."""
    return (
        "Exiting due to: org.apache.zookeeper.KeeperException$NoNodeException: "
        f"KeeperErrorCode = NoNode for /consumers/{group_id}/owners.\n"
    )
