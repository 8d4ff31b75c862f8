"""Assesses whether the state is recent enough to be relied on. Pure."""

from dataclasses import dataclass
from typing import Final

from zkconsumer.web.state import ClusterState

_MIN_GRACE_MS: Final = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of the watcher.

    Attributes:
        reason: why it is unhealthy; None if it is healthy.
        age_ms: the age of the snapshot; None if there is none.
        is_current: whether the state is recent, healthy or not.
    """

    reason: str | None
    age_ms: int | None
    is_current: bool = False

    @property
    def well(self) -> bool:
        """Whether it is healthy."""
        return self.reason is None


def health_of(state: ClusterState, now_ms: int) -> Health:
    """Assess a state.

    It may be as old as three reads and their pauses. Silent brokers do not make it unhealthy: the
    pages are there to show them. If no broker is registered, it is unhealthy, and usually the
    address is wrong.
    """
    if not state.ready:
        return Health(reason=state.problem or "the cluster has not been read yet", age_ms=None)
    age_ms = max(0, now_ms - state.snapshot.taken_ms)
    if state.problem is not None:
        return Health(reason=f"the cluster can't be read: {state.problem}", age_ms=age_ms)
    grace_ms = max(_MIN_GRACE_MS, 3 * (state.interval_ms + 2 * state.read_duration_ms))
    if age_ms > grace_ms:
        return Health(
            reason=f"the data is {age_ms // 1000} s old: the cluster is no longer read",
            age_ms=age_ms,
        )
    absent = state.snapshot.no_brokers
    return Health(reason=None if absent is None else str(absent), age_ms=age_ms, is_current=True)
