"""Opens a ZooKeeper group for a ``KafkaConsumer``: the session first, the membership then.

In two steps, since the brokers that a poll engine begins with are found in ZooKeeper, and the
handler of a membership needs that engine.
"""

from collections.abc import Callable, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.connector.assembly import ConnectZooKeeper
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.membership import Membership, OwnershipHandler
from zkconsumer.model import Broker
from zkconsumer.observe import Observer
from zkconsumer.zk import kazoo_store


class ZookeeperGroup:
    """A session with ZooKeeper, in which a member may come to be.

    Attributes:
        brokers: those that are registered; at least one.
    """

    brokers: Sequence[Broker]

    def member(self, handler: OwnershipHandler, wake: Callable[[], None]) -> Membership:
        """The membership; to be called once. Closing it closes the session.

        Args:
            handler: hears in the caller's thread what comes and goes.
            wake: rings the caller's bell; called from any thread, must only put.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End the session, where no member came to be. Idempotent."""
        raise NotImplementedError


def open_zookeeper_group(
    config: PollConfig,
    *,
    clock: Clock | None = None,
    connect: ConnectZooKeeper = kazoo_store.connect,
    observers: Sequence[Observer] = (),
) -> ZookeeperGroup:
    """Connect to ``zookeeper_connect``; nothing is written, and no thread of ours runs.

    Args:
        config: with ``zookeeper_connect`` and ``group_id``.
        clock: for pauses and time-outs.
        connect: opens the session.
        observers: hear of the group's rebalances, as those of a connector.

    Raises:
        ConfigError: a setting is of no use for a ZooKeeper group, or no broker is registered.
        RegistryError: ZooKeeper does not answer.
    """
    raise NotImplementedError(config, clock or SystemClock(), connect, observers)
