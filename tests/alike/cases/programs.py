"""Typical programs with a consumer, a few lines each."""

import datetime
import itertools
import json
import pickle
import queue
from collections import defaultdict
from typing import Any
from unittest import mock

from tests.alike.casebook import case
from tests.alike.scene import Scene, in_thread
from tests.alike.stage import LETTERS, MANY, MANY_COUNT, time_of

_LOOP = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 8000}


def _looping(s: Scene, *values: bytes, **settings: Any) -> Any:
    """Return a consumer of a new group, for a loop over records with these values."""
    topic = s.topic(*values)
    return s.consumer(topic, group_id=s.group(), **{**_LOOP, **settings})


@case("JSON values in a loop")
def _(s: Scene) -> object:
    consumer = _looping(
        s, b'{"n": 1}', b'{"n": 2}', value_deserializer=lambda data: json.loads(data.decode())
    )
    return [record.value["n"] for record in itertools.islice(consumer, 2)]


@case("a commit for each record")
def _(s: Scene) -> object:
    consumer = _looping(s, b"a", b"b", b"c", enable_auto_commit=False)
    committed = []
    for record in itertools.islice(consumer, 2):
        tp = s.lib.TopicPartition(record.topic, record.partition)
        consumer.commit({tp: s.lib.OffsetAndMetadata(record.offset + 1, "", -1)})
        committed.append(consumer.committed(tp))
    return committed


@case("a commit for each record, as before leader epochs")
def _(s: Scene) -> object:
    consumer = _looping(s, b"a", b"b", enable_auto_commit=False)
    record = next(consumer)
    tp = s.lib.TopicPartition(record.topic, record.partition)
    consumer.commit({tp: s.lib.OffsetAndMetadata(record.offset + 1, None)})
    return consumer.committed(tp)


@case("batches, each committed")
def _(s: Scene) -> object:
    consumer = s.consumer(
        MANY, group_id=s.group(), enable_auto_commit=False, auto_offset_reset="earliest"
    )
    sizes: list[int] = []
    while sum(sizes) < MANY_COUNT:
        for tp, records in consumer.poll(timeout_ms=1000, max_records=500).items():
            sizes.append(len(records))
            consumer.commit({tp: s.lib.OffsetAndMetadata(records[-1].offset + 1, "", -1)})
    return [sizes, consumer.committed(s.tp(MANY))]


@case("its lag by ends and positions")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0, 1)
    consumer.seek(s.tp(LETTERS, 0), 4)
    ends = consumer.end_offsets(list(consumer.assignment()))
    return {tp: end - consumer.position(tp) for tp, end in ends.items()}


@case("its lag by high water marks")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 0)
    s.first(consumer, max_records=3)
    return [consumer.highwater(tp) - consumer.position(tp) for tp in consumer.assignment()]


@case("a group's lag, from outside")
def _(s: Scene) -> object:
    group, tp = s.group(), s.tp(LETTERS, 1)
    s.consumer(group_id=group).commit({tp: s.lib.OffsetAndMetadata(2, "", -1)})
    outside = s.consumer(group_id=group, enable_auto_commit=False)
    return outside.end_offsets([tp])[tp] - outside.committed(tp)


@case("the last three records")
def _(s: Scene) -> object:
    tp = s.tp(LETTERS, 0)
    consumer = s.assigned(LETTERS, 0)
    consumer.seek_to_end(tp)
    consumer.seek(tp, max(0, consumer.position(tp) - 3))
    return s.values(consumer, 3)


@case("everything since a time")
def _(s: Scene) -> object:
    tp = s.tp(LETTERS, 0)
    consumer = s.assigned(LETTERS, 0)
    consumer.seek(tp, consumer.offsets_for_times({tp: time_of(6)})[tp].offset)
    return [record.timestamp - time_of(0) for record in s.read(consumer, 4)]


@case("all that there is now, and no more")
def _(s: Scene) -> object:
    consumer = s.consumer(auto_offset_reset="earliest")
    partitions = [
        s.tp(LETTERS, partition) for partition in sorted(consumer.partitions_for_topic(LETTERS))
    ]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    read: dict[Any, int] = defaultdict(int)
    while any(consumer.position(tp) < ends[tp] for tp in partitions):
        for tp, records in consumer.poll(timeout_ms=200).items():
            read[tp] += len(records)
    return dict(read)


