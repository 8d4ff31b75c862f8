"""Assigns the replicas of new partitions to brokers as the original does. Pure.

Source: Kafka 0.8.2.2 ``AdminUtils.assignReplicasToBrokers``; there the first broker and the first
shift are random.
"""

from collections.abc import Sequence

from zkconsumer.errors import ConfigError


def spread_replicas(
    partitions: range, brokers: Sequence[int], replication: int, *, start: int = 0
) -> dict[int, list[int]]:
    """Return the brokers of each partition, the preferred leader first.

    Leaders are assigned to the brokers in turn; other replicas of partitions with the same leader
    are spread over the other brokers.

    Args:
        partitions: the numbers of the new partitions.
        brokers: the ids of all brokers, ascending.
        replication: the number of replicas of a partition.
        start: the index of the first partition's leader, and the first shift.

    Raises:
        ConfigError: there are fewer brokers than replicas.

    Example:
        >>> spread_replicas(range(4), [0, 1, 2], 2)
        {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [0, 2]}
    """
    count = len(brokers)
    if not 0 < replication <= count:
        raise ConfigError(f"{replication} replicas need as many brokers: there are {count}")
    spread = {}
    for partition in partitions:
        first, shift = (partition + start) % count, partition // count + start
        others = [
            (first + 1 + (shift + number) % (count - 1)) % count
            for number in range(replication - 1)
        ]
        spread[partition] = [brokers[place] for place in (first, *others)]
    return spread
