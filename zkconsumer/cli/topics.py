"""``zkconsumer topics``: topics, their leaders, and under-replicated partitions."""

import argparse
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from zkconsumer.assignment.filters import Whitelist
from zkconsumer.cli.actions import add_action, add_action_flags, chosen_action
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.cluster_responses import settled
from zkconsumer.cli.exit_status import COULD_NOT, NOT_WELL
from zkconsumer.cli.formats.topic_command import (
    DescriptionFilter,
    describe_text,
    is_listed,
    topic_list_text,
)
from zkconsumer.cli.leaders import leaders_json, leaders_table
from zkconsumer.cli.output import note, show, show_as_original
from zkconsumer.cli.tables import (
    Cell,
    Colour,
    Painted,
    add_format_arguments,
    instant,
    json_text,
    table,
)
from zkconsumer.cli.topic_changes import CHANGES, add_change_arguments, change_topic
from zkconsumer.errors import ConfigError
from zkconsumer.status.model import PartitionStatus, TopicStatus
from zkconsumer.status.reading.values import ClusterRead

_ACTIONS: Final = ("list", "describe", "leaders", "under-replicated", *CHANGES)

DESCRIPTION = """\
Show the topics of a cluster: their names, their partitions with leader and replicas, or how the
leaders are spread over the brokers. It reads ZooKeeper only, so it works while brokers are down.
Without --zookeeper it reads from a broker, which knows everything except topic settings and pending
deletions.

  zkconsumer topics --zookeeper zk1:2181 list
  zkconsumer topics --zookeeper zk1:2181 describe --topic 'orders.*'
  zkconsumer topics --zookeeper zk1:2181 under-replicated
  zkconsumer topics --bootstrap-server kafka1:9092 list

Create, alter and delete topics, on any Kafka from 0.8 to 4.x. The change is shown, and made only
after confirmation, or with --yes. Brokers apply it if they support that (from 0.10.1 on;
more partitions from 1.0, settings from 2.3); for older brokers it is written to --zookeeper.

  zkconsumer topics create --bootstrap-server kafka1:9092 --topic orders --partitions 6
  zkconsumer topics alter --zookeeper zk1:2181 --topic orders --config retention.ms=86400000
  zkconsumer topics delete --zookeeper zk1:2181 --topic orders --yes

The flags of kafka-topics.sh are accepted, too: --list, --describe, --create, --alter, --delete,
--topic, --under-replicated-partitions, --unavailable-partitions, --topics-with-overrides.
"""
EPILOG = """\
exit status: 0 done; 1 it could not be read or done; 2 wrong usage, no such topic, or refused; 3
under-replicated or leaderless partitions were requested, and there are some (not with --format
scala)"""