@case("a record as a dict for JSON")
def _(s: Scene) -> object:
    fields = s.read(s.assigned(LETTERS, 1), 5)[1]._asdict()
    return json.loads(json.dumps(fields, default=bytes.decode))


@case("a record in a line of text")
def _(s: Scene) -> object:
    record = s.read(s.assigned(LETTERS, 1), 5)[1]
    return "%s:%d:%d: key=%s value=%s" % (  # noqa: UP031 - the line of kafka-python's own page
        record.topic,
        record.partition,
        record.offset,
        record.key,
        record.value,
    )


@case("a record's time as a datetime")
def _(s: Scene) -> object:
    record = s.read(s.assigned(LETTERS, 1), 5)[1]
    return datetime.datetime.fromtimestamp(record.timestamp / 1000, datetime.UTC).isoformat()


@case("a record's headers as a dict")
def _(s: Scene) -> object:
    return dict(s.read(s.assigned(LETTERS, 0), 10)[2].headers)


@case("records by key")
def _(s: Scene) -> object:
    by_key: dict[Any, list[Any]] = defaultdict(list)
    for record in s.read(s.assigned(LETTERS, 0, 1), 15):
        by_key[record.key].append(record.offset)
    return {repr(key): offsets for key, offsets in by_key.items()}


@case("records in the order of their times")
def _(s: Scene) -> object:
    records = s.read(s.assigned(LETTERS, 0, 1), 15)
    return [
        record.offset
        for record in sorted(records, key=lambda item: (item.timestamp, item.partition))
    ]


@case("records unpacked in a comprehension")
def _(s: Scene) -> object:
    found = s.first(s.assigned(LETTERS, 1))
    return [record.value for records in found.values() for record in records][:1]


@case("poll by positions, as in its page")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    found: dict[Any, Any] = {}
    while not found:
        found = consumer.poll(1000, 2)
    return [[tp.topic, tp.partition, len(records)] for tp, records in found.items()]


@case("next in a while loop")
def _(s: Scene) -> object:
    consumer = _looping(s, b"a", b"b", consumer_timeout_ms=3000)
    seen = []
    while True:
        try:
            seen.append(next(consumer).value)
        except StopIteration:
            return seen


@case("a try around everything")
def _(s: Scene) -> object:
    errors = s.lib.errors
    consumer = s.assigned(LETTERS, 1, auto_offset_reset="none", group_id=s.group())
    try:
        return [consumer.poll(timeout_ms=2000) for _ in range(5)]
    except errors.NoOffsetForPartitionError:
        consumer.seek_to_beginning()
        return len(s.values(consumer, 5))
    except errors.KafkaError as error:
        return repr(error)


@case("failed work is done again")
def _(s: Scene) -> object:
    consumer = _looping(s, b"a", b"b", b"c", enable_auto_commit=False)
    seen = []
    for record in consumer:
        seen.append(record.value)
        if seen.count(b"b") == 1 and record.value == b"b":
            consumer.seek(s.tp(record.topic, record.partition), record.offset)
        if record.value == b"c":
            return seen
    return seen


@case("what was not committed comes again")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a", b"b", b"c"), s.group()
    settings = {**_LOOP, "group_id": group, "enable_auto_commit": False}
    with s.consumer(topic, **settings) as first:
        next(first)
        first.commit()
        lost = next(first).value
    return [lost, next(s.consumer(topic, **settings)).value]


@case("pause while work goes on elsewhere")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def works() -> None:
        for job in iter(work.get, None):
            done.put(job.value)

    worker = in_thread(works)
    for records in s.first(consumer, max_records=2).values():
        consumer.pause(*consumer.assignment())
        for record in records:
            work.put(record)
    nothing = consumer.poll(timeout_ms=100)
    work.put(None)
    worker.join()
    consumer.resume(*consumer.paused())
    return [nothing, [done.get() for _ in range(2)], s.values(consumer, 3)]


