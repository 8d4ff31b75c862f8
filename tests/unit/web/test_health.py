"""The health check: whether the snapshot that is shown is recent enough."""

from dataclasses import replace

from tests.support.asgi_client import ManualStates
from tests.support.page_world import NOW_MS, STEPS, snapshot_at
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.web.health import health_of

STATE = ManualStates(snapshot_at(STEPS)).current


def test_a_recent_snapshot_is_healthy() -> None:
    """A snapshot is healthy for three intervals and reading times, and at least some seconds."""
    assert health_of(STATE, NOW_MS).well
    assert health_of(STATE, NOW_MS + 15_060).well
    assert not health_of(STATE, NOW_MS + 15_061).well
    slow = replace(STATE, read_duration_ms=10_000)
    assert health_of(slow, NOW_MS + 75_000).well
    assert not health_of(slow, NOW_MS + 75_001).well
    quick = replace(STATE, interval_ms=200, read_duration_ms=1)
    assert health_of(quick, NOW_MS + 15_000).well


def test_failures_of_parts_leave_it_healthy() -> None:
    """Failures of parts of the cluster leave the page healthy, as it is there to show them."""
    failing = ManualStates(snapshot_at(STEPS, failing=True)).current
    assert failing.snapshot.failures
    assert health_of(failing, NOW_MS).well


def test_an_unhealthy_page_gives_the_reason() -> None:
    """An unhealthy page gives the reason: nothing was read so far, or reading fails now."""
    nothing = ManualStates(ClusterSnapshot(taken_ms=NOW_MS, zookeeper_connect=""), ready=False)
    never = health_of(nothing.current, NOW_MS)
    assert (never.well, never.age_ms) == (False, None)
    gone = health_of(replace(STATE, problem="no answer"), NOW_MS + 4)
    assert (gone.reason, gone.age_ms) == ("the cluster can't be read: no answer", 4)
    assert health_of(STATE, NOW_MS - 5).age_ms == 0