_WELL: Final = {
    DescriptionFilter.UNDER_REPLICATED: "no partition is under-replicated",
    DescriptionFilter.UNAVAILABLE: "every partition has its leader",
}
_ROWS = ("TOPIC", ">PARTITION", ">LEADER", "REPLICAS", "IN SYNC", "NOTE")
_LIST = ("TOPIC", ">PARTITIONS", ">REPLICAS", "SETTINGS", "NOTE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_action(parser, _ACTIONS)
    add_cluster_arguments(parser)
    add_action_flags(parser, ("list", "describe", *CHANGES))
    parser.add_argument(
        "--topic",
        metavar="REGEX",
        help="only topics whose whole name matches this Java regex; for create, alter and delete: "
        "the name of the topic",
    )
    only = parser.add_mutually_exclusive_group()
    for flags_of_it, meant, what in (
        (
            ("--under-replicated-partitions", "--under-replicated"),
            DescriptionFilter.UNDER_REPLICATED,
            "only partitions with a replica that is not in sync",
        ),
        (
            ("--unavailable-partitions", "--unavailable"),
            DescriptionFilter.UNAVAILABLE,
            "only partitions whose leader is not available",
        ),
        (
            ("--topics-with-overrides",),
            DescriptionFilter.OVERRIDDEN,
            "only topics with topic-level settings",
        ),
    ):
        only.add_argument(
            *flags_of_it, dest="only", action="store_const", const=meant, help=f"describe: {what}"
        )
    add_format_arguments(parser, scala="kafka.admin.TopicCommand of 0.8.2.2")
    add_change_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the topics; return the exit status."""
    action, only = _action(args)
    if action in CHANGES:
        return change_topic(action, args)
    wanted = None if args.topic is None else Whitelist(args.topic)
    with open_cluster(args) as access:
        if only is DescriptionFilter.OVERRIDDEN and access.zookeeper is None:
            raise ConfigError(
                f"{only.value} needs a --zookeeper: settings of topics are not read from brokers"
            )
        cluster = access.cluster()
    if cluster.no_brokers is not None:
        note(cluster.no_brokers)
    if wanted is not None:
        topics = [
            topic for topic in cluster.topics if wanted.allows(topic.name, exclude_internal=False)
        ]
        cluster = replace(cluster, topics=tuple(topics))
        if not topics and args.format != "scala":
            # A misspelt name must not look like a healthy topic.
            raise ConfigError(
                f"no topic matches {args.topic!r}, a Java regex for the whole name: 'topics list' "
                "shows the existing ones"
            )
    return settled(_show(args.format, action, only, cluster), cluster)


def _live(cluster: ClusterRead) -> frozenset[int]:
    """Return the ids of the registered brokers."""
    return frozenset(broker.broker.id for broker in cluster.brokers)


def _show(form: str, action: str, only: DescriptionFilter, cluster: ClusterRead) -> int:
    if form == "scala":
        return _print_scala(action, only, cluster)
    match action:
        case "list":
            print(_listed(cluster, form), end="")
        case "leaders":
            text_of = leaders_json if form == "json" else leaders_table
            print(text_of(cluster.brokers, cluster.topics), end="")
        case _:
            return _describe(cluster, only, form)
    return 0


def _action(args: argparse.Namespace) -> tuple[str, DescriptionFilter]:
    """Return the action, and its filter."""
    action = chosen_action(args) or ("describe" if args.only else "list")
    only = args.only or DescriptionFilter.EVERYTHING
    if action == "under-replicated":
        if args.only not in {None, DescriptionFilter.UNDER_REPLICATED}:
            raise ConfigError(f"{action} and {only.value} exclude each other: give one")
        return "describe", DescriptionFilter.UNDER_REPLICATED
    if action != "describe" and args.only:
        raise ConfigError(f"{only.value} goes with describe, not with {action}")
    return action, only


def _print_scala(action: str, only: DescriptionFilter, cluster: ClusterRead) -> int:
    if action == "leaders":
        raise ConfigError("--format scala: the original has nothing like leaders")
    if action == "list":
        show_as_original(topic_list_text(cluster.topics))
    else:
        show_as_original(describe_text(cluster.topics, live_brokers=_live(cluster), only=only))
    return 0


def _listed(cluster: ClusterRead, form: str) -> str:
    if form == "json":
        return json_text({"topics": [_topic_json(topic) for topic in cluster.topics]})
    rows: list[list[Cell]] = [
        [
            topic.name,
            len(topic.partitions),
            max((len(partition.replicas) for partition in topic.partitions), default=0),
            _settings_text(topic),
            _topic_note(topic, _live(cluster)),
        ]
        for topic in cluster.topics
    ]
    return table(_LIST, rows)


def _settings_text(topic: TopicStatus) -> str | None:
    """Return the topic-level settings; None if unknown."""
    if topic.config is None:
        return None
    return ",".join(f"{key}={value}" for key, value in sorted(topic.config.items()))


def _topic_note(topic: TopicStatus, live: Collection[int]) -> Painted:
    partitions = topic.partitions
    away = sum(partition.leader not in live for partition in partitions)
    behind = sum(partition.under_replicated for partition in partitions)
    notes = [
        *([topic.problem] if topic.problem else []),
        *(["marked for deletion"] if topic.deleting else []),
        *([f"{away} without leader"] if away else []),
        *([f"{behind} under-replicated"] if behind else []),
    ]
    return Painted("; ".join(notes), Colour.BAD if away or topic.problem else Colour.WARN)


def _describe(cluster: ClusterRead, only: DescriptionFilter, form: str) -> int:
    shown = [
        (
            topic,
            [
                partition
                for partition in topic.partitions
                if is_listed(partition, only, _live(cluster))
            ],
        )
        for topic in cluster.topics
        if only is not DescriptionFilter.OVERRIDDEN or topic.config
    ]
    if form == "json":
        reported = [_topic_json(topic, partitions, _live(cluster)) for topic, partitions in shown]
        narrow = only in _WELL
        topics = [topic for topic in reported if topic["partitions"] or not narrow]
        show(json_text({"topics": topics}))
    elif only in _WELL and not any(topic.problem or partitions for topic, partitions in shown):
        print(_WELL[only])
    else:
        rows = [
            row for topic, partitions in shown for row in _rows(topic, partitions, _live(cluster))
        ]
        show(table(_ROWS, rows))
    found = any(partitions for _, partitions in shown)
    if only not in _WELL:
        return 0
    unread = [topic for topic, _ in shown if topic.problem is not None]
    for topic in unread:
        note(f"topic {topic.name}: {topic.problem}")
    return NOT_WELL if found else COULD_NOT if unread else 0


def _rows(
    topic: TopicStatus, partitions: Sequence[PartitionStatus], live: Collection[int]
) -> list[Sequence[Cell]]:
    if topic.problem is not None:
        return [[topic.name, None, None, None, None, Painted(topic.problem, Colour.BAD)]]
    return [_row(partition, live) for partition in partitions]


def _row(status: PartitionStatus, live: Collection[int]) -> Sequence[Cell]:
    topic, partition = status.topic_partition
    note, colour = _note(status, live)
    return [
        topic,
        partition,
        status.leader,
        _joined(status.replicas),
        _joined(status.in_sync),
        Painted(note, colour),
    ]


def _note(partition: PartitionStatus, live: Collection[int]) -> tuple[str, Colour]:
    """Return the worst fault of a partition."""
    if partition.problem is not None:
        return partition.problem, Colour.BAD
    if partition.leader is None:
        return "no leader", Colour.BAD
    if partition.leader not in live:
        return f"its leader, broker {partition.leader}, is not registered", Colour.BAD
    if partition.under_replicated:
        behind = [number for number in partition.replicas if number not in partition.in_sync]
        if not behind:
            return "under-replicated: an offline replica is not listed", Colour.WARN
        return f"under-replicated: not in sync: {_joined(behind)}", Colour.WARN
    if not partition.preferred:
        return "not led by its preferred replica", Colour.DIM
    return "", Colour.DIM


def _joined(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids)) or "-"


def _topic_json(
    topic: TopicStatus,
    partitions: Sequence[PartitionStatus] | None = None,
    live: Collection[int] = (),
) -> dict[str, object]:
    """Return a topic as JSON, with its partitions if requested, else their number."""
    reported: dict[str, object] = {
        "topic": topic.name,
        "partition_count": len(topic.partitions),
        "config": None if topic.config is None else dict(topic.config),
        "deleting": topic.deleting,
        "problem": topic.problem,
        "seen_at": instant(topic.seen_ms),
    }
    if partitions is not None:
        reported["partitions"] = [
            {
                "partition": partition.topic_partition.partition,
                "leader": partition.leader,
                "leader_available": partition.leader in live,
                "replicas": list(partition.replicas),
                "in_sync": list(partition.in_sync),
                "under_replicated": partition.under_replicated,
                "preferred_leader": partition.preferred,
                "problem": partition.problem,
            }
            for partition in partitions
        ]
    return reported
