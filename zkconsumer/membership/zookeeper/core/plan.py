"""Compares what a member owns with what it should own, and plans the changes. Pure.

The original releases and claims everything at each rebalance. Here a partition that stays with its
thread keeps its node, queue and position. Other members can't tell the difference, since they only
see the final owners.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.model import ConsumerThreadId, TopicPartition, numbers_by_topic

Ownership = Mapping[TopicPartition, ConsumerThreadId]
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePlan:
    """The changes of one round.

    Attributes:
        lost: being read, but the owner node is no longer ours, or the topic was recreated: stop at
            once, commit nothing.
        give_up: being read, to be handed over: stop, commit.
        release: owner nodes of ours to delete: ``give_up``, and what was claimed but never started.
        take: to be claimed and started; some nodes may be ours already.
        restart: stopped but still assigned to us: stop, commit, start again; part of ``take``.
    """

    lost: Ownership
    give_up: Ownership
    release: Ownership
    take: Ownership
    restart: Ownership = field(default_factory=dict)

    @property
    def stop(self) -> tuple[TopicPartition, ...]:
        """The partitions to stop delivering."""
        return (*self.lost, *self.give_up, *self.restart)

    @property
    def commit(self) -> tuple[TopicPartition, ...]:
        """The stopped partitions that are still ours to commit."""
        return (*self.give_up, *self.restart)

    @property
    def changes_nothing(self) -> bool:
        """Whether every partition is where it belongs."""
        return not (self.lost or self.give_up or self.release or self.take)


def plan_round(
    *,
    assigned: Ownership,
    claimed: Ownership,
    started: Ownership,
    held: frozenset[TopicPartition],
    stopped: frozenset[TopicPartition] = frozenset(),
    recreated: frozenset[TopicPartition] = frozenset(),
) -> RebalancePlan:
    """Compare what this member should own with what it has.

    Args:
        assigned: its assignment.
        claimed: the owner nodes it created and did not delete.
        started: those of ``claimed`` that it is reading.
        held: those of ``claimed`` whose nodes are still its own, as just read.
        stopped: those of ``started`` that are stopped and may go on when started again.
        recreated: those of ``started`` whose topic was deleted and created again.
    """
    lost = {tp: thread for tp, thread in started.items() if tp not in held or tp in recreated}
    give_up = {
        tp: thread
        for tp, thread in started.items()
        if tp not in lost and assigned.get(tp) != thread
    }
    release = {
        tp: thread for tp, thread in claimed.items() if tp in held and assigned.get(tp) != thread
    }
    restart = {
        tp: thread
        for tp, thread in started.items()
        if tp in stopped and tp not in lost and assigned.get(tp) == thread
    }
    take = {
        tp: thread
        for tp, thread in assigned.items()
        if tp in lost or tp in give_up or tp in restart or started.get(tp) != thread
    }
    return RebalancePlan(lost=lost, give_up=give_up, release=release, take=take, restart=restart)


def own_share(owned: Ownership) -> str:
    """Format an ownership as one line for logs: ``topic [0 1 2], other [4]``."""
    by_topic = numbers_by_topic(sorted(owned))
    return ", ".join(f"{topic} {numbers}" for topic, numbers in by_topic.items()) or "nothing"


def owned_by_others(held_by: Mapping[TopicPartition, str]) -> str:
    """Format the owners that block a claim for logs, the first few by name."""
    owners = ", ".join(f"{tp} by {owner}" for tp, owner in sorted(held_by.items())[:_SHOWN])
    more = ", ..." if len(held_by) > _SHOWN else ""
    return f"{len(held_by)} partitions have another owner: {owners}{more}"
