"""subscribe, assign, unsubscribe, and the resulting subscription and assignment."""

import re
from collections.abc import Callable

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import EMPTY, LETTERS


def _listens(s: Scene) -> object:
    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: object) -> None: ...

        def on_partitions_assigned(self, assigned: object) -> None: ...

    return Listener()


def _subscribes(what: str, **arguments: object) -> None:
    """Register a case: ``subscribe`` with these arguments."""

    @case(f"subscribe {what}")
    def _(s: Scene) -> object:
        consumer = s.consumer(group_id=s.group())
        return s.attempt(lambda: [consumer.subscribe(**arguments), consumer.subscription()])


_subscribes("to a list", topics=["a", "b"])
_subscribes("to a tuple", topics=("a", "b"))
_subscribes("to a text", topics="abc")
_subscribes("to nothing")
_subscribes("to no topics", topics=[])
_subscribes("to None", topics=None)
_subscribes("to topics and a pattern", topics=["a"], pattern="a.*")
_subscribes("to a pattern", pattern="^never-there")
_subscribes("to a compiled pattern", pattern=re.compile("never"))
_subscribes("to a pattern that can't be", pattern="(")
_subscribes("to a topic that can't be", topics=["a b"])
_subscribes("to a topic of no name", topics=[""])
_subscribes("to a topic that is None", topics=[None])
_subscribes("to a topic of bytes", topics=[b"a"])
_subscribes("to a topic that is a number", topics=[1])
_subscribes("to the same topic twice", topics=["a", "a"])
_subscribes("with a listener that is none", topics=["a"], listener=object())
_subscribes("with a function for a listener", topics=["a"], listener=len)


@case("subscribe to a set, and to a generator")
def _(s: Scene) -> object:
    return s.attempts(
        lambda topics=topics: s.consumer().subscribe(topics)  # type: ignore[misc]
        for topics in ({"a"}, iter(["a"]))
    )


@case("a topic's name for its partitions")
def _(s: Scene) -> object:
    consumer = s.consumer()
    refused = s.attempts(
        [lambda: consumer.end_offsets([LETTERS]), lambda: consumer.assign(LETTERS)]
    )
    return [refused, consumer.assignment()]


@case("a refused subscribe, and what was subscribed before")
def _(s: Scene) -> object:
    consumer = s.consumer("before")
    refused = s.attempt(lambda: consumer.subscribe(["a"], listener=object()))
    return [refused, consumer.subscription()]


@case("twice: the second replaces the first")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    consumer.subscribe(["b"])
    return consumer.subscription()


@case("topics after a pattern")
def _(s: Scene) -> object:
    consumer = s.consumer()
    consumer.subscribe(pattern="^never-there")
    return [s.attempt(lambda: consumer.subscribe(topics=["a"])), consumer.subscription()]


@case("a pattern after topics")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    return [s.attempt(lambda: consumer.subscribe(pattern="x.*")), consumer.subscription()]


@case("topics after a pattern, unsubscribed between")
def _(s: Scene) -> object:
    consumer = s.consumer()
    consumer.subscribe(pattern="x.*")
    consumer.unsubscribe()
    consumer.subscribe(topics=["a"])
    return consumer.subscription()


@case("with a listener, positional arguments")
def _(s: Scene) -> object:
    consumer = s.consumer(group_id=s.group())
    consumer.subscribe(["a"], None, _listens(s))
    return consumer.subscription()


@case("subscription is a copy")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    consumer.subscription().add("b")
    return consumer.subscription()


@case("subscription after assign")
def _(s: Scene) -> object:
    return s.assigned(LETTERS).subscription()


@case("subscription after unsubscribe")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    consumer.unsubscribe()
    return [consumer.subscription(), consumer.assignment()]


@case("a pattern's subscription when its topics are known")
def _(s: Scene) -> object:
    topic = s.topic(b"v")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe(pattern=f"^{topic}$")
    return [s.values(consumer, 1), consumer.subscription(), consumer.assignment()]


@case("without a group: all partitions")
def _(s: Scene) -> object:
    consumer = s.consumer(LETTERS, auto_offset_reset="earliest")
    return [len(s.read(consumer, 15)), consumer.assignment()]


@case("assignment before the first poll")
def _(s: Scene) -> object:
    return s.consumer(LETTERS, group_id=s.group()).assignment()


@case("assign, then subscribe")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS)
    return s.attempt(lambda: consumer.subscribe(["a"]))


@case("subscribe, then assign")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    return s.attempt(lambda: consumer.assign([s.tp(LETTERS)]))


@case("subscribe, then assign nothing")
def _(s: Scene) -> object:
    consumer = s.consumer("a")
    return [s.attempt(lambda: consumer.assign([])), consumer.subscription()]


@case("assign replaces what was assigned")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    consumer.assign([s.tp(LETTERS, 1)])
    return [consumer.assignment(), len(s.read(consumer, 5))]


@case("assign keeps a position")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    consumer.seek(s.tp(LETTERS), 7)
    consumer.assign([s.tp(LETTERS, 0), s.tp(LETTERS, 1)])
    return consumer.position(s.tp(LETTERS))


def _assigns(what: str, given: Callable[[Scene], object]) -> None:
    """Register a case: ``assign`` with this argument."""

    @case(f"assign {what}")
    def _(s: Scene) -> object:
        consumer = s.consumer(auto_offset_reset="earliest")
        return [s.attempt(lambda: consumer.assign(given(s))), s.attempt(consumer.assignment)]


_assigns("a list", lambda s: [s.tp(LETTERS, 0), s.tp(LETTERS, 1)])
_assigns("a tuple", lambda s: (s.tp(LETTERS, 0),))
_assigns("a set", lambda s: {s.tp(LETTERS, 0)})
_assigns("nothing", lambda _: [])
_assigns("None", lambda _: None)
_assigns("one twice", lambda s: [s.tp(LETTERS), s.tp(LETTERS)])


@case("unsubscribe, then poll")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS)
    consumer.unsubscribe()
    return s.attempt(lambda: consumer.poll(timeout_ms=50))


@case("unsubscribe where nothing is subscribed")
def _(s: Scene) -> object:
    return s.attempt(s.consumer().unsubscribe)


@case("a partition that does not exist")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY, 77)
    return [s.attempt(lambda: consumer.poll(timeout_ms=300)), consumer.assignment()]


@case("a topic that does not exist, without making it")
def _(s: Scene) -> object:
    consumer = s.consumer(s.name(), group_id=s.group(), allow_auto_create_topics=False)
    polled = s.attempt(lambda: consumer.poll(timeout_ms=500))
    # A topic that was created in spite of that would be assigned within a few polls.
    for _again in range(5):
        if not consumer.assignment():
            s.attempt(lambda: consumer.poll(timeout_ms=500))
    return [polled, consumer.assignment()]
