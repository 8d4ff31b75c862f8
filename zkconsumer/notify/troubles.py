"""The trouble that a cluster and each of its groups are in, as the page and doctor judge it. Pure.

What was not read says nothing: neither that a group is in trouble nor that it is well again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity
from zkconsumer.status.model import GroupKey
from zkconsumer.web.state import ClusterState

Subject: TypeAlias = GroupKey | None
"""A group; None: the cluster itself."""

UNREADABLE: Final = "cluster-unreadable"
BEHIND: Final = "falling-behind"
NOT_MOVING: Final = "not-moving"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrouble:
    """The trouble of one subject: its worst finding.

    Attributes:
        severity: never a note.
        code: the doctor's code, or one of this module.
        what: one or two sentences.
        evidence: observations, one per line.
        repair: what helps.
        further: the number of further findings of the subject, notes left out.
        lag: of the group in records, if known.
    """

    severity: Severity
    code: str
    what: str
    evidence: tuple[str, ...] = ()
    repair: str = ""
    further: int = 0
    lag: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What one state says of a subject.

    Attributes:
        subject: the group, or the cluster.
        trouble: None: it is well, as far as was read.
        blind: the parts that were not read; a subject that was in trouble is only well again if
            nothing is among them that was read then.
    """

    subject: Subject
    trouble: GroupTrouble | None
    blind: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObservation:
    """What one state says.

    Attributes:
        conditions: of the subjects that were read for this state; the others are as before.
        present: all subjects that there are; others are gone. None: unknown.
        blind: the parts that were not read, for those that are gone.
    """

    conditions: tuple[Condition, ...]
    present: frozenset[Subject] | None
    blind: frozenset[str] = frozenset()


def observe(state: ClusterState) -> GroupObservation:
    """Return what a state says of the cluster and of its groups."""
    if state.problem is not None:
        # Before the first read there is nothing to report; after it, that the cluster can't be
        # read.
        trouble = GroupTrouble(
            severity=Severity.ERROR,
            code=UNREADABLE,
            what=f"The cluster can't be read: {state.problem}",
            repair="Look at its ZooKeeper or brokers, and whether they are reached from here.",
        )
        began = state.number > 0
        found = (Condition(subject=None, trouble=trouble),) if began else ()
        return GroupObservation(conditions=found, present=None)
    blind = _blind(state, None)
    return GroupObservation(
        conditions=tuple(_conditions(state, blind)),
        present=frozenset([None, *state.snapshot.groups]),
        blind=blind,
    )


def _conditions(state: ClusterState, blind: frozenset[str]) -> Iterator[Condition]:
    if state.covered is None:
        yield Condition(
            subject=None, trouble=_worst(state.judgements.findings(None), None), blind=blind
        )
    for key, group in state.snapshot.groups.items():
        if state.covered is not None and key not in state.covered:
            continue
        unread = blind | _blind(state, key)
        if not group.whole:
            unread |= {"members and owners"}
        yield Condition(subject=key, trouble=_group_trouble(state, key), blind=unread)


def _blind(state: ClusterState, key: GroupKey | None) -> frozenset[str]:
    group_id = None if key is None else key.group_id
    return frozenset(
        failure.part for failure in state.snapshot.failures if failure.group_id == group_id
    )


def _group_trouble(state: ClusterState, key: GroupKey) -> GroupTrouble | None:
    lag = state.judgements.lag(key).total
    found = _worst(state.judgements.findings(key), lag)
    if found is not None and found.severity is Severity.ERROR:
        return found
    outcome = state.judgements.outcome(key)
    if outcome.status is BurrowStatus.ERR:
        bad = [
            partition for partition in outcome.partitions if partition.status > BurrowStatus.WARN
        ]
        return GroupTrouble(
            severity=Severity.ERROR,
            code=NOT_MOVING,
            what=f"{len(bad)} of {len(outcome.partitions)} partitions do not get on.",
            evidence=tuple(
                f"{partition.topic_partition}: {partition.status.meaning}; "
                f"{partition.current_lag} records behind"
                for partition in bad[:5]
            ),
            repair=(found.repair if found else "") or "zkconsumer doctor looks closer.",
            further=0 if found is None else found.further + 1,
            lag=lag,
        )
    if found is None and outcome.status is BurrowStatus.WARN:
        return GroupTrouble(
            severity=Severity.WARNING,
            code=BEHIND,
            what="The group gets on, but falls further behind.",
            repair="More members or streams, as far as there are partitions: zkconsumer assign.",
            lag=lag,
        )
    return found


def _worst(findings: tuple[Diagnosis, ...], lag: int | None) -> GroupTrouble | None:
    bad = [finding for finding in findings if finding.severity > Severity.NOTE]
    if not bad:
        return None
    worst = max(bad, key=lambda finding: finding.severity)
    return GroupTrouble(
        severity=worst.severity,
        code=worst.code.value,
        what=worst.what,
        evidence=tuple(worst.evidence),
        repair=worst.repair,
        further=len(bad) - 1,
        lag=lag,
    )
