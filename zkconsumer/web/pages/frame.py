"""The frame of every page: the cluster, its age, and the parts that can't be read. Pure."""

from dataclasses import dataclass

from zkconsumer.status.model import BrokersAlone, PartFailure
from zkconsumer.web.pages.view import PageRequest
from zkconsumer.web.state import ClusterState

_LEAST_OLD_MS = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The header of the page.

    Attributes:
        address: the cluster's address: a connect string, or its brokers.
        alone: how it is read through its brokers only; None if ZooKeeper is read.
        taken_ms: when the snapshot was assembled; None before the first.
        now_ms: the time by the server's clock, from which the page's script continues.
        old_after_ms: the age from which a value is shown as old.
        number: the number of the state.
        problem: why everything is old; None if it is not.
        failures: parts that can't be read, the oldest failure first.
        section: the navigation item of the page.
    """

    address: str
    alone: BrokersAlone | None
    taken_ms: int | None
    now_ms: int
    old_after_ms: int
    number: int
    problem: str | None
    failures: tuple[PartFailure, ...]
    section: str


def frame_of(state: ClusterState, page_request: PageRequest) -> Frame:
    """Return the frame around a page."""
    snapshot = state.snapshot
    return Frame(
        address=snapshot.address,
        alone=snapshot.brokers_alone,
        taken_ms=snapshot.taken_ms if state.ready else None,
        now_ms=page_request.now_ms,
        old_after_ms=old_after_ms(state),
        number=state.number,
        problem=state.problem,
        failures=tuple(sorted(snapshot.failures, key=lambda failure: failure.since_ms)),
        section=page_request.path.removeprefix(page_request.root)
        .partition("/")[2]
        .partition("/")[0],
    )


def old_after_ms(state: ClusterState) -> int:
    """Return the age from which a value is old: two reads in a row have not refreshed it."""
    return max(_LEAST_OLD_MS, 3 * (state.interval_ms + state.read_duration_ms))
