"""The ZooKeeper of a simulated group: registrations, owner nodes, one-shot watches."""

from collections import defaultdict
from dataclasses import dataclass, field

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.model import ConsumerThreadId, TopicPartition

Ownership = dict[TopicPartition, ConsumerThreadId]


@dataclass(eq=False)
class Member:
    """One member process: its core, what it reads, and the events queued for it."""

    consumer_id: str
    topics: dict[str, int]
    core: RebalanceCore
    live: int
    received: int | None = None
    registered: int | None = None
    joined: bool = False
    step: ev.Step | None = None
    responses: list[ev.StepResult] = field(default_factory=list)
    triggers: list[ev.RebalanceCause] = field(default_factory=list)
    sessions: list[ev.SessionStarted | ev.SessionEnded] = field(default_factory=list)
    reading: Ownership = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """Whether a step is open, or an event is queued."""
        return bool(self.step or self.responses or self.triggers or self.sessions)


class TinyZk:
    """The part of ZooKeeper that a group uses; nodes have the session that created them."""

    def __init__(self) -> None:
        self.brokers = 1
        self.partitions = {"t": 3, "u": 2}
        self.registrations: dict[str, tuple[int, dict[str, int]]] = {}
        self.owners: dict[TopicPartition, tuple[ConsumerThreadId, int]] = {}
        self._watches: defaultdict[object, dict[tuple[Member, ev.RebalanceCause], None]] = (
            defaultdict(dict)
        )

    def _watch(self, what: object, member: Member, cause: ev.RebalanceCause) -> None:
        self._watches[what][member, cause] = None

    def _fire(self, what: object) -> None:
        for member, cause in self._watches.pop(what, {}):
            member.triggers.append(cause)

    def _delete_owner(self, tp: TopicPartition) -> None:
        del self.owners[tp]
        self._fire(tp)

    def _delete_registration(self, consumer_id: str) -> None:
        if self.registrations.pop(consumer_id, None) is not None:
            self._fire("members")
            self._fire(consumer_id)

    def view(self) -> GroupView:
        """The group as members read it."""
        return GroupView(
            members={name: topics for name, (_, topics) in self.registrations.items()},
            partitions={topic: tuple(range(count)) for topic, count in self.partitions.items()},
        )

    def _drop_session(self, session: int) -> None:
        for tp in [tp for tp, (_, owner) in self.owners.items() if owner == session]:
            self._delete_owner(tp)
        for name in [name for name, (owner, _) in self.registrations.items() if owner == session]:
            self._delete_registration(name)

    def _forget(self, member: Member) -> None:
        """Remove all watches of a member."""
        for watchers in self._watches.values():
            for watcher in [entry for entry in watchers if entry[0] is member]:
                del watchers[watcher]
