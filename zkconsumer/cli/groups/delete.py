"""``zkconsumer groups delete``: deletes groups without members, after confirmation."""

import argparse
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.cluster_responses import find_group
from zkconsumer.cli.confirm import confirm
from zkconsumer.cli.exit_status import COULD_NOT, REFUSED
from zkconsumer.cli.formats.group_command import Deletion, all_topic_deletion_text, deletion_text
from zkconsumer.cli.group_arguments import usual_kind
from zkconsumer.cli.groups.removal import GroupRemoval, delete_coordinated
from zkconsumer.cli.output import note, show
from zkconsumer.cli.tables import json_text
from zkconsumer.errors import ConfigError
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.zk.paths import CONSUMERS, is_segment

_TEXTS: Final = {
    Deletion.DONE: "deleted",
    Deletion.ACTIVE: "not deleted: it has live members, stop them first",
    Deletion.NO_GROUP: "there is no such group",
}


class _Step(NamedTuple):
    """The deletion of a group, or of its data of a topic."""

    group_id: str
    kind: GroupKind
    topic: str | None
    act: Callable[[], Deletion]

    def __str__(self) -> str:
        of = "" if self.topic is None else f", topic {self.topic}"
        return printable(f"{self.kind} group {self.group_id}{of}")


def delete_groups(args: argparse.Namespace, access: CommandCluster) -> int:
    """Delete what is requested, after confirmation; return the exit status.

    Raises:
        ConfigError: an option is invalid, or a group does not exist: nothing was done.
        ZkConsumerError: it failed; the results until then are printed.
    """
    if not args.group and not args.topic:
        raise ConfigError("delete needs a --group, or a --topic")
    for topic in args.topic or ():
        if not is_segment(topic):
            raise ConfigError(f"{topic!r} can't be the name of a topic")
    snapshot = access.snapshot(args.group or [])
    steps = _steps(args, access, snapshot)
    if args.format != "scala":
        live = [step for step in steps if _members(snapshot, step)]
        if live and args.group:
            raise ConfigError(_refusal(snapshot, live[0]))
        steps = [step for step in steps if step not in live]
        for step in live:
            note(f"{step}: not deleted: it has live members")
    if not steps and args.format != "scala":
        raise ConfigError(f"no group has data of topic {', '.join(args.topic)}")
    if not _agreed(args, snapshot, steps):
        return REFUSED
    return _act(args, steps)


def _act(args: argparse.Namespace, steps: Sequence[_Step]) -> int:
    """Delete groups or their data, and print the results; return the exit status."""
    outcomes: list[tuple[_Step, Deletion]] = []
    try:
        for step in steps:
            outcomes.append((step, step.act()))  # noqa: PERF401 - results before a failure count
    finally:
        show(_text(args, outcomes))
    if args.format == "scala" or all(outcome is not Deletion.ACTIVE for _, outcome in outcomes):
        return 0
    return COULD_NOT if any(outcome is Deletion.DONE for _, outcome in outcomes) else REFUSED


def _steps(
    args: argparse.Namespace, access: CommandCluster, snapshot: ClusterSnapshot
) -> list[_Step]:
    topics: Sequence[str | None] = args.topic or [None]
    scala = args.format == "scala"
    if not args.group:
        names = access.store.children_many([CONSUMERS])[0] or []
        removals = {name: GroupRemoval(access.store, name) for name in names}
        return [
            _in_zookeeper(removal, name, topic, scala=scala, named=False)
            for topic in topics
            for name, removal in removals.items()
            if topic in removal.topics()
        ]
    steps = []
    for group_id in args.group:
        for topic in topics:
            kind = usual_kind(args)
            if not scala:
                kind = find_group(snapshot, group_id, args.kind).kind
            if kind is GroupKind.COORDINATOR:
                steps.append(_at_coordinator(access, group_id, topic))
                continue
            removal = GroupRemoval(access.store, group_id)
            steps.append(_in_zookeeper(removal, group_id, topic, scala=scala))
    return steps


def _in_zookeeper(
    removal: GroupRemoval, group_id: str, topic: str | None, *, scala: bool, named: bool = True
) -> _Step:
    def act() -> Deletion:
        # For the original, a group in which no member has ever registered does not exist.
        if scala and named and removal.members() is None:
            return Deletion.NO_GROUP
        if topic is None:
            return removal.everything()
        return removal.topic_as_original(topic) if scala else removal.topic(topic)

    return _Step(group_id, GroupKind.ZOOKEEPER, topic, act)


def _at_coordinator(access: CommandCluster, group_id: str, topic: str | None) -> _Step:
    if topic is not None:
        raise ConfigError(
            f"group {group_id} is at a coordinator, which can only delete whole groups: leave out "
            "--topic"
        )

    def act() -> Deletion:
        return delete_coordinated(
            access.client, access.dialer, group_id, timeout_ms=access.timeout_ms
        )

    return _Step(group_id, GroupKind.COORDINATOR, None, act)


def _group(snapshot: ClusterSnapshot, step: _Step) -> GroupStatus | None:
    return snapshot.groups.get(GroupKey(step.kind, step.group_id))


def _members(snapshot: ClusterSnapshot, step: _Step) -> list[str]:
    group = _group(snapshot, step)
    return [] if group is None else [member.member_id for member in group.members]


def _refusal(snapshot: ClusterSnapshot, step: _Step) -> str:
    members = _members(snapshot, step)
    return f"{step} has live members: stop {', '.join(members)} first; nothing was deleted"


def _agreed(args: argparse.Namespace, snapshot: ClusterSnapshot, steps: Sequence[_Step]) -> bool:
    reported = []
    for step in steps:
        group = _group(snapshot, step)
        reported.append(f"{step} will be deleted, with its offsets ({_with_offsets(group, step)}).")
        if group is not None and group.kind is GroupKind.ZOOKEEPER and _keeps_in_kafka(group):
            reported.append("  Its offsets in Kafka remain there until they expire.")
    reported.append("This can't be undone: 'offsets export' saves offsets first.")
    expected = args.group[0] if args.group and len(steps) == 1 else "yes"
    return confirm("\n".join(reported), expected, args.yes)


def _with_offsets(group: GroupStatus | None, step: _Step) -> str:
    found = [
        partition
        for partition in (() if group is None else group.partitions)
        if partition.committed and step.topic in {None, partition.topic_partition.topic}
    ]
    return f"{counted(len(found), 'partition')} in all"


def _keeps_in_kafka(group: GroupStatus) -> bool:
    return any(partition.committed_in("kafka") is not None for partition in group.partitions)


def _text(args: argparse.Namespace, outcomes: Sequence[tuple[_Step, Deletion]]) -> str:
    if args.format == "json":
        return json_text(
            {
                "deleted": [
                    {
                        "group": step.group_id,
                        "kind": step.kind,
                        "topic": step.topic,
                        "result": outcome.name.lower(),
                    }
                    for step, outcome in outcomes
                ]
            }
        )
    if args.format == "table":
        return "".join(f"{step}: {_TEXTS[outcome]}\n" for step, outcome in outcomes)
    if not args.group:
        return "".join(all_topic_deletion_text(topic) for topic in args.topic)
    return "".join(deletion_text(step.group_id, outcome, step.topic) for step, outcome in outcomes)
