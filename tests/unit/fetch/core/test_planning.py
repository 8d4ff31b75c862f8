"""What is asked next: who, how much, and how long the broker may wait."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.polled import (
    BROKER,
    OTHER,
    TP,
    TP1,
    batch,
    board_of,
    fetched,
    part,
    plan,
    response,
    view,
)
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.ahead import HeaderSummary
from zkconsumer.fetch.core.completed import ResponseFrame
from zkconsumer.fetch.core.fetch_connection import begin_fetch
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.planning import Arriving, FetchPlan, plan_fetch, plan_lookups
from zkconsumer.fetch.core.positions import begin_lookups
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, AtOffset, PositionView, Reset
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.model import TopicPartition

SMALL = CoreFetchSettings(max_partition_bytes=100, max_bytes=10_000)


def test_a_partition_is_fetched_ahead_until_its_share_waits() -> None:
    """And again once the caller has taken enough of it."""
    states = board_of(TP, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    assert states.states[TP].unread_bytes > 100
    assert not plan(states).wanted
    states.take_effects()
    collect(states, 3, 0, None)
    assert states.take_effects().wake == {BROKER}
    assert plan(states).wanted[TP].start.offset == 4


def grown_to(states: PartitionStates, size: int, *partitions: TopicPartition) -> None:
    """Let these have filled requests of half this size."""
    for tp in partitions:
        states.states[tp].grow(size, size)


def again(states: PartitionStates) -> FetchPlan:
    """The next plan, as if what is in flight had not been sent."""
    for state in states.states.values():
        state.drop_requests()
    return plan(states)


def test_what_is_far_behind_is_fetched_in_larger_parts() -> None:
    """As far as its last responses made it grow, and no further than the settings let it."""
    states = board_of(TP, settings=replace(SMALL, grown_bytes=400))
    assert plan(states).wanted[TP].max_bytes == 100
    for size, wanted in ((200, 200), (800, 400)):
        states = board_of(TP, settings=replace(SMALL, grown_bytes=400))
        grown_to(states, size, TP)
        assert plan(states).wanted[TP].max_bytes == wanted


def test_partitions_that_are_far_behind_share_what_a_fetch_grows_to() -> None:
    """Where the reader wants no larger responses; and none has less than its usual part."""
    last = TopicPartition("t", 2)
    states = board_of(TP, TP1, settings=replace(SMALL, grown_bytes=400, shares_growth=True))
    grown_to(states, 400, TP)
    assert {tp: one.max_bytes for tp, one in plan(states).wanted.items()} == {TP: 400, TP1: 100}
    grown_to(states, 400, TP, TP1)
    assert {one.max_bytes for one in again(states).wanted.values()} == {200}
    states = board_of(TP, TP1, last, settings=replace(SMALL, grown_bytes=200, shares_growth=True))
    grown_to(states, 200, TP, TP1, last)
    assert {one.max_bytes for one in plan(states).wanted.values()} == {100}
    states = board_of(TP, TP1, settings=replace(SMALL, grown_bytes=400))
    grown_to(states, 400, TP, TP1)
    assert {one.max_bytes for one in plan(states).wanted.values()} == {400}


def test_a_grown_partition_is_fetched_ahead_as_far_as_it_has_grown() -> None:
    """Also while a set of that size is unpacked; without growth 100 bytes would be enough."""
    for grown_bytes, is_ahead in ((0, False), (400, True)):
        states = board_of(TP, settings=replace(SMALL, grown_bytes=grown_bytes))
        grown_to(states, grown_bytes, TP)
        planned = plan(states)
        came = [Arriving(planned.wanted[TP], 400, HeaderSummary(7, 3, 0, 400))]
        assert bool(begin_fetch(states, BROKER, 0, arriving=came).wanted) is is_ahead


def test_without_capacity_nothing_grows() -> None:
    """What has nothing buffered is fetched all the same, in its usual size."""
    states = board_of(TP, TP1, settings=replace(SMALL, max_bytes=50, grown_bytes=400))
    fetched(states, {TP: batch(0, 1)})
    grown_to(states, 400, TP1)
    assert {tp: one.max_bytes for tp, one in plan(states).wanted.items()} == {TP1: 50}


def full_response(states: PartitionStates, *, now_ms: int = 0) -> int:
    """Fill a request for a partition; returns the size of the next one."""
    requested = begin_fetch(states, BROKER, 0)
    response(states, requested, {TP: part(TP, batch(0, 4))}, now_ms)
    collect(states, 100, now_ms, None)
    return begin_fetch(states, BROKER, now_ms).wanted[TP].max_bytes


def test_a_request_that_was_filled_is_followed_by_one_of_twice_the_size() -> None:
    """Not so over a slow link: a larger response would not arrive in time."""
    settings = replace(SMALL, grown_bytes=400, request_timeout_ms=1_000)
    for took_ms, size in ((0, 200), (250, 200), (251, 100)):
        assert full_response(board_of(TP, settings=settings), now_ms=took_ms) == size


def test_what_decompresses_to_much_grows_little() -> None:
    """Two responses have to fit into the buffers once they are unpacked."""
    states = board_of(TP, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    (chunk,) = states.states[TP].waiting
    times = chunk.memory_bytes / len(batch(0, 4))
    for fit_bytes, size in ((1_000, 200), (150, 150), (90, 100)):
        settings = replace(SMALL, max_bytes=2 * round(fit_bytes * times), grown_bytes=400)
        assert full_response(board_of(TP, settings=settings)) == pytest.approx(size, abs=1)


def test_a_large_entry_is_not_what_is_fetched_ahead() -> None:
    """However much was asked for: growth bounds what may wait."""
    states = board_of(TP, settings=replace(SMALL, grown_bytes=400))
    state = states.states[TP]
    data = batch(0, 60, size=60)
    state.needed_bytes = len(data)
    fetched(states, {TP: data})
    assert state.unread_bytes > 400
    assert 0 < state.filled_bytes <= 400
    assert not plan(states).wanted


def test_a_request_without_a_response_is_not_repeated_in_its_size() -> None:
    """It was too much for the link; and a session leaves out what has no more in its log."""
    states = board_of(TP, settings=replace(SMALL, grown_bytes=400))
    grown_to(states, 400, TP)
    planned = plan(states)
    assert planned.wanted[TP].max_bytes == 400
    states.unanswered(planned.wanted.values())
    assert plan(states).wanted[TP].max_bytes == 100


def test_plans_change_nothing() -> None:
    """They are values: the same again until they are noted as sent."""
    states = board_of(TP, TP1)
    states.seek(TP1, Reset(EARLIEST))
    state, other = states.states[TP], states.states[TP1]
    before = replace(state), replace(other)
    for _ in range(2):
        (planned,) = plan_fetch(states, BROKER, 0).wanted.values()
        ((lookup, policy),) = plan_lookups(states, 0).resets
        assert (planned.topic_partition, planned.start.offset) == (TP, 0)
        assert (lookup.topic_partition, policy) == (TP1, EARLIEST)
    assert [one.requested or one.early or one.lookup for one in (state, other)] == [None, None]
    for one, former in zip((state, other), before, strict=True):
        assert all(getattr(one, name) == getattr(former, name) for name in PartitionState.__slots__)


def arriving(
    states: PartitionStates, planned: FetchPlan, came: dict[TopicPartition, HeaderSummary | None]
) -> Any:
    """The plan while these are unpacked, 60 bytes of each."""
    sets = [Arriving(planned.wanted[tp], 60, ahead) for tp, ahead in came.items()]
    others = [
        partition_request for tp, partition_request in planned.wanted.items() if tp not in came
    ]
    states.unanswered(others)
    return begin_fetch(states, BROKER, 0, arriving=sets)


def test_what_follows_a_set_is_asked_for_while_that_is_unpacked() -> None:
    """Behind the others, whose turn it is; with room for the entry that was cut off."""
    states = board_of(TP, TP1)
    planned = plan(states)
    early = arriving(states, planned, {TP: HeaderSummary(7, 3, 2 << 20, 60)})
    assert list(early.wanted) == [TP1, TP]
    requested = early.wanted[TP]
    assert (requested.start, requested.max_bytes) == (PositionView(7, 3), 2 << 20)
    assert states.states[TP].requested is planned.wanted[TP]
    assert states.states[TP].early is requested
    assert states.states[TP1].requested is early.wanted[TP1]
    assert early.max_wait_ms == 500


def test_where_nothing_can_be_asked_early_nobody_is() -> None:
    """Odd headers, no room for another one, too much of all, a seek meanwhile."""
    unsupported, sound = None, HeaderSummary(7, 3, 0, 60)
    for ahead, settings, seeks in (
        (unsupported, CoreFetchSettings(), False),
        (sound, CoreFetchSettings(max_partition_bytes=59), False),
        (sound, CoreFetchSettings(max_bytes=60), False),
        (sound, CoreFetchSettings(), True),
    ):
        states = board_of(TP, TP1, settings=settings)
        planned = plan(states)
        if seeks:
            states.seek(TP, AtOffset(3))
        assert not arriving(states, planned, {TP: ahead}).wanted
        assert states.states[TP1].requested is None


def test_a_partition_that_has_to_wait_for_its_set_lets_the_others_not_wait() -> None:
    """The answer to the early request comes at once, so that it can be asked for behind it."""
    states = board_of(TP, TP1)
    early = arriving(states, plan(states), {TP: HeaderSummary(7, 3, 0, 60), TP1: None})
    assert list(early.wanted) == [TP]
    assert early.max_wait_ms == 0


def test_where_too_much_waits_only_what_has_nothing_waiting_is_asked() -> None:
    """Paused partitions' data must not keep the others from coming."""
    states = board_of(TP, TP1, settings=CoreFetchSettings(max_bytes=50))
    fetched(states, {TP: batch(0, 1)})
    states.pause([TP])
    assert list(plan(states).wanted) == [TP1]


