"""A member's session without threads: the test is the caller, the network and the clock."""

from collections import deque
from collections.abc import Callable, Collection

from tests.support.group_members import NotingHandler
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.polled.caller_events import CallerEvents
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    Connection,
    CoordinatorConnection,
)
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.offset_jobs import OffsetJobs
from zkconsumer.membership.coordinator.threads.orders import GroupOrders, JoinSteps
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
    """A session, what it shares with its threads, its clock, and how often it woke the caller.

    Args:
        flush: lets pending commits end; None: those of ``jobs``.

    Attributes:
        session: the session.
        caller: what the caller's thread is told.
        group_orders, join_steps: what the network threads are to do; see ``orders``, ``steps``.
        jobs: commits and reads that have not ended.
        handler: what partitions are given to, and taken from.
        events: the caller's events, and the handler's calls.
        wakes: how often the caller's thread was woken.
        dialer: what its connections are opened by.
    """

    def __init__(
        self, settings: GroupSettings = SETTINGS, *, flush: Callable[[], None] | None = None
    ) -> None:
        self.clock = ManualClock()
        self.wakes = 0
        self.dialer = NobodyListens()
        self.caller = Caller(self.clock, self._wake)
        self.group_orders = GroupOrders(CoordinatorConnection(self.dialer))
        self.join_steps = JoinSteps(CoordinatorConnection(self.dialer))
        self.session = MemberSession(
            GroupTerms(group_id="g", settings=settings),
            clock=self.clock,
            random=lambda: 0.0,
            orders=self.group_orders,
            steps=self.join_steps,
            caller=self.caller,
        )
        self.jobs = OffsetJobs(self.session, self.caller, self.group_orders)
        self.handler = NotingHandler()
        self.events = CallerEvents(
            self.session,
            self.caller,
            self.group_orders,
            self.handler,
            self.jobs.flush if flush is None else flush,
        )

    def _wake(self) -> None:
        self.wakes += 1

    def orders(self) -> list[object]:
        """What the group thread is to do; nudges left out."""
        return [order for order in self.group_orders.drain() if order is not None]

    def steps(self) -> list[object]:
        """What the join thread is to do."""
        steps: list[object] = []
        while (item := self.join_steps._mailbox.get(0)) is not None:
            steps.append(item[0])
        return steps

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Subscribe, and become a member whose handler is to be given these."""
        session = self.session
        self.events.report(ev.Subscribed(frozenset(tp.topic for tp in partitions)))
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

    def take_over(self) -> None:
        """Run the one call of the handler that is due, which gives it partitions."""
        (call,) = self.due
        assert isinstance(call, ev.TakeOver)
        self.events.run()

    def poll(self) -> None:
        """Poll; what is due for the handler is in ``due`` then."""
        self.events.poll()

    @property
    def due(self) -> deque[ev.HandlerCall]:
        """The calls of the handler that are due."""
        return self.events._due
