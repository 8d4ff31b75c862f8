"""Diagnoses of registrations in ZooKeeper: dead, unreadable, foreign, idle, with wrong times."""

import re
from collections.abc import Iterator

from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed
from zkconsumer.status.doctor.circumstances import zookeeper_now_ms
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.doctor.fix import Fix, Write, session_name
from zkconsumer.status.doctor.group_context import GroupContext, is_malformed, is_readable
from zkconsumer.status.model import MemberStatus
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import JsonObject, parse_object
from zkconsumer.zk.nodes import Pattern
from zkconsumer.zk.paths import is_segment

_ID_TIME = re.compile(r"-([0-9]{13})-[0-9a-f]{1,8}")
"""The end of a generated consumer id: milliseconds, and up to eight random hex digits."""


def examine_members(context: GroupContext) -> list[Diagnosis]:
    """Diagnose every registration of a ZooKeeper group."""
    if not context.in_zookeeper:
        return []
    return [
        *_stale(context),
        *_unreadable(context),
        *_not_understood(context),
        *_unreadable_by_scala(context),
        *_first_regex_only(context),
        *_idle(context),
        *_far_off(context),
    ]


def stale_members(context: GroupContext) -> list[MemberStatus]:
    """Return the members that are registered but dead."""
    return [member for member in context.group.members if _is_stale(context, member)]


def _stale(context: GroupContext) -> Iterator[Diagnosis]:
    gone = stale_members(context)
    if gone:
        yield Diagnosis(
            code=Code.MEMBER_STALE,
            severity=Severity.ERROR,
            what=(
                f"{counted(len(gone), 'member')} of the group {'is' if len(gone) == 1 else 'are'} "
                "registered but gone: nobody reads the partitions that are assigned to "
                f"{'it' if len(gone) == 1 else 'them'}."
            ),
            evidence=[f"{_where(context, member)}: {_of_whom(context, member)}" for member in gone],
            repair=(
                "Check on its host that the process is gone. The registration of a session that "
                "ended disappears with the session, within its time-out; a persistent one has to "
                "be deleted."
            ),
            fix=_delete(
                context,
                gone,
                caution=(
                    "A member that is deleted but alive does not rebalance until it is restarted."
                ),
            ),
            culprits=tuple(member.member_id for member in gone),
        )


def _is_stale(context: GroupContext, member: MemberStatus) -> bool:
    if member.session_id == 0:
        return True
    # A member that registered after the sessions were read is not in the list.
    created_ms, now_ms = member.created_ms, zookeeper_now_ms(context.snapshot)
    is_new = created_ms is not None and now_ms - created_ms < context.around.settle_ms
    return context.dead(member.session_id) and not is_new


def _unreadable(context: GroupContext) -> Iterator[Diagnosis]:
    found = [member for member in context.group.members if is_malformed(member)]
    if found and not any(_is_sound(context, member) for member in context.group.members):
        yield _of_another_kind(context, found)
        return
    for member in found:
        text, foreign = _text(member), _is_foreign(member)
        about = "a bare topic name, as pykafka registers it" if foreign else member.problem
        yield Diagnosis(
            code=Code.MEMBER_FOREIGN if foreign else Code.MEMBER_UNREADABLE,
            severity=Severity.ERROR,
            what=(
                f"The registration of {member.member_id} can't be parsed. Scala members of the "
                "group fail every rebalance while it exists; other members ignore it, and read "
                "the same partitions as it does."
            ),
            evidence=(
                f"{_where(context, member)} holds {text[:200]!r}",
                f"why: {about or 'it is not a registration'}",
                f"it belongs to {session_name(member.session_id)}",
            ),
            repair=(
                "Stop that client, and give it a group of its own: it can't share a group with "
                "consumers of Kafka 0.8."
            ),
            fix=_delete(
                context,
                [member],
                caution=(
                    "Stop its process first: otherwise it keeps reading, and may register again."
                ),
            ),
            culprits=(member.member_id,),
        )


def _is_sound(context: GroupContext, member: MemberStatus) -> bool:
    return not is_malformed(member) and not _is_stale(context, member)