def test_paused_partitions_and_those_without_position_are_not_asked() -> None:
    """Nor those that were removed."""
    states = board_of(TP, TP1)
    states.pause([TP])
    states.remove([TP1])
    states.add([TP1])
    assert not plan(states).wanted


def test_nobody_is_asked_twice_at_a_time() -> None:
    """What is in flight is in flight."""
    states = board_of(TP)
    assert plan(states).wanted
    assert not plan(states).wanted


def test_a_broker_is_not_to_wait_while_a_partition_is_held_back() -> None:
    """Else the answer for the idle one would hold up the busy one; we wait here instead."""
    states = board_of(TP, TP1, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    planned = plan(states)
    assert list(planned.wanted) == [TP1]
    assert (planned.max_wait_ms, planned.rest_ms) == (0, 500)


def test_a_broker_waits_shortly_while_a_position_is_being_asked_for() -> None:
    """The partition is about to be fetched as well."""
    states = board_of(TP, TP1)
    states.seek(TP1, Reset(EARLIEST))
    assert 0 < plan(states).max_wait_ms < 500


def test_a_failed_partition_rests() -> None:
    """The request for the others ends when it is due."""
    states = board_of(TP, TP1)
    refused = part(TP, error_code=ErrorCode.NOT_LEADER_FOR_PARTITION)
    response(states, plan(states), {TP: refused})
    assert states.effects.refresh_metadata
    planned = plan(states)
    assert list(planned.wanted) == [TP1]
    assert planned.max_wait_ms == 100
    states.unanswered(planned.wanted.values())
    assert list(plan(states, 100).wanted) == [TP, TP1]


def test_who_was_served_goes_last() -> None:
    """So that a bounded answer comes round."""
    states = board_of(TP, TP1)
    fetched(states, {TP: batch(0, 1)})
    assert list(plan(states).wanted) == [TP1, TP]


def test_old_brokers_are_asked_for_no_more_than_the_bound() -> None:
    """Before version 3 they know no bound for the whole answer."""
    partitions = [TopicPartition("t", number) for number in range(10)]
    states = board_of(*partitions, settings=CoreFetchSettings(max_bytes=100_000))
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {partition_request.max_bytes for partition_request in planned.wanted.values()} == {
        10_000
    }


def test_larger_messages_take_turns_where_bounds_are_hard() -> None:
    """The first comes whatever its size; the next one with the next request, which is near."""
    states = board_of(TP, TP1, settings=CoreFetchSettings(max_bytes=8_192))
    for tp in (TP, TP1):
        states.states[tp].needed_bytes = 20_000
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {
        tp: partition_request.max_bytes for tp, partition_request in planned.wanted.items()
    } == {TP: 20_000}
    assert (planned.max_wait_ms, planned.rest_ms) == (0, 0)


def test_partitions_at_their_end_take_no_turn_of_a_larger_message() -> None:
    """They are in every request, in front of it; it would never come."""
    last = TopicPartition("t", 2)
    states = board_of(TP, TP1, last, settings=CoreFetchSettings(max_bytes=8_192))
    for tp in (TP1, last):
        states.states[tp].needed_bytes = 20_000
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {tp: request.max_bytes for tp, request in planned.wanted.items()} == {
        TP: 4_096,
        TP1: 20_000,
    }


def test_another_leader_is_asked_at_once() -> None:
    """What the old one has in flight counts no more: it may never answer."""
    states = board_of(TP)
    old = plan(states)
    states.see(view({TP: OTHER}))
    assert states.effects.wake >= {OTHER}
    assert plan(states, broker=OTHER).wanted
    response(states, old, {TP: part(TP, batch(0, 1))})
    assert not states.states[TP].waiting


def test_a_new_leader_is_asked_for_its_epochs_first() -> None:
    """As long as it is not proved, nothing is fetched; that takes an epoch that was read."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 1, epoch=4)})
    states.see(view({TP: OTHER}, epoch=5))
    assert not plan(states, broker=OTHER).wanted
    lookups = begin_lookups(states, 0)
    assert [epoch.topic_partition for epoch in lookups.epochs] == [TP]
    assert not begin_lookups(states, 0).all()


@pytest.mark.parametrize(("exact", "named"), [(True, 5), (False, -1)])
def test_an_epoch_that_brokers_may_not_have_heard_of_is_not_named(exact: bool, named: int) -> None:
    """Another one has the leader asked about its log all the same."""
    states = board_of(TP)
    fetched(states, {TP: batch(0, 3, epoch=4)})
    states.see(view({TP: OTHER}, epoch=5, has_exact_epochs=exact))
    (lookup,) = begin_lookups(states, 0).epochs
    assert lookup.leader_epoch == named
    states.on_epoch_end(lookup, EpochEnd(4, 3), 0)
    assert plan(states, broker=OTHER).wanted[TP].leader_epoch == named


def test_a_position_with_an_epoch_is_proved_before_it_is_used() -> None:
    """It may come from a commit of long ago."""
    states = board_of(TP)
    states.seek(TP, AtOffset(7, leader_epoch=3))
    assert not plan(states).wanted
    assert len(begin_lookups(states, 0).epochs) == 1


def test_questions_wait_for_a_leader_and_for_their_pause() -> None:
    """And are asked once."""
    states = board_of(TP)
    states.seek(TP, Reset(EARLIEST))
    states.see(view({}))
    assert not begin_lookups(states, 0).all()
    assert states.lacks_leaders()
    states.see(view({TP: BROKER}))
    lookups = begin_lookups(states, 0)
    ((lookup, policy),) = lookups.resets
    assert policy is EARLIEST
    states.on_error_code(lookup, ErrorCode.NOT_LEADER_FOR_PARTITION, 0)
    assert begin_lookups(states, 0).due_ms == 100
    assert begin_lookups(states, 100).resets


def test_an_answer_counts_as_a_whole_as_long_as_any_of_it_waits() -> None:
    """Once for all partitions of which it has records; what is unpacked elsewhere counts, too."""
    settings = CoreFetchSettings(max_bytes=900)
    for size_bytes, memory_bytes, may in ((899, 60, True), (901, 60, False), (500, 500, False)):
        states = board_of(TP, TP1, settings=settings)
        fetched(states, {TP: batch(0, 1), TP1: batch(0, 1)})
        for state in states.states.values():
            state.waiting[0].frame = ResponseFrame(1, size_bytes)
            state.waiting[0].memory_bytes = memory_bytes
        assert bool(plan(states).wanted) is may


def test_who_fills_its_request_is_asked_for_twice_as_much() -> None:
    """Up to the limit, and until it is no longer far behind."""
    settings = CoreFetchSettings(max_partition_bytes=1_000, grown_bytes=3_000)
    states = board_of(TP, settings=settings)
    sizes = []
    for at, size in enumerate((900, 1_800, 100, 100)):
        planned = plan(states)
        sizes.append(planned.wanted[TP].max_bytes)
        response(states, planned, {TP: part(TP, batch(at, 1, size=size))})
        collect(states, 1_000, 0, [TP])
    assert sizes == [1_000, 2_000, 3_000, 1_000]
