"""Wires up a coordinator's member: its session, its two threads, and what they share."""

from collections.abc import Callable
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import ConfigError
from zkconsumer.membership.coordinator.core import requests
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorConnection,
)
from zkconsumer.membership.coordinator.threads.group_thread import GroupThread
from zkconsumer.membership.coordinator.threads.join_thread import JoinThread
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.offset_jobs import OffsetJobs
from zkconsumer.membership.coordinator.threads.orders import GroupOrders, JoinSteps
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import ThreadScope


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberThreads:
    """A member that is ready to run: its two threads, and what they share with the caller."""

    jobs: OffsetJobs
    orders: GroupOrders
    caller: Caller
    group: GroupThread
    join: JoinThread

    def start(self, scope: ThreadScope, on_error: Callable[[BaseException], None]) -> None:
        """Start both threads; ``on_error`` is called with the error of a thread that died."""
        scope.spawn("group", self.group.run, stop=self.group.stop, on_error=on_error)
        scope.spawn("join", self.join.run, stop=self.join.stop, on_error=on_error)

    def stop(self) -> None:
        """End both threads soon, whatever the network does. Thread: any."""
        self.group.stop()
        self.join.stop()


def build_member(  # noqa: PLR0913 - each is another part of the consumer
    terms: GroupTerms,
    *,
    dialer: BrokerDialer,
    cluster: ClusterClient,
    wake: Callable[[], None],
    on_group_topics: Callable[[frozenset[str]], None],
    clock: Clock,
    random: Callable[[], float],
) -> MemberThreads:
    """Wire up a member; start nothing.

    Args:
        terms: the group, and the settings of membership in it.
        dialer: opens connections to brokers.
        cluster: finds the coordinator, and the topics that a leader assigns.
        wake: wakes the caller's thread. Thread: any.
        on_group_topics: called with the topics of all members when we assign partitions, and with
            none when we no longer do: they must be watched, too. Thread: one of the member's.
        clock: the time.
        random: returns numbers in [0, 1).

    Raises:
        ConfigError: a strategy does not exist.
    """
    problem = requests.strategies_problem(terms.settings.strategies)
    if problem is not None:
        raise ConfigError(problem)
    caller = Caller(clock, wake)
    orders = GroupOrders(CoordinatorConnection(dialer))
    steps = JoinSteps(CoordinatorConnection(dialer))
    session = MemberSession(
        terms, clock=clock, random=random, orders=orders, steps=steps, caller=caller
    )
    jobs = OffsetJobs(session, caller, orders)
    return MemberThreads(
        jobs=jobs,
        orders=orders,
        caller=caller,
        group=GroupThread(jobs, orders, caller, cluster),
        join=JoinThread(session, steps, caller, cluster, on_group_topics),
    )
