"""Collects the metrics of a consumer, named as in kafka-python and Java.

Rates, averages and maxima cover recent time (``measuring``); names that end in ``-total`` count
from the consumer's creation.
"""

from collections.abc import Mapping
from typing import NamedTuple

from zkconsumer.consumer.parts import ConsumerComponents


class MetricName(NamedTuple):
    """The name of a metric, as a key of ``metrics(raw=True)``.

    Attributes:
        name: the metric's name.
        group: the metric group.
    """

    name: str
    group: str

    @property
    def tags(self) -> dict[str, str]:
        """Empty, since the group's name contains the broker or partition."""
        return {}

    @property
    def description(self) -> str:
        """Empty, since the documentation describes the metrics."""
        return ""


class Metric(NamedTuple):
    """The name and value of a metric at the time of the call.

    Attributes:
        metric_name: the name.
        measured: the value.
    """

    metric_name: MetricName
    measured: float

    def value(self) -> float:
        """Return the value."""
        return self.measured


def raw_of(metrics: Mapping[str, Mapping[str, float]]) -> dict[MetricName, Metric]:
    """Return all metrics in one map."""
    names = [MetricName(name, group) for group, numbers in metrics.items() for name in numbers]
    return {name: Metric(name, metrics[name.group][name.name]) for name in names}


def metrics_of(parts: ConsumerComponents) -> dict[str, dict[str, float]]:
    """Return the metrics of a consumer by group and name."""
    nodes = parts.measures.nodes()
    found = {
        "consumer-metrics": _consumer(parts),
        "consumer-coordinator-metrics": _coordinator(parts),
        "consumer-fetch-manager-metrics": _fetching(parts),
        **{f"consumer-node-metrics.{name}": numbers for name, numbers in nodes.items()},
        **_partitions(parts),
    }
    count = sum(map(len, found.values())) + 1
    return {"kafka-metrics-count": {"count": count}, **found}


def _consumer(parts: ConsumerComponents) -> dict[str, float]:
    stats = parts.engine.stats()
    return {
        **parts.measures.consumer(),
        "request-total": stats.fetches + stats.failed_fetches,
        "incoming-byte-total": stats.fetched_bytes,
        "requests-in-flight": stats.in_flight,
        "buffered-bytes": stats.buffered_bytes,
        "buffered-records": stats.buffered_records,
    }


def _coordinator(parts: ConsumerComponents) -> dict[str, float]:
    membership = parts.session.membership
    return {
        **parts.measures.coordinator(),
        "assigned-partitions": len(parts.session.assignment()),
        "generation": membership.generation,
        **membership.numbers(),
    }


def _fetching(parts: ConsumerComponents) -> dict[str, float]:
    stats = parts.engine.stats()
    lags = [lag for tp in parts.session.assignment() if (lag := parts.engine.lag(tp)) is not None]
    return {
        **parts.measures.fetching(),
        "fetch-total": stats.fetches,
        "fetch-throttle-time-total": stats.throttle_time_ms,
        "bytes-fetched-total": stats.fetched_bytes,
        "records-fetched-total": stats.fetched_records,
        "bytes-consumed-total": stats.collected_bytes,
        "records-consumed-total": stats.collected_records,
        "records-lag-max": max(lags, default=0),
    }


def _partitions(parts: ConsumerComponents) -> dict[str, dict[str, float]]:
    """Return one group per partition, named as in kafka-python: ``...metrics.topic-partition``."""
    engine = parts.engine
    found: dict[str, dict[str, float]] = {}
    for tp in sorted(parts.session.assignment()):
        view = parts.session.positions.position(tp)
        numbers = {
            "records-lag": engine.lag(tp),
            "position": None if view is None else view.offset,
            "high-watermark": engine.high_watermark(tp),
            "log-start": engine.log_start(tp),
        }
        found[f"consumer-fetch-manager-metrics.{tp}"] = {
            name: value for name, value in numbers.items() if value is not None
        }
    return found
