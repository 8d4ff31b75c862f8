"""Iterations beside each other, and beside what may not be handed out at the moment."""

import sys
from collections.abc import Collection
from types import WrapperDescriptorType
from typing import Any

import pytest

from tests.support.poll_callers import A, B, Make, joined, offsets_of
from tests.support.queues import needs_native_engine
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition


def taken_from(consumer: KafkaConsumer, count: int) -> list[int]:
    """Offsets of the next records, each from another iteration than the one before."""
    two = [iter(consumer), iter(consumer)]
    return [next(two[at % 2]).offset for at in range(count)]


def test_two_iterations_share_all_records(make: Make) -> None:
    """As ``zip(consumer, consumer)`` has it: each record once, none lost, in order."""
    consumer, fakes = make("t", max_poll_records=4)
    fakes.engine.ends = {A: 20}
    fakes.group.give(A)
    consumer.poll()
    assert taken_from(consumer, 20) == list(range(20))
    assert consumer.position(A) == 20


@pytest.mark.parametrize("most", [sys.maxsize, 2**70])
def test_a_poll_of_all_there_is_gives_what_an_iteration_left(make: Make, most: int) -> None:
    """However large its number is: nothing is passed over."""
    consumer, fakes = make("t", max_poll_records=4)
    fakes.engine.ends = {A: 4}
    fakes.group.give(A)
    consumer.poll()
    assert next(consumer).offset == 0
    assert offsets_of(consumer.poll(max_records=most)) == {A: [1, 2, 3]}


@pytest.mark.parametrize("unsure", [1, 2, 3])
@pytest.mark.parametrize("how", ["poll", "next", "poll_arrow"])
def test_what_waits_comes_first_when_a_group_is_sure_again(
    make: Make, how: str, unsure: int
) -> None:
    """Also if it becomes so between two looks of one call."""
    if how == "poll_arrow":
        pytest.importorskip("pyarrow")
    consumer, fakes = joined(make, max_poll_records=4)
    assert [next(consumer).offset for _ in range(2)] == [0, 1]
    responses = [*[frozenset({B})] * unsure, frozenset({A, B})]

    def deliverable() -> frozenset[object]:
        return responses.pop(0) if len(responses) > 1 else responses[0]

    fakes.group.deliverable = deliverable  # type: ignore[method-assign,assignment]
    fakes.clock.advance(50)  # so that it looks
    seen: dict[object, list[int]] = {A: [0, 1], B: []}
    for _ in range(40):
        if how == "poll":
            for tp, offsets in offsets_of(consumer.poll()).items():
                seen[tp] += offsets
        elif how == "next":
            if len(seen[A]) + len(seen[B]) == 20:
                break
            record = next(consumer)
            seen[record.topic_partition].append(record.offset)
        else:
            for row in consumer.poll_arrow(max_records=3).to_pylist():
                seen["t", row["partition"]].append(row["offset"])
    assert seen == {A: list(range(10)), B: list(range(10))}


def test_a_listener_that_polls_hears_its_news_once(make: Make) -> None:
    """It is of no use to do so, but no harm either."""
    consumer, fakes = make("t")
    fakes.engine.ends = {A: 10, B: 10}
    received: list[list[TopicPartition]] = []

    class Polls(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            received.append(sorted(assigned))
            consumer.poll()

    consumer.subscribe(["t"], listener=Polls())
    fakes.group.give(A, B)
    consumer.poll()
    consumer.poll()
    assert received == [[A, B]]


@pytest.mark.parametrize(("how", "sure"), [("poll", 1), ("next", 3), ("poll_arrow", 1)])
def test_who_stood_still_amid_a_call_hands_nothing_out(make: Make, how: str, sure: int) -> None:
    """It was sure when it began; the last look, when all is made, says otherwise."""
    if how == "poll_arrow":
        pytest.importorskip("pyarrow")
    consumer, fakes = joined(make, max_poll_records=4)
    snapshots: list[frozenset[TopicPartition]] = []

    def deliverable() -> frozenset[TopicPartition]:
        # It becomes unsure behind the first looks, and sure again later.
        snapshots.append(
            frozenset({A, B}) if not sure <= len(snapshots) < sure + 4 else frozenset()
        )
        return snapshots[-1]

    fakes.group.deliverable = deliverable  # type: ignore[method-assign]
    seen: dict[object, list[int]] = {A: [], B: []}
    given_at: list[int] = []
    for _ in range(60):
        if sum(map(len, seen.values())) == 20:
            break
        if how == "poll":
            found = offsets_of(consumer.poll())
        elif how == "next":
            record = next(consumer)
            found = {record.topic_partition: [record.offset]}
        else:
            found = {}
            for row in consumer.poll_arrow(max_records=3).to_pylist():
                found.setdefault(TopicPartition("t", row["partition"]), []).append(row["offset"])
        given_at += [len(snapshots)] * bool(found)
        for tp, offsets in found.items():
            seen[tp] += offsets
    assert seen == {A: list(range(10)), B: list(range(10))}
    assert given_at[0] > sure + 4


@needs_native_engine
def test_a_record_costs_no_look_up_of_a_method() -> None:
    """Consumers inherit what makes the next record as a slot; who overrides it is called."""
    assert isinstance(KafkaConsumer.__next__, WrapperDescriptorType)

    class Own(KafkaConsumer):
        def __next__(self) -> Any:
            return "own"

    patched: Any = type("Patched", (KafkaConsumer,), {})
    patched.__next__ = Own.__next__
    assert [next(kind.__new__(kind)) for kind in (Own, patched)] == ["own", "own"]
