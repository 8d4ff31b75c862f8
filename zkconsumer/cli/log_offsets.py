"""Looks up a topic's offsets by time, with requests of new or old brokers."""

from dataclasses import dataclass

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConfigError, UnsupportedVersion
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLogOffset:
    """The offsets of one partition.

    Attributes:
        offsets: the offsets, descending; empty if none matches.
        timestamp_ms: the time of the record found, in ms since the epoch.
        by_segment: whether these are segment boundaries, by modification times.
        error: the error code, if any.
    """

    offsets: tuple[int, ...] = ()
    timestamp_ms: int | None = None
    by_segment: bool = False
    error: int | None = None


def offsets_of_topic(
    client: ClusterClient,
    topic: str,
    time: int,
    *,
    timeout_ms: int,
    by_segment: bool,
    count: int = 1,
) -> dict[int, PartitionLogOffset]:
    """Return the offsets of a topic's partitions at a time.

    Args:
        client: sends the requests.
        topic: an existing topic.
        time: the time in ms since the epoch, ``LATEST`` or ``EARLIEST``.
        timeout_ms: the time limit of each lookup.
        by_segment: whether to use version 0, as 0.8 does; otherwise only if a leader supports no
            other.
        count: the maximum number of offsets per partition; more than one only by segment.

    Returns:
        A result for every partition, ascending.

    Raises:
        ConfigError: there is no such topic.
        ZkConsumerError: no broker responds.
    """
    view = client.view([topic], timeout_ms=timeout_ms)
    numbers = view.partitions.get(topic)
    if not numbers:
        raise ConfigError(f"there is no topic {topic}: 'topics --list' shows the existing ones")
    partitions = [TopicPartition(topic, number) for number in numbers]
    # Do not wait for partitions without a leader.
    times = {tp: time for tp in partitions if tp in view.leaders}
    found = dict.fromkeys(partitions, PartitionLogOffset(error=int(ErrorCode.LEADER_NOT_AVAILABLE)))
    if not by_segment:
        try:
            found |= _by_record(client, times, timeout_ms)
        except UnsupportedVersion:
            pass  # an old leader: it supports version 0
        else:
            return {tp.partition: found[tp] for tp in partitions}
    try:
        found |= _by_segment(client, times, timeout_ms, count)
    except UnsupportedVersion as error:
        raise ConfigError(
            f"{error}: Kafka 4 does not support the old request for offsets by segment: leave out "
            "--offsets and --format scala"
        ) from error
    return {tp.partition: found[tp] for tp in partitions}


def _by_record(
    client: ClusterClient, times: dict[TopicPartition, int], timeout_ms: int
) -> dict[TopicPartition, PartitionLogOffset]:
    found: dict[TopicPartition, PartitionLogOffset] = {}
    for tp, response in client.list_offsets(times, timeout_ms=timeout_ms).items():
        if isinstance(response, int):
            found[tp] = PartitionLogOffset(error=response)
            continue
        found[tp] = PartitionLogOffset(
            offsets=() if response.offset < 0 else (response.offset,),
            timestamp_ms=response.timestamp if response.timestamp >= 0 else None,
        )
    return found


def _by_segment(
    client: ClusterClient, times: dict[TopicPartition, int], timeout_ms: int, count: int
) -> dict[TopicPartition, PartitionLogOffset]:
    responses = client.segment_starts(times, timeout_ms=timeout_ms, max_offsets=count)
    return {
        tp: PartitionLogOffset(error=response)
        if isinstance(response, int)
        else PartitionLogOffset(offsets=response, by_segment=True)
        for tp, response in responses.items()
    }
