"""One membership core, with the responses of a cluster without faults."""

from dataclasses import dataclass, field

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.membership import MembershipCore
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.model import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPICS = frozenset({"a", "b"})
Parts = frozenset[TopicPartition]


@dataclass
class Member:
    """A membership core, with the responses of a cluster without faults."""

    settings: GroupSettings = field(
        default_factory=lambda: GroupSettings(strategies=("cooperative-sticky",))
    )
    now_ms: int = 0
    message: list[ev.Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.core = MembershipCore(self.settings, lambda: 0.0)

    def notify(self, event: ev.Event) -> list[ev.Action]:
        self.message = list(self.core.receive(event, self.now_ms))
        return self.message

    def advance(self, ms: int) -> list[ev.Action]:
        self.now_ms += ms
        return self.notify(ev.TimerExpired())

    def poll(self) -> list[ev.Action]:
        return self.notify(ev.Polled())

    def subscribe(self) -> ev.SendJoin:
        self.notify(ev.Subscribed(TOPICS))
        (search,) = self.poll()
        assert isinstance(search, ev.FindCoordinator)
        (join,) = self.notify(ev.CoordinatorLocated(search.round))
        assert isinstance(join, ev.SendJoin)
        return join

    def joined(self, join: ev.SendJoin, generation: int = 1) -> ev.SendSync:
        response = ev.JoinCompleted(
            round=join.round,
            code=0,
            member_id="me",
            generation=generation,
            protocol=self.settings.strategies[0],
            leader_id="other",
        )
        (sync,) = self.notify(response)
        assert isinstance(sync, ev.SendSync)
        return sync

    def take_assignment(
        self, share: Parts, generation: int = 1, join: ev.SendJoin | None = None
    ) -> None:
        sync = self.joined(join or self.subscribe(), generation)
        assert self.notify(ev.SyncCompleted(sync.round, 0, share)) == []
        while self.poll():
            (callback,) = self.message
            assert isinstance(callback, ev.RevokePartitions | ev.TakeOver)
            while self.notify(ev.CallbackDone(callback.round)):
                (callback,) = self.message
                if not isinstance(callback, ev.RevokePartitions | ev.TakeOver):
                    return

    def respond_to_heartbeat(self, code: int) -> list[ev.Action]:
        self.now_ms += self.settings.heartbeat_interval_ms
        beat = self.notify(ev.TimerExpired())[-1]
        assert isinstance(beat, ev.SendHeartbeat)
        return self.notify(ev.HeartbeatCompleted(beat.member_id, beat.generation, code))


def eager() -> Member:
    """Return a member with an eager strategy, which revokes everything before it rejoins."""
    return Member(GroupSettings(strategies=("range",)))


def parts(*partitions: TopicPartition) -> Parts:
    """Return a set of partitions."""
    return frozenset(partitions)


def of_kind(actions: list[ev.Action], kind: type[ev.Action]) -> list[ev.Action]:
    """Return the actions of one type."""
    return [action for action in actions if isinstance(action, kind)]
