"""Handing out: whose turn it is, what moves, and what an error or an interrupt leaves behind."""

from typing import Any

import pytest

from tests.support.markers import build_marker
from tests.support.polled import (
    OTHER,
    TP,
    TP1,
    batch,
    board_of,
    fetched,
    offsets,
    part,
    plan,
    view,
)
from tests.support.polled import response as respond
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed, PartitionFailed, TopicAuthorizationFailed
from zkconsumer.fetch.core import completed
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import AtOffset, PositionView
from zkconsumer.fetch.polled.collecting import Before, Taken, collect, put_back
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.transactions import Marker


def take(
    states: PartitionStates, count: int = 500, among: Any = None
) -> dict[TopicPartition, list[int]]:
    """Collect; the offsets of each partition."""
    taken: Taken = collect(states, count, 0, among)
    return {tp: list(offsets(piece)) for tp, piece in taken.items()}


def at(states: PartitionStates, tp: TopicPartition = TP) -> PositionView | None:
    """Where the caller stands."""
    return states.states[tp].position


def test_records_come_in_slices_and_the_position_follows() -> None:
    """The rest stays; the position's epoch is that of the records in front of it."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 5, epoch=3)})
    assert take(states, 2) == {TP: [0, 1]}
    assert at(states) == PositionView(2, 3)
    assert take(states, 9) == {TP: [2, 3, 4]}
    assert at(states) == PositionView(5, 3)
    assert take(states) == {}


def test_small_answers_of_one_partition_come_together() -> None:
    """As many as fit into a poll."""
    states = board_of(TP)
    for first in range(0, 9, 3):
        fetched(states, {TP: batch(first, 3)})
    assert take(states, 7) == {TP: [0, 1, 2, 3, 4, 5, 6]}
    assert take(states, 7) == {TP: [7, 8]}


def test_partitions_take_turns() -> None:
    """The one that was served goes to the end of the line."""
    states = board_of(TP, TP1)
    fetched(states, {TP: batch(0, 10), TP1: batch(0, 10)})
    served = [next(iter(take(states, 3))) for _ in range(4)]
    assert served == [TP, TP1, TP, TP1]


def test_a_poll_takes_of_several_partitions() -> None:
    """Where the first has too little."""
    states = board_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 9)})
    assert take(states, 5) == {TP: [0, 1], TP1: [0, 1, 2]}


def test_paused_and_other_partitions_keep_what_waits() -> None:
    """Paused, or not among those that may be handed out now."""
    states = board_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 2)})
    states.pause([TP])
    assert take(states, among=[TP]) == {}
    assert take(states) == {TP1: [0, 1]}
    states.resume([TP])
    assert take(states) == {TP: [0, 1]}


def test_removing_drops_what_waits() -> None:
    """Also of a partition that comes back at once."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 2)})
    states.remove([TP])
    states.add([TP])
    assert take(states) == {}
    assert at(states) is None


def test_a_seek_drops_what_waits_and_what_is_on_its_way() -> None:
    """The answer to what was asked before does not count."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 2)})
    planned = plan(states)
    states.seek(TP, AtOffset(7))
    respond(states, planned, {TP: part(TP, batch(2, 2))})
    assert take(states) == {}
    assert at(states) == PositionView(7)
    fetched(states, {TP: batch(7, 1)})
    assert take(states) == {TP: [7]}


def test_markers_move_the_position_without_records() -> None:
    """A poll that finds nothing else is enough for it."""
    states = board_of(TP)
    traits = BatchTraits(leader_epoch=2, producer_id=1, producer_epoch=0)
    fetched(states, {TP: build_marker(Marker.COMMIT, 0, timestamp=1, traits=traits)})
    assert states.take_effects().notify_caller
    assert take(states) == {}
    assert at(states) == PositionView(1, 2)


def test_an_error_comes_behind_the_records_in_front_of_it() -> None:
    """And only from a call that takes nothing; then the others go on."""
    states = board_of(TP, TP1)
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
    states.seek(TP1, AtOffset(4))
    assert take(states) == {}
    fetched(states, {TP1: batch(4, 1)})
    assert take(states) == {TP1: [4]}


def test_what_passes_is_raised_once_and_tried_again() -> None:
    """An ACL may be granted meanwhile."""
    states = board_of(TP)
    refused = part(TP, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    respond(states, plan(states), {TP: refused})
    with pytest.raises(TopicAuthorizationFailed):
        take(states)
    assert take(states) == {}
    assert not plan(states).wanted
    fetched(states, {TP: batch(0, 1)}, now_ms=1_000)
    assert take(states) == {TP: [0]}


def test_what_a_broker_tells_all_of_us_is_raised_once() -> None:
    """When there is nothing to hand out."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 1)})
    broker = states.states[TP].source
    assert broker is not None
    states.broker_refuses(broker, AuthenticationFailed("no"))
    assert take(states) == {TP: [0]}
    with pytest.raises(AuthenticationFailed):
        take(states)
    assert take(states) == {}


