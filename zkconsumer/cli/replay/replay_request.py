"""Resolves the partitions and offset ranges of a ``replay`` command."""

import argparse
from collections.abc import Callable, Mapping, Sequence

from zkconsumer.cli.files import read_text
from zkconsumer.cli.formats.offset_files import offsets_of_group, parse_offset_file
from zkconsumer.cli.log_lookup import log_ranges
from zkconsumer.cli.output import note
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.time_lookup import OffsetsByTime, Times
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange


def offsets_of_file(args: argparse.Namespace, name: str | None) -> dict[TopicPartition, int] | None:
    """Return the offsets in a file for the topic, or for all topics if none is named.

    Raises:
        ConfigError: the file has no such offsets, or those of several groups.
        OSError: the file can't be read.
    """
    if name is None:
        return None
    # Lines without a group id need some group id.
    groups = parse_offset_file(read_text(name), name, args.group or "")
    if args.group is None and len(groups) > 1:
        raise ConfigError(
            f"{name} has offsets of {', '.join(sorted(groups))}: select one with --group"
        )
    offsets = offsets_of_group(groups, name, args.group or "", rename=args.group is None)
    found = {tp: offset for tp, offset in offsets.items() if args.topic in {None, tp.topic}}
    if not found:
        raise ConfigError(f"{name} has no offsets of topic {args.topic}")
    return found


def partitions_of(
    args: argparse.Namespace,
    client: ClusterClient,
    starts: Mapping[TopicPartition, int] | None,
    *,
    timeout_ms: int,
) -> list[TopicPartition]:
    """Return the partitions to read, all of which exist.

    Raises:
        ConfigError: a partition does not exist.
        ZkConsumerError: no broker responds.
    """
    topics = {args.topic} if starts is None else {tp.topic for tp in starts}
    view = client.view(topics, timeout_ms=timeout_ms)
    there = {
        TopicPartition(topic, number)
        for topic, numbers in view.partitions.items()
        for number in numbers
        if topic in topics
    }
    wanted = set(there if starts is None else starts)
    if args.partitions is not None:
        named = {
            TopicPartition(topic, partition) for topic in topics for partition in args.partitions
        }
        wanted = named if starts is None else named & wanted
    absent = [topic for topic in sorted(topics) if not view.partitions.get(topic)]
    if absent:
        raise ConfigError(f"the cluster has no topic {', '.join(absent)}")
    missing = sorted(wanted - there)
    if missing:
        raise ConfigError(f"the cluster has no partition {', '.join(map(format, missing))}")
    if not wanted:
        raise ConfigError(f"{args.offsets_file} has none of the partitions of --partitions")
    return sorted(wanted)


def logs_of(
    client: ClusterClient, partitions: Sequence[TopicPartition], *, timeout_ms: int
) -> dict[TopicPartition, LogRange]:
    """Return the start and end offset of each log.

    Raises:
        ZkConsumerError: a leader does not respond.
    """
    logs = log_ranges(client, partitions, timeout_ms=timeout_ms)
    silent = [tp for tp in partitions if tp not in logs]
    if silent:
        raise ZkConsumerError(
            f"{silent[0]}: its leader does not respond, so nothing was printed: give --partitions "
            "to read the others"
        )
    return logs


def bounds_of(
    offset: int | None,
    time_ms: int | None,
    file: Mapping[TopicPartition, int] | None,
    logs: Mapping[TopicPartition, LogRange],
    look_up: Callable[[Times], OffsetsByTime],
) -> dict[TopicPartition, int]:
    """Return the start or the end of each range; none if it is that of the log.

    Args:
        offset: the same offset for all.
        time_ms: a time to look up, in ms since the epoch.
        file: the offsets in a file.
        logs: the logs of all partitions.
        look_up: finds the offsets of the time.

    Raises:
        ConfigError: the file lacks a partition.
        ZkConsumerError: a leader does not respond.
    """
    if offset is not None:
        return dict.fromkeys(logs, offset)
    if file is not None:
        absent = sorted(tp for tp in logs if tp not in file)
        if absent:
            raise ConfigError(f"one file has an offset of {absent[0]}, but the other has none")
        return {tp: file[tp] for tp in logs}
    if time_ms is None:
        return {}
    found = look_up(dict.fromkeys(logs, time_ms))
    silent = sorted(logs.keys() - found.offsets.keys())
    if silent:
        raise ZkConsumerError(f"{silent[0]}: its leader has no offset for that time")
    if not found.is_exact:
        note(
            "these brokers know only the times of whole segments: more is printed than was "
            "requested"
        )
    return {tp: logs[tp].end if offset < 0 else offset for tp, offset in found.offsets.items()}
