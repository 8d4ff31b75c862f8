"""Plans new committed offsets of groups, from their current offsets and the target."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from zkconsumer.cli.formats.offset_plan import OffsetStoreReport
from zkconsumer.cli.offsets.opening import GroupOffsetStores, OffsetsCluster
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.placing import Stored, merged, plan_of_store, stores_in_use
from zkconsumer.offsets.planning import (
    GroupAndLogs,
    OffsetPlan,
    OffsetTarget,
    Outside,
    ToOffsets,
    plan_offsets,
)

STORAGES: Final = {
    "zookeeper": (OffsetStorage.ZOOKEEPER,),
    "kafka": (OffsetStorage.KAFKA,),
    "both": (OffsetStorage.ZOOKEEPER, OffsetStorage.KAFKA),
}
"""The storages that each value of ``--storage`` selects."""


@dataclass(frozen=True, slots=True)
class ResetToTime:
    """Reset to the first record that is not older than this time, in ms since the epoch."""

    time_ms: int


@dataclass(frozen=True, slots=True)
class ToOffset:
    """Reset to one offset, in every partition."""

    offset: int


Goal: TypeAlias = OffsetTarget | ResetToTime | ToOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsetTarget:
    """The intended offsets of one group.

    Attributes:
        goal: the target.
        scope: the partitions; None: those in the file, or all with a committed offset.
        outside: what to do with an offset out of the log's range; None: the goal's default.
        storage: the storage to write; None: the group's.
        storage_of_new: the storage of a group without offsets; None: it must be given.
        force: whether to proceed despite live members, or unknown data.
    """

    goal: Goal
    scope: Collection[TopicPartition] | None = None
    outside: Outside | None = None
    storage: str | None = None
    storage_of_new: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The planned change of one group's offsets, to be confirmed and carried out.

    Attributes:
        storages: the group's open storages.
        reports: the plan for each storage to be written, without an outcome.
        although: the live members despite which to proceed; None: there must be none.
    """

    storages: GroupOffsetStores
    reports: tuple[OffsetStoreReport, ...]
    although: tuple[str, ...] | None = None


def draw(cluster: OffsetsCluster, group_id: str, request: GroupOffsetTarget) -> Job:
    """Read a group's current offsets and draw up its ``Job``; nothing is written.

    Raises:
        ConfigError: the group id is invalid, or no storage is given.
        ZkConsumerError: an offset or a log could not be read.
    """
    wanted_places = STORAGES.get(request.storage or "", ())
    storages = cluster.of(group_id, with_kafka=OffsetStorage.KAFKA in wanted_places)
    members = tuple(storages.group.members())
    stored = storages.stored()
    chosen = (
        wanted_places or stores_in_use(stored) or STORAGES.get(request.storage_of_new or "", ())
    )
    if not chosen:
        raise ConfigError(
            f"group {group_id} has no offsets anywhere: check its name, or give the --storage "
            "that its members will read"
        )
    targets = {storage: storages.storage(storage) for storage in chosen}
    here = {storage: stored[storage] for storage in chosen}
    scope = _scope(request, merged(here))
    for storage in chosen:
        # Absent offsets are read, too: each write is fenced by what was read of its partition.
        unread = [tp for tp in scope if tp not in here[storage] and tp in cluster.partitions]
        here[storage] |= targets[storage].fetch(unread)
    overall = _plan(cluster, request, merged(here), scope, members)
    reports = tuple(
        OffsetStoreReport(
            group_id=group_id,
            storage=storage,
            plan=plan_of_store(overall, found, leads=storage is chosen[0]),
        )
        for storage, found in here.items()
    )
    return Job(storages=storages, reports=reports, although=members if request.force else None)


def _scope(request: GroupOffsetTarget, stored: Stored) -> list[TopicPartition]:
    if request.scope is not None:
        return sorted(request.scope)
    if isinstance(request.goal, ToOffsets):
        return sorted(request.goal.offsets)
    return sorted(
        tp for tp, fetched in stored.items() if fetched.offset is not None or fetched.error
    )


def _plan(
    cluster: OffsetsCluster,
    request: GroupOffsetTarget,
    stored: Stored,
    scope: Sequence[TopicPartition],
    members: Sequence[str],
) -> OffsetPlan:
    logs = cluster.logs(scope)
    present = GroupAndLogs(stored=stored, partitions=cluster.partitions, logs=logs, members=members)
    goal = request.goal
    match goal:
        case ResetToTime(time_ms):
            target: OffsetTarget = cluster.at_time(time_ms, logs)
        case ToOffset(offset):
            target = ToOffsets(dict.fromkeys(scope, offset))
        case _:
            target = goal
    return plan_offsets(
        target, present, scope=request.scope, outside=request.outside, force=request.force
    )
