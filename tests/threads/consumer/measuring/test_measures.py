"""On real threads: what the unit tests of the same name do not hold."""

from tests.support.manual_clock import ManualClock
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.measuring.windows import WindowTerms
from zkconsumer.model import Broker
from zkconsumer.scope import ThreadScope

TERMS = WindowTerms(samples=2, window_ms=1_000)
ONE, FIRST = Broker(1, "b", 9092), Broker(-1, "b", 9092)


def test_nobody_waits_for_who_was_interrupted_and_nothing_is_lost() -> None:
    """Whoever holds it up, the others go on; what they told is counted by the next."""
    one = Measures(TERMS, ManualClock())
    assert one._lock.acquire(blocking=False)  # as of a thread that was stopped in the middle
    scope = ThreadScope("others")
    for number in range(5):
        scope.spawn(f"other {number}", lambda: one.on_sent(ONE, 10), stop=lambda: None)
    assert scope.close(5_000) == []
    assert not one._nodes
    one._lock.release()
    assert one.nodes()["node-1"]["request-rate"] == 5
