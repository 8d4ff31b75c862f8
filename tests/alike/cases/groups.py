"""Group members: listeners, hand-over of partitions, new topics, static members."""

import importlib
import threading
from functools import partial
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene, in_thread
from tests.alike.stage import LETTERS


def _listener(s: Scene, received: list[Any]) -> Any:
    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None:
            received.append(["revoked", sorted(partition.partition for partition in revoked)])

        def on_partitions_assigned(self, assigned: Any) -> None:
            received.append(["assigned", sorted(partition.partition for partition in assigned)])

    return Listener()


@case("the listener of one member")
def _(s: Scene) -> object:
    received: list[Any] = []
    topic = s.topic(b"v", partitions=2)
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe([topic], listener=_listener(s, received))
    s.values(consumer, 1)
    joined = received[-1]
    received.clear()
    consumer.close()
    return [joined, received]


@case("the listener of the first join gets a revocation")
def _(s: Scene) -> object:
    received: list[Any] = []
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe([s.topic(b"v")], listener=_listener(s, received))
    s.values(consumer, 1)
    return received[0]


@case("the listener is given TopicPartitions")
def _(s: Scene) -> object:
    received: list[Any] = []

    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None: ...

        def on_partitions_assigned(self, assigned: Any) -> None:
            received.append([type(assigned).__name__, *sorted(assigned)])  # first of none, there

    topic = s.topic(b"v")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe([topic], listener=Listener())
    s.values(consumer, 1)
    return received[-1]


@case("the listener seeks")
def _(s: Scene) -> object:
    topic = s.topic(b"a", b"b", b"c")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")

    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None: ...

        def on_partitions_assigned(self, assigned: Any) -> None:
            for partition in assigned:
                consumer.seek(partition, 2)

    consumer.subscribe([topic], listener=Listener())
    return s.values(consumer, 1)


@case("the listener fails")
def _(s: Scene) -> object:
    topic = s.topic(b"a")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")

    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None: ...

        def on_partitions_assigned(self, assigned: Any) -> None:
            raise KeyError(f"mine, with {assigned}")

    consumer.subscribe([topic], listener=Listener())
    return s.attempt(lambda: s.values(consumer, 1))


