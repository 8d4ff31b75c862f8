"""Delivering what a native loop queued: turns, pauses, empty chunks, awaiting and interrupts."""

from typing import Any

import pytest

from tests.support.delegated import back_at, delegated, far_behind, put, queue_of
from tests.support.interrupting import Interrupted, interrupt, interrupt_at_check
from tests.support.markers import build_marker
from tests.support.model_pump import ModelQueue
from tests.support.polled import BROKER, TP, TP1, batch, offsets
from tests.support.shares import sampling_step
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation, take_back
from zkconsumer.fetch.core.partition_state import PartitionState, PendingError
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.collecting import Before, collect, put_back
from zkconsumer.model import TopicPartition
from zkconsumer.records.build_batch import BatchTraits
from zkconsumer.records.transactions import Marker


def take(
    states: PartitionStates, count: int = 500, among: Any = None
) -> dict[TopicPartition, list[int]]:
    """Collect records and return the offsets of each partition."""
    return {
        tp: list(offsets(record_slice))
        for tp, record_slice in collect(states, count, 0, among).items()
    }


def both_delegated() -> tuple[PartitionStates, BrokerDelegation]:
    """Return two partitions that are delegated, at offset 10."""
    states = far_behind(TP, TP1)
    return states, delegated(states)


def marker(offset: int) -> bytes:
    """Return the marker at an offset."""
    traits = BatchTraits(leader_epoch=1, producer_id=1, producer_epoch=0)
    return build_marker(Marker.COMMIT, offset, timestamp=1, traits=traits)


class AwaitedQueues:
    """Records which queues are asked for their next chunk."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.awaited: list[ModelQueue] = []
        await_chunk = ModelQueue.await_chunk

        def noted(queue: ModelQueue) -> bool:
            self.awaited.append(queue)
            return await_chunk(queue)

        patch.setattr(ModelQueue, "await_chunk", noted)


def test_queued_records_are_taken_and_the_position_follows() -> None:
    """Several chunks of a partition are joined, and the rest of one waits."""
    states, made = both_delegated()
    put(made.fetches[0], batch(10, 5), 10)
    put(made.fetches[0], batch(15, 5, epoch=3), 15, high_watermark=200)
    assert take(states, 7) == {TP: list(range(10, 17))}
    state = states.states[TP]
    assert state.position == PositionView(17, 3)
    assert (state.fetched, state.high_watermark) == (PositionView(20, 3), 200)
    assert take(states) == {TP: [17, 18, 19]}
    assert state.position == state.fetched == PositionView(20, 3)
    assert state.is_pumped


def test_partitions_take_turns() -> None:
    """A partition that was served goes to the end of the line, delegated or not."""
    states, made = both_delegated()
    for fetch in made.fetches:
        put(fetch, batch(10, 5), 10)
        put(fetch, batch(15, 5), 15)
    served = [next(iter(take(states, 3))) for _ in range(4)]
    assert served == [TP, TP1, TP, TP1]
    assert take(states) == {TP: [16, 17, 18, 19], TP1: [16, 17, 18, 19]}


def test_no_more_chunks_are_taken_than_records_are_due() -> None:
    """The others are charged to the queue, which bounds what the loop fetches."""
    states, made = both_delegated()
    for first in range(10, 40, 10):
        put(made.fetches[0], batch(first, 10), first)
    assert take(states, 10) == {TP: list(range(10, 20))}
    assert queue_of(states, TP).record_count == 10
    assert len(states.states[TP].waiting) == 1
    assert take(states, 1) == {TP: [20]}
    assert queue_of(states, TP).record_count == 10


def test_a_caller_that_takes_all_gets_about_one_part_at_a_time() -> None:
    """However much is queued: else one result would hold all the memory of the queue."""
    states = far_behind(TP)
    made = delegated(states)
    for offset in (10, 20, 30):
        put(made.fetches[0], batch(offset, 10, size=100), offset)
    taken = [list(offsets(collect(states, 1_000, 0, None)[TP])) for _ in range(3)]
    assert taken == [list(range(start, start + 10)) for start in (10, 20, 30)]
    assert collect(states, 1_000, 0, None) == {}


def test_paused_and_excluded_partitions_keep_their_chunks() -> None:
    """They come once the partition is resumed, or included."""
    states, made = both_delegated()
    for fetch in made.fetches:
        put(fetch, batch(10, 5), 10)
    states.pause([TP])
    assert take(states, among=[TP]) == {}
    assert queue_of(states, TP).record_count == 5
    assert take(states) == {TP1: list(range(10, 15))}
    states.resume([TP])
    assert take(states, among=[TP1]) == {}
    assert take(states, among=[TP]) == {TP: list(range(10, 15))}


def test_chunks_without_records_are_passed_over() -> None:
    """What follows them comes with the same call; the position follows, even at the end."""
    states, made = both_delegated()
    put(made.fetches[0], marker(10), 10)
    put(made.fetches[0], marker(11), 11)
    put(made.fetches[0], batch(12, 2), 12)
    put(made.fetches[0], marker(14), 14)
    assert take(states) == {TP: [12, 13]}
    put(made.fetches[1], marker(10), 10)
    assert take(states) == {}
    assert states.states[TP].position == PositionView(15, 1)
    assert states.states[TP1].position == PositionView(11, 1)


def test_chunks_are_awaited_only_if_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each queue of which the caller may take something, and of which nothing waits, is asked."""
    states, made = both_delegated()
    queues = AwaitedQueues(monkeypatch)
    put(made.fetches[0], batch(10, 5), 10)
    assert take(states)
    assert queues.awaited == []
    assert take(states) == {}
    assert queues.awaited == [queue_of(states, TP), queue_of(states, TP1)]
    queues.awaited.clear()
    assert take(states, among=[TP1]) == {}
    assert queues.awaited == [queue_of(states, TP1)]
    queues.awaited.clear()
    states.pause([TP1])
    assert take(states) == {}
    assert queues.awaited == [queue_of(states, TP)]


