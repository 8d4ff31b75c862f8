"""Nests the diagnoses of a group below their cause: one cause is one incident.

The registration of a dead member leaves partitions without an owner, keeps others idle, and makes
subscriptions unequal: five diagnoses that look like five faults. A diagnosis is nested below a
cause only if the cause explains all of its partitions, or if it would not exist without the cause.
"""

from dataclasses import replace
from functools import cached_property

from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.doctor.members import examine_members, stale_members
from zkconsumer.status.doctor.subscriptions import examine_subscriptions

_OF_PARTITIONS = frozenset(
    {
        Code.OWNER_PERSISTENT,
        Code.OWNER_OF_DEAD_SESSION,
        Code.OWNER_MISSING,
        Code.MEMBER_IDLE,
        Code.COMMITS_PAUSED,
        Code.READING_STALLED,
        Code.OFFSET_BELOW_LOG,
    }
)
"""Diagnoses that can follow from partitions that no member reads or can claim."""
_OF_THE_GROUP = frozenset(
    {
        Code.SUBSCRIPTIONS_UNEQUAL,
        Code.ASSIGNORS_DIFFER,
        Code.TOO_FEW_PARTITIONS,
        Code.SUBSCRIBED_TOPIC_MISSING,
        Code.MEMBER_TIME_FAR_OFF,
        Code.MEMBER_NOT_UNDERSTOOD,
    }
)
"""Diagnoses that depend on all registrations; computed again without the dead members."""
_UNREADABLE = frozenset(
    {Code.MEMBER_UNREADABLE, Code.MEMBER_FOREIGN, Code.MEMBER_UNREADABLE_BY_SCALA}
)
_KEPT_BY = frozenset(
    {
        Code.OWNER_PERSISTENT,
        Code.OWNER_OF_DEAD_SESSION,
        Code.OWNER_OF_OTHER_SESSION,
        Code.OWNER_NO_MEMBER,
        Code.MEMBER_IDLE,
    }
)
"""Causes that explain only the partitions that they are about."""
_ORDER = (Code.GROUP_ABANDONED, Code.MEMBER_STALE, *sorted(_UNREADABLE), *sorted(_KEPT_BY))


def incidents(context: GroupContext, findings: list[Diagnosis]) -> list[Diagnosis]:
    """Return the causes with their consequences, and the diagnoses without a cause."""
    causes = _Causes(context)
    left = list(findings)
    for code in _ORDER:
        for cause in [diagnosis for diagnosis in left if diagnosis.code is code]:
            if cause not in left:
                continue  # it was nested below another cause
            found = [
                diagnosis
                for diagnosis in left
                if diagnosis is not cause and causes.explains(cause, diagnosis)
            ]
            if found:
                whole = replace(cause, consequences=(*cause.consequences, *found))
                left = [
                    whole if diagnosis is cause else diagnosis
                    for diagnosis in left
                    if diagnosis not in found
                ]
    return left


class _Causes:
    """Decides which diagnoses of one group each kind of cause explains."""

    def __init__(self, context: GroupContext) -> None:
        self._context = context

    def explains(self, cause: Diagnosis, other: Diagnosis) -> bool:
        """Return whether a diagnosis follows from another one."""
        if cause.code is Code.GROUP_ABANDONED:
            return True
        if cause.code is Code.MEMBER_STALE:
            if other.code in _OF_PARTITIONS:
                return bool(other.about) and other.about <= self._left_to_the_gone
            return other.code in _OF_THE_GROUP and other.code not in self._found_without
        if cause.code in _UNREADABLE:
            stops_all = cause.severity is Severity.ERROR
            return stops_all and other.code in {Code.OWNER_MISSING, Code.MEMBER_IDLE}
        if other.code not in _OF_PARTITIONS or other.code is cause.code:
            return False
        return bool(other.about) and other.about <= cause.about

    @cached_property
    def _gone(self) -> frozenset[str]:
        return frozenset(member.member_id for member in stale_members(self._context))

    @cached_property
    def _left_to_the_gone(self) -> frozenset[TopicPartition]:
        """Return the partitions of dead members, and those assigned to them by either strategy."""
        context = self._context
        found = {
            tp
            for tp, partition in context.partitions.items()
            if partition.owner is not None and context.member_of(partition.owner) in self._gone
        }
        for shares in (context.range_shares, context.round_robin_shares):
            for member_id in self._gone:
                found |= (shares or {}).get(member_id, frozenset())
        return frozenset(found)

    @cached_property
    def _found_without(self) -> frozenset[Code]:
        """Return the codes that would be found if the dead members were not registered."""
        context = self._context
        members = tuple(
            member for member in context.group.members if member.member_id not in self._gone
        )
        without = replace(context, group=replace(context.group, members=members))
        found = [*examine_members(without), *examine_subscriptions(without)]
        return frozenset(diagnosis.code for diagnosis in found)


def flatten(findings: tuple[Diagnosis, ...] | list[Diagnosis]) -> list[Diagnosis]:
    """Return all diagnoses in one list, each cause before its consequences."""
    return [
        diagnosis for cause in findings for diagnosis in (cause, *flatten(list(cause.consequences)))
    ]
