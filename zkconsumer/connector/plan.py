"""From what a round read to what it changes: a pure comparison of two maps.

The original gives up everything and claims everything anew at each rebalance. Here a partition that
stays with its thread is left alone: its node, its queue, its position. For the other members both
look the same, since all they can see is who owns what at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.model import ConsumerThreadId, TopicPartition

Ownership = Mapping[TopicPartition, ConsumerThreadId]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePlan:
    """What one round does.

    Attributes:
        lost: being read here, but the owner node is no longer ours, or the topic is another one of
            the same name: stop at once, commit nothing.
        give_up: being read here and to be handed over: stop, commit.
        release: owner nodes of ours to delete; ``give_up`` and what was claimed but never started.
        take: to be claimed and started; may hold nodes that are ours already.
        restart: stands still and stays ours: stop, commit, and start anew; part of ``take``.
    """

    lost: Ownership
    give_up: Ownership
    release: Ownership
    take: Ownership
    restart: Ownership = field(default_factory=dict)

    @property
    def stop(self) -> tuple[TopicPartition, ...]:
        """What is no longer delivered."""
        return (*self.lost, *self.give_up, *self.restart)

    @property
    def commit(self) -> tuple[TopicPartition, ...]:
        """What of it is still ours to commit."""
        return (*self.give_up, *self.restart)

    @property
    def changes_nothing(self) -> bool:
        """Return whether every partition is where it belongs."""
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
        assigned: its share by the assignor.
        claimed: the owner nodes it created and did not delete.
        started: those of them it is reading.
        held: those of ``claimed`` whose nodes were found, just now, to be still its own.
        stopped: those of ``started`` that stand still and may go on when started anew.
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
    """The ownership as one line for logs: ``topic [0 1 2], other [4]``."""
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(owned):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    return ", ".join(f"{t} {ps}" for t, ps in by_topic.items()) or "nothing"
