"""Delivering records: the order of partitions, positions, errors and interrupts."""

from typing import Any

import pytest

from tests.support.engines import ORIGIN
from tests.support.markers import build_marker
from tests.support.polled import (
    OTHER,
    TP,
    TP1,
    batch,
    fetched,
    offsets,
    part,
    plan,
    states_of,
    view,
)
from tests.support.polled import response as respond
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed, PartitionFailed, TopicAuthorizationFailed
from zkconsumer.fetch.core import completed
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.collecting import Before, Taken, collect, put_back
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.transactions import Marker


def take(
    states: PartitionStates, count: int = 500, among: Any = None
) -> dict[TopicPartition, list[int]]:
    """Collect records and return the offsets of each partition."""
    taken: Taken = collect(states, count, 0, among)
    return {tp: list(offsets(record_slice)) for tp, record_slice in taken.items()}


def position_of(states: PartitionStates, tp: TopicPartition = TP) -> PositionView | None:
    """Return the position of the caller."""
    return states.states[tp].position


def test_records_come_in_slices_and_the_position_follows() -> None:
    """The rest stays buffered; the position's epoch is that of the records before it."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 5, epoch=3)})
    assert take(states, 2) == {TP: [0, 1]}
    assert position_of(states) == PositionView(2, 3)
    assert take(states, 9) == {TP: [2, 3, 4]}
    assert position_of(states) == PositionView(5, 3)
    assert take(states) == {}


def test_small_responses_of_a_partition_are_joined() -> None:
    """As many as fit into a poll are returned together."""
    states = states_of(TP)
    for first in range(0, 9, 3):
        fetched(states, {TP: batch(first, 3)})
    assert take(states, 7) == {TP: [0, 1, 2, 3, 4, 5, 6]}
    assert take(states, 7) == {TP: [7, 8]}


def test_partitions_take_turns() -> None:
    """A partition that was served goes to the end of the queue."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 10), TP1: batch(0, 10)})
    served = [next(iter(take(states, 3))) for _ in range(4)]
    assert served == [TP, TP1, TP, TP1]


def test_a_poll_returns_records_of_several_partitions() -> None:
    """The next partition fills what the first one leaves."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 9)})
    assert take(states, 5) == {TP: [0, 1], TP1: [0, 1, 2]}


def test_paused_and_excluded_partitions_keep_their_records() -> None:
    """Whether they are paused or may not be delivered now."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 2)})
    states.pause([TP])
    assert take(states, among=[TP]) == {}
    assert take(states) == {TP1: [0, 1]}
    states.resume([TP])
    assert take(states) == {TP: [0, 1]}


def test_removing_a_partition_drops_its_records() -> None:
    """Even if the partition is added again at once."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 2)})
    states.remove([TP])
    states.add([TP])
    assert take(states) == {}
    assert position_of(states) is None


def test_a_seek_drops_buffered_records_and_responses_in_flight() -> None:
    """The response to an earlier request is ignored."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 2)})
    planned = plan(states)
    states.seek(TP, PositionView(7))
    respond(states, planned, {TP: part(TP, batch(2, 2))})
    assert take(states) == {}
    assert position_of(states) == PositionView(7)
    fetched(states, {TP: batch(7, 1)})
    assert take(states) == {TP: [7]}


def test_markers_move_the_position_without_records() -> None:
    """A poll that returns nothing moves the position over them."""
    states = states_of(TP)
    traits = BatchTraits(leader_epoch=2, producer_id=1, producer_epoch=0)
    fetched(states, {TP: build_marker(Marker.COMMIT, 0, timestamp=1, traits=traits)})
    assert states.take_effects().notify_caller
    assert take(states) == {}
    assert position_of(states) == PositionView(1, 2)


def test_an_error_is_raised_after_the_records_before_it() -> None:
    """It is raised only by a call that returns no records; other partitions then continue."""
    states = states_of(TP, TP1)
    respond(
        states,
        plan(states),
        {TP: part(TP, batch(0, 2)), TP1: part(TP1, error_code=ErrorCode.INVALID_FETCH_SIZE)},
    )
    assert take(states) == {TP: [0, 1]}
    with pytest.raises(PartitionFailed, match="t-1"):
        take(states)
    fetched(states, {TP: batch(2, 1)})
    assert take(states) == {TP: [2]}
    with pytest.raises(PartitionFailed):
        take(states)
    states.seek(TP1, PositionView(4))
    assert take(states) == {}
    fetched(states, {TP1: batch(4, 1)})
    assert take(states) == {TP1: [4]}


