"""Assembles a connector from its components."""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.fetch_wiring import wire_fetching
from zkconsumer.connector.measuring.measuring import Measuring
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.zookeeper.configured import (
    OpenZookeeperSession,
    configured_member,
    member_context,
    new_consumer_id,
)
from zkconsumer.membership.zookeeper.threads.control import ControlThread
from zkconsumer.membership.zookeeper.threads.listener_calls import ListenerCalls
from zkconsumer.membership.zookeeper.threads.messages import ThreadDied
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.observe import MemberName, Observer
from zkconsumer.offsets.wiring import OffsetSide
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.poison import PoisonPolicy
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import require_cluster
from zkconsumer.zk.store import CLOSE_TIMEOUT_MS, ZkStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorComponents:
    """The components of a connector that its public class and its streams use."""

    consumer_id: str
    store: ZkStore
    control: ControlThread
    control_scope: ThreadScope
    fetch_scope: ThreadScope
    gate: DeliveryGate
    delivery: Delivery
    poison: PoisonPolicy
    budget: ByteBudget
    offsets: OffsetSide
    fork_guard: ForkGuard
    listener: ListenerCalls
    measuring: Measuring
    clock: Clock = field(default_factory=SystemClock)

    @property
    def session_timeout_ms(self) -> int:
        """The ZooKeeper session time-out that the server granted."""
        return self.store.negotiated_timeout_ms

    def close(self, timeout_ms: int) -> None:
        """End the threads and the ZooKeeper session, even if the control thread has died or hangs.

        Args:
            timeout_ms: the time limit in ms. Threads that are still running then are logged.
        """
        deadline_ms = self.clock.now_ms() + timeout_ms
        # The session first: its end removes our nodes, and frees a control thread blocked on it.
        self.store.close(min(timeout_ms, CLOSE_TIMEOUT_MS))
        self.offsets.close()
        left: list[str] = []
        for scope in (self.fetch_scope, self.control_scope):
            left += scope.close(max(0, deadline_ms - self.clock.now_ms()))
        if left:
            log.error("%s: still running after %d ms: %s", self.consumer_id, timeout_ms, left)


def assemble(
    config: ConsumerConfig,
    clock: Clock,
    connect: OpenZookeeperSession = kazoo_store.connect,
    observers: Sequence[Observer] = (),
    *,
    security: SecuritySettings = PLAINTEXT,
) -> ConnectorComponents:
    """Connect to ZooKeeper and create the components; write nothing and start no thread of ours.

    Raises:
        ConfigError: the dead-letter file can't be written; or see ``kazoo_store.connect``.
        RegistryError: see ``kazoo_store.connect``; or only other chroots hold a cluster.
    """
    store = connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
        security=config.zookeeper_security,
    )
    try:
        require_cluster(store, config.zookeeper_connect, may_be_to_come=True)
        return _wire(config, clock, store, observers, security)
    except BaseException:
        # The connection was lost again, or Ctrl-C: nothing else would end the session.
        store.close(config.shutdown_timeout_ms)
        raise


def _wire(
    config: ConsumerConfig,
    clock: Clock,
    store: ZkStore,
    observers: Sequence[Observer],
    security: SecuritySettings,
) -> ConnectorComponents:
    consumer_id = new_consumer_id(config, clock)
    name = MemberName(config.group_id, consumer_id)
    measuring = Measuring(name, client_id=config.client_id, clock=clock, random=random.random)
    context = member_context(
        config,
        name=name,
        store=store,
        clock=clock,
        observers=(measuring, *observers),
        security=security,
    )
    poison = PoisonPolicy.of(
        config.poison_policy,
        config.poison_dead_letter_file,
        clock=clock,
        observation=context.observation,
    )
    fetch_scope = ThreadScope(consumer_id)
    fetching = wire_fetching(
        config,
        context.registry,
        fetch_scope,
        clock=clock,
        observation=context.observation,
        on_death=lambda error: context.mailbox.put(ThreadDied(error)),
        security=security,
    )
    member = configured_member(context, fetching, auto_commit=config.auto_commit_enable)
    measuring.watch(member.claims.reading, fetching.brokers)
    return ConnectorComponents(
        consumer_id=consumer_id,
        store=store,
        control=member.control,
        control_scope=ThreadScope(consumer_id),
        fetch_scope=fetch_scope,
        gate=context.gate,
        delivery=Delivery(config.delivery),
        poison=poison,
        budget=ByteBudget(config.queued_max_bytes),
        offsets=context.offsets,
        fork_guard=context.fork_guard,
        listener=member.listener,
        measuring=measuring,
        clock=clock,
    )
