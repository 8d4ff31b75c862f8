"""metrics(): its groups and names."""

import threading
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import LETTERS

_one_at_a_time = threading.Lock()
_measured: dict[str, Any] = {}


def _metrics(s: Scene) -> Any:
    """The metrics of a member that read all letters and committed, cached for the process."""
    with _one_at_a_time:
        if s.lib.name not in _measured:
            _measured[s.lib.name] = _measure(s)
        return _measured[s.lib.name]


def _measure(s: Scene) -> Any:
    consumer = s.member(LETTERS, 15)
    consumer.commit()
    consumer.poll(timeout_ms=50)
    return consumer.metrics()


NAMES = {
    "consumer-fetch-manager-metrics": (
        "bytes-consumed-rate", "fetch-latency-avg", "fetch-latency-max", "fetch-rate",
        "fetch-size-avg", "fetch-size-max", "records-consumed-rate", "records-lag-max",
        "records-per-request-avg",
    ),
    "consumer-coordinator-metrics": (
        "assigned-partitions", "commit-latency-avg", "commit-latency-max", "commit-rate",
        "heartbeat-rate", "heartbeat-response-time-max", "join-rate", "join-time-avg",
        "join-time-max", "last-heartbeat-seconds-ago", "sync-rate", "sync-time-avg",
        "sync-time-max",
    ),
    "consumer-metrics": (
        "connection-close-rate", "connection-count", "connection-creation-rate",
        "incoming-byte-rate", "network-io-rate", "outgoing-byte-rate", "request-latency-avg",
        "request-latency-max", "request-rate", "request-size-avg", "request-size-max",
        "response-rate", "throttle-time-avg", "throttle-time-max",
    ),
}  # fmt: skip


def _has(group: str, name: str) -> None:
    @case(f"{group} has {name}")
    def _(s: Scene) -> object:
        return isinstance(_metrics(s)[group][name], int | float)


for _group, _names in NAMES.items():
    for _name in _names:
        _has(_group, _name)


@case("groups")
def _(s: Scene) -> object:
    return sorted(name for name in _metrics(s) if name.startswith("consumer-"))


@case("all values are numbers")
def _(s: Scene) -> object:
    return all(
        isinstance(value, int | float) for group in _metrics(s).values() for value in group.values()
    )


@case("records-lag-max after everything was read")
def _(s: Scene) -> object:
    return _metrics(s)["consumer-fetch-manager-metrics"]["records-lag-max"] >= 0


@case("assigned-partitions")
def _(s: Scene) -> object:
    return float(_metrics(s)["consumer-coordinator-metrics"]["assigned-partitions"])


@case("rates are above 0 when records came")
def _(s: Scene) -> object:
    found = _metrics(s)["consumer-fetch-manager-metrics"]
    return [
        found[name] > 0 for name in ("records-consumed-rate", "bytes-consumed-rate", "fetch-rate")
    ]


@case("metric_group_prefix names the groups")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, metric_group_prefix="mine")
    s.read(consumer, 5)
    return sorted(name for name in consumer.metrics() if name.startswith("mine-fetch"))


@case("not enabled")
def _(s: Scene) -> object:
    return s.consumer(metrics_enabled=False).metrics()


@case("raw")
def _(s: Scene) -> object:
    return s.attempt(lambda: type(s.assigned(LETTERS).metrics(raw=True)).__name__)