def test_a_temporary_error_is_raised_once_and_retried() -> None:
    """An ACL may be granted meanwhile."""
    states = states_of(TP)
    refused = part(TP, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    respond(states, plan(states), {TP: refused})
    with pytest.raises(TopicAuthorizationFailed):
        take(states)
    assert take(states) == {}
    assert not plan(states).wanted
    fetched(states, {TP: batch(0, 1)}, now_ms=1_000)
    assert take(states) == {TP: [0]}


def test_refused_credentials_are_raised_once() -> None:
    """They are raised when there are no records to return."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 1)})
    broker = states.states[TP].source
    assert broker is not None
    states.broker_refuses(broker, AuthenticationFailed("no"))
    assert take(states) == {TP: [0]}
    with pytest.raises(AuthenticationFailed):
        take(states)
    assert take(states) == {}


def test_an_interrupt_puts_everything_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that raises during a call neither loses nor duplicates records."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 2)})
    calls = []

    def interrupted(self: completed.BufferedChunk) -> int:
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(completed.BufferedChunk, "unread_bytes", property(interrupted))
        with pytest.raises(KeyboardInterrupt):
            take(states)
    assert position_of(states) == position_of(states, TP1) == PositionView(0)
    assert take(states) in ({}, {TP1: [0, 1]})
    for tp in (TP, TP1):
        if position_of(states, tp) == PositionView(0):
            fetched(states, {tp: batch(0, 2)})
            assert take(states) == {tp: [0, 1]}


def test_putting_back_does_not_forget_that_the_leader_is_new() -> None:
    """The new leader's log is still checked before anything is fetched from it."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 4, epoch=1)})
    take(states, 2)
    states.see(view({TP: OTHER}, epoch=2))
    before: Before = []
    collect(states, 2, 0, None, before)
    put_back(states, before, 0)
    assert position_of(states) == PositionView(2, 1)
    assert states.states[TP].awaits_validation
    assert states.take_effects().resolve_positions


def test_headers_and_epochs_of_joined_slices_keep_their_records() -> None:
    """Headers and leader epochs are counted from the first record of the joined slices."""
    states = states_of(TP)
    plain = batch(0, 2, epoch=1)
    with_headers = build_batch(
        [*_records(2, 2)], headers={1: (("h", b"v"),)}, traits=BatchTraits(leader_epoch=2)
    )
    fetched(states, {TP: plain})
    fetched(states, {TP: with_headers})
    record_slice = collect(states, 9, 0, None)[TP]
    assert record_slice.headers() == {3: (("h", b"v"),)}
    assert [record.leader_epoch for record in record_slice.records(ORIGIN)] == [1, 1, 2, 2]
    assert (record_slice.first_offset, record_slice.next_offset, record_slice.leader_epoch) == (
        0,
        4,
        2,
    )


def _records(first: int, count: int) -> Any:
    return [Record(first + n, None, b"x", 1, TimestampType.CREATE_TIME) for n in range(count)]


def test_a_partition_that_may_not_be_delivered_does_not_block_others() -> None:
    """Wherever in the order it is."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 2)})
    assert take(states, among={TP1}) == {TP1: [0, 1]}
    assert take(states, among={TP}) == {TP: [0, 1]}


def test_a_partition_with_only_markers_does_not_block_others() -> None:
    """The marker is skipped."""
    states = states_of(TP, TP1)
    traits = BatchTraits(producer_id=1, producer_epoch=0)
    marker = build_marker(Marker.COMMIT, 0, timestamp=1, traits=traits)
    fetched(states, {TP: marker, TP1: batch(0, 2)})
    assert take(states) == {TP1: [0, 1]}


def test_epochs_that_change_within_a_response_keep_their_records() -> None:
    """They are counted from the first record of all joined responses."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 2, epoch=1)})
    fetched(states, {TP: batch(2, 2, epoch=2) + batch(4, 2, epoch=3)})
    record_slice = collect(states, 9, 0, None)[TP]
    found = [record.leader_epoch for record in record_slice.records(ORIGIN)]
    assert found == [1, 1, 2, 2, 3, 3]
