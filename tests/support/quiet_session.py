"""A member's session without threads: the test is the caller, the network and the clock."""

from collections.abc import Collection

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    Connection,
    CoordinatorConnection,
)
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.model import Broker, TopicPartition

COORDINATOR = Broker(0, "broker", 9092)
SETTINGS = GroupSettings(
    strategies=("range",), heartbeat_interval_ms=300, session_timeout_ms=1_000, retry_backoff_ms=10
)


class NobodyListens:
    """A ``Dialer`` of brokers that are down.

    Attributes:
        dials: how often it was tried.
    """

    def __init__(self) -> None:
        self.dials = 0

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> Connection:
        """See ``Dialer``."""
        del timeout_ms
        self.dials += 1
        raise ConnectFailed(f"{broker}: nobody listens")


class QuietSession:
    """A session, its clock, and how often it woke the caller.

    Attributes:
        session: the session.
        wakes: how often the caller's thread was woken.
        dialer: what its connections are opened by.
    """

    def __init__(self, settings: GroupSettings = SETTINGS) -> None:
        self.clock = ManualClock()
        self.wakes = 0
        self.dialer = NobodyListens()
        self.session = MemberSession(
            GroupTerms(group_id="g", settings=settings),
            clock=self.clock,
            random=lambda: 0.0,
            wake=self._wake,
            join_connection=CoordinatorConnection(self.dialer),
            group_connection=CoordinatorConnection(self.dialer),
        )

    def _wake(self) -> None:
        self.wakes += 1

    def orders(self) -> list[object]:
        """What the group thread is to do; nudges left out."""
        return [order for order in self.session.group_orders.drain() if order is not None]

    def steps(self) -> list[object]:
        """What the join thread is to do."""
        steps: list[object] = []
        while (item := self.session.join_steps._mailbox.get(0)) is not None:
            steps.append(item[0])
        return steps

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Subscribe, and become a member whose handler is to be given these."""
        session = self.session
        session.receive(ev.Subscribed(frozenset(tp.topic for tp in partitions)))
        self.poll()
        (search,) = self.orders()
        assert isinstance(search, ev.FindCoordinator)
        session.location.found(COORDINATOR)
        session.notify(ev.CoordinatorLocated(search.round))
        self.rejoin(partitions)

    def rejoin(self, partitions: Collection[TopicPartition], generation: int = 1) -> None:
        """Let the join that is under way end with this share, and poll."""
        session = self.session
        join = self.steps()[-1]
        assert isinstance(join, ev.SendJoin)
        session.notify(
            ev.JoinCompleted(
                round=join.round,
                code=0,
                member_id="me",
                generation=generation,
                protocol="range",
                leader_id="other",
            )
        )
        (sync,) = self.steps()
        assert isinstance(sync, ev.SendSync)
        session.notify(ev.SyncCompleted(sync.round, 0, frozenset(partitions)))
        self.poll()

    def poll(self) -> None:
        """Poll; what is due for the handler is in ``session.calls`` then."""
        self.session.on_poll()