def test_an_interrupt_puts_everything_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that raises in the middle neither loses nor doubles records."""
    states = board_of(TP, TP1)
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
    assert at(states) == at(states, TP1) == PositionView(0)
    assert take(states) in ({}, {TP1: [0, 1]})
    for tp in (TP, TP1):
        if at(states, tp) == PositionView(0):
            fetched(states, {tp: batch(0, 2)})
            assert take(states) == {tp: [0, 1]}


def test_putting_back_does_not_forget_that_the_leader_is_new() -> None:
    """Its log is compared with what was read all the same, before anything is fetched of it."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 4, epoch=1)})
    take(states, 2)
    states.see(view({TP: OTHER}, epoch=2))
    before: Before = []
    collect(states, 2, 0, None, before)
    put_back(states, before, 0)
    assert at(states) == PositionView(2, 1)
    assert states.states[TP].unproven
    assert states.take_effects().resolve_positions


def test_headers_of_joined_slices_keep_their_places() -> None:
    """And so do leader epochs."""
    states = board_of(TP)
    plain = batch(0, 2, epoch=1)
    with_headers = build_batch(
        [*_records(2, 2)], headers={1: (("h", b"v"),)}, traits=BatchTraits(leader_epoch=2)
    )
    fetched(states, {TP: plain})
    fetched(states, {TP: with_headers})
    piece = collect(states, 9, 0, None)[TP]
    assert piece.headers() == {3: (("h", b"v"),)}
    assert piece.leader_epochs() == ((0, 1), (2, 2))
    assert (piece.first_offset, piece.next_offset, piece.leader_epoch) == (0, 4, 2)


def _records(first: int, count: int) -> Any:
    return [Record(first + n, None, b"x", 1, TimestampType.CREATE_TIME) for n in range(count)]


def test_one_that_may_not_be_handed_out_does_not_keep_the_others() -> None:
    """Wherever in the line it stands."""
    states = board_of(TP, TP1)
    fetched(states, {TP: batch(0, 2), TP1: batch(0, 2)})
    assert take(states, among={TP1}) == {TP1: [0, 1]}
    assert take(states, among={TP}) == {TP: [0, 1]}


def test_one_without_records_does_not_keep_the_others() -> None:
    """All that waits of it is a marker, which is passed over."""
    states = board_of(TP, TP1)
    traits = BatchTraits(producer_id=1, producer_epoch=0)
    marker = build_marker(Marker.COMMIT, 0, timestamp=1, traits=traits)
    fetched(states, {TP: marker, TP1: batch(0, 2)})
    assert take(states) == {TP1: [0, 1]}


def test_epochs_that_change_within_an_answer_keep_their_places() -> None:
    """Counted from the first record of all answers."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 2, epoch=1)})
    fetched(states, {TP: batch(2, 2, epoch=2) + batch(4, 2, epoch=3)})
    piece = collect(states, 9, 0, None)[TP]
    assert piece.leader_epochs() == ((0, 1), (2, 2), (4, 3))
