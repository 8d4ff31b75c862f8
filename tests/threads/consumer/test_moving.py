"""Metrics of a consumer with parts in memory, read by other threads."""

from concurrent.futures import ThreadPoolExecutor

from tests.support.poll_callers import ConsumerFactory, joined_consumer


def test_any_thread_may_read_metrics_until_the_close(make_consumer: ConsumerFactory) -> None:
    """A metrics server does so while the caller polls."""
    consumer, _ = joined_consumer(make_consumer)
    with consumer._parts.one_caller, ThreadPoolExecutor(1) as others:
        assert others.submit(consumer.metrics).result(5)["consumer-coordinator-metrics"]
    consumer.close()
    assert consumer.metrics() == {}
