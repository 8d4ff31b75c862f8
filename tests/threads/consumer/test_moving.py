"""Positions, iteration, batches and the end, on parts of paper: on real threads."""

from concurrent.futures import ThreadPoolExecutor

from tests.support.poll_callers import Make, joined


def test_metrics_can_be_asked_for_by_any_thread_until_the_end(make: Make) -> None:
    """A server of metrics does so while the caller polls."""
    consumer, _ = joined(make)
    with consumer._parts.one_caller, ThreadPoolExecutor(1) as others:
        assert others.submit(consumer.metrics).result(5)["consumer-coordinator-metrics"]
    consumer.close()
    assert consumer.metrics() == {}