@case("commit when partitions go")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a", b"b"), s.group()
    settings = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = s.consumer(**settings)

    class Commits(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def __init__(self, consumer: Any) -> None:
            self.consumer = consumer

        def on_partitions_revoked(self, revoked: Any) -> None:
            if revoked:
                self.consumer.commit()

        def on_partitions_assigned(self, assigned: Any) -> None: ...

    consumer.subscribe([topic], listener=Commits(consumer))
    s.values(consumer, 2)
    consumer.close()
    return s.consumer(**settings).committed(s.tp(topic))


@case("two groups read everything each")
def _(s: Scene) -> object:
    topic = s.topic(b"a", b"b")
    consumers = [
        s.consumer(topic, group_id=s.group(), auto_offset_reset="earliest") for _ in range(2)
    ]
    return [s.values(consumer, 2) for consumer in consumers]


@case("another topic after unsubscribe")
def _(s: Scene) -> object:
    consumer = _looping(s, b"a")
    first = next(consumer).value
    consumer.unsubscribe()
    consumer.subscribe([s.topic(b"b")])
    return [first, next(consumer).value]


@case("more topics in a second subscribe")
def _(s: Scene) -> object:
    one, two = s.topic(b"a"), s.topic(b"b")
    consumer = s.consumer(one, group_id=s.group(), auto_offset_reset="earliest")
    first = s.values(consumer, 1)
    consumer.subscribe([one, two])
    return [first, s.values(consumer, 1), consumer.subscription()]


@case("a health check")
def _(s: Scene) -> object:
    consumer = s.consumer()
    return [bool(consumer.topics()), bool(consumer.partitions_for_topic(LETTERS))]


@case("committed or a start of its own")
def _(s: Scene) -> object:
    tp = s.tp(LETTERS, 1)
    consumer = s.assigned(LETTERS, 1, group_id=s.group())
    consumer.seek(tp, consumer.committed(tp) or 2)
    return s.values(consumer, 3)


@case("partitions as keys, and as tuples to look them up")
def _(s: Scene) -> object:
    found = s.consumer().end_offsets([s.tp(LETTERS, 0), s.tp(LETTERS, 1)])
    return [found[LETTERS, 0], found[s.lib.TopicPartition(topic=LETTERS, partition=1)]]


@case("partitions and offsets through pickle")
def _(s: Scene) -> object:
    offsets = {s.tp("t", 1): s.lib.OffsetAndMetadata(3, "", -1)}
    return pickle.loads(pickle.dumps(offsets)) == offsets


@case("settings out of a dict")
def _(s: Scene) -> object:
    settings = {"bootstrap_servers": [s.bootstrap], "client_id": "c", "group_id": None}
    consumer = s.lib.KafkaConsumer(LETTERS, **settings, auto_offset_reset="earliest")
    with consumer:
        return len(s.values(consumer, 15))


@case("a consumer's settings for a second one")
def _(s: Scene) -> object:
    config = s.consumer(group_id="g", max_poll_records=3).config
    again = s.consumer(**{name: config[name] for name in ("group_id", "max_poll_records")})
    return [again.config["group_id"], again.config["max_poll_records"]]


@case("a mock in its place")
def _(s: Scene) -> object:
    double = mock.create_autospec(s.lib.KafkaConsumer, instance=True)
    double.poll.return_value = {s.tp("t"): [1]}
    return [
        isinstance(double, s.lib.KafkaConsumer),
        double.poll(timeout_ms=1, max_records=2),
        s.attempt(lambda: double.poll(no_such_argument=1)),
    ]


@case("a generator around poll")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1)

    def records() -> Any:
        while True:
            for found in consumer.poll(timeout_ms=200).values():
                yield from found

    return [record.offset for record in itertools.islice(records(), 5)]


@case("only the newest from now on, then back to the first")
def _(s: Scene) -> object:
    consumer = s.assigned(LETTERS, 1, auto_offset_reset="latest")
    nothing = consumer.poll(timeout_ms=300)
    consumer.seek_to_beginning(*consumer.assignment())
    return [nothing, s.values(consumer, 5)]
