"""Concurrent iterations, and iterations while delivery is not allowed."""

import sys
from collections.abc import Collection
from types import WrapperDescriptorType
from typing import Any

import pytest

from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer, offsets_of
from tests.support.queues import needs_native_engine
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition


def taken_from(consumer: KafkaConsumer, count: int) -> list[int]:
    """Return the offsets of the next records, alternating between two iterations."""
    iterations = [iter(consumer), iter(consumer)]
    return [next(iterations[at % 2]).offset for at in range(count)]


def test_two_iterations_share_all_records(make_consumer: ConsumerFactory) -> None:
    """Each record is returned once and in order, as by ``zip(consumer, consumer)``."""
    consumer, fakes = make_consumer("t", max_poll_records=4)
    fakes.engine.ends = {A: 20}
    fakes.group.assign(A)
    consumer.poll()
    assert taken_from(consumer, 20) == list(range(20))
    assert consumer.position(A) == 20


@pytest.mark.parametrize("most", [sys.maxsize, 2**70])
def test_a_poll_without_a_limit_returns_what_an_iteration_left(
    make_consumer: ConsumerFactory, most: int
) -> None:
    """However large ``max_records`` is, no record is skipped."""
    consumer, fakes = make_consumer("t", max_poll_records=4)
    fakes.engine.ends = {A: 4}
    fakes.group.assign(A)
    consumer.poll()
    assert next(consumer).offset == 0
    assert offsets_of(consumer.poll(max_records=most)) == {A: [1, 2, 3]}


@pytest.mark.parametrize("uncertain_checks", [1, 2, 3])
@pytest.mark.parametrize("how", ["poll", "next", "poll_arrow"])
def test_withheld_records_come_first_when_ownership_is_certain_again(
    make_consumer: ConsumerFactory, how: str, uncertain_checks: int
) -> None:
    """Order is kept even if ownership becomes certain between two checks of one call."""
    if how == "poll_arrow":
        pytest.importorskip("pyarrow")
    consumer, fakes = joined_consumer(make_consumer, max_poll_records=4)
    assert [next(consumer).offset for _ in range(2)] == [0, 1]
    responses = [*[frozenset({B})] * uncertain_checks, frozenset({A, B})]

    def deliverable() -> frozenset[object]:
        return responses.pop(0) if len(responses) > 1 else responses[0]

    fakes.group.deliverable = deliverable  # type: ignore[method-assign,assignment]
    fakes.clock.advance(50)  # so that ownership is checked again
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


def test_a_listener_that_polls_is_called_once(make_consumer: ConsumerFactory) -> None:
    """Polling in a listener is useless but harmless."""
    consumer, fakes = make_consumer("t")
    fakes.engine.ends = {A: 10, B: 10}
    received: list[list[TopicPartition]] = []

    class PollingListener(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            received.append(sorted(assigned))
            consumer.poll()

    consumer.subscribe(["t"], listener=PollingListener())
    fakes.group.assign(A, B)
    consumer.poll()
    consumer.poll()
    assert received == [[A, B]]


@pytest.mark.parametrize(("how", "certain_checks"), [("poll", 1), ("next", 3), ("poll_arrow", 1)])
def test_who_stood_still_amid_a_call_hands_nothing_out(
    make_consumer: ConsumerFactory, how: str, certain_checks: int
) -> None:
    """A process that was suspended during a call returns nothing from it.

    Ownership was certain when the call began; the last check, before it returns, decides.
    """
    if how == "poll_arrow":
        pytest.importorskip("pyarrow")
    consumer, fakes = joined_consumer(make_consumer, max_poll_records=4)
    checks: list[frozenset[TopicPartition]] = []

    def deliverable() -> frozenset[TopicPartition]:
        # Ownership becomes uncertain after the first checks, and certain again later.
        checks.append(
            frozenset({A, B})
            if not certain_checks <= len(checks) < certain_checks + 4
            else frozenset()
        )
        return checks[-1]

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
        given_at += [len(checks)] * bool(found)
        for tp, offsets in found.items():
            seen[tp] += offsets
    assert seen == {A: list(range(10)), B: list(range(10))}
    assert given_at[0] > certain_checks + 4


@needs_native_engine
def test_next_is_a_native_slot() -> None:
    """Consumers inherit ``__next__`` as a slot of C; a subclass that overrides it is called."""
    assert isinstance(KafkaConsumer.__next__, WrapperDescriptorType)

    class Own(KafkaConsumer):
        def __next__(self) -> Any:
            return "own"

    patched: Any = type("Patched", (KafkaConsumer,), {})
    patched.__next__ = Own.__next__
    assert [next(kind.__new__(kind)) for kind in (Own, patched)] == ["own", "own"]