def _text(member: MemberStatus) -> str:
    return (member.data or b"").decode("utf-8", "replace")


def _is_foreign(member: MemberStatus) -> bool:
    return is_topic_name(_text(member))


def _of_another_kind(context: GroupContext, found: list[MemberStatus]) -> Diagnosis:
    """Report groups in which all clients use another format: these may work well together."""
    foreign = all(map(_is_foreign, found))
    return Diagnosis(
        code=Code.MEMBER_FOREIGN if foreign else Code.MEMBER_UNREADABLE,
        severity=Severity.WARNING,
        what=(
            "No member of the group registers in the format of Kafka 0.8 "
            f"consumers{' (pykafka registers the bare name of its topic)' if foreign else ''}. "
            "They may work well together, but how they assign partitions is unknown here. Any "
            "other consumer that joins disturbs them, and fails."
        ),
        evidence=[
            f"{_where(context, member)} of {session_name(member.session_id)} "
            f"holds {_text(member)[:200]!r}"
            for member in found
        ],
        repair=(
            "Let no other client join this group. If no such client is meant to run, stop its "
            "process: its registration disappears with it."
        ),
    )


def _not_understood(context: GroupContext) -> Iterator[Diagnosis]:
    """Report valid registrations that we can't expand, such as a regex that only Java knows."""
    found = [
        member
        for member in context.group.members
        if not is_malformed(member) and not is_readable(member)
    ]
    if found:
        yield Diagnosis(
            code=Code.MEMBER_NOT_UNDERSTOOD,
            severity=Severity.WARNING,
            what=(
                f"What {counted(len(found), 'member')} of the group should read can't be "
                "determined. So nothing is reported here about which member should own which "
                "partition, and members other than Scala's can't join."
            ),
            evidence=[f"{_where(context, member)}: {member.problem}" for member in found],
            repair="Simplify its filter, or name the topics.",
            culprits=tuple(member.member_id for member in found),
        )


def _unreadable_by_scala(context: GroupContext) -> Iterator[Diagnosis]:
    found = [member for member in context.readable.values() if member.problem is not None]
    if found:
        yield Diagnosis(
            code=Code.MEMBER_UNREADABLE_BY_SCALA,
            severity=Severity.ERROR if len(context.members) > 1 else Severity.WARNING,
            what=(
                f"{counted(len(found), 'registration')} can be parsed here, but not by Scala "
                "consumers: each Scala member of the group fails every rebalance."
            ),
            evidence=[f"{_where(context, member)}: {member.problem}" for member in found],
            repair=(
                "Stop that client. In a registration the timestamp has to be a string, and every "
                "number a 32-bit integer."
            ),
            culprits=tuple(member.member_id for member in found),
        )


def _first_regex_only(context: GroupContext) -> Iterator[Diagnosis]:
    """Report wildcard members with several entries, such as kafka-node's: only the first counts."""
    evidence = []
    for member in context.readable.values():
        if member.pattern in {Pattern.WHITE_LIST, Pattern.BLACK_LIST}:
            parsed = parse_object(member.data or b"")
            entries = parsed.fields.get("subscription") if isinstance(parsed, JsonObject) else None
            if isinstance(entries, dict) and len(entries) > 1:
                evidence.append(f"{_where(context, member)} names {listed(entries, limit=5)}")
    if evidence:
        yield Diagnosis(
            code=Code.MEMBER_FOREIGN,
            severity=Severity.WARNING,
            what=(
                "Wildcard members name several expressions. Other members see only the first of "
                "them, so they don't agree on who reads what."
            ),
            evidence=evidence,
            repair="Give that client (kafka-node?) one topic per consumer, or a group of its own.",
        )


