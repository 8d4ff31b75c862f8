"""What is to become of groups' offsets: what there is, where it shall be, why it must not be."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from zkconsumer.cli.formats.offset_plan import OffsetStoreReport
from zkconsumer.cli.offsets.opening import GroupOffsetStores, OffsetsCluster
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.placing import Stored, merged, places_in_use, plan_of_place
from zkconsumer.offsets.planning import (
    Aim,
    OffsetPlan,
    Outside,
    Present,
    ToOffsets,
    plan_offsets,
)

STORAGES: Final = {
    "zookeeper": (OffsetStorage.ZOOKEEPER,),
    "kafka": (OffsetStorage.KAFKA,),
    "both": (OffsetStorage.ZOOKEEPER, OffsetStorage.KAFKA),
}
"""What users write, and the places that it means."""


@dataclass(frozen=True, slots=True)
class ResetToTime:
    """To the first record that is not older than this, in ms since the epoch."""

    time_ms: int


@dataclass(frozen=True, slots=True)
class ToOffset:
    """To one offset, whatever the partition."""

    offset: int


Goal: TypeAlias = Aim | ResetToTime | ToOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsetTarget:
    """What is to become of one group's offsets.

    Attributes:
        goal: where to.
        scope: the partitions; None: all that it has offsets of, or that a file names.
        outside: what to do with an offset that is not in the log; None: what fits the goal.
        storage: where they are kept; None: where the group has them.
        storage_of_new: the same, of a group that has none; None: it must be said.
        force: although members live, or something is not known.
    """

    goal: Goal
    scope: Collection[TopicPartition] | None = None
    outside: Outside | None = None
    storage: str | None = None
    storage_of_new: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done about one group.

    Attributes:
        places: the group, open.
        reports: of each place that is to be written.
        members: who was there when it was drawn.
        force: whether it is done although somebody was.
    """

    places: GroupOffsetStores
    reports: tuple[OffsetStoreReport, ...]
    members: tuple[str, ...] = ()
    force: bool = False


def draw(cluster: OffsetsCluster, group_id: str, wish: GroupOffsetTarget) -> Job:
    """Read what there is, and plan; nothing is written.

    Raises:
        ConfigError: the group can't be named like that, or nothing says where to write.
        ZkConsumerError: something could not be read.
    """
    wanted_places = STORAGES.get(wish.storage or "", ())
    places = cluster.of(group_id, with_kafka=OffsetStorage.KAFKA in wanted_places)
    members = tuple(places.group.members())
    stored = places.stored()
    chosen = wanted_places or places_in_use(stored) or STORAGES.get(wish.storage_of_new or "", ())
    if not chosen:
        raise ConfigError(
            f"group {group_id} has no offsets anywhere: look at its name, or say with --storage "
            "where its members will look for them"
        )
    targets = {place: places.place(place) for place in chosen}
    here = {place: stored[place] for place in chosen}
    scope = _scope(wish, merged(here))
    for place in chosen:
        # What is not there is read as well: writing is fenced by what was read.
        unread = [tp for tp in scope if tp not in here[place] and tp in cluster.partitions]
        here[place] |= targets[place].fetch(unread)
    overall = _plan(cluster, wish, merged(here), scope, members)
    reports = tuple(
        OffsetStoreReport(
            group_id=group_id,
            place=place,
            plan=plan_of_place(overall, found, leads=place is chosen[0]),
        )
        for place, found in here.items()
    )
    return Job(places=places, reports=reports, members=members, force=wish.force)


def _scope(wish: GroupOffsetTarget, stored: Stored) -> list[TopicPartition]:
    if wish.scope is not None:
        return sorted(wish.scope)
    if isinstance(wish.goal, ToOffsets):
        return sorted(wish.goal.offsets)
    return sorted(tp for tp, one in stored.items() if one.offset is not None or one.error)


def _plan(
    cluster: OffsetsCluster,
    wish: GroupOffsetTarget,
    stored: Stored,
    scope: Sequence[TopicPartition],
    members: Sequence[str],
) -> OffsetPlan:
    logs = cluster.logs(scope)
    present = Present(stored=stored, partitions=cluster.partitions, logs=logs, members=members)
    goal = wish.goal
    match goal:
        case ResetToTime(time_ms):
            aim: Aim = cluster.at_time(time_ms, logs)
        case ToOffset(offset):
            aim = ToOffsets(dict.fromkeys(scope, offset))
        case _:
            aim = goal
    return plan_offsets(aim, present, scope=wish.scope, outside=wish.outside, force=wish.force)
