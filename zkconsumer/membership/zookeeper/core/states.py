r"""The states of a member's rebalance, and its settings. Pure.

::

    OUTSIDE --Join--> REGISTERING --> READING --> STOPPING -> COMMITTING -> RELEASING --+
                          ^             ^  |                                            |
                          |             |  +--> CLAIMING <------------------------------+
              new session |     trigger |  |       |
                          |             |  |       +--> LOADING --> STARTING --> OWNING
                          |             |  |                                      ^  |
                          |             |  +-- nothing to change -----------------+  |
                          |             +---------- trigger -------------------------+
                          |             |
                          +--- BACKING_OFF / FAILED <-- a step failed, a claim was refused
"""

from dataclasses import dataclass
from enum import Enum, auto

from zkconsumer.assignment.strategy import Strategy


class RebalanceState(Enum):
    """The state of a member."""

    OUTSIDE = auto()
    """Not a member: not joined yet, left, or without a session."""
    REGISTERING = auto()
    READING = auto()
    STOPPING = auto()
    COMMITTING = auto()
    RELEASING = auto()
    CLAIMING = auto()
    LOADING = auto()
    STARTING = auto()
    OWNING = auto()
    """Every partition of ours is being read; the state at rest."""
    BACKING_OFF = auto()
    """The last try failed; the next one is due at a deadline, or at a trigger."""
    FAILED = auto()
    """All tries failed and the caller got the error; otherwise as BACKING_OFF, but slower."""


RESTING = frozenset({RebalanceState.OWNING, RebalanceState.BACKING_OFF, RebalanceState.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceSettings:
    """Settings of rebalancing.

    Attributes:
        consumer_id: the member's own id.
        strategy: ``partition.assignment.strategy``.
        max_retries: tries for each trigger, ``rebalance.max.retries``.
        backoff_ms: ``rebalance.backoff.ms``.
        session_timeout_ms: how long a session lives without its client. We wait twice as
            long (servers count in ticks) for a registration that blocks ours, beyond
            ``max_retries``.
        audit_interval_ms: how often a member at rest audits the group, ``owner.audit.interval.ms``;
            0: never.
    """

    consumer_id: str
    strategy: Strategy = "range"
    max_retries: int = 4
    backoff_ms: int = 2000
    session_timeout_ms: int = 0
    audit_interval_ms: int = 0
