"""A member's session without threads: the test acts as the caller, the network and the clock."""

from collections import deque
from collections.abc import Callable, Collection
from typing import cast

from tests.support.group_members import RecordingHandler
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.polled.caller_events import CallerEvents
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import CoordinatorConnection
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.offset_jobs import OffsetJobs
from zkconsumer.membership.coordinator.threads.orders import GroupOrders, JoinSteps
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection

COORDINATOR = Broker(0, "broker", 9092)
SETTINGS = GroupSettings(
    strategies=("range",), heartbeat_interval_ms=300, session_timeout_ms=1_000, retry_backoff_ms=10
)


class UnreachableDialer:
    """A ``BrokerDialer`` for brokers that are down.

    Attributes:
        dials: the number of attempts.
    """

    def __init__(self) -> None:
        self.dials = 0

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> NegotiatedConnection:
        """See ``BrokerDialer``."""
        del timeout_ms
        self.dials += 1
        raise ConnectFailed(f"{broker}: nobody listens")


class ThreadlessSession:
    """A session, its queues and clock, and a count of the caller's wakeups.

    Args:
        flush: completes pending commits; None: completes those of ``jobs``.

    Attributes:
        session: the session.
        caller: the notifications for the caller's thread.
        group_orders, join_steps: the work for the network threads; see ``orders``, ``steps``.
        jobs: commits and offset reads that have not ended.
        handler: the ownership handler, which records its calls.
        events: the caller's events, and the handler's calls.
        wakes: the number of wakeups of the caller's thread.
        dialer: opens its connections.
    """

    def __init__(
        self, settings: GroupSettings = SETTINGS, *, flush: Callable[[], None] | None = None
    ) -> None:
        self.clock = ManualClock()
        self.wakes = 0
        self.dialer = UnreachableDialer()
        self.caller = Caller(self.clock, self._wake)
        dialer = cast("BrokerDialer", self.dialer)
        self.group_orders = GroupOrders(CoordinatorConnection(dialer))
        self.join_steps = JoinSteps(CoordinatorConnection(dialer))
        self.session = MemberSession(
            GroupTerms(group_id="g", settings=settings),
            clock=self.clock,
            random=lambda: 0.0,
            orders=self.group_orders,
            steps=self.join_steps,
            caller=self.caller,
        )
        self.jobs = OffsetJobs(self.session, self.caller, self.group_orders)
        self.handler = RecordingHandler()
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
        """Take the work for the group's thread, without bare wakeups."""
        return [order for order in self.group_orders.drain() if order is not None]

    def steps(self) -> list[object]:
        """Take the work for the join thread."""
        steps: list[object] = []
        while (item := self.join_steps._mailbox.get(0)) is not None:
            steps.append(item[0])
        return steps

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Subscribe, and become a member that these partitions are assigned to."""
        session = self.session
        self.events.report(ev.Subscribed(frozenset(tp.topic for tp in partitions)))
        self.poll()
        (search,) = self.orders()
        assert isinstance(search, ev.FindCoordinator)
        session.location.set_address(COORDINATOR)
        session.notify(ev.CoordinatorLocated(search.round))
        self.rejoin(partitions)

    def rejoin(self, partitions: Collection[TopicPartition], generation: int = 1) -> None:
        """Complete the pending join with this assignment, and poll."""
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
        """Run the handler's only due call, which must be a take-over."""
        (call,) = self.due
        assert isinstance(call, ev.TakeOver)
        self.events.run()

    def poll(self) -> None:
        """Poll; afterwards ``due`` has the handler's calls."""
        self.events.poll()

    @property
    def due(self) -> deque[ev.HandlerCall]:
        """The handler's calls that are due."""
        return self.events._due
