"""Executes a plan of offsets, and reads the result back."""

from collections.abc import Callable, Collection

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.group_offset_store import GroupOffsetStore
from zkconsumer.offsets.migration.plan import (
    MigrationOutcome,
    MigrationPlan,
    MigrationRefused,
    Offset,
)


def carry_out(
    group: MigratedGroup,
    target: GroupOffsetStore,
    plan: MigrationPlan,
    *,
    source_doubts: Callable[[], list[str]] = list,
    although: Collection[str] | None = None,
) -> MigrationOutcome:
    """Write the offsets of a plan, and read them back.

    Args:
        group: the group.
        target: the store to write to.
        plan: the plan.
        source_doubts: returns the changes in the source since the plan was made, as text.
        although: the members that may be alive, as ``members`` reported them; None: none may.

    Raises:
        MigrationRefused: the plan has refusals, or members are alive; nothing was written.
        ZkConsumerError: the members could not be read; nothing was written.
    """
    if plan.refusals:
        raise MigrationRefused(group.group_id, plan.refusals)
    if although is None:
        group.await_silence(0)
    offsets: dict[TopicPartition, Offset] = {tp: write.wanted for tp, write in plan.writes.items()}
    doubts: list[str] = []
    errors: dict[TopicPartition, str] = {}
    try:
        outcome = target.write(offsets) if offsets else {}
        errors = {tp: error for tp, error in outcome.items() if error is not None}
    except ZkConsumerError as error:
        # Some may have been written: reading back shows which.
        errors = dict.fromkeys(offsets, str(error))
    try:
        found = target.fetch(sorted(plan.expected))
    except ZkConsumerError as error:
        found = {}
        doubts.append(f"the written offsets could not be read back: {error}")
    try:
        doubts += source_doubts()
        present = group.members()
        doubts += [
            f"a member joined meanwhile: {member}"
            for member in present
            if member not in (although or ())
        ]
    except ZkConsumerError as error:
        doubts.append(f"whether a member joined meanwhile is unknown: {error}")
    return MigrationOutcome(plan=plan, found=found, errors=errors, doubts=tuple(doubts))
