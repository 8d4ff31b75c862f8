"""Metrics of connections and fetches under kafka-python's names."""

from tests.support.manual_clock import ManualClock
from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.measuring.windows import WindowTerms
from zkconsumer.fetch.core.shared_state import ResponseCounts
from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey

TERMS = WindowTerms(samples=2, window_ms=1_000)
ONE, FIRST = Broker(1, "b", 9092), Broker(-1, "b", 9092)

NODE = [
    "outgoing-byte-rate",
    "request-rate",
    "request-size-avg",
    "request-size-max",
    "incoming-byte-rate",
    "response-rate",
    "request-latency-avg",
    "request-latency-max",
    "throttle-time-avg",
    "throttle-time-max",
]
KAFKA_PYTHONS = {
    "kafka-metrics-count": ["count"],
    "consumer-metrics": [
        *NODE,
        *("connection-close-rate", "connection-creation-rate", "connection-count"),
        "network-io-rate",
    ],
    "consumer-coordinator-metrics": [
        "heartbeat-response-time-max",
        "heartbeat-rate",
        "join-time-avg",
        "join-time-max",
        "join-rate",
        "sync-time-avg",
        "sync-time-max",
        "sync-rate",
        "commit-latency-avg",
        "commit-latency-max",
        "commit-rate",
        "assigned-partitions",
    ],
    "consumer-fetch-manager-metrics": [
        "fetch-size-avg",
        "fetch-size-max",
        "bytes-consumed-rate",
        "records-per-request-avg",
        "records-consumed-rate",
        "fetch-latency-avg",
        "fetch-latency-max",
        "fetch-rate",
        "records-lag-max",
    ],
    "consumer-node-metrics.node-1": NODE,
    "consumer-node-metrics.node-bootstrap-0": NODE,
}
"""Consumer metrics of kafka-python 3.0.12, except the times of past heartbeats."""


def test_all_metrics_of_kafka_python_exist(make_consumer: ConsumerFactory) -> None:
    """Each metric is in its group, and no name has two meanings."""
    consumer, fakes = joined_consumer(make_consumer)
    measures = consumer._parts.measures
    for broker in (FIRST, ONE):
        measures.on_sent(broker, 10)
    found = consumer.metrics()
    for group, names in KAFKA_PYTHONS.items():
        assert set(names) <= found[group].keys(), group
    assert found["kafka-metrics-count"]["count"] == sum(map(len, found.values()))
    assert {f"consumer-fetch-manager-metrics.{tp}" for tp in (A, B)} <= found.keys()
    raw = consumer.metrics(raw=True)
    assert {metric_name.group for metric_name in raw} == found.keys()
    for name, metric in raw.items():
        assert (metric.metric_name, name.tags, name.description) == (name, {}, "")
        assert metric.value() == found[name.group][name.name]
    del fakes


def test_traffic_is_counted_by_broker_and_in_total() -> None:
    """Rates are per second, and latencies by the kind of request."""
    clock = ManualClock()
    measures = Measures(TERMS, clock)
    for broker, size in ((ONE, 100), (ONE, 300), (FIRST, 50)):
        measures.on_opened(broker)
        measures.on_sent(broker, size)
        measures.on_response(broker, ApiKey.HEARTBEAT, 10 * size, size // 10, 0)
    measures.on_response(ONE, ApiKey.OFFSET_COMMIT, 40, 8, 5)
    measures.on_closed(FIRST)
    measures.fetched(ResponseCounts(1, 2_000, 20, 30))
    measures.fetched(ResponseCounts(1, 1_000, 0, 10))
    node = measures.nodes()["node-1"]
    assert (node["outgoing-byte-rate"], node["request-rate"]) == (400, 2)
    assert (node["request-size-avg"], node["request-size-max"]) == (200, 300)
    assert (node["incoming-byte-rate"], node["response-rate"]) == (4_040, 3)
    assert (node["request-latency-avg"], node["request-latency-max"]) == (16, 30)
    assert node["throttle-time-max"] == 5
    assert measures.nodes()["node-bootstrap-0"]["request-rate"] == 1
    whole = measures.consumer()
    assert (whole["connection-count"], whole["connection-creation-rate"]) == (2, 3)
    assert (whole["connection-close-rate"], whole["network-io-rate"]) == (1, 7)
    assert whole["outgoing-byte-rate"] == 450
    group = measures.coordinator()
    assert (group["heartbeat-rate"], group["heartbeat-response-time-max"]) == (3, 30)
    assert (group["commit-rate"], group["commit-latency-avg"], group["join-rate"]) == (1, 8, 0)
    fetching = measures.fetching()
    assert (fetching["fetch-rate"], fetching["fetch-size-max"]) == (2, 2_000)
    assert (fetching["records-per-request-avg"], fetching["bytes-consumed-rate"]) == (10, 3_000)
    assert (fetching["fetch-latency-avg"], fetching["fetch-latency-max"]) == (20, 30)
    clock.advance(2_000)
    assert not any(measures.nodes()["node-1"].values())
    assert (measures.consumer()["connection-count"], measures.consumer()["request-rate"]) == (2, 0)


def test_a_signal_handler_may_report_during_a_count() -> None:
    """It runs in the thread that already holds the lock."""
    measures = Measures(TERMS, ManualClock())
    with measures._lock:
        measures.on_sent(ONE, 10)
        measures.on_closed(ONE)
        assert measures.nodes()["node-1"]["request-rate"] == 1
