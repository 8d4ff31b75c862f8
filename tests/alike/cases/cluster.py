"""topics, partitions_for_topic, and offsets by time."""

from collections.abc import Callable
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import EMPTY, LETTERS, MANY, TRANSACTIONS, time_of

Call = Callable[[Scene, Any], object]


def _tries(what: str, call: Call) -> None:
    """Register a case: a call on a consumer without partitions."""

    @case(what)
    def _(s: Scene) -> object:
        consumer = s.consumer()
        return s.attempt(lambda: call(s, consumer))


_tries("topics", lambda _, c: c.topics() & {LETTERS, EMPTY, MANY, TRANSACTIONS})
_tries("topics is a set", lambda _, c: type(c.topics()).__name__)
_tries("topics leaves out the cluster's own", lambda _, c: "__consumer_offsets" in c.topics())
_tries("partitions_for_topic", lambda _, c: c.partitions_for_topic(LETTERS))
_tries(
    "partitions_for_topic: a new one", lambda s, c: c.partitions_for_topic(s.topic(partitions=2))
)
_tries("partitions_for_topic: none there", lambda s, c: c.partitions_for_topic(s.name()))
_tries("partitions_for_topic: None", lambda _, c: c.partitions_for_topic(None))
_tries("partitions_for_topic: bytes", lambda _, c: c.partitions_for_topic(b"letters"))
_tries("bootstrap_connected", lambda _, c: [c.topics() and None, c.bootstrap_connected()])
_tries("bootstrap_connected, just made", lambda _, c: c.bootstrap_connected())
_tries("bootstrap", lambda _, c: c.bootstrap(timeout_ms=5000))
_tries("beginning_offsets", lambda s, c: c.beginning_offsets([s.tp(LETTERS, 0), s.tp(LETTERS, 2)]))
_tries(
    "end_offsets", lambda s, c: c.end_offsets([s.tp(LETTERS, partition) for partition in (0, 1, 2)])
)
_tries("end_offsets of a tuple", lambda s, c: c.end_offsets((s.tp(LETTERS),)))
_tries("end_offsets of a set", lambda s, c: c.end_offsets({s.tp(LETTERS)}))
_tries("end_offsets of nothing", lambda _, c: c.end_offsets([]))
_tries("end_offsets with a time-out", lambda s, c: c.end_offsets([s.tp(LETTERS)], timeout_ms=5000))
_tries("end_offsets of transactions", lambda s, c: c.end_offsets([s.tp(TRANSACTIONS)]))
_tries(
    "end_offsets of a partition that isn't there",
    lambda s, c: c.end_offsets([s.tp(LETTERS, 99)], timeout_ms=500),
)
_tries(
    "beginning_offsets of a partition that isn't there",
    lambda s, c: c.beginning_offsets([s.tp(LETTERS, 99)], timeout_ms=500),
)
_tries("offsets_for_times", lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(3)}))
_tries(
    "offsets_for_times between", lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(3) + 1})
)
_tries("offsets_for_times before all", lambda s, c: c.offsets_for_times({s.tp(LETTERS): 0}))
_tries(
    "offsets_for_times after all", lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(99)})
)
_tries("offsets_for_times: empty", lambda s, c: c.offsets_for_times({s.tp(EMPTY): 0}))
_tries("offsets_for_times of nothing", lambda _, c: c.offsets_for_times({}))
_tries("offsets_for_times: negative", lambda s, c: c.offsets_for_times({s.tp(LETTERS): -1}))
_tries(
    "offsets_for_times: a float",
    lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(3) + 0.5}),
)
_tries("offsets_for_times: a text", lambda s, c: c.offsets_for_times({s.tp(LETTERS): "x"}))
_tries("offsets_for_times: None", lambda s, c: c.offsets_for_times({s.tp(LETTERS): None}))
_tries(
    "offsets_for_times of two",
    lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(3), s.tp(LETTERS, 1): time_of(4)}),
)
_tries(
    "offsets_for_times of a partition that isn't there",
    lambda s, c: c.offsets_for_times({s.tp(LETTERS, 99): 0}, timeout_ms=500),
)
_tries(
    "offsets_for_times leaves out nobody",
    lambda s, c: c.offsets_for_times({s.tp(LETTERS): time_of(99), s.tp(LETTERS, 1): 0}),
)


@case("end_offsets of read_committed")
def _(s: Scene) -> object:
    return s.consumer(isolation_level="read_committed").end_offsets([s.tp(TRANSACTIONS)])


@case("end_offsets leaves the position")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    consumer.seek(s.tp(LETTERS), 4)
    consumer.end_offsets([s.tp(LETTERS)])
    return consumer.position(s.tp(LETTERS))


@case("no broker reachable: topics")
def _(s: Scene) -> object:
    settings = {
        "bootstrap_servers": "127.0.0.1:1",
        "api_version": (2, 8),
        "request_timeout_ms": 600,
    }
    return s.attempt(lambda: s.consumer(bootstrap_timeout_ms=600, **settings).poll(timeout_ms=300))
