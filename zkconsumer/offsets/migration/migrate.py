"""Carries the offsets of a group from one place to the other while nobody reads.

The order is what makes it safe: nobody is there; both places are read; the file that undoes it is
written; nobody is there still; the offsets are written; they are read back. A member that comes in
between is noticed at the end, and so is a source that moved.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.place import OffsetPlace
from zkconsumer.offsets.migration.plan import (
    Ahead,
    MigrationRefused,
    Offset,
    Outcome,
    Plan,
    offset_in,
    plan_migration,
    plan_roll_back,
    same_offset,
)
from zkconsumer.offsets.migration.roll_back import RollBack
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.scope import wait_ms

log = logging.getLogger(__name__)

_LOOK_MS = 250
"""How often to look whether the last member has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Whose offsets, and all places that know of its members or of its offsets.

    Attributes:
        group_id: the group.
        places: every place to look for members in, whatever the direction: members with offsets in
            Kafka may be registered in ZooKeeper.
        clock: for deadlines.
    """

    group_id: str
    places: Sequence[OffsetPlace]
    clock: Clock

    @classmethod
    def of(cls, group_id: str, *places: OffsetPlace, clock: Clock | None = None) -> "Group":
        """A group whose members only these places know of."""
        return cls(group_id=group_id, places=places, clock=clock or SystemClock())

    def members(self) -> list[str]:
        """Who is there, by the word of all places."""
        return [member for place in self.places for member in place.members()]

    def await_silence(self, wait_limit_ms: int) -> None:
        """Wait until nobody is there.

        Raises:
            MigrationRefused: there still is; names them.
        """
        deadline_ms = self.clock.now_ms() + wait_limit_ms
        told = False
        while members := self.members():
            if self.clock.now_ms() >= deadline_ms:
                waited = f" after {wait_limit_ms} ms" if wait_limit_ms else ""
                raise MigrationRefused(
                    self.group_id,
                    [
                        f"it still has members{waited}: {', '.join(members)}: stop them first "
                        "(one that crashed goes when its session ends: a larger --wait-ms)"
                    ],
                )
            if not told:
                log.warning(
                    "group %s: waiting for members to leave: %s", self.group_id, ", ".join(members)
                )
                told = True
            wait_ms(min(_LOOK_MS, deadline_ms - self.clock.now_ms()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the user asked for.

    Attributes:
        topics: those to be carried; None: all that the group has offsets of.
        ahead: what to do where the target is further.
        wait_limit_ms: how long to wait for the members to leave.
    """

    topics: Collection[str] | None = None
    ahead: Ahead = Ahead.REFUSE
    wait_limit_ms: int = 0


class Migration:
    """One migration: ``plan``, then ``carry_out``.

    Args:
        group: whose offsets.
        source: where they are.
        target: where they shall be.
        partitions: the partitions that the cluster has.
    """

    def __init__(
        self,
        group: Group,
        source: OffsetPlace,
        target: OffsetPlace,
        partitions: Collection[TopicPartition],
    ) -> None:
        self._group = group
        self._source = source
        self._target = target
        self._partitions = partitions
        self._seen: dict[TopicPartition, FetchedOffset] = {}

    def plan(self, wish: Wish) -> Plan:
        """Wait for silence and compare; nothing is written.

        Raises:
            MigrationRefused: the group has members still.
            ZkConsumerError: something could not be read.
        """
        self._group.await_silence(wish.wait_limit_ms)
        source = self._seen = self._source.stored(wish.topics)
        there = [tp for tp in source if tp in self._partitions]
        target = self._target.stored(wish.topics) | self._target.fetch(there)
        return plan_migration(
            source, target, exists=self._partitions.__contains__, ahead=wish.ahead
        )

    def carry_out(self, plan: Plan) -> Outcome:
        """Write what the plan says, and read it back.

        Raises:
            MigrationRefused: the plan must not be done, or somebody came; nothing was written.
        """
        return _carry_out(self._group, self._target, plan, self._source_doubts)

    def _source_doubts(self) -> list[str]:
        now = self._source.fetch(sorted(self._seen))
        return [
            f"{tp} moved in {self._source.name.value} meanwhile, from "
            f"{_number(self._seen[tp])} to {_number(found)}: somebody still commits: carry it again"
            for tp, found in now.items()
            if not same_offset(offset_in(found), offset_in(self._seen[tp]))
        ]


class Undoing:
    """Undoes a migration: ``plan``, then ``carry_out``.

    Args:
        group: whose offsets.
        target: where the migration wrote.
        roll_back: what its file says.
    """

    def __init__(self, group: Group, target: OffsetPlace, roll_back: RollBack) -> None:
        self._group = group
        self._target = target
        self._roll_back = roll_back

    def plan(self, wish: Wish) -> Plan:
        """Wait for silence and compare; nothing is written. ``Ahead.SET_BACK`` asks no questions.

        Raises:
            MigrationRefused: the group has members still.
            ZkConsumerError: something could not be read.
        """
        self._group.await_silence(wish.wait_limit_ms)
        written = {
            tp: both
            for tp, both in self._roll_back.written.items()
            if wish.topics is None or tp.topic in wish.topics
        }
        now = self._target.fetch(sorted(written))
        return plan_roll_back(written, now, force=wish.ahead is Ahead.SET_BACK)

    def carry_out(self, plan: Plan) -> Outcome:
        """Write what the plan says, and read it back.

        Raises:
            MigrationRefused: the plan must not be done, or somebody came; nothing was written.
        """
        return _carry_out(self._group, self._target, plan, list)


def _carry_out(
    group: Group, target: OffsetPlace, plan: Plan, source_doubts: Callable[[], list[str]]
) -> Outcome:
    if plan.refusals:
        raise MigrationRefused(group.group_id, plan.refusals)
    group.await_silence(0)
    offsets: dict[TopicPartition, Offset] = {tp: it.wanted for tp, it in plan.writes.items()}
    doubts: list[str] = []
    errors: dict[TopicPartition, str] = {}
    try:
        outcome = target.write(offsets) if offsets else {}
        errors = {tp: error for tp, error in outcome.items() if error is not None}
    except ZkConsumerError as error:
        # Some may be written all the same: what is read back tells.
        errors = dict.fromkeys(offsets, str(error))
    try:
        found = target.fetch(sorted(plan.expected))
    except ZkConsumerError as error:
        found = {}
        doubts.append(f"what was written could not be read back: {error}")
    try:
        doubts += source_doubts()
        doubts += [f"a member came meanwhile: {member}" for member in group.members()]
    except ZkConsumerError as error:
        doubts.append(f"whether anybody came meanwhile is not known: {error}")
    return Outcome(plan=plan, found=found, errors=errors, doubts=tuple(doubts))


def _number(found: FetchedOffset) -> str:
    return "none" if found.offset is None else str(found.offset)
