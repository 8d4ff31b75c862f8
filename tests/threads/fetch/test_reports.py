"""The events of fetching that observers get."""

import dataclasses

import pytest

from tests.support.chunks import T0, T1
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    values,
    wait_for,
)
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.observe import Event, Fetched, LeaderLost, MemberName, Observation, PositionReset
from zkconsumer.streams.budget import ByteBudget

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")


class EventLog:
    """An observer that keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        assert member.group_id == "g"
        self.events.append(event)

    def of(self, kind: type[Event]) -> list[Event]:
        """Return the events of one kind."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    def records(self) -> list[int]:
        """Return the number of records in each Fetched event."""
        return [event.records for event in list(self.events) if isinstance(event, Fetched)]


def fetching(bench: FetchBench, notes: EventLog) -> LeaderFinder:
    """A leader finder with this observer."""
    return LeaderFinder(
        access=bench.access,
        settings=dataclasses.replace(SETTINGS, max_wait_ms=5),
        scope=bench.scope,
        clock=SystemClock(),
        observation=Observation(MemberName("g", "c"), (notes,)),
    )


def test_every_response_is_observed_with_its_bytes_and_records() -> None:
    """Bytes count as received, records as decoded; a response without records counts, too."""
    notes = EventLog()
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a", "b"))
        bench.cluster.append(T1, values("c"))
        queue = new_queue(10)
        fetching(bench, notes).add([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        take_values(queue, 3)
        wait_for(lambda: sum(notes.records()) == 3, "all records")
        wait_for(lambda: notes.records()[-1] == 0, "an answer without records")
    received = [event for event in notes.events if isinstance(event, Fetched)]
    assert {event.broker_id for event in received} == {0}
    assert sum(event.records for event in received) == 3
    assert sum(event.size_bytes for event in received) == 3 * 27
    assert all(event.fetches <= event.partitions <= 2 * event.fetches for event in received)
    assert all(event.duration_ms >= 0 and event.fetches > 0 for event in received)
    assert (received[-1].records, received[-1].size_bytes) == (0, 0)


def test_records_are_observed_when_they_are_decoded() -> None:
    """Each counts once, however slow the stream is."""
    notes = EventLog()
    with FetchBench() as bench:
        bench.cluster.append(T0, values(*(f"message {number}" for number in range(200))))
        queue = new_queue(10, ByteBudget(2_000))
        fetching(bench, notes).add([(claim_on(queue, T0), 0)])
        take_values(queue, 200)
        reported = "all records"
        wait_for(lambda: sum(notes.records()) == 200, reported)


def test_a_lost_leader_and_a_reset_are_observed() -> None:
    """The events have the partition, and the reason or the former offset."""
    notes = EventLog()
    with FetchBench(broker_count=2) as bench:
        bench.cluster.append(T0, values("a"))
        queue = new_queue(10)
        fetching(bench, notes).add([(claim_on(queue, T0, committed=77), 77)])
        take_values(queue, 1)
        assert notes.of(PositionReset) == [PositionReset(T0, 77)]
        bench.cluster.move_leader(T0, 1)
        bench.cluster.append(T0, values("b"))
        take_values(queue, 1)
    (lost,) = {event for event in notes.events if isinstance(event, LeaderLost)}
    assert lost.partition == T0
    assert "NOT_LEADER_FOR_PARTITION" in lost.reason
