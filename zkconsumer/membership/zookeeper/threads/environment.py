"""The settings and the collaborators of a member's control thread."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from zkconsumer.clock import Clock
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.messages import Message
from zkconsumer.observe import Observation
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.scope import Mailbox
from zkconsumer.streams.delivery import Delivery
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore


class Fetching(Protocol):
    """Fetches the claimed partitions into their queues (``LeaderFinder``)."""

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """Fetch these claims, each from its offset (None: from that of the reset policy)."""
        ...

    def wake(self) -> None:
        """Drop claims that were revoked. Never blocks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """A member's settings, from the configuration.

    ``leave_timeout_ms`` is how long a leaving member waits for an unreachable ZooKeeper.
    """

    group_id: str
    rebalance: RebalanceSettings
    exclude_internal_topics: bool = True
    auto_commit: bool = True
    auto_commit_interval_ms: int = 60_000
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    leave_timeout_ms: int = 0

    @property
    def consumer_id(self) -> str:
        """The member's name in the group."""
        return self.rebalance.consumer_id


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberWorld:
    """The collaborators of a member.

    ``random`` returns numbers in [0, 1); the mailbox is the control thread's.
    """

    store: ZkStore
    registry: GroupRegistry
    offset_store: OffsetStore
    fetching: Fetching
    clock: Clock
    random: Callable[[], float]
    observation: Observation
    mailbox: Mailbox[Message] = field(default_factory=Mailbox)

    def trigger(self, cause: ev.RebalanceCause) -> None:
        """Ask the control thread for a rebalance. Thread: any."""
        self.mailbox.put(ev.RebalanceTriggered(cause))
