r"""The states of a member of a coordinator's group, and its settings.

::

                   a poll wants          JoinGroup            SyncGroup
                   to be a member        response             response
    UNJOINED -----------------> PREPARING -----> COMPLETING -----------> STABLE
     ^   ^                       ^  |   ^            |  |                 |  |
     |   |                       |  |   +------------+  |                 |  |
     |   |                       |  |    refused, lost  |                 |  |
     |   |                       +--|-------------------|-- a trigger ----+  |
     |   +--------------------------+-------------------+--------------------+
     |        the generation is void: fenced, unknown to the coordinator,
     +------  stopped polling, left

Source: Kafka ``AbstractCoordinator.MemberState``.
"""

from dataclasses import dataclass
from enum import Enum, auto

from zkconsumer.assignment.coordinated.strategy import RebalanceMode, mode_of
from zkconsumer.backoff import Backoff


class MembershipState(Enum):
    """The state of a member."""

    UNJOINED = auto()
    """In no generation: not joined yet, left, or removed. What it owned is lost."""
    PREPARING = auto()
    """Joining the next generation: JoinGroup was sent, or failed and will be sent again.

    A cooperative member goes on reading what it owns.
    """
    COMPLETING = auto()
    """In a generation, without an assignment until the SyncGroup response."""
    STABLE = auto()
    """In a generation with an assignment, which the next poll takes over."""


HEARTBEATS = (MembershipState.COMPLETING, MembershipState.STABLE)
"""The states that need heartbeats; a pending JoinGroup keeps the member alive by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Settings of membership.

    Attributes:
        strategies: ``partition.assignment.strategy``, the preferred one first.
        instance_id: ``group.instance.id``, of a static member (KIP-345).
        session_timeout_ms: ``session.timeout.ms``.
        heartbeat_interval_ms: ``heartbeat.interval.ms``.
        max_poll_interval_ms: ``max.poll.interval.ms``; also how long a rebalance waits for us.
        retry_backoff_ms: ``retry.backoff.ms``, the first pause after a failure; pauses double.
        retry_backoff_max_ms: ``retry.backoff.max.ms``, the longest pause.
        request_timeout_ms: ``request.timeout.ms``; also limits asynchronous commits.
    """

    strategies: tuple[str, ...] = ("range", "cooperative-sticky")
    instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000

    @property
    def backoff(self) -> Backoff:
        """The pauses of one member's requests, without a random part."""
        return Backoff(self.retry_backoff_ms, self.retry_backoff_max_ms, jitter=0.0)

    @property
    def mode(self) -> RebalanceMode:
        """Whether all partitions are given up before joining again, or only those revoked."""
        return mode_of(self.strategies)
