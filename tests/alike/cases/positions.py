"""seek, position, pause, highwater: with valid and invalid arguments."""

from collections.abc import Callable
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import EMPTY, LETTERS

Call = Callable[[Scene, Any], object]


def _tries(what: str, call: Call) -> None:
    """Register a case: a call on a consumer to which partition 0 is assigned."""

    @case(what)
    def _(s: Scene) -> object:
        consumer = s.assigned(LETTERS, 0)
        return s.attempt(lambda: call(s, consumer))


_tries("seek below 0", lambda s, c: c.seek(s.tp(LETTERS), -1))
_tries("seek to a float", lambda s, c: c.seek(s.tp(LETTERS), 1.0))
_tries("seek to a text", lambda s, c: c.seek(s.tp(LETTERS), "1"))
_tries("seek to None", lambda s, c: c.seek(s.tp(LETTERS), None))
_tries("seek to True", lambda s, c: c.seek(s.tp(LETTERS), True))
_tries("seek an unassigned partition", lambda s, c: c.seek(s.tp(LETTERS, 1), 0))
_tries("seek a tuple", lambda _, c: c.seek((LETTERS, 0), 0))
_tries("seek a text", lambda _, c: c.seek(LETTERS, 0))
_tries("seek gives nothing", lambda s, c: c.seek(s.tp(LETTERS), 3))
_tries("seek by names", lambda s, c: c.seek(partition=s.tp(LETTERS), offset=3))
_tries("seek_to_beginning of an unassigned partition", lambda s, c: c.seek_to_beginning(s.tp("a")))
_tries("seek_to_beginning of a list", lambda s, c: c.seek_to_beginning([s.tp(LETTERS)]))
_tries("seek_to_end of an unassigned partition", lambda s, c: c.seek_to_end(s.tp("a")))
_tries("seek_to_end of a list", lambda s, c: c.seek_to_end([s.tp(LETTERS)]))
_tries("position of an unassigned partition", lambda s, c: c.position(s.tp(LETTERS, 1)))
_tries("position of a tuple", lambda _, c: c.position((LETTERS, 0)))
_tries("position of a text", lambda _, c: c.position(LETTERS))
_tries("position at the beginning", lambda s, c: c.position(s.tp(LETTERS)))
_tries("highwater of an unassigned partition", lambda s, c: c.highwater(s.tp(LETTERS, 1)))
_tries("highwater of a tuple", lambda _, c: c.highwater((LETTERS, 0)))
_tries("highwater before a fetch", lambda s, c: c.highwater(s.tp(LETTERS)))
_tries("pause an unassigned partition", lambda s, c: c.pause(s.tp(LETTERS, 1)))
_tries("pause a list", lambda s, c: c.pause([s.tp(LETTERS)]))
_tries("pause a tuple", lambda _, c: c.pause((LETTERS, 0)))
_tries("pause nothing", lambda _, c: [c.pause(), c.paused()])
_tries("pause shows", lambda s, c: [c.pause(s.tp(LETTERS)), c.paused()])
_tries("pause twice", lambda s, c: [c.pause(s.tp(LETTERS)), c.pause(s.tp(LETTERS)), c.paused()])
_tries("resume what is not paused", lambda s, c: [c.resume(s.tp(LETTERS)), c.paused()])
_tries("resume an unassigned partition", lambda s, c: c.resume(s.tp(LETTERS, 1)))
_tries("resume a list", lambda s, c: c.resume([s.tp(LETTERS)]))
_tries(
    "paused after unsubscribe", lambda s, c: [c.pause(s.tp(LETTERS)), c.unsubscribe(), c.paused()]
)


@case("seek_to_beginning of nothing")
def _(s: Scene) -> object:
    return s.attempts([s.consumer().seek_to_beginning, s.consumer().seek_to_end])


@case("seek where nothing is assigned")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.consumer().seek(s.tp(LETTERS), 0))


@case("seek and read")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    consumer.seek(s.tp(LETTERS), 7)
    return [consumer.position(s.tp(LETTERS)), s.values(consumer, 3)]


@case("seek back and read again")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    first = s.values(consumer, 5)
    consumer.seek(s.tp(LETTERS, 1), 3)
    return [first, s.values(consumer, 2), consumer.position(s.tp(LETTERS, 1))]


@case("seek beyond the end, earliest")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    consumer.seek(s.tp(LETTERS, 1), 500)
    return s.values(consumer, 5)


@case("seek beyond the end, none")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, auto_offset_reset="none")
    consumer.seek(s.tp(LETTERS, 1), 500)
    return s.attempt(lambda: [consumer.poll(timeout_ms=500) for _ in range(6)])


@case("no position at all, none")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, auto_offset_reset="none")
    return s.attempts(
        [lambda: consumer.poll(timeout_ms=2000), lambda: consumer.position(s.tp(LETTERS, 1))]
    )


@case("seek_to_end, then position")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1)
    consumer.seek_to_end()
    return [consumer.position(s.tp(LETTERS, partition)) for partition in (0, 1)]


@case("seek_to_end of one of two")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1)
    consumer.seek_to_end(s.tp(LETTERS, 0))
    return [consumer.position(s.tp(LETTERS, partition)) for partition in (0, 1)]


@case("seek_to_beginning after reading")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    s.read(consumer, 5)
    consumer.seek_to_beginning()
    return [consumer.position(s.tp(LETTERS, 1)), s.values(consumer, 5)]


@case("position with a time-out")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    return consumer.position(s.tp(LETTERS), timeout_ms=5000)


@case("position of a partition that does not exist")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY, 9)
    return s.attempt(lambda: consumer.position(s.tp(EMPTY, 9), timeout_ms=400))


@case("position after poll")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    s.first(consumer, max_records=2)
    return consumer.position(s.tp(LETTERS, 1))


@case("highwater after a poll")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    s.read(consumer, 1)
    return consumer.highwater(s.tp(LETTERS, 1))


@case("pause keeps records back")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1)
    consumer.pause(s.tp(LETTERS, 0))
    return [
        {record.partition for record in s.read(consumer, 5)},
        consumer.position(s.tp(LETTERS, 0)),
    ]


@case("resume gives them")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    consumer.pause(s.tp(LETTERS, 1))
    nothing = consumer.poll(timeout_ms=300)
    consumer.resume(s.tp(LETTERS, 1))
    return [nothing, len(s.read(consumer, 5))]


@case("pause what was fetched already")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    s.first(consumer, max_records=1)
    consumer.pause(s.tp(LETTERS, 1))
    nothing = consumer.poll(timeout_ms=200)
    consumer.resume(s.tp(LETTERS, 1))
    return [nothing, s.values(consumer, 4)]


@case("paused is a copy")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    consumer.paused().add(s.tp(LETTERS, 1))
    return consumer.paused()


@case("assignment is a copy")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    consumer.assignment().clear()
    return consumer.assignment()
