"""Hand out buffered records: partitions take turns, each in log order. Pure.

A position moves when its records are taken, and not before. Records of an interrupted call are
fetched again: neither lost nor handed out twice.
"""

from collections.abc import Collection
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.planning import wants_more
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice

Taken = dict[TopicPartition, RecordSlice]
Before = list[tuple[PartitionState, PositionView]]
"""Partitions from which records were taken, and their former positions."""


MOST_MS: Final = 250
"""Maximum time, ms, that the first records wait for first responses about other partitions."""


def collect(
    states: PartitionStates,
    max_records: int,
    now_ms: int,
    among: Collection[TopicPartition] | None,
    before: Before | None = None,
) -> Taken:
    """See ``PollEngine.collect``.

    Args:
        states: all partitions.
        max_records: the most to take.
        now_ms: the time.
        among: take only from these; None: from all.
        before: gets the former positions, for ``put_back``.
    """
    taken: Taken = {}
    before = [] if before is None else before
    try:
        while True:
            _collect(states, max_records, now_ms, among, (taken, before))
            if taken or not _has_come(states, among):
                break
    except BaseException:
        put_back(states, before, now_ms)
        raise
    return taken


def put_back(states: PartitionStates, before: Before, now_ms: int) -> None:
    """Undo a ``collect`` whose records did not reach the caller: fetch them again."""
    while before:
        state, position = before.pop()
        if states.states.get(state.topic_partition) is state:
            state.position = position
            state.refetch()
            states.drained(state, now_ms)


def _collect(
    states: PartitionStates,
    max_records: int,
    now_ms: int,
    among: Collection[TopicPartition] | None,
    found: tuple[Taken, Before],
) -> None:
    taken, before = found
    _receive(states, before)
    left, turns = max_records, len(states.line)
    received: PartitionState | None = None
    while left > 0 and turns > 0 and states.line:
        turns -= 1
        tp, state = next(iter(states.line.items()))
        states.line.move_to_end(tp)
        if among is not None and tp not in among:
            continue
        if _has_front(states, state, now_ms, before):
            piece = taken[tp] = _take(states, state, left, now_ms)
            left -= len(piece)
        elif state.trouble is None:
            continue
        elif state.trouble.is_reported:
            received = received or state
        elif taken:
            states.line.move_to_end(tp, last=False)
            return
        else:
            raise _reported(states, state, now_ms)
    if not taken and states.failures:
        raise states.failures.popitem(last=False)[1].with_traceback(None)
    if not taken and received is not None:
        raise _reported(states, received, now_ms)


def _has_front(states: PartitionStates, state: PartitionState, now_ms: int, before: Before) -> bool:
    """Return whether records wait; then note the former position."""
    if not state.waiting:
        return False
    assert state.position is not None
    before.append((state, state.position))
    pass_over(states, state, now_ms)
    if not state.waiting:
        before.pop()
    return bool(state.waiting)


def pass_over(states: PartitionStates, state: PartitionState, now_ms: int) -> None:
    """Move the position over batches without records for the caller: markers, aborted ones."""
    if state.waiting and not len(state.waiting[0].records):
        while state.waiting and not len(state.waiting[0].records):
            state.position = state.waiting.popleft().end
            _refill(states, state)
        states.drained(state, now_ms)


def _receive(states: PartitionStates, before: Before) -> None:
    """Take what native loops fetched for partitions of which nothing waits."""
    for tp, state in states.delegated.items():
        if state.waiting or state.is_paused or state.delegated is None:
            continue
        assert state.position is not None
        before.append((state, state.position))  # an interrupt must not lose a chunk
        _refill(states, state)
        if state.waiting:
            states.line.setdefault(tp, state)
        before.pop()


def _refill(states: PartitionStates, state: PartitionState) -> None:
    """Take the next chunk that a native loop fetched, once those before it are handed out."""
    if not state.waiting:
        state.receive(has_epochs=states.settings.epochs)


def _has_come(states: PartitionStates, among: Collection[TopicPartition] | None) -> bool:
    """Return whether native loops have fetched more; if not, have the next chunk reported."""
    arrived = [
        fetch.queue.await_chunk()
        for tp, state in states.delegated.items()
        if (fetch := state.delegated) is not None
        and not (state.is_paused or state.waiting)
        and (among is None or tp in among)
    ]
    return any(arrived)


def _take(states: PartitionStates, state: PartitionState, count: int, now_ms: int) -> RecordSlice:
    """Take at most ``count`` records, from as many responses as needed.

    Of what a native loop queued no more is taken than about what a poll buffers without one.
    """
    pieces: list[RecordSlice] = []
    had_enough = not wants_more(states, state)
    is_drained = False
    taken_bytes = 0
    while count > 0 and state.waiting:
        chunk = state.waiting[0]
        piece = chunk.records.take(count)
        if len(piece):
            pieces.append(piece)
            count -= len(piece)
        if len(chunk.records):
            state.position = PositionView(piece.next_offset, piece.leader_epoch)
        else:
            state.position = chunk.end
            state.waiting.popleft()
            is_drained = True
            taken_bytes += chunk.wire_bytes
            if taken_bytes < states.settings.max_partition_bytes:
                _refill(states, state)
    if is_drained or (had_enough and wants_more(states, state)):
        states.drained(state, now_ms)
    return RecordSlice.joined(pieces)


def _reported(states: PartitionStates, state: PartitionState, now_ms: int) -> ZkConsumerError:
    trouble = state.trouble
    assert trouble is not None
    trouble.is_reported = True
    state.received()
    states.drained(state, now_ms)
    return trouble.error.with_traceback(None)


def gathering_wait_ms(states: PartitionStates, now_ms: int, *, enough: int) -> int:
    """Return how much longer to hold records back after an assignment, in ms; 0: no longer.

    Responses arrive one by one, and a caller that takes the first gets one partition's records
    although all have some. So a poll with time left waits until each partition has had a response,
    except those paused, without a leader, or on a broker that can't be reached. A partition that
    is merely slow holds up the others for ``MOST_MS``, once; later polls don't wait.

    Args:
        states: all partitions.
        now_ms: the time.
        enough: number of records that end the wait.
    """
    if not states.fresh:
        states.gathering_since_ms = None
        return 0
    if not states.line or states.failures or not any(map(_is_awaited, states.fresh.values())):
        return 0
    if sum(_records(state) for state in states.line.values()) >= enough:
        return 0
    if states.gathering_since_ms is None:
        states.gathering_since_ms = now_ms
    left_ms = states.gathering_since_ms + MOST_MS - now_ms
    if left_ms > 0:
        return left_ms
    states.fresh.clear()
    states.gathering_since_ms = None
    return 0


def _is_awaited(state: PartitionState) -> bool:
    return not (state.is_paused or state.failures or state.source is None or state.trouble)


def _records(state: PartitionState) -> int:
    return sum(len(chunk.records) for chunk in state.waiting)
