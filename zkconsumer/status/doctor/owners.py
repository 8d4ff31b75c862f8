"""Diagnoses of owner nodes of ZooKeeper groups, and of unowned partitions (of both kinds)."""

from collections.abc import Iterator

from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed
from zkconsumer.status.doctor.circumstances import Circumstances, zookeeper_now_ms
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.doctor.fix import Fix, Write, session_name
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.model import GroupState, GroupStatus
from zkconsumer.status.verify import MisownedPartition, OwnershipFault, ownership_faults

_CODES = {
    OwnershipFault.NO_SESSION: Code.OWNER_PERSISTENT,
    OwnershipFault.DEAD_SESSION: Code.OWNER_OF_DEAD_SESSION,
    OwnershipFault.OTHER_SESSION: Code.OWNER_OF_OTHER_SESSION,
    OwnershipFault.NO_MEMBER: Code.OWNER_NO_MEMBER,
    OwnershipFault.NO_THREAD_ID: Code.OWNER_NO_THREAD,
    OwnershipFault.NO_STREAM: Code.OWNER_NO_THREAD,
    OwnershipFault.NOT_READ: Code.OWNER_NOT_SUBSCRIBED,
    OwnershipFault.NO_PARTITION: Code.OWNER_NOT_SUBSCRIBED,
}
_SAFE_TO_DELETE = {Code.OWNER_PERSISTENT, Code.OWNER_OF_DEAD_SESSION}
_MILD = {Code.OWNER_NO_THREAD, Code.OWNER_NOT_SUBSCRIBED}
_WHAT = {
    Code.OWNER_PERSISTENT: (
        "{n} owned by nodes that belong to no session. Such nodes are never deleted by "
        "themselves, and nobody else can own these partitions while they exist."
    ),
    Code.OWNER_OF_DEAD_SESSION: (
        "{n} owned by a session that has ended. The members that should read them can't claim "
        "them while the nodes exist."
    ),
    Code.OWNER_OF_OTHER_SESSION: (
        "{n} owned by a member that is now registered in another session than the one that "
        "claimed them. The nodes disappear with the old session, and the member may not notice: "
        "then two members read them."
    ),
    Code.OWNER_NO_MEMBER: (
        "{n} owned by a member that is not registered in the group. The others don't include it "
        "in the assignment, and wait for partitions that it does not release."
    ),
    Code.OWNER_NO_THREAD: (
        "{n} owned under a name that is not a stream of the member for the topic. Consumers of "
        "Kafka 0.8 write the consumer id, a dash, and the number of the stream."
    ),
    Code.OWNER_NOT_SUBSCRIBED: (
        "{n} owned although no member reads the topic, or the topic has no such partition."
    ),
}
_REPAIR = {
    Code.OWNER_PERSISTENT: (
        "Make sure that no process reads these partitions under that name, then delete the nodes."
    ),
    Code.OWNER_OF_DEAD_SESSION: (
        "Wait for the session time-out. Nodes that outlive it by minutes are left over: delete "
        "them. The group claims the partitions at its next rebalance."
    ),
    Code.OWNER_OF_OTHER_SESSION: (
        "If this lasts longer than the session time-out, restart that member. Two processes with "
        "the same consumer.id look like this, too."
    ),
    Code.OWNER_NO_MEMBER: (
        "Its registration was deleted, or it is another kind of client: find the process by the "
        "host in its id, and restart it. The nodes of a dead session disappear with it."
    ),
    Code.OWNER_NO_THREAD: (
        "Find the client. If it is not one of Kafka's, give it a group of its own; otherwise "
        "restart it."
    ),
    Code.OWNER_NOT_SUBSCRIBED: (
        "Restart the owner: it did not release partitions that are no longer subscribed."
    ),
}


def examine_owners(context: GroupContext) -> list[Diagnosis]:
    """Diagnose every owner, and every partition without one."""
    by_code: dict[Code, list[MisownedPartition]] = {}
    for fault in context.faults if context.in_zookeeper else ():
        if fault.fault is not OwnershipFault.UNOWNED and not _is_excused(context, fault):
            by_code.setdefault(_CODES[fault.fault], []).append(fault)
    findings = (_finding(context, code, found) for code, found in by_code.items())
    return [*findings, *_missing(context)]


def _is_excused(context: GroupContext, fault: MisownedPartition) -> bool:
    """Return whether the fault is only apparent."""
    if fault.fault is OwnershipFault.DEAD_SESSION:
        # A session that began after the sessions were read is not in the list.
        return _is_new(context, fault)
    # The owner's subscription is unknown: its registration has a diagnosis instead.
    member_id = context.member_of(fault.owner or "")
    known = member_id not in context.members or member_id in context.readable
    return not known and fault.fault in {OwnershipFault.NOT_READ, OwnershipFault.NO_STREAM}