def test_the_first_chunk_of_a_delegation_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller may be waiting already, and has asked no queue that did not exist yet."""
    states = far_behind(TP, TP1)
    assert take(states) == {}
    queues = AwaitedQueues(monkeypatch)
    delegated(states)
    assert queues.awaited == [queue_of(states, TP), queue_of(states, TP1)]


def test_a_chunk_that_comes_while_others_are_awaited_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody would wake the caller for it."""
    states, made = both_delegated()
    late = [made.fetches[1]]
    await_chunk = ModelQueue.await_chunk

    def put_late(queue: ModelQueue) -> bool:
        while late:
            put(late.pop(), batch(10, 5), 10)
        return await_chunk(queue)

    monkeypatch.setattr(ModelQueue, "await_chunk", put_late)
    assert take(states) == {TP1: list(range(10, 15))}


def test_a_reported_error_does_not_keep_queued_records_back() -> None:
    """It is raised in its turn, and then only when there is nothing else."""
    states, made = both_delegated()
    put(made.fetches[0], batch(10, 5), 10)
    state = states.states[TP1]
    state.stop_with(PendingError(PartitionFailed(TP1, 10, "damaged")))
    states.touch(state)
    with pytest.raises(PartitionFailed):
        take(states)
    assert take(states) == {TP: list(range(10, 15))}
    put(made.fetches[0], batch(15, 5), 15)
    assert take(states) == {TP: list(range(15, 20))}
    with pytest.raises(PartitionFailed):
        take(states)


def test_what_waited_before_the_delegation_comes_first() -> None:
    """The queue continues after it."""
    states = far_behind(TP)
    state = states.states[TP]
    first = delegated(states)
    put(first.fetches[0], batch(10, 5), 10)
    take_back(states, first, [back_at(15, is_behind=True)])
    again = delegated(states)
    assert again.fetches[0].requested.start == PositionView(15, 0)
    put(again.fetches[0], batch(15, 5), 15)
    assert take(states, 3) == {TP: [10, 11, 12]}
    assert queue_of(states, TP).record_count == 5
    assert take(states) == {TP: list(range(13, 20))}
    assert state.delegated is again.fetches[0]


def test_records_that_are_put_back_are_fetched_again() -> None:
    """The delegation ends: what is queued follows what did not reach the caller."""
    states, made = both_delegated()
    for fetch in made.fetches:
        put(fetch, batch(10, 5), 10)
        put(fetch, batch(15, 5), 15)
    before: Before = []
    collect(states, 7, 0, [TP], before)
    put_back(states, before, 0)
    assert states.states[TP].position == states.states[TP].fetched == PositionView(10, 0)
    assert not made.fetches[0].claim.active
    assert made.fetches[1].claim.active
    assert take(states) == {TP1: list(range(10, 20))}


def check_nothing_lost(states: PartitionStates, made: BrokerDelegation) -> None:
    """Check that after an interrupt both partitions continue at offset 10.

    A delegation has ended, and all is fetched again; or what waits and what is queued are complete.
    """
    due = {TP: list(range(10, 20)), TP1: list(range(11, 16))}
    are_active = {fetch.topic_partition: fetch.claim.active for fetch in made.fetches}
    for tp in due:
        assert states.states[tp].position == PositionView(10, 0)
    take_back(states, made, [back_at(20), back_at(16)])
    found = take(states)
    for tp, records in due.items():
        assert found.get(tp, []) == (records if are_active[tp] else [])
        if not are_active[tp]:
            assert states.states[tp].fetched == PositionView(10, 0)
            assert states.states[tp].requested is None


@pytest.mark.parametrize("most", [3, 12, 500])
def test_an_interrupt_anywhere_loses_nothing(most: int) -> None:
    """Wherever a signal handler raises during a call, the positions stay, and all comes later."""
    number = 0
    while True:
        states, made = both_delegated()
        put(made.fetches[0], batch(10, 5), 10)
        put(made.fetches[0], batch(15, 5), 15)
        put(made.fetches[1], marker(10), 10)
        put(made.fetches[1], batch(11, 5), 11)
        run = lambda states=states: collect(states, most, 0, None)  # noqa: E731
        try:
            if not interrupt_at_check(number, interrupt, run):
                break
        except Interrupted:
            check_nothing_lost(states, made)
        number += sampling_step(3)
    assert number > 50


def test_a_seek_that_is_interrupted_wakes_the_fetcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delegation has ended by then: nothing else takes the partition back."""
    states = far_behind(TP)
    delegated(states)
    states.take_effects()
    monkeypatch.setattr(PartitionState, "await_validation", lambda _: interrupt())
    with pytest.raises(Interrupted):
        states.seek(TP, PositionView(0))
    assert states.states[TP].delegated is None
    assert states.take_effects().wake == {BROKER}
