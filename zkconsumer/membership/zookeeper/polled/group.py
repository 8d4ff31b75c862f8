"""Opens a ZooKeeper group for a ``KafkaConsumer``: first the session, then the membership.

There are two steps, since a poll engine needs the brokers from ZooKeeper, and the handler of a
membership needs that engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.membership.protocol import OwnershipHandler
from zkconsumer.membership.zookeeper.configured import (
    OpenZookeeperSession,
    configured_member,
    in_new_session,
    member_context,
    new_consumer_id,
)
from zkconsumer.membership.zookeeper.polled.bridge import Bridge
from zkconsumer.membership.zookeeper.polled.counts import ZookeeperGroupCounts
from zkconsumer.membership.zookeeper.polled.member import CallerSide, ZookeeperMember
from zkconsumer.membership.zookeeper.threads.poll_watch import PollWatch
from zkconsumer.model import Broker
from zkconsumer.net.security import SecuritySettings
from zkconsumer.observe import MemberName
from zkconsumer.scope import WakeEvent
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import live_brokers
from zkconsumer.zk.store import ZkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperGroup:
    """A ZooKeeper session in which a membership can be created.

    Attributes:
        config: the settings of the member; those of fetching are not used.
        store: the session.
        brokers: the registered brokers; at least one.
        max_poll_interval_ms: the member leaves if there is no poll for this long.
        clock: for pauses and time-outs.
        security: the security of all connections to brokers.
    """

    config: ConsumerConfig
    store: ZkStore
    brokers: Sequence[Broker]
    max_poll_interval_ms: int
    clock: Clock
    security: SecuritySettings

    def member(self, handler: OwnershipHandler, wake: Callable[[], None]) -> ZookeeperMember:
        """Create the membership; call it only once. Closing the membership closes the session.

        Args:
            handler: called in the caller's thread when partitions come and go.
            wake: wakes the caller's thread; called from any thread, must only notify.
        """
        config, clock = self.config, self.clock
        counts, wakeup = ZookeeperGroupCounts(), WakeEvent()

        def signal() -> None:
            wakeup.notify()
            wake()

        context = member_context(
            config,
            name=MemberName(config.group_id, new_consumer_id(config, clock)),
            store=self.store,
            clock=clock,
            observers=(counts,),
            security=self.security,
        )
        context.gate.add_waker(signal)
        bridge = Bridge(signal, grace_ms=rebalance_grace_ms(config), clock=clock)
        # Only the caller's thread knows what was handed out, so it does the commits.
        member = configured_member(context, bridge, auto_commit=False)
        bridge.attend = member.control.attend
        member.control.poll_watch = watch = PollWatch(self.max_poll_interval_ms, clock)
        member.listener.listener = bridge
        member.listener.on_lost = bridge.on_lost
        caller = CallerSide(bridge=bridge, watch=watch, counts=counts, signal=signal, wakeup=wakeup)
        return ZookeeperMember(context, member, caller, handler)

    def close(self) -> None:
        """End the session, if no membership was created. Idempotent."""
        self.store.close()


def open_zookeeper_group(
    config: ConsumerConfig,
    *,
    max_poll_interval_ms: int,
    clock: Clock | None = None,
    connect: OpenZookeeperSession = kazoo_store.connect,
    security: SecuritySettings,
) -> ZookeeperGroup:
    """Connect to ``zookeeper_connect``; write nothing, and start no thread but kazoo's.

    ``connect`` opens the session; a ``clock`` of None is the system's. For the other arguments see
    ``ZookeeperGroup``.

    Raises:
        ConfigError: see ``kazoo_store.connect``.
        RegistryError: ZooKeeper does not respond, or no broker is registered there.
    """

    def build(store: ZkStore) -> ZookeeperGroup:
        return ZookeeperGroup(
            config=config,
            store=store,
            brokers=live_brokers(store, config.zookeeper_connect, security.protocol),
            max_poll_interval_ms=max_poll_interval_ms,
            clock=clock or SystemClock(),
            security=security,
        )

    return in_new_session(config, connect, build)


def rebalance_grace_ms(config: ConsumerConfig) -> int:
    """Return how long a rebalance waits for the caller's next poll, and its listener.

    Scala members give up after ``rebalance.max.retries`` tries, ``rebalance.backoff.ms`` apart:
    half of that time leaves the other half for the claims.
    """
    return max(1, config.rebalance_max_retries * config.rebalance_backoff_ms // 2)
