"""Looks up the ends of logs."""

from collections.abc import Collection

from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.errors import TransportError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange


def log_ranges(
    client: ClusterClient, partitions: Collection[TopicPartition], *, timeout_ms: int
) -> dict[TopicPartition, LogRange]:
    """Return start and end of the logs whose leaders respond.

    Args:
        client: sends the requests.
        partitions: the partitions; callers report the missing ones if they need them.
        timeout_ms: the time limit of one lookup, all attempts together.
    """
    if not partitions:
        return {}
    try:
        starts, ends = (
            client.list_offsets(dict.fromkeys(partitions, time), timeout_ms=timeout_ms)
            for time in (EARLIEST, LATEST)
        )
    except TransportError:  # no leader responds
        return {}
    return {
        tp: LogRange(start.offset, end.offset)
        for tp in partitions
        if isinstance(start := starts.get(tp), TimedOffset)
        and isinstance(end := ends.get(tp), TimedOffset)
    }
