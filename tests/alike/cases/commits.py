"""commit, commit_async, committed: with valid and invalid arguments."""

from collections.abc import Callable
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import LETTERS

Call = Callable[[Scene, Any], object]


def _of_group(s: Scene, *partitions: int, **settings: Any) -> Any:
    """Return a consumer with a group for its offsets, and assigned partitions."""
    settings = {"group_id": s.group(), "enable_auto_commit": False, **settings}
    return s.assigned(LETTERS, *partitions or (1,), **settings)


def _tries(what: str, call: Call, **settings: Any) -> None:
    """Register a case: a call on a consumer with a group that reads partition 1."""

    @case(what)
    def _(s: Scene) -> object:
        consumer = _of_group(s, **settings)
        return s.attempt(lambda: call(s, consumer))


def _tries_alone(what: str, call: Call) -> None:
    """Register a case: the same without a group."""
    _tries(what, call, group_id=None)


def _om(s: Scene, offset: Any = 3, metadata: Any = "") -> Any:
    return s.lib.OffsetAndMetadata(offset, metadata, -1)


_tries_alone("commit without a group", lambda _, c: c.commit())
_tries_alone("commit_async without a group", lambda _, c: c.commit_async())
_tries_alone("committed without a group", lambda s, c: c.committed(s.tp(LETTERS, 1)))
_tries("committed where nothing is", lambda s, c: c.committed(s.tp(LETTERS, 1)))
_tries("committed with metadata where nothing is", lambda s, c: c.committed(s.tp(LETTERS, 1), True))
_tries("committed of a tuple", lambda _, c: c.committed((LETTERS, 1)))
_tries("committed of a text", lambda _, c: c.committed(LETTERS))
_tries("committed of a list", lambda s, c: c.committed([s.tp(LETTERS, 1)]))
_tries("committed of an unassigned partition", lambda s, c: c.committed(s.tp(LETTERS, 0)))
_tries("commit where nothing was read", lambda _, c: c.commit())
_tries("commit gives nothing", lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s)}))
_tries(
    "commit and committed",
    lambda s, c: [c.commit({s.tp(LETTERS, 1): _om(s, 2, "note")}), c.committed(s.tp(LETTERS, 1))],
)
_tries(
    "commit and committed with metadata",
    lambda s, c: [
        c.commit({s.tp(LETTERS, 1): _om(s, 2, "note")}),
        c.committed(s.tp(LETTERS, 1), metadata=True),
    ],
)
_tries("commit an unassigned partition", lambda s, c: c.commit({s.tp(LETTERS, 0): _om(s)}))
_tries("commit a number", lambda s, c: c.commit({s.tp(LETTERS, 1): 3}))
_tries("commit by a tuple", lambda s, c: c.commit({(LETTERS, 1): _om(s)}))
_tries("commit a list", lambda s, c: c.commit([s.tp(LETTERS, 1)]))
_tries("commit nothing at all", lambda _, c: c.commit({}))
_tries("commit a negative offset", lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s, -5)}))
_tries(
    "commit a text as offset",
    lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s, "3")}, timeout_ms=800),
)
_tries("commit metadata None", lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s, 3, None)}))
_tries(
    "commit metadata None, then read it",
    lambda s, c: [
        s.attempt(lambda: c.commit({s.tp(LETTERS, 1): _om(s, 3, None)})),
        c.committed(s.tp(LETTERS, 1), metadata=True),
    ],
)
_tries("commit metadata too long", lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s, 3, "x" * 9999)}))
_tries("commit beyond the end", lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s, 999)}))
_tries(
    "commit a topic that does not exist",
    lambda s, c: c.commit({s.tp(s.name(), 0): _om(s)}, timeout_ms=3000),
)
_tries(
    "commit with a time-out",
    lambda s, c: c.commit({s.tp(LETTERS, 1): _om(s)}, timeout_ms=5000),
)
_tries("commit_async gives a future", lambda _, c: hasattr(c.commit_async(), "add_callback"))
_tries("commit_async a number", lambda s, c: bool(c.commit_async({s.tp(LETTERS, 1): 3})))
_tries("commit_async with a callback that is none", lambda _, c: bool(c.commit_async(callback=1)))


