"""How long a caller may go without a poll."""

from tests.support.manual_clock import ManualClock
from zkconsumer.membership.zookeeper.threads.poll_watch import PollWatch


def check(watch: PollWatch, clock: ManualClock) -> tuple[int | None, bool]:
    """Return when to check next, and whether to leave now."""
    return watch.due_ms, watch.take(clock.now_ms())


def test_only_a_joined_member_leaves_for_lack_of_polls_and_once() -> None:
    """It leaves once; each poll restores the whole interval."""
    clock = ManualClock()
    watch = PollWatch(100, clock)
    clock.advance(1_000)
    assert check(watch, clock) == (None, False)
    watch.on_poll()
    watch.watch(joined=True)
    clock.advance(99)
    assert not watch.take(clock.now_ms())
    watch.on_poll()
    clock.advance(99)
    assert not watch.take(clock.now_ms())
    assert watch.due_ms == clock.now_ms() + 1
    clock.advance(1)
    assert watch.take(clock.now_ms())
    assert watch.fell_silent
    assert check(watch, clock) == (None, False)
    watch.watch(joined=True)
    watch.watch(joined=False)
    assert not watch.take(clock.now_ms())
