"""poll: its result, its arguments, and how long it takes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import EMPTY, LETTERS, MANY, MANY_COUNT


def _tries(what: str, call: Callable[[Any], object]) -> None:
    """Register a case: a call on a consumer that reads an empty partition."""

    @case(what)
    def _(s: Scene) -> object:
        consumer = s.assigned(EMPTY)
        return s.attempt(lambda: call(consumer))


_tries("nothing there", lambda c: c.poll(timeout_ms=50))
_tries("at once", lambda c: c.poll())
_tries("with a positional time-out", lambda c: c.poll(50))
_tries("with a time-out that is a float", lambda c: c.poll(timeout_ms=50.5))
_tries("with a negative time-out", lambda c: c.poll(timeout_ms=-1))
_tries("with a time-out that is a text", lambda c: c.poll(timeout_ms="50"))
_tries("with a time-out of None", lambda c: c.poll(timeout_ms=None))
_tries("with max_records=0", lambda c: c.poll(timeout_ms=50, max_records=0))
_tries("with max_records=-1", lambda c: c.poll(timeout_ms=50, max_records=-1))
_tries("with max_records=1.5", lambda c: c.poll(timeout_ms=50, max_records=1.5))
_tries("with max_records='1'", lambda c: c.poll(timeout_ms=50, max_records="1"))
_tries("with max_records=True", lambda c: c.poll(timeout_ms=50, max_records=True))
_tries("with max_records=None", lambda c: c.poll(timeout_ms=50, max_records=None))
_tries("with an unknown argument", lambda c: c.poll(timeout=50))


@case("a time-out is never early")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY)
    consumer.poll(timeout_ms=200)
    return [s.seconds(partial(consumer.poll, timeout_ms=ms)) >= ms / 1000 for ms in (50, 333)]


@case("a time-out is not late")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY)
    consumer.poll(timeout_ms=200)
    return s.seconds(lambda: consumer.poll(timeout_ms=300)) < 3


@case("without a subscription")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.consumer().poll(timeout_ms=50))


@case("without a subscription: the time-out is not early")
def _(s: Scene) -> object:
    consumer = s.consumer()
    return s.seconds(lambda: s.attempt(lambda: consumer.poll(timeout_ms=200))) >= 0.2


@case("without a subscription, in a group")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.consumer(group_id=s.group()).poll(timeout_ms=50))


@case("gives a dict of lists")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    found = s.first(consumer)
    kinds = {(type(key).__name__, type(value).__name__) for key, value in found.items()}
    return [type(consumer.poll()).__name__, kinds, list(found)]


@case("is falsy when empty")
def _(s: Scene) -> object:
    return bool(s.assigned(EMPTY).poll(timeout_ms=50))


@case("max_records splits what was fetched")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    sizes: list[int] = []
    while sum(sizes) < 10:
        sizes += [len(found) for found in consumer.poll(timeout_ms=500, max_records=4).values()]
    return sizes


@case("max_poll_records splits what was fetched")
def _(s: Scene) -> object:
    consumer = s.assigned(MANY, 0, max_poll_records=400)
    sizes: list[int] = []
    while sum(sizes) < MANY_COUNT:
        sizes += [len(found) for found in consumer.poll(timeout_ms=500).values()]
    return sizes


@case("gives 500 by default")
def _(s: Scene) -> object:
    consumer = s.assigned(MANY, 0)
    return [len(records) for records in s.first(consumer).values()]


@case("update_offsets=False leaves the position")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    found = s.first(consumer, update_offsets=False)
    return [len(found), consumer.position(s.tp(LETTERS, 1))]


@case("in the order of offsets")
def _(s: Scene) -> object:
    consumer = s.assigned(MANY, 0)
    offsets: list[int] = []
    while len(offsets) < MANY_COUNT:
        for records in consumer.poll(timeout_ms=500).values():
            offsets += [record.offset for record in records]
    return offsets == list(range(MANY_COUNT))


@case("a first long poll returns records")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1)
    return bool(consumer.poll(timeout_ms=5000))


@case("a group's first long poll returns records")
def _(s: Scene) -> object:
    consumer = s.consumer(LETTERS, group_id=s.group(), auto_offset_reset="earliest")
    return bool(consumer.poll(timeout_ms=10000))


@case("latest starts at the end")
def _(s: Scene) -> object:
    topic = s.topic(b"old")
    consumer = s.assigned(topic, auto_offset_reset="latest")
    position = consumer.position(s.tp(topic))
    s.writer.send(topic, b"new")
    return [position, s.values(consumer, 1)]


@case("what is written while it waits comes before the time-out")
def _(s: Scene) -> object:
    topic = s.topic(b"old")
    consumer = s.assigned(topic)
    s.read(consumer, 1)
    s.writer.send(topic, b"new")
    return s.values(consumer, 1)


@case("small fetches return everything")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1, fetch_max_bytes=50, max_partition_fetch_bytes=50)
    return [record.offset for record in s.read(consumer, 15)]
