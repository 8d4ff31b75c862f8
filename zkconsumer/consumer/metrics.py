"""The numbers of a consumer, under the names that kafka-python and Java have for them.

Those that count are totals since the start; rates are for whoever reads them twice.
"""

from zkconsumer.consumer.parts import Parts


def metrics_of(parts: Parts) -> dict[str, dict[str, float]]:
    """By group and name."""
    return {
        "consumer-metrics": _consumer(parts),
        "consumer-coordinator-metrics": _coordinator(parts),
        "consumer-fetch-manager-metrics": _fetching(parts),
        **_partitions(parts),
    }


def _consumer(parts: Parts) -> dict[str, float]:
    stats = parts.engine.stats()
    return {
        "connection-count": stats.brokers,
        "request-total": stats.fetches + stats.failed_fetches,
        "incoming-byte-total": stats.fetched_bytes,
        "requests-in-flight": stats.in_flight,
        "buffered-bytes": stats.buffered_bytes,
        "buffered-records": stats.buffered_records,
    }


def _coordinator(parts: Parts) -> dict[str, float]:
    membership = parts.session.membership
    return {
        "assigned-partitions": len(parts.session.assignment()),
        "generation": membership.generation,
        **membership.numbers(),
    }


def _fetching(parts: Parts) -> dict[str, float]:
    stats = parts.engine.stats()
    lags = [lag for tp in parts.session.assignment() if (lag := parts.engine.lag(tp)) is not None]
    return {
        "fetch-total": stats.fetches,
        "fetch-latency-avg": stats.fetch_time_ms / max(1, stats.fetches),
        "fetch-size-avg": stats.fetched_bytes / max(1, stats.fetches),
        "fetch-throttle-time-total": stats.throttle_time_ms,
        "bytes-fetched-total": stats.fetched_bytes,
        "records-fetched-total": stats.fetched_records,
        "bytes-consumed-total": stats.collected_bytes,
        "records-consumed-total": stats.collected_records,
        "records-lag-max": max(lags, default=0),
    }


def _partitions(parts: Parts) -> dict[str, dict[str, float]]:
    """One group a partition, called as in kafka-python: ``...metrics.topic-partition``."""
    engine = parts.engine
    found: dict[str, dict[str, float]] = {}
    for tp in sorted(parts.session.assignment()):
        view = parts.session.position(tp)
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