@case("commit beyond what was read")
def _(s: Scene) -> object:
    consumer = _of_group(s)
    s.read(consumer, 5)
    consumer.commit()
    return consumer.committed(s.tp(LETTERS, 1))


@case("commit after a part of what was fetched")
def _(s: Scene) -> object:
    consumer = _of_group(s)
    s.first(consumer, max_records=2)
    consumer.commit()
    return consumer.committed(s.tp(LETTERS, 1))


@case("commit in a loop")
def _(s: Scene) -> object:
    consumer = _of_group(s, consumer_timeout_ms=5000)
    for record in consumer:
        if record.offset == 2:
            consumer.commit()
            break
    return consumer.committed(s.tp(LETTERS, 1))


@case("a commit is where the next one starts")
def _(s: Scene) -> object:
    group = s.group()
    first = _of_group(s, group_id=group)
    first.commit({s.tp(LETTERS, 1): _om(s, 3)})
    return [record.offset for record in s.read(_of_group(s, group_id=group), 2)]


@case("commit_async calls its callback")
def _(s: Scene) -> object:
    consumer = _of_group(s)
    received: list[Any] = []
    offsets = {s.tp(LETTERS, 1): _om(s, 4)}
    consumer.commit_async(
        offsets, callback=lambda reported, response: received.append([reported, response])
    )
    s.until_polled(consumer, lambda: received)
    reported, response = received[0]
    return [
        reported == offsets,
        isinstance(response, Exception),
        consumer.committed(s.tp(LETTERS, 1)),
    ]


@case("commit_async: its future succeeds")
def _(s: Scene) -> object:
    consumer = _of_group(s)
    future = consumer.commit_async({s.tp(LETTERS, 1): _om(s, 4)})
    s.until_polled(consumer, lambda: future.is_done)
    return [future.succeeded(), future.failed()]


@case("default_offset_commit_callback is called")
def _(s: Scene) -> object:
    received: list[Any] = []
    consumer = _of_group(
        s, default_offset_commit_callback=lambda *reported: received.append(reported)
    )
    consumer.commit_async({s.tp(LETTERS, 1): _om(s, 4)})
    s.until_polled(consumer, lambda: received)
    return len(received[0])


@case("auto-commit on close")
def _(s: Scene) -> object:
    group = s.group()
    consumer = _of_group(s, group_id=group, enable_auto_commit=True)
    s.read(consumer, 5)
    consumer.close()
    return _of_group(s, group_id=group).committed(s.tp(LETTERS, 1))


@case("close(autocommit=False) commits nothing")
def _(s: Scene) -> object:
    group = s.group()
    consumer = _of_group(s, group_id=group, enable_auto_commit=True)
    s.read(consumer, 5)
    consumer.close(autocommit=False)
    return _of_group(s, group_id=group).committed(s.tp(LETTERS, 1))


@case("an error in a with block commits nothing")
def _(s: Scene) -> object:
    group = s.group()

    def fails() -> None:
        with _of_group(s, group_id=group, enable_auto_commit=True) as consumer:
            s.read(consumer, 5)
            raise KeyError("mine")

    return [s.attempt(fails), _of_group(s, group_id=group).committed(s.tp(LETTERS, 1))]


@case("auto-commit by polls")
def _(s: Scene) -> object:
    consumer = _of_group(s, enable_auto_commit=True, auto_commit_interval_ms=100)
    s.read(consumer, 5)
    s.until_polled(consumer, lambda: consumer.committed(s.tp(LETTERS, 1)))
    return consumer.committed(s.tp(LETTERS, 1))


@case("auto-commit on unsubscribe")
def _(s: Scene) -> object:
    consumer = _of_group(s, enable_auto_commit=True)
    s.read(consumer, 5)
    consumer.unsubscribe()
    return consumer.committed(s.tp(LETTERS, 1))


@case("group_metadata without a group")
def _(s: Scene) -> object:
    return s.consumer().group_metadata()


@case("group_metadata before joining")
def _(s: Scene) -> object:
    return s.consumer(LETTERS, group_id="g").group_metadata()


@case("group_metadata of a member")
def _(s: Scene) -> object:
    reported = s.member(LETTERS, 15).group_metadata()
    return [
        reported.group_id[:5],
        reported.generation_id > 0,
        bool(reported.member_id),
        reported.state,
        len(reported),
    ]