def _idle(context: GroupContext) -> Iterator[Diagnosis]:
    """Report members that own nothing while partitions of their share have no owner."""
    if context.settling or not context.unowned:
        return
    unowned = set(context.unowned)
    evidence: list[str] = []
    idle: list[str] = []
    about: set[TopicPartition] = set()
    for member_id, member in context.readable.items():
        if context.owned[member_id] or _is_stale(context, member):
            continue
        shares = (context.range_shares or {}, context.round_robin_shares or {})
        waiting = [sorted(share.get(member_id, set()) & unowned) for share in shares]
        if meant := max(waiting, key=len):
            about.update(meant)
            idle.append(member_id)
            evidence.append(f"{member_id}: nobody has {listed(meant, limit=5)}")
    if evidence:
        yield Diagnosis(
            code=Code.MEMBER_IDLE,
            severity=Severity.ERROR,
            what=(
                f"{counted(len(evidence), 'member')} own{'s' if len(evidence) == 1 else ''} "
                "nothing, although partitions that should be theirs have no owner. A Scala "
                "consumer that failed rebalance.max.retries times remains like this: registered "
                "but inactive, until something changes in the group."
            ),
            evidence=evidence,
            repair=(
                "Look for 'can't rebalance after' in its log, remove the cause (see the other "
                "findings of this group), then restart it. Don't delete its registration while "
                "it runs. Check that all members have the same partition.assignment.strategy."
            ),
            about=frozenset(about),
            culprits=tuple(idle),
        )


def _far_off(context: GroupContext) -> Iterator[Diagnosis]:
    found = {
        member.member_id: text
        for member in context.group.members
        if (text := _time_off(context, member)) is not None
    }
    if found:
        yield Diagnosis(
            code=Code.MEMBER_TIME_FAR_OFF,
            severity=Severity.WARNING,
            what="The clocks of some members' hosts are far from ZooKeeper's.",
            evidence=list(found.values()),
            repair=(
                "Synchronize their clocks (NTP). The group itself does not depend on them, but "
                "times in logs, offsets by time and the retention of the records that they "
                "produce do."
            ),
            culprits=tuple(found),
        )


def _time_off(context: GroupContext, member: MemberStatus) -> str | None:
    """Return how a member's times contradict the age of its node, in words; None if they agree.

    The time in its id may be earlier, since a process can be older than its registration.
    """
    skew_ms, created_ms = context.around.skew_ms, member.created_ms
    registered_ms = member.registered_ms
    if created_ms is not None and registered_ms is not None:
        off_ms = registered_ms - created_ms
        if abs(off_ms) > skew_ms:
            side = "after" if off_ms > 0 else "before"
            return (
                f"{member.member_id}: its registration is dated {abs(off_ms) // 1000} s {side} "
                "its node was created"
            )
    in_id = _ID_TIME.search(member.member_id)
    if in_id is None or in_id.end() != len(member.member_id):
        return None
    latest_ms = created_ms if created_ms is not None else zookeeper_now_ms(context.snapshot)
    ahead_ms = int(in_id[1]) - latest_ms
    if ahead_ms <= skew_ms:
        return None
    return f"{member.member_id}: its id is {ahead_ms // 1000} s ahead of its registration"


def _delete(context: GroupContext, members: list[MemberStatus], caution: str) -> Fix | None:
    """Plan to delete registrations of known content, if they are still unchanged."""
    writes = tuple(
        Write(
            path=context.paths.member(member.member_id),
            before=member.data,
            session_id=member.session_id,
        )
        for member in members
        if member.data is not None
        and member.session_id is not None
        and is_segment(member.member_id)
    )
    if not writes:
        return None
    return Fix(
        what=f"delete {counted(len(writes), 'registration')} of group {context.group.group_id}",
        caution=caution,
        writes=writes,
    )


def _of_whom(context: GroupContext, member: MemberStatus) -> str:
    if member.session_id == 0:
        return "a persistent node, which no consumer creates, and which is never deleted by itself"
    since = ""
    if member.created_ms is not None:
        age_ms = zookeeper_now_ms(context.snapshot) - member.created_ms
        since = f", created {max(0, age_ms) // 1000} s ago"
    return (
        f"of {session_name(member.session_id)}, which is not among ZooKeeper's live sessions{since}"
    )


def _where(context: GroupContext, member: MemberStatus) -> str:
    return f"/consumers/{context.group.group_id}/ids/{member.member_id}"
