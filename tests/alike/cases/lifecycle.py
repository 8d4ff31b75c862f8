"""close, calls after close, with blocks, and several threads."""

import threading
from collections.abc import Callable
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene, in_thread
from tests.alike.stage import EMPTY, LETTERS

Call = Callable[[Scene, Any], object]


@case("close twice")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS)
    return s.attempts([consumer.close, consumer.close])


@case("close what was never used")
def _(s: Scene) -> object:
    return s.attempt(s.consumer().close)


@case("close with a time-out, by position")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.assigned(LETTERS).close(True, 2000))


@case("close with keyword arguments")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.assigned(LETTERS).close(autocommit=False, timeout_ms=500.0))


@case("a with block gives the consumer")
def _(s: Scene) -> object:
    consumer = s.consumer()
    with consumer as inside:
        return inside is consumer


@case("a with block passes an error on")
def _(s: Scene) -> object:
    def fails() -> None:
        with s.consumer():
            raise KeyError("mine")

    return s.attempt(fails)


@case("closed: a deserialiser is closed, too")
def _(s: Scene) -> object:
    received: list[str] = []

    class Mine:
        def deserialize(self, _topic: str, _headers: object, data: bytes) -> bytes:
            return data

        def close(self) -> None:
            received.append("closed")

    s.consumer(value_deserializer=Mine()).close()
    return received


def _after_close(what: str, call: Call) -> None:
    @case(f"after close: {what}")
    def _(s: Scene) -> object:
        consumer = s.assigned(LETTERS, 1, group_id=s.group(), enable_auto_commit=False)
        s.read(consumer, 1)
        consumer.close()
        return s.attempt(lambda: call(s, consumer))


_after_close("poll", lambda _, c: c.poll(timeout_ms=10))
_after_close("assignment", lambda _, c: c.assignment())
_after_close("subscription", lambda _, c: c.subscription())
_after_close("paused", lambda _, c: c.paused())
_after_close("highwater", lambda s, c: c.highwater(s.tp(LETTERS, 1)))
_after_close("config", lambda _, c: c.config["max_poll_records"])
_after_close("metrics", lambda _, c: bool(c.metrics()))
_after_close("pause", lambda s, c: c.pause(s.tp(LETTERS, 1)))
_after_close("seek", lambda s, c: c.seek(s.tp(LETTERS, 1), 2))
_after_close("group_metadata", lambda _, c: c.group_metadata().generation_id)


def _meanwhile(what: str, call: Call) -> None:
    """Register a case: a call while another thread polls."""

    @case(f"while another thread polls: {what}")
    def _(s: Scene) -> object:
        consumer = s.assigned(EMPTY)
        consumer.poll(timeout_ms=100)
        began = threading.Event()

        def polls() -> None:
            began.set()
            consumer.poll(timeout_ms=600)

        other = in_thread(polls)
        began.wait()
        other.join(0.1)
        try:
            return s.attempt(lambda: call(s, consumer))
        finally:
            other.join(5)


_meanwhile("assignment", lambda _, c: c.assignment())
_meanwhile("subscription", lambda _, c: c.subscription())
_meanwhile("paused", lambda _, c: c.paused())
_meanwhile("pause", lambda s, c: [c.pause(s.tp(EMPTY)), c.paused()])
_meanwhile("position", lambda s, c: c.position(s.tp(EMPTY)))
_meanwhile("highwater", lambda s, c: c.highwater(s.tp(EMPTY)) in {None, 0})
_meanwhile("metrics", lambda _, c: bool(c.metrics()))
_meanwhile("group_metadata", lambda _, c: c.group_metadata().generation_id)
_meanwhile("close", lambda _, c: c.close())


@case("another thread closes: a poll ends")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY)
    consumer.poll(timeout_ms=100)
    ended: list[object] = []

    def polls() -> None:
        ended.append(s.seconds(lambda: s.attempt(lambda: consumer.poll(timeout_ms=8000))) < 7)

    other = in_thread(polls)
    other.join(0.2)
    s.attempt(consumer.close)
    other.join(12)
    return ended


@case("used by one thread after another")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    found: list[object] = []

    def reads() -> None:
        found.extend(s.values(consumer, 2))

    other = in_thread(reads)
    other.join()
    consumer.seek_to_beginning()
    return [len(found) >= 2, len(s.values(consumer, 5))]
