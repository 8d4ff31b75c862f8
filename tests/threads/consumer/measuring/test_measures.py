"""A consumer's metrics, on real threads (the unit tests of the same name hold the rest)."""

from tests.support.manual_clock import ManualClock
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.measuring.windows import WindowTerms
from zkconsumer.model import Broker
from zkconsumer.scope import ThreadScope

TERMS = WindowTerms(samples=2, window_ms=1_000)
ONE, FIRST = Broker(1, "b", 9092), Broker(-1, "b", 9092)


def test_counting_does_not_wait_for_an_interrupted_thread() -> None:
    """What others report meanwhile is counted by the next call, and nothing is lost."""
    measures = Measures(TERMS, ManualClock())
    assert measures._lock.acquire(blocking=False)  # held as by a thread that was interrupted
    scope = ThreadScope("others")
    for number in range(5):
        scope.spawn(f"other {number}", lambda: measures.on_sent(ONE, 10), stop=lambda: None)
    assert scope.close(5_000) == []
    assert not measures._nodes
    measures._lock.release()
    assert measures.nodes()["node-1"]["request-rate"] == 5
