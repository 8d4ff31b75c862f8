"""metrics(): its groups and names."""

from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import LETTERS


def _metrics(s: Scene) -> Any:
    consumer = s.member(LETTERS, 15)
    consumer.commit()
    consumer.poll(timeout_ms=50)
    return consumer.metrics()


@case("names of consumer-fetch-manager-metrics")
def _(s: Scene) -> object:
    return sorted(_metrics(s)["consumer-fetch-manager-metrics"])


@case("names of consumer-coordinator-metrics")
def _(s: Scene) -> object:
    return sorted(_metrics(s)["consumer-coordinator-metrics"])


@case("names of consumer-metrics")
def _(s: Scene) -> object:
    return sorted(_metrics(s)["consumer-metrics"])


@case("groups of a topic and its partitions")
def _(s: Scene) -> object:
    return sorted(name for name in _metrics(s) if name.startswith("consumer-fetch-manager"))


@case("names of a partition")
def _(s: Scene) -> object:
    found = _metrics(s)
    return {name: sorted(found[name]) for name in found if name.endswith("letters-0")}


@case("names of a topic")
def _(s: Scene) -> object:
    found = _metrics(s)
    return {name: sorted(found[name]) for name in found if name.endswith(".topic.letters")}


@case("all values are numbers")
def _(s: Scene) -> object:
    return all(
        isinstance(value, int | float) for group in _metrics(s).values() for value in group.values()
    )


@case("records-lag-max of who read all")
def _(s: Scene) -> object:
    return _metrics(s)["consumer-fetch-manager-metrics"]["records-lag-max"] >= 0


@case("assigned-partitions")
def _(s: Scene) -> object:
    return _metrics(s)["consumer-coordinator-metrics"]["assigned-partitions"]


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
