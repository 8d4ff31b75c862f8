"""Opens a ZooKeeper group for a ``KafkaConsumer``: first the session, then the membership.

In two steps, since a poll engine needs the brokers from ZooKeeper, and the handler of a membership
needs that engine.
"""

import random
from collections.abc import Callable, Sequence

from zkconsumer.build_info import build_info
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.protocol import OwnershipHandler
from zkconsumer.membership.zookeeper.assembly import (
    MemberRuntime,
    MemberSettings,
    MemberWorld,
    build_member,
)
from zkconsumer.membership.zookeeper.configured import (
    OpenZookeeperSession,
    new_consumer_id,
    rebalance_settings,
)
from zkconsumer.membership.zookeeper.polled.bridge import Bridge
from zkconsumer.membership.zookeeper.polled.counts import ZookeeperGroupCounts
from zkconsumer.membership.zookeeper.polled.member import MemberComponents, ZookeeperMember
from zkconsumer.membership.zookeeper.polled.poll_watch import PollWatch
from zkconsumer.membership.zookeeper.threads.logging_observer import LoggingObserver
from zkconsumer.membership.zookeeper.threads.session_events import listen
from zkconsumer.model import Broker
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.observe import Created, MemberName, Observation, Observer
from zkconsumer.offsets.wiring import OffsetSide, wire_offsets
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import live_brokers
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore


class ZookeeperGroup:
    """A ZooKeeper session in which a membership can be created.

    Attributes:
        brokers: the registered brokers; at least one.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        config: ConsumerConfig,
        store: ZkStore,
        brokers: Sequence[Broker],
        *,
        max_poll_interval_ms: int,
        clock: Clock,
        observers: Sequence[Observer],
        security: SecuritySettings = PLAINTEXT,
    ) -> None:
        self.brokers = brokers
        self._config = config
        self._store = store
        self._max_poll_interval_ms = max_poll_interval_ms
        self._clock = clock
        self._observers = observers
        self._security = security

    def member(self, handler: OwnershipHandler, wake: Callable[[], None]) -> ZookeeperMember:
        """Create the membership; to be called once. Closing it closes the session.

        Args:
            handler: called in the caller's thread when partitions come and go.
            wake: wakes the caller's thread; called from any thread, must only notify.
        """
        config, store, clock = self._config, self._store, self._clock
        consumer_id = new_consumer_id(config, clock)
        name = MemberName(config.group_id, consumer_id)
        counts = ZookeeperGroupCounts()
        observation = Observation(name, (LoggingObserver(), counts, *self._observers))
        info = build_info()
        observation.report(Created(**info.labels(), why=info.why))
        wakeup: Mailbox[None] = Mailbox()

        def signal() -> None:
            wakeup.put(None)
            wake()

        bridge = Bridge(signal, grace_ms=rebalance_grace_ms(config), clock=clock)
        security = self._security
        registry = GroupRegistry(store, config.group_id, protocol=security.protocol)
        offsets = wire_offsets(config, store, registry, clock, security=security)
        member = build_member(
            _settings(config, consumer_id, store),
            MemberWorld(
                store=store,
                registry=registry,
                offset_store=offsets.store,
                fetching=bridge,
                clock=clock,
                random=random.random,
                observation=observation,
            ),
        )
        bridge.control = member.control
        member.control.life = watch = PollWatch(self._max_poll_interval_ms, clock)
        member.listener.listener = bridge
        member.listener.on_lost = bridge.lost
        gate = self._gate(consumer_id, member, offsets, observation)
        gate.add_waker(signal)
        return ZookeeperMember(
            MemberComponents(
                group_id=config.group_id,
                consumer_id=consumer_id,
                store=store,
                control=member.control,
                core=member.core,
                bridge=bridge,
                watch=watch,
                counts=counts,
                gate=gate,
                offsets=offsets,
                scope=ThreadScope(consumer_id),
                clock=clock,
                signal=signal,
                wakeup=wakeup,
            ),
            handler,
        )

    def close(self) -> None:
        """End the session, if no membership was created. Idempotent."""
        self._store.close()

    def _gate(
        self, consumer_id: str, member: MemberRuntime, offsets: OffsetSide, observation: Observation
    ) -> DeliveryGate:
        """Create the gate that shuts while ZooKeeper is silent, and connect it to the session."""
        config, store = self._config, self._store
        allowed_ms = store.negotiated_timeout_ms * config.zookeeper_silence_percent // 100
        guard = ForkGuard(f"consumer {consumer_id} of group {config.group_id}")
        gate = DeliveryGate(self._clock, allowed_ms, observation, guard)
        listen(
            store,
            member.control.mailbox.put,
            claims=member.claims,
            gate=gate,
            interrupt=offsets.interrupt,
            observation=observation,
        )
        return gate


def open_zookeeper_group(
    config: ConsumerConfig,
    *,
    max_poll_interval_ms: int,
    clock: Clock | None = None,
    connect: OpenZookeeperSession = kazoo_store.connect,
    observers: Sequence[Observer] = (),
    security: SecuritySettings = PLAINTEXT,
) -> ZookeeperGroup:
    """Connect to ``zookeeper_connect``; write nothing, start no thread of ours.

    Args:
        config: the settings of the member; those of fetching are not used.
        max_poll_interval_ms: the member leaves when no poll comes for so long.
        clock: for pauses and time-outs.
        connect: opens the session.
        observers: receive the group's events, as those of a connector.
        security: of all connections to brokers.

    Raises:
        ConfigError: see ``kazoo_store.connect``.
        RegistryError: ZooKeeper does not respond, or no broker is registered there.
    """
    store = connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
        security=config.zookeeper_security,
    )
    try:
        brokers = live_brokers(store, config.zookeeper_connect, security.protocol)
        return ZookeeperGroup(
            config,
            store,
            brokers,
            max_poll_interval_ms=max_poll_interval_ms,
            clock=clock or SystemClock(),
            observers=observers,
            security=security,
        )
    except BaseException:
        # Nothing else would end the session.
        store.close(config.shutdown_timeout_ms)
        raise


def rebalance_grace_ms(config: ConsumerConfig) -> int:
    """Return how long a rebalance waits for the caller's next poll, and its listener.

    Scala members give up after ``rebalance.max.retries`` tries, ``rebalance.backoff.ms`` apart:
    half of that leaves the other half for the claims.
    """
    return max(1, config.rebalance_max_retries * config.rebalance_backoff_ms // 2)


def _settings(config: ConsumerConfig, consumer_id: str, store: ZkStore) -> MemberSettings:
    return MemberSettings(
        group_id=config.group_id,
        rebalance=rebalance_settings(config, consumer_id, store),
        exclude_internal_topics=config.exclude_internal_topics,
        # Only the caller's thread knows what was handed out: it commits.
        auto_commit=False,
        leave_timeout_ms=min(store.negotiated_timeout_ms, config.shutdown_timeout_ms // 2),
    )
