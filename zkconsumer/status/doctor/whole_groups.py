"""Diagnoses of whole groups: shared ids, no coordinator, endless rebalances, no members."""

import shlex
from collections.abc import Iterator

from zkconsumer.printable import listed
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, ago, counted
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.doctor.headline import cluster_option
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupState, GroupStatus


def examine_whole(context: GroupContext) -> list[Diagnosis]:
    """Diagnose the group as a whole."""
    return [
        *_shared_id(context.snapshot, context.group.group_id),
        *_problems(context),
        *_coordinator(context),
        *_endless(context),
        *_deserted(context),
    ]


def examine_ids(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    """Report all group ids that old and new consumers use at the same time.

    ``examine_whole`` reports the same for a single group of either kind.
    """
    for key in sorted(snapshot.groups):
        if key.kind is GroupKind.ZOOKEEPER:
            yield from _shared_id(snapshot, key.group_id)


def _shared_id(snapshot: ClusterSnapshot, group_id: str) -> Iterator[Diagnosis]:
    """Report that both kinds of groups with this id have members, as a fault of the old one."""
    old = snapshot.groups.get(GroupKey(GroupKind.ZOOKEEPER, group_id))
    new = snapshot.groups.get(GroupKey(GroupKind.COORDINATOR, group_id))
    if old is not None and old.members and new is not None and new.members:
        yield _old_and_new(old, new)


def _old_and_new(old: GroupStatus, new: GroupStatus) -> Diagnosis:
    topics = old.topics_read & new.topics_read
    both = f": {listed(sorted(topics), limit=5)}" if topics else " that both read"
    return Diagnosis(
        code=Code.GROUP_OLD_AND_NEW,
        severity=Severity.ERROR,
        what=(
            "Consumers in ZooKeeper and consumers of a coordinator use the same group id "
            f"{old.group_id}. They don't know of each other: all records are delivered twice in "
            f"topics{both}. The coordinator rejects commits of the old consumers meanwhile."
        ),
        evidence=(
            f"in ZooKeeper: {listed([member.member_id for member in old.members], limit=3)}",
            f"at the coordinator: {listed([member.member_id for member in new.members], limit=3)}",
        ),
        repair=(
            "Stop one kind. To move to the coordinator, stop the old consumers, migrate the "
            "offsets with zkconsumer offsets migrate, then start the new ones."
        ),
        group=old.key,
    )


def _deserted(context: GroupContext) -> Iterator[Diagnosis]:
    """Report a group without members: stopped a while ago, or abandoned."""
    group = context.group
    if group.state is GroupState.ABANDONED:
        yield _abandoned(context)
        return
    if group.state is not GroupState.EMPTY or not group.is_complete:
        return
    waiting = _waiting(group)
    silent_ms = _silent_ms(context)
    if not waiting or silent_ms is None:
        return
    if group.last_commit_ms is None and silent_ms < context.around.silence_ms:
        return  # no commit time is known, and it has not been watched for long
    yield Diagnosis(
        code=Code.GROUP_STOPPED,
        severity=Severity.WARNING,
        what=(
            f"The group has no members: {counted(waiting, 'record')} "
            f"wait{'s' if waiting == 1 else ''} to be read. {_last_commit(context)}"
        ),
        evidence=_waiting_lines(group),
        repair=(
            "Start its consumers, or find out why they ended. If the group is no longer needed: "
            "after a while without a commit (--abandoned-after-ms) it counts as abandoned, and "
            "no longer as one in trouble."
        ),
        group=group.key,
    )


def _abandoned(context: GroupContext) -> Diagnosis:
    group = context.group
    waiting = _waiting(group)
    word, where = shlex.quote(group.group_id), shlex.join(cluster_option(context.snapshot))
    kept = sum(bool(partition.committed) for partition in group.partitions)
    return Diagnosis(
        code=Code.GROUP_ABANDONED,
        severity=Severity.NOTE,
        what=(
            f"The group is abandoned: it has no members. {_last_commit(context)} "
            f"{counted(waiting, 'record')} are unread."
        ),
        evidence=[f"offsets of {counted(kept, 'partition')}", *_waiting_lines(group)],
        repair=(
            f"If it is no longer needed, delete it: zkconsumer groups delete {where} "
            f"--kind {group.kind} --group {word} (zkconsumer offsets "
            "export saves its offsets first). Otherwise start its consumers."
        ),
        group=group.key,
    )


def _waiting(group: GroupStatus) -> int:
    return sum(records_behind(group.kind, partition) or 0 for partition in group.partitions)


def _waiting_lines(group: GroupStatus) -> list[str]:
    lines = []
    for partition in group.partitions:
        committed, behind = partition.effective(group.kind), records_behind(group.kind, partition)
        if committed is not None and behind:
            lines.append(
                f"{partition.topic_partition}: committed {committed.offset} "
                f"in {committed.storage}, the log ends at {partition.log_end}"
            )
    return lines


def _silent_ms(context: GroupContext) -> int | None:
    since_ms = context.group.silent_since_ms
    return None if since_ms is None else max(0, context.snapshot.taken_ms - since_ms)


def _last_commit(context: GroupContext) -> str:
    silent = ago(_silent_ms(context) or 0)
    if (
        context.group.last_commit_ms is not None
        and context.group.offsets_unchanged_since_ms is None
    ):
        return f"Its last commit was {silent} ago."
    return f"It has not committed for at least {silent}."


def _problems(context: GroupContext) -> Iterator[Diagnosis]:
    # The only problem of a coordinator's group of known state may be that it is not of consumers.
    unsure = context.in_zookeeper or context.group.state is GroupState.UNKNOWN
    if context.group.problems:
        yield Diagnosis(
            code=Code.GROUP_PROBLEM,
            severity=Severity.WARNING if unsure else Severity.NOTE,
            what="Some of the group's data could not be read, or is malformed.",
            evidence=context.group.problems,
            repair="Look at the nodes or the coordinator's response that are named above.",
        )
    partitions = [
        f"{partition.topic_partition}: {partition.problem}"
        for partition in context.group.partitions
        if partition.problem
    ]
    if partitions:
        yield Diagnosis(
            code=Code.PARTITION_PROBLEM,
            severity=Severity.WARNING,
            what=(
                f"Something is wrong with {counted(len(partitions), 'partition')} of the group. "
                "An offset that is not a number makes every rebalance of Scala consumers fail."
            ),
            evidence=partitions,
            repair="Correct the node that is named above, or find out why the request failed.",
        )


def _coordinator(context: GroupContext) -> Iterator[Diagnosis]:
    if context.in_zookeeper or context.group.coordinator is not None:
        return
    yield Diagnosis(
        code=Code.COORDINATOR_MISSING,
        severity=Severity.ERROR,
        what="No broker coordinates the group: nobody can join or commit.",
        evidence=(f"the group's state: {context.group.reported_state or context.group.state}",),
        repair=(
            "Check that the partitions of __consumer_offsets have leaders. On a small cluster "
            "the topic can't be created while offsets.topic.replication.factor is larger than "
            "the number of brokers."
        ),
    )


def _endless(context: GroupContext) -> Iterator[Diagnosis]:
    """Report a coordinator's group that was rebalancing before, and still is."""
    around, group = context.around, context.group
    before = around.group_before(group.key)
    if context.in_zookeeper or before is None:
        return
    if around.elapsed_ms(context.snapshot) < around.settle_ms:
        return
    if {group.state, before.state} != {GroupState.REBALANCING}:
        return
    came = group.members_by_id.keys() - before.members_by_id.keys()
    yield Diagnosis(
        code=Code.REBALANCE_ENDLESS,
        severity=Severity.ERROR,
        what=(
            f"The group was rebalancing {around.elapsed_ms(context.snapshot) // 1000} s ago, and "
            "still is: mostly nobody reads meanwhile."
        ),
        evidence=(
            f"{counted(len(group.members), 'member')} now, {len(before.members)} then, "
            f"{len(came)} of them new",
            f"the coordinator reports: {group.reported_state or group.state}",
        ),
        repair=(
            "Members that come and go (new ids each time) usually take longer between two polls "
            "than max.poll.interval.ms, or than session.timeout.ms in 0.9 and 0.10.0: fetch "
            "fewer records per poll, or raise that time-out. If no member is new, one of them "
            "does not respond: look at its log."
        ),
        group=group.key,
    )
