"""Owner nodes of ZooKeeper groups, and partitions without one (of groups of both kinds)."""

from enum import Enum

from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.status.doctor.circumstances import zookeeper_now_ms
from zkconsumer.status.doctor.finding import Code, Finding, Severity, counted, some
from zkconsumer.status.doctor.fix import DeleteNode, Expected, Fix, session_name
from zkconsumer.status.doctor.group_look import GroupLook
from zkconsumer.status.model import GroupPartition, GroupState, MemberStatus
from zkconsumer.zk.paths import GroupPaths, is_segment


class _Fault(Enum):
    """What is wrong with an owner; of several the first counts."""

    PERSISTENT = Code.OWNER_PERSISTENT
    DEAD = Code.OWNER_OF_DEAD_SESSION
    NO_MEMBER = Code.OWNER_NO_MEMBER
    NO_THREAD = Code.OWNER_NO_THREAD
    NOT_SUBSCRIBED = Code.OWNER_NOT_SUBSCRIBED


_WHAT = {
    _Fault.PERSISTENT: (
        "{n} owned by nodes that belong to no session. They never go by themselves, and nobody "
        "else can own these partitions while they are there."
    ),
    _Fault.DEAD: (
        "{n} owned by a session that is over. Whoever should read them waits until the node is "
        "gone; where the same member came back in a new session, it believes that it owns them, "
        "and the node vanishes under it, so two may read them then."
    ),
    _Fault.NO_MEMBER: (
        "{n} owned by somebody who is not registered in the group. The others don't count it in, "
        "and wait for a partition that it does not give up."
    ),
    _Fault.NO_THREAD: (
        "{n} owned under a text that is no thread of its member. Consumers of Kafka 0.8 write "
        "the consumer id, a dash, and the number of the stream."
    ),
    _Fault.NOT_SUBSCRIBED: "{n} owned by a member that does not read their topic.",
}
_REPAIR = {
    _Fault.PERSISTENT: (
        "See that no process reads these partitions under that name, then delete the nodes."
    ),
    _Fault.DEAD: (
        "Wait for the session's time-out. Nodes that outlive it by minutes are left over: delete "
        "them, and restart a member that runs under the same id."
    ),
    _Fault.NO_MEMBER: (
        "Somebody deleted its registration, or it is another kind of client: find the process by "
        "the host in its id, and restart it. A node of a dead session goes with it."
    ),
    _Fault.NO_THREAD: "Find the client, and give it a group of its own: it is none of Kafka's.",
    _Fault.NOT_SUBSCRIBED: "Restart that member: it did not give up what it no longer reads.",
}


def examine_owners(look: GroupLook) -> list[Finding]:
    """Look at every owner, and at what has none."""
    findings = []
    if look.in_zookeeper:
        by_fault: dict[_Fault, list[GroupPartition]] = {}
        for partition in look.group.partitions:
            fault = _fault(look, partition)
            if fault is not None:
                by_fault.setdefault(fault, []).append(partition)
        findings = [_finding(look, fault, found) for fault, found in by_fault.items()]
    return findings + _missing(look)


def _fault(look: GroupLook, partition: GroupPartition) -> _Fault | None:
    owner, session_id = partition.owner, partition.owner_session
    if owner is None:
        return None
    if session_id == 0:
        return _Fault.PERSISTENT
    thread = ConsumerThreadId.parse(owner)
    member = None if thread is None else look.members.get(thread.consumer_id)
    if look.dead(session_id) and not _is_new(look, partition):
        return _Fault.DEAD
    if member is not None and _is_of_other_session(partition, member):
        return _Fault.DEAD
    if thread is None or owner in look.members:
        return _Fault.NO_THREAD
    if member is None:
        return _Fault.NO_MEMBER
    return _thread_fault(look, thread, partition.topic_partition.topic)


def _is_of_other_session(partition: GroupPartition, member: MemberStatus) -> bool:
    """Whether the member is there in another session than the one that made the owner node."""
    sessions = {partition.owner_session, member.session_id}
    return len(sessions - {None}) > 1


def _thread_fault(look: GroupLook, thread: ConsumerThreadId, topic: str) -> _Fault | None:
    member = look.readable.get(thread.consumer_id)
    if member is None:
        return None
    if topic not in member.streams:
        return _Fault.NOT_SUBSCRIBED
    return _Fault.NO_THREAD if thread.thread >= member.streams[topic] else None


