"""``for record in consumer``, ``next(consumer)``, and overriding or wrapping of ``__next__``."""

from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import EMPTY, LETTERS

SHORT_MS = 300


@case("iter(consumer) is the consumer")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS)
    return iter(consumer) is consumer


@case("ends after consumer_timeout_ms")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=2000)
    return [record.value for record in consumer]


@case("next at the end raises StopIteration")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY, consumer_timeout_ms=SHORT_MS)
    return s.attempt(lambda: next(consumer))


@case("consumer_timeout_ms is never early")
def _(s: Scene) -> object:
    consumer = s.assigned(EMPTY, consumer_timeout_ms=SHORT_MS)
    return s.seconds(lambda: list(consumer)) >= SHORT_MS / 1000


@case("consumer_timeout_ms=0")
def _(s: Scene) -> object:
    return list(s.assigned(EMPTY, consumer_timeout_ms=0))


@case("continues after its end")
def _(s: Scene) -> object:
    topic = s.topic()
    consumer = s.assigned(topic, consumer_timeout_ms=SHORT_MS)
    first = [record.value for record in consumer]
    s.writer.send(topic, b"later")
    found: list[Any] = []

    def goes_on() -> object:
        found.extend(record.value for record in consumer)
        return found

    s.until(goes_on)
    return [first, found]


@case("next by next")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=10_000)
    return [next(consumer).offset for _ in range(5)]


@case("consumer.__next__()")
def _(s: Scene) -> object:
    return s.assigned(LETTERS, 1, consumer_timeout_ms=10_000).__next__().offset


@case("the position is after the current record")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=10_000)
    seen = []
    for record in consumer:
        seen.append([record.offset, consumer.position(s.tp(LETTERS, 1))])
        if len(seen) == 3:
            return seen
    return seen


@case("seek in the loop")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=5_000)
    offsets = [next(consumer).offset for _ in range(3)]
    consumer.seek(s.tp(LETTERS, 1), 0)
    return [*offsets, next(consumer).offset, next(consumer).offset]


@case("pause in the loop")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=1500)
    first = next(consumer).offset
    consumer.pause(s.tp(LETTERS, 1))
    nothing = s.attempt(lambda: next(consumer))
    consumer.resume(s.tp(LETTERS, 1))
    return [first, nothing, next(consumer).offset]


@case("a second loop continues where the first stopped")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=5_000)
    for record in consumer:
        if record.offset == 1:
            break
    for record in consumer:
        return record.offset
    return None


@case("poll after a loop continues after its last record")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=5_000)
    next(consumer)
    return [record.offset for record in s.read(consumer, 4)]


@case("a loop after close")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=1000)
    consumer.close()
    return [s.attempt(lambda: list(consumer)), s.attempt(lambda: next(consumer))]


@case("a subclass's __next__ is what a loop calls")
def _(s: Scene) -> object:
    class Counting(s.lib.KafkaConsumer):  # type: ignore[misc, name-defined]
        count = 0

        def __next__(self) -> Any:
            Counting.count += 1
            return super().__next__()

    with Counting(
        bootstrap_servers=s.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=2000
    ) as consumer:
        consumer.assign([s.tp(LETTERS, 1)])
        return [len(list(consumer)), Counting.count]


@case("a wrapped __next__ is what a loop calls")
def _(s: Scene) -> object:
    original, calls = s.lib.KafkaConsumer.__next__, []

    class Wrapped(s.lib.KafkaConsumer):  # type: ignore[misc, name-defined]
        pass

    def wrapper(consumer: Any) -> Any:
        calls.append(1)
        return original(consumer)

    Wrapped.__next__ = wrapper
    with Wrapped(
        bootstrap_servers=s.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=2000
    ) as consumer:
        consumer.assign([s.tp(LETTERS, 1)])
        return [sum(1 for _ in consumer), len(calls)]


@case("without a subscription")
def _(s: Scene) -> object:
    consumer = s.consumer(consumer_timeout_ms=SHORT_MS)
    return s.attempt(lambda: list(consumer))


@case("enumerate and zip")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, consumer_timeout_ms=5_000)
    return [(number, record.offset) for number, record in zip(range(3), consumer, strict=False)]


@case("max_poll_records does not show")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, max_poll_records=2, consumer_timeout_ms=2000)
    return [record.offset for record in consumer]


@case("a group's loop")
def _(s: Scene) -> object:
    topic = s.topic(b"a", b"b", b"c")
    consumer = s.consumer(
        topic, group_id=s.group(), auto_offset_reset="earliest", consumer_timeout_ms=5000
    )
    return [record.value for record, _ in zip(consumer, range(3), strict=False)]