@case("a listener that lacks a method")
def _(s: Scene) -> object:
    class Listener(s.lib.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_assigned(self, assigned: Any) -> None: ...

    return s.attempt(lambda: bool(Listener()))


@case("the listener of an unsubscribe")
def _(s: Scene) -> object:
    received: list[Any] = []
    topic = s.topic(b"v")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe([topic], listener=_listener(s, received))
    s.values(consumer, 1)
    received.clear()
    consumer.unsubscribe()
    return received


@case("the listener of an assign")
def _(s: Scene) -> object:
    received: list[Any] = []
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest")
    consumer.subscribe([LETTERS], listener=_listener(s, received))
    consumer.unsubscribe()
    consumer.assign([s.tp(LETTERS, 1)])
    s.read(consumer, 5)
    return received


@case("two members share the partitions")
def _(s: Scene) -> object:
    topic, group = s.topic(partitions=4), s.group()
    settings = {"group_id": group, "heartbeat_interval_ms": 200}
    members = [s.consumer(topic, **settings) for _ in range(2)]
    stop = threading.Event()

    def polls(member: Any) -> None:
        while not stop.is_set():
            member.poll(timeout_ms=100)

    cursors = [in_thread(partial(polls, client)) for client in members]
    try:
        s.until(lambda: [len(client.assignment()) for client in members] == [2, 2])
    finally:
        stop.set()
        for cursor in cursors:
            cursor.join()
    return sorted(sorted(tp.partition for tp in client.assignment()) for client in members)


@case("a successor continues where the first closed")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a", b"b", b"c", b"d"), s.group()
    settings = {"group_id": group, "auto_offset_reset": "earliest"}
    with s.consumer(topic, **settings) as first:
        found = s.first(first, max_records=2)
    read = [record.value for records in found.values() for record in records]
    return [read, s.values(s.consumer(topic, **settings), 2)]


@case("a successor in a loop continues where the first closed")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a", b"b", b"c"), s.group()
    settings = {"group_id": group, "auto_offset_reset": "earliest", "consumer_timeout_ms": 8000}
    with s.consumer(topic, **settings) as first:
        seen = next(first).value
    return [seen, next(s.consumer(topic, **settings)).value]


@case("a static member comes back")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a"), s.group()
    settings = {"group_id": group, "group_instance_id": "one", "auto_offset_reset": "earliest"}
    with s.consumer(topic, **settings) as first:
        s.values(first, 1)
        generation = first.group_metadata().generation_id
    second = s.consumer(topic, **settings)
    s.joined(second)
    return [
        second.group_metadata().group_instance_id,
        second.group_metadata().generation_id >= generation,
    ]


@case("consumer first, topic later: everything comes, from earliest")
def _(s: Scene) -> object:
    topic = s.name()
    consumer = s.consumer(topic, group_id=s.group(), auto_offset_reset="earliest")
    consumer.poll(timeout_ms=500)
    s.writer.send(topic, *(b"%d" % number for number in range(40)))
    return len(s.values(consumer, 40))


@case("consumer first, topic by the first producer: everything comes, from latest")
def _(s: Scene) -> object:
    topic = s.name()
    consumer = s.consumer(topic, group_id=s.group(), auto_offset_reset="latest")
    s.joined(consumer)
    consumer.position(s.tp(topic))
    s.writer.send(topic, *(b"%d" % number for number in range(40)))
    return len(s.values(consumer, 40))


@case("consumer first, alone: everything comes, from latest")
def _(s: Scene) -> object:
    topic = s.name()
    consumer = s.consumer(topic, auto_offset_reset="latest")
    s.joined(consumer)
    consumer.position(s.tp(topic))
    s.writer.send(topic, *(b"%d" % number for number in range(40)))
    return len(s.values(consumer, 40))


@case("a metadata request creates a topic")
def _(s: Scene) -> object:
    topic = s.name()
    consumer = s.consumer(topic, group_id=s.group())
    s.joined(consumer)
    return consumer.assignment()


@case("commit by a member that lost the partition")
def _(s: Scene) -> object:
    topic, group = s.topic(b"a", b"b"), s.group()
    settings = {
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": 3000,
        "heartbeat_interval_ms": 300,
    }
    slow = s.consumer(topic, max_poll_interval_ms=3000, **settings)
    s.values(slow, 2)
    other = s.consumer(topic, **settings)
    s.joined(other)
    return s.attempt(slow.commit)


@case("offset reset none in a group without offsets")
def _(s: Scene) -> object:
    consumer = s.consumer(LETTERS, group_id=s.group(), auto_offset_reset="none")
    return s.attempt(lambda: [consumer.poll(timeout_ms=1000) for _ in range(10)])


@case("strategies by kafka-python's classes")
def _(s: Scene) -> object:
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

    topic = s.topic(b"v")
    consumer = s.consumer(
        topic,
        group_id=s.group(),
        auto_offset_reset="earliest",
        partition_assignment_strategy=[RoundRobinPartitionAssignor, RangePartitionAssignor],
    )
    return s.values(consumer, 1)


def _strategy(module: str, name: str) -> None:
    @case(f"alone with {name}")
    def _(s: Scene) -> object:
        folder = importlib.import_module(f"kafka.coordinator.assignors.{module}")
        consumer = s.consumer(
            s.topic(b"v", partitions=2),
            group_id=s.group(),
            auto_offset_reset="earliest",
            partition_assignment_strategy=[getattr(folder, name)],
        )
        return [s.values(consumer, 1), len(consumer.assignment())]


_strategy("range", "RangePartitionAssignor")
_strategy("roundrobin", "RoundRobinPartitionAssignor")
_strategy("sticky.sticky_assignor", "StickyPartitionAssignor")
_strategy("cooperative_sticky", "CooperativeStickyAssignor")


def _reset(policy: str, committed: int) -> None:
    @case(f"{policy} where {committed} is committed")
    def _(s: Scene) -> object:
        group, tp = s.group(), s.tp(LETTERS, 1)
        s.consumer(group_id=group).commit({tp: s.lib.OffsetAndMetadata(committed, "", -1)})
        consumer = s.consumer(group_id=group, auto_offset_reset=policy)
        consumer.assign([tp])
        return consumer.position(tp)


for _policy in ("earliest", "latest", "none"):
    for _committed in (0, 3, 5):
        _reset(_policy, _committed)


@case("a pattern finds a topic that comes later")
def _(s: Scene) -> object:
    prefix = s.name("later")
    consumer = s.consumer(group_id=s.group(), auto_offset_reset="earliest", metadata_max_age_ms=300)
    consumer.subscribe(pattern=f"^{prefix}.*")
    consumer.poll(timeout_ms=300)
    topic = s.writer.make_topic(f"{prefix}-x")
    s.writer.send(topic, b"v")
    return s.values(consumer, 1)