def _is_new(look: GroupLook, partition: GroupPartition) -> bool:
    """Whether it may have come after the list of sessions was read."""
    since_ms = partition.owner_since_ms
    return since_ms is not None and zookeeper_now_ms(look.snapshot) - since_ms < (
        look.around.settle_ms
    )


def _finding(look: GroupLook, fault: _Fault, found: list[GroupPartition]) -> Finding:
    number = counted(len(found), "partition")
    mild = fault in {_Fault.NO_THREAD, _Fault.NOT_SUBSCRIBED} or (
        fault is _Fault.DEAD and look.settling
    )
    return Finding(
        code=fault.value,
        severity=Severity.WARNING if mild else Severity.ERROR,
        what=_WHAT[fault].format(n=f"{number} {'is' if len(found) == 1 else 'are'}"),
        evidence=some([_evidence(look, one) for one in found]),
        repair=_REPAIR[fault],
        fix=_fix(look, fault, found),
        group=look.group.key,
    )


def _evidence(look: GroupLook, partition: GroupPartition) -> str:
    owner, session_id = partition.owner or "", partition.owner_session
    told = f"{partition.topic_partition}: {owner} of {session_name(session_id)}"
    member = look.members.get(look.member_of(owner) or "")
    if member is not None and member.session_id not in {None, session_id}:
        return f"{told}; that member is now of {session_name(member.session_id)}"
    if member is None and session_id:
        others = [one.member_id for one in look.group.members if one.session_id == session_id]
        if others:
            return f"{told}, which is that of {others[0]}"
        if look.snapshot.live_sessions is None:
            return f"{told}; whether that is alive, ZooKeeper did not tell"
    return told


def _fix(look: GroupLook, fault: _Fault, found: list[GroupPartition]) -> Fix | None:
    """Delete what belongs to no session, or to one that ZooKeeper says is over."""
    if not is_segment(look.group.group_id):
        return None
    paths = GroupPaths(look.group.group_id)
    writes = tuple(
        DeleteNode(
            paths.owner(one.topic_partition),
            Expected(session_id=one.owner_session, data=(one.owner or "").encode()),
        )
        for one in found
        if fault is _Fault.PERSISTENT or (fault is _Fault.DEAD and look.dead(one.owner_session))
    )
    if not writes:
        return None
    return Fix(
        what=f"delete {counted(len(writes), 'owner node')} of group {look.group.group_id}",
        caution=(
            "Make sure that no process reads these partitions under these names. The group takes "
            "them at its next rebalance: restart a member if there is none."
        ),
        writes=writes,
    )


def _missing(look: GroupLook) -> list[Finding]:
    unowned = look.unowned
    if not unowned or not look.readable:
        return []
    if not look.in_zookeeper and look.group.state is not GroupState.STABLE:
        return []
    severity, how_sure = _how_bad(look, unowned)
    return [
        Finding(
            code=Code.OWNER_MISSING,
            severity=severity,
            what=(
                f"Nobody reads {counted(len(unowned), 'partition')} that members of the group "
                f"subscribe to. {how_sure}"
            ),
            evidence=some([_place(look, tp) for tp in unowned]),
            repair=(
                "The other findings of this group say what keeps it from sharing out. If there "
                "are none, restart a member: that makes all of them share out anew."
            ),
            group=look.group.key,
        )
    ]


def _how_bad(look: GroupLook, unowned: tuple[TopicPartition, ...]) -> tuple[Severity, str]:
    """One look can't tell a stuck group from a rebalance on its way; a second one can."""
    around = look.around
    before = around.group_before(look.group.key)
    if before is not None and around.elapsed_ms(look.snapshot) >= around.settle_ms:
        had = {one.topic_partition for one in before.partitions if one.owner is not None}
        if before.members and any(tp not in had for tp in unowned):
            seconds = around.elapsed_ms(look.snapshot) // 1000
            return Severity.ERROR, f"That was so {seconds} s before, too."
    if look.settling:
        return Severity.NOTE, "A member or an owner came just now: it may be sharing out."
    return Severity.WARNING, "If a second look shows the same, the group is stuck."


def _place(look: GroupLook, tp: TopicPartition) -> str:
    known = look.partitions.get(tp)
    committed = None if known is None else known.effective(look.group.kind)
    if known is None or committed is None or known.log_end is None:
        return str(tp)
    return f"{tp}: committed {committed.offset}, the log ends at {known.log_end}"
