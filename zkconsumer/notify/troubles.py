"""Finds the troubles of a cluster and its groups, as the page and the doctor judge them. Pure.

Parts that were not read prove neither that a group is in trouble nor that it is well.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity, counted
from zkconsumer.status.doctor.headline import doctor_command, group_command, headline_text
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.web.pages.formatting import Tone
from zkconsumer.web.pages.group_rows import group_row
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
        severity: the severity; never a note.
        code: the doctor's code, or one of this module's.
        what: the trouble, in one or two sentences.
        evidence: observations, one per line.
        repair: the remedy.
        further: the number of further findings of the subject, without notes.
        lag: the lag of the group in records; None if unknown.
    """

    severity: Severity
    code: str
    headline: str
    what: str
    evidence: tuple[str, ...] = ()
    repair: str = ""
    command: str = ""
    further: int = 0
    lag: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The condition of a subject in one state.

    Attributes:
        subject: the group, or the cluster.
        trouble: the trouble; None: the subject is well, as far as it was read.
        blind: the parts that were not read; a subject in trouble is well again only if all parts
            that were read when it was in trouble were read again.
    """

    subject: Subject
    trouble: GroupTrouble | None
    blind: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObservation:
    """The conditions of all subjects in one state.

    Attributes:
        conditions: the conditions of the subjects that were read for this state; others are
            unchanged.
        present: all existing subjects; others are gone. None: unknown.
        blind: the parts that were not read, for subjects that are gone.
    """

    conditions: tuple[Condition, ...]
    present: frozenset[Subject] | None
    blind: frozenset[str] = frozenset()


def observe(state: ClusterState) -> GroupObservation:
    """Return the observation of the cluster and its groups in a state."""
    if state.problem is not None:
        # Only a cluster that was read before is reported as unreadable.
        trouble = GroupTrouble(
            severity=Severity.ERROR,
            code=UNREADABLE,
            headline="The cluster can't be read now",
            what=f"The cluster can't be read: {state.problem}",
            repair="Check its ZooKeeper or brokers, and whether they can be reached from here.",
            command=group_command(None, state.snapshot),
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
        yield Condition(subject=None, trouble=_cluster_trouble(state), blind=blind)
    for key, group in state.snapshot.groups.items():
        if state.covered is not None and key not in state.covered:
            continue
        unread = blind | _blind(state, key)
        if not group.is_complete:
            unread |= {"members and owners"}
        yield Condition(subject=key, trouble=_group_trouble(state, key), blind=unread)


def _blind(state: ClusterState, key: GroupKey | None) -> frozenset[str]:
    group_id = None if key is None else key.group_id
    return frozenset(
        failure.part for failure in state.snapshot.failures if failure.group_id == group_id
    )


def _cluster_trouble(state: ClusterState) -> GroupTrouble | None:
    found = [
        finding
        for finding in state.judgements.findings(None)
        if finding.severity > Severity.NOTE and finding.group is None
    ]
    return _trouble(found[0], state.snapshot, further=len(found) - 1) if found else None


def _group_trouble(state: ClusterState, key: GroupKey) -> GroupTrouble | None:
    """Return a group's trouble by the page's verdict; None if the verdict is not bad.

    A finding that names another group of the same id counts as that group's trouble only, so that
    one cause is reported once.
    """
    row = group_row(state, key)
    own = tuple(finding for finding in row.findings or () if finding.group == key)
    row = replace(row, findings=own)
    verdict, findings = row.verdict, row.findings or ()
    if not verdict.is_bad:
        return None
    if verdict.diagnosis is not None:
        return _trouble(verdict.diagnosis, state.snapshot, further=verdict.more, lag=row.lag)
    is_error = verdict.tone is Tone.BAD
    does_not = "does not" if len(row.late) == 1 else "do not"
    repair = "Add members or streams, up to the number of partitions: zkconsumer assign."
    if is_error:
        repair = findings[0].repair if findings else "Run zkconsumer doctor for details."
    return GroupTrouble(
        severity=Severity.ERROR if is_error else Severity.WARNING,
        code=NOT_MOVING if is_error else BEHIND,
        headline=verdict.sentence,
        what=f"{len(row.late)} of {counted(row.partitions, 'partition')} {does_not} keep up.",
        evidence=tuple(
            f"{partition.topic_partition}: {partition.status.meaning}; "
            f"{partition.current_lag} records behind"
            for partition in row.late[:5]
        ),
        repair=repair,
        command=group_command(key, state.snapshot),
        further=len(findings),
        lag=row.lag,
    )


def _trouble(
    diagnosis: Diagnosis, snapshot: ClusterSnapshot, *, further: int, lag: int | None = None
) -> GroupTrouble:
    return GroupTrouble(
        severity=diagnosis.severity,
        code=diagnosis.code.value,
        headline=headline_text(diagnosis),
        what=diagnosis.what,
        evidence=tuple(diagnosis.evidence),
        repair=diagnosis.repair,
        command=doctor_command(diagnosis, snapshot),
        further=further,
        lag=lag,
    )
