"""Migrates the offsets of a group from one storage to the other while no member is alive.

The order of the steps makes it safe: check that no member is alive; read both storages; write the
roll-back file; check the members again; write the offsets; read them back. A member that joins in
between is detected at the end, and so is a change of the source.
"""

from collections.abc import Collection
from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.carrying import carry_out
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.group_offset_store import GroupOffsetStore
from zkconsumer.offsets.migration.plan import (
    Ahead,
    MigrationOutcome,
    MigrationPlan,
    offset_in,
    plan_migration,
    plan_roll_back,
    same_offset,
)
from zkconsumer.offsets.migration.roll_back import RollBack
from zkconsumer.offsets.store import FetchedOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationRequest:
    """The options of a migration.

    Attributes:
        topics: the topics to migrate; None: all for which the group has offsets.
        ahead: what to do if the target's offset is larger.
        wait_limit_ms: how long to wait for the members to leave.
    """

    topics: Collection[str] | None = None
    ahead: Ahead = Ahead.REFUSE
    wait_limit_ms: int = 0


class Migration:
    """One migration: ``plan``, then ``carry_out``."""

    def __init__(
        self,
        group: MigratedGroup,
        source: GroupOffsetStore,
        target: GroupOffsetStore,
        partitions: Collection[TopicPartition],
    ) -> None:
        self._group = group
        self._source = source
        self._target = target
        self._partitions = partitions
        self._seen: dict[TopicPartition, FetchedOffset] = {}

    def plan(self, request: MigrationRequest) -> MigrationPlan:
        """Wait until no member is alive, and compare the storages; write nothing.

        Raises:
            MigrationRefused: the group still has members.
            ZkConsumerError: something could not be read.
        """
        self._group.await_silence(request.wait_limit_ms)
        source = self._seen = self._source.stored(request.topics)
        there = [tp for tp in source if tp in self._partitions]
        target = self._target.stored(request.topics) | self._target.fetch(there)
        return plan_migration(
            source, target, exists=self._partitions.__contains__, ahead=request.ahead
        )

    def carry_out(self, plan: MigrationPlan) -> MigrationOutcome:
        """Write the offsets of the plan, and read them back.

        Raises:
            MigrationRefused: the plan has refusals, or a member joined; nothing was written.
            ZkConsumerError: the members could not be read; nothing was written.
        """
        return carry_out(self._group, self._target, plan, source_doubts=self._source_doubts)

    def _source_doubts(self) -> list[str]:
        now = self._source.fetch(sorted(self._seen))
        return [
            f"{tp} moved in {self._source.name.value} meanwhile, from {_number(self._seen[tp])} "
            f"to {_number(found)}: a client still commits: migrate it again"
            for tp, found in now.items()
            if not same_offset(offset_in(found), offset_in(self._seen[tp]))
        ]


def plan_undoing(
    group: MigratedGroup,
    target: GroupOffsetStore,
    roll_back: RollBack,
    request: MigrationRequest,
    *,
    with_members: bool = False,
) -> MigrationPlan:
    """Plan to undo a change of a group's offsets, for ``carry_out``; write nothing.

    Args:
        group: the group; unless ``with_members``, wait until none of its members is alive.
        target: the store that was written to.
        roll_back: what was written.
        request: offsets that were committed since are included only with ``Ahead.REWIND``.
        with_members: whether members may be alive.

    Raises:
        MigrationRefused: the group still has members.
        ZkConsumerError: something could not be read.
    """
    if not with_members:
        group.await_silence(request.wait_limit_ms)
    written = {
        tp: both
        for tp, both in roll_back.written.items()
        if request.topics is None or tp.topic in request.topics
    }
    now = target.fetch(sorted(written))
    return plan_roll_back(written, now, force=request.ahead is Ahead.REWIND)


def _number(found: FetchedOffset) -> str:
    return "none" if found.offset is None else str(found.offset)
