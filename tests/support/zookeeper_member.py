"""Members of a ZooKeeper group with the poll API, on a ZooKeeper in memory; tests poll them."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.fakes.memory_zk import MemoryZkStore
from tests.support.control_bench import GROUP, Group
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.consumer.zookeeper_settings import consumer_config
from zkconsumer.membership.protocol import Partitions, RevocationKind
from zkconsumer.membership.zookeeper.configured import OpenZookeeperSession
from zkconsumer.membership.zookeeper.polled import ZookeeperGroup, open_zookeeper_group
from zkconsumer.model import TopicPartition
from zkconsumer.net.security import PLAINTEXT
from zkconsumer.zk.store import ZkStore

TIMEOUT_MS = 20_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
Heard = tuple[str, frozenset[int]]
"""A call of the handler: ``revoked``, ``lost`` or ``assigned``, and partition numbers."""


def open_group(config: PollConfig, connect: OpenZookeeperSession) -> ZookeeperGroup:
    """Open a group as a ``KafkaConsumer`` with these settings does."""
    return open_zookeeper_group(
        consumer_config(config),
        max_poll_interval_ms=config.max_poll_interval_ms,
        connect=connect,
        security=PLAINTEXT,
    )


def in_memory() -> Group:
    """Return a group with one broker and a topic of two partitions, in real time."""
    return Group(time=SystemClock())


class PolledMember:
    """A membership, and a handler that records its calls.

    Attributes:
        received: every call of the handler.
        owned: the partitions owned according to these calls.
        on_give_up: called within ``give_up``.
    """

    def __init__(self, group: Group, **settings: object) -> None:
        self.received: list[Heard] = []
        self.owned: Partitions = frozenset()
        self.on_give_up: Callable[[Partitions, RevocationKind], None] = lambda _partitions, _why: (
            None
        )
        self.wakeup = Wakeup()
        stores: list[MemoryZkStore] = []

        def connect(
            _where: str,
            /,
            *,
            session_timeout_ms: int,
            connection_timeout_ms: int,
            security: ZookeeperSecurity,
        ) -> ZkStore:
            assert not security.set_acl
            assert session_timeout_ms > 0 < connection_timeout_ms
            stores.append(group.server.connect())
            return stores[0]

        config = PollConfig(
            {
                "zookeeper_connect": "memory:2181",
                "group_id": GROUP,
                "rebalance_backoff_ms": 100,
                "rebalance_max_retries": 100,
                **settings,
            }
        )
        self.membership = open_group(config, connect).member(self, self.wakeup.signal)
        (self.store,) = stores

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """See ``OwnershipHandler``."""
        self.received.append((why.name.lower(), numbers(partitions)))
        self.owned -= partitions
        self.on_give_up(partitions, why)

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """See ``OwnershipHandler``."""
        self.received.append(("assigned", numbers(added)))
        self.owned = owned

    def poll_until(self, done: Callable[[], object], what: str, *others: "PolledMember") -> None:
        """Poll this and other members until ``done`` returns something true."""

        def look() -> object:
            for polled_member in (self, *others):
                polled_member.membership.poll()
            return done()

        wait_until(look, what=what)

    def joined(self, *topics: str, count: int = 2) -> Self:
        """Subscribe, and poll until ``count`` partitions may be delivered."""
        self.membership.subscribe(frozenset(topics or "t"), open_ended=False)
        self.poll_until(lambda: len(self.membership.deliverable()) == count, "the first share")
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.membership.close(TIMEOUT_MS)


def numbers(partitions: Partitions) -> frozenset[int]:
    """Return the numbers of partitions."""
    return frozenset(tp.partition for tp in partitions)
