"""Whether what is shown is young enough to be relied on. Pure."""

from dataclasses import dataclass
from typing import Final

from zkconsumer.web.state import ClusterState

_LEAST_PATIENCE_MS: Final = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the page does.

    Attributes:
        reason: why it is not well; None where it is.
        age_ms: how old the snapshot is; None where there is none.
        is_current: whether what is shown is how things are, well or not.
    """

    reason: str | None
    age_ms: int | None
    is_current: bool = False

    @property
    def well(self) -> bool:
        """Whether all is as it should be."""
        return self.reason is None


def health_of(state: ClusterState, now_ms: int) -> Health:
    """Judge what is shown.

    It may be as old as three readings and their pauses. Brokers that don't answer make nothing
    unhealthy: the page is there to show that. Where none is even registered there is nothing that
    could be well, and mostly the wrong place is looked at.
    """
    if not state.ready:
        return Health(reason=state.problem or "nothing was read yet", age_ms=None)
    age_ms = max(0, now_ms - state.snapshot.taken_ms)
    if state.problem is not None:
        return Health(reason=f"the cluster can't be read: {state.problem}", age_ms=age_ms)
    grace_ms = max(_LEAST_PATIENCE_MS, 3 * (state.interval_ms + 2 * state.read_duration_ms))
    if age_ms > grace_ms:
        return Health(
            reason=f"what is shown is {age_ms // 1000} s old: the cluster is no longer read",
            age_ms=age_ms,
        )
    absent = state.snapshot.no_brokers
    return Health(reason=None if absent is None else str(absent), age_ms=age_ms, is_current=True)
