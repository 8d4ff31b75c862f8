"""Runs all families of diagnoses; the worst come first."""

from collections.abc import Iterable
from dataclasses import replace

from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.cluster import examine_cluster
from zkconsumer.status.doctor.commits import examine_commits
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.doctor.incidents import incidents
from zkconsumer.status.doctor.log_offsets import examine_log_offsets
from zkconsumer.status.doctor.members import examine_members
from zkconsumer.status.doctor.offset_stores import examine_offset_stores
from zkconsumer.status.doctor.owners import examine_owners
from zkconsumer.status.doctor.subscriptions import examine_subscriptions
from zkconsumer.status.doctor.whole_groups import examine_ids, examine_whole
from zkconsumer.status.model import ClusterSnapshot

_ORDER = {code: place for place, code in enumerate(Code)}


def examine(snapshot: ClusterSnapshot, around: Circumstances) -> tuple[Diagnosis, ...]:
    """Return all diagnoses by severity, the worst first, then the cluster's, then by group.

    Args:
        snapshot: the cluster and its groups.
        around: earlier snapshots and settings; without an earlier snapshot, offsets that do not
            move can't be detected.
    """
    findings = examine_cluster_and_ids(snapshot, around)
    partition_ids = snapshot.partition_ids()
    for _, group in sorted(snapshot.groups.items()):
        findings += examine_group(GroupContext(group, snapshot, around, partition_ids))
    return tuple(sorted(each_once(findings), key=_rank))


def examine_cluster_and_ids(snapshot: ClusterSnapshot, around: Circumstances) -> list[Diagnosis]:
    """Return the diagnoses of the cluster, and of group ids that both kinds of groups use."""
    return [*examine_cluster(snapshot, around), *examine_ids(snapshot)]


def each_once(findings: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Return the diagnoses in order, without repetitions: two groups can share one."""
    return list(
        {
            (finding.code, finding.group, finding.what, tuple(finding.evidence)): finding
            for finding in findings
        }.values()
    )


def examine_group(context: GroupContext) -> list[Diagnosis]:
    """Return the diagnoses of one group, without those of the cluster, nested by cause.

    A diagnosis that the group shares with another may have the other group's key.
    """
    found = [
        *examine_whole(context),
        *examine_members(context),
        *examine_owners(context),
        *examine_subscriptions(context),
        *examine_log_offsets(context),
        *examine_offset_stores(context),
        *examine_commits(context),
    ]
    named = [replace(diagnosis, group=diagnosis.group or context.group.key) for diagnosis in found]
    return incidents(context, named)


def _rank(finding: Diagnosis) -> tuple[int, tuple[str, ...], int]:
    return -finding.severity, tuple(finding.group or ()), _ORDER[finding.code]
