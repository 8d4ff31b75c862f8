"""Assembles a connector from its components."""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.fetch_wiring import wire_fetching
from zkconsumer.connector.measuring.measuring import Measuring
from zkconsumer.membership.zookeeper.assembly import MemberRuntime
from zkconsumer.membership.zookeeper.configured import (
    MemberContext,
    OpenZookeeperSession,
    configured_member,
    in_new_session,
    member_context,
    new_consumer_id,
)
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.observe import MemberName, Observer
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.poison import DeadLetterFile, PoisonMode, PoisonPolicy
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import require_cluster
from zkconsumer.zk.store import CLOSE_TIMEOUT_MS, ZkStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorComponents:
    """The components of a connector that its public class and its streams use."""

    context: MemberContext
    member: MemberRuntime
    control_scope: ThreadScope
    fetch_scope: ThreadScope
    poison: PoisonPolicy
    budget: ByteBudget
    measuring: Measuring

    def close(self, timeout_ms: int) -> None:
        """End the threads and the ZooKeeper session, even if the control thread has died or hangs.

        Args:
            timeout_ms: the time limit in ms. Threads that are still running then are logged.
        """
        context = self.context
        deadline_ms = context.clock.now_ms() + timeout_ms
        # The session first: its end removes our nodes, and frees a control thread blocked on it.
        context.store.close(min(timeout_ms, CLOSE_TIMEOUT_MS))
        context.offsets.close()
        left: list[str] = []
        for scope in (self.fetch_scope, self.control_scope):
            left += scope.close(max(0, deadline_ms - context.clock.now_ms()))
        if left:
            consumer_id = context.name.consumer_id
            log.error("%s: still running after %d ms: %s", consumer_id, timeout_ms, left)


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

    def build(store: ZkStore) -> ConnectorComponents:
        require_cluster(store, config.zookeeper_connect, may_be_to_come=True)
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
        mode = PoisonMode(config.poison_policy)
        letters = None
        if mode is PoisonMode.DEAD_LETTER:
            letters = DeadLetterFile(config.poison_dead_letter_file, clock)
        fetch_scope = ThreadScope(consumer_id)
        fetching = wire_fetching(context, fetch_scope, security)
        member = configured_member(context, fetching, auto_commit=config.auto_commit_enable)
        measuring.watch(member.claims.reading, fetching.brokers)
        return ConnectorComponents(
            context=context,
            member=member,
            control_scope=ThreadScope(consumer_id),
            fetch_scope=fetch_scope,
            poison=PoisonPolicy(mode, dead_letters=letters, observation=context.observation),
            budget=ByteBudget(config.queued_max_bytes),
            measuring=measuring,
        )

    return in_new_session(config, connect, build)