def _is_new(context: GroupContext, fault: MisownedPartition) -> bool:
    """Return whether the node is so new that the other data may have been read before it."""
    since_ms = context.partitions[fault.topic_partition].owner_since_ms
    now_ms = zookeeper_now_ms(context.snapshot)
    return since_ms is not None and now_ms - since_ms < context.around.settle_ms


def _finding(context: GroupContext, code: Code, found: list[MisownedPartition]) -> Diagnosis:
    number = counted(len(found), "partition")
    passing = code is not Code.OWNER_PERSISTENT and all(_is_new(context, fault) for fault in found)
    mild = code in _MILD or passing
    return Diagnosis(
        code=code,
        severity=Severity.WARNING if mild else Severity.ERROR,
        what=_WHAT[code].format(n=f"{number} {'is' if len(found) == 1 else 'are'}"),
        evidence=[_evidence(context, fault) for fault in found],
        repair=_REPAIR[code],
        fix=_fix(context, found) if code in _SAFE_TO_DELETE else None,
        about=frozenset(fault.topic_partition for fault in found),
        culprits=tuple(fault.owner for fault in found if fault.owner is not None),
    )


def _evidence(context: GroupContext, fault: MisownedPartition) -> str:
    reported = f"{fault.topic_partition}: {fault.owner} of {session_name(fault.owner_session)}"
    if fault.member_session not in {None, fault.owner_session}:
        return f"{reported}; that member is now in {session_name(fault.member_session)}"
    if fault.fault is OwnershipFault.NO_MEMBER:
        of_session = [
            member.member_id
            for member in context.group.members
            if member.session_id == fault.owner_session
        ]
        if of_session:
            return f"{reported}, which is that of {of_session[0]}"
        if context.snapshot.live_sessions is None:
            return f"{reported}; whether that session is alive is unknown"
    return reported


def _fix(context: GroupContext, found: list[MisownedPartition]) -> Fix:
    """Plan to delete owner nodes without a session, or of a session that has ended."""

    def deleted(fault: MisownedPartition) -> Write:
        assert fault.owner_session is not None  # such a node was read
        return Write(
            path=context.paths.owner(fault.topic_partition),
            before=(fault.owner or "").encode(),
            session_id=fault.owner_session,
        )

    return Fix(
        what=f"delete {counted(len(found), 'owner node')} of group {context.group.group_id}",
        caution=(
            "Make sure that no process reads these partitions under these names. The group "
            "claims them at its next rebalance: restart a member if there is none."
        ),
        writes=tuple(map(deleted, found)),
    )


def _missing(context: GroupContext) -> Iterator[Diagnosis]:
    unowned = context.unowned
    if not unowned or not context.readable:
        return
    if not context.in_zookeeper and context.group.state is not GroupState.STABLE:
        return
    severity, how_sure = _how_bad(context, unowned)
    yield Diagnosis(
        code=Code.OWNER_MISSING,
        severity=severity,
        what=(
            f"Nobody reads {counted(len(unowned), 'partition')} that members of the group "
            f"subscribe to. {how_sure}"
        ),
        evidence=[_described(context, tp) for tp in unowned],
        repair=(
            "The other findings of this group say what prevents a rebalance. If there are none, "
            "restart a member: then all of them rebalance."
        ),
        about=frozenset(unowned),
    )


def _how_bad(context: GroupContext, unowned: tuple[TopicPartition, ...]) -> tuple[Severity, str]:
    """Return the severity, and a sentence about it: one snapshot can't rule out a rebalance."""
    around = context.around
    before = around.group_before(context.group.key)
    if before is not None and around.elapsed_ms(context.snapshot) >= around.settle_ms:
        lasting = sorted(_unowned_before(around, before).intersection(unowned))
        seconds = around.elapsed_ms(context.snapshot) // 1000
        if len(lasting) == len(unowned):
            return Severity.ERROR, f"It was the same {seconds} s before."
        if lasting:
            return Severity.ERROR, (
                f"{len(lasting)} of them had no owner {seconds} s before, either: "
                f"{listed(lasting)}."
            )
    if context.settling:
        return Severity.NOTE, (
            "A member or an owner has just appeared: the group may be rebalancing."
        )
    return Severity.WARNING, "If a second snapshot shows the same, the group is stuck."


def _unowned_before(around: Circumstances, before: GroupStatus) -> set[TopicPartition]:
    """Return the subscribed partitions without an owner in the earlier snapshot."""
    assert around.earlier is not None
    faults = ownership_faults(before, around.earlier.partition_ids(), around.earlier.live_sessions)
    return {fault.topic_partition for fault in faults if fault.fault is OwnershipFault.UNOWNED}


def _described(context: GroupContext, tp: TopicPartition) -> str:
    known = context.partitions.get(tp)
    committed = None if known is None else known.effective(context.group.kind)
    if known is None or committed is None or known.log_end is None:
        return f"{tp}"
    return f"{tp}: committed {committed.offset}, the log ends at {known.log_end}"
