"""Splits the plan for a group by storage, if its offsets are kept in more than one. Pure.

The wanted offset is the same in both storages, since members that commit to both continue from the
larger one.
"""

from collections.abc import Mapping
from dataclasses import replace

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import (
    Action,
    MigrationPlan,
    OffsetStorage,
    PartitionMove,
    offset_in,
    same_offset,
)
from zkconsumer.offsets.planning import OffsetPlan
from zkconsumer.offsets.store import FetchedOffset

Stored = Mapping[TopicPartition, FetchedOffset]


def stores_in_use(stored: Mapping[OffsetStorage, Stored]) -> tuple[OffsetStorage, ...]:
    """Return the storages in which the group has any entry, even an unreadable one."""
    return tuple(
        storage
        for storage, found in stored.items()
        if any(offset.offset is not None or offset.error for offset in found.values())
    )


def merged(stored: Mapping[OffsetStorage, Stored]) -> dict[TopicPartition, FetchedOffset]:
    """Return where the group would continue: at the larger of two offsets; an error hides both.

    Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector.fetchOffsets`` with ``dual.commit.enabled``.
    """
    found: dict[TopicPartition, FetchedOffset] = {}
    for of_storage in stored.values():
        for tp, offset in of_storage.items():
            before = found.setdefault(tp, offset)
            if before.error is None and (offset.error or _number(offset) > _number(before)):
                found[tp] = offset
    return found


def plan_of_store(overall: OffsetPlan, stored: Stored, *, leads: bool) -> OffsetPlan:
    """Return the part of a plan that is carried out in one storage.

    Args:
        overall: the plan for all storages together.
        stored: this storage's entries for the partitions of the plan.
        leads: whether this is the storage that reports the notes and refusals of all storages.
    """
    return replace(
        overall,
        plan=MigrationPlan(
            moves=tuple(_of_store(move, stored) for move in overall.plan.moves),
            refusals=overall.plan.refusals if leads else (),
        ),
        notes=overall.notes if leads else (),
    )


def _of_store(move: PartitionMove, stored: Stored) -> PartitionMove:
    before = offset_in(stored.get(move.topic_partition))
    if move.action in {Action.NO_SUCH_PARTITION, Action.KEEP}:
        return replace(move, before=before)
    action = Action.SAME if same_offset(before, move.wanted) else Action.WRITE
    return replace(move, before=before, action=action)


def _number(fetched: FetchedOffset) -> int:
    return -1 if fetched.offset is None else fetched.offset
