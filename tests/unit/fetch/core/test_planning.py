"""Planning the next fetch: which partitions, how many bytes, how long the broker may wait."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.polled import (
    BROKER,
    OTHER,
    TP,
    TP1,
    batch,
    fetched,
    part,
    plan,
    response,
    states_of,
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
from zkconsumer.fetch.core.starts import EARLIEST, PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.model import TopicPartition

SMALL = CoreFetchSettings(max_partition_bytes=100, max_bytes=10_000)


def test_a_partition_is_fetched_ahead_up_to_its_share() -> None:
    """It is fetched again once the caller has taken enough records."""
    states = states_of(TP, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    assert states.states[TP].unread_bytes > 100
    assert not plan(states).wanted
    states.take_effects()
    collect(states, 3, 0, None)
    assert states.take_effects().wake == {BROKER}
    assert plan(states).wanted[TP].start.offset == 4


def grown_to(states: PartitionStates, size: int, *partitions: TopicPartition) -> None:
    """Let these partitions have filled requests of half this size."""
    for tp in partitions:
        states.states[tp].grow(size, size)


def again(states: PartitionStates) -> FetchPlan:
    """Return the next plan, as if the requests in flight had not been sent."""
    for state in states.states.values():
        state.drop_requests()
    return plan(states)


def test_a_partition_that_is_far_behind_is_fetched_in_larger_parts() -> None:
    """Full responses enlarge its requests, up to the configured size."""
    states = states_of(TP, settings=replace(SMALL, grown_bytes=400))
    assert plan(states).wanted[TP].max_bytes == 100
    for size, wanted in ((200, 200), (800, 400)):
        states = states_of(TP, settings=replace(SMALL, grown_bytes=400))
        grown_to(states, size, TP)
        assert plan(states).wanted[TP].max_bytes == wanted


def test_partitions_that_are_far_behind_share_the_growth() -> None:
    """If responses may not grow, all share the size; none gets less than its usual part."""
    last = TopicPartition("t", 2)
    states = states_of(TP, TP1, settings=replace(SMALL, grown_bytes=400, shares_growth=True))
    grown_to(states, 400, TP)
    assert {tp: request.max_bytes for tp, request in plan(states).wanted.items()} == {
        TP: 400,
        TP1: 100,
    }
    grown_to(states, 400, TP, TP1)
    assert {request.max_bytes for request in again(states).wanted.values()} == {200}
    states = states_of(TP, TP1, last, settings=replace(SMALL, grown_bytes=200, shares_growth=True))
    grown_to(states, 200, TP, TP1, last)
    assert {request.max_bytes for request in plan(states).wanted.values()} == {100}
    states = states_of(TP, TP1, settings=replace(SMALL, grown_bytes=400))
    grown_to(states, 400, TP, TP1)
    assert {request.max_bytes for request in plan(states).wanted.values()} == {400}


def test_a_grown_partition_is_fetched_ahead_as_far_as_it_has_grown() -> None:
    """This holds while a set is unpacked, too; without growth 100 bytes would be enough."""
    for grown_bytes, is_ahead in ((0, False), (400, True)):
        states = states_of(TP, settings=replace(SMALL, grown_bytes=grown_bytes))
        grown_to(states, grown_bytes, TP)
        planned = plan(states)
        arrived = [Arriving(planned.wanted[TP], 400, HeaderSummary(7, 3, 0, 400))]
        assert bool(begin_fetch(states, BROKER, 0, arriving=arrived).wanted) is is_ahead


def test_without_capacity_nothing_grows() -> None:
    """A partition without buffered records is still fetched, in its usual size."""
    states = states_of(TP, TP1, settings=replace(SMALL, max_bytes=50, grown_bytes=400))
    fetched(states, {TP: batch(0, 1)})
    grown_to(states, 400, TP1)
    assert {tp: request.max_bytes for tp, request in plan(states).wanted.items()} == {TP1: 50}


def full_response(states: PartitionStates, *, now_ms: int = 0) -> int:
    """Fill the request of a partition and return the size of the next one."""
    requested = begin_fetch(states, BROKER, 0)
    response(states, requested, {TP: part(TP, batch(0, 4))}, now_ms)
    collect(states, 100, now_ms, None)
    return begin_fetch(states, BROKER, now_ms).wanted[TP].max_bytes


def test_a_filled_request_doubles_the_next_one() -> None:
    """Not over a slow link, where a larger response would not arrive in time."""
    settings = replace(SMALL, grown_bytes=400, request_timeout_ms=1_000)
    for took_ms, size in ((0, 200), (250, 200), (251, 100)):
        assert full_response(states_of(TP, settings=settings), now_ms=took_ms) == size


def test_growth_is_limited_by_the_decompressed_size() -> None:
    """Two unpacked responses have to fit into the buffers."""
    states = states_of(TP, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    (chunk,) = states.states[TP].waiting
    times = chunk.memory_bytes / len(batch(0, 4))
    for fit_bytes, size in ((1_000, 200), (150, 150), (90, 100)):
        settings = replace(SMALL, max_bytes=2 * round(fit_bytes * times), grown_bytes=400)
        assert full_response(states_of(TP, settings=settings)) == pytest.approx(size, abs=1)


def test_a_large_entry_does_not_raise_the_fetch_ahead() -> None:
    """Growth limits how much is fetched ahead, however much one entry needed."""
    states = states_of(TP, settings=replace(SMALL, grown_bytes=400))
    state = states.states[TP]
    data = batch(0, 60, size=60)
    state.needed_bytes = len(data)
    fetched(states, {TP: data})
    assert state.unread_bytes > 400
    assert 0 < state.filled_bytes <= 400
    assert not plan(states).wanted


def test_a_request_without_a_response_is_repeated_in_its_usual_size() -> None:
    """It may have been too large for the link; a session omits partitions without news."""
    states = states_of(TP, settings=replace(SMALL, grown_bytes=400))
    grown_to(states, 400, TP)
    planned = plan(states)
    assert planned.wanted[TP].max_bytes == 400
    states.unanswered(planned.wanted.values())
    assert plan(states).wanted[TP].max_bytes == 100


def test_planning_does_not_change_the_state() -> None:
    """Plans are values: planning again gives the same until the requests are sent."""
    states = states_of(TP, TP1)
    states.seek(TP1, EARLIEST)
    state, other = states.states[TP], states.states[TP1]
    before = replace(state), replace(other)
    for _ in range(2):
        (planned,) = plan_fetch(states, BROKER, 0).wanted.values()
        ((lookup, policy),) = plan_lookups(states, 0).resets
        assert (planned.topic_partition, planned.start.offset) == (TP, 0)
        assert (lookup.topic_partition, policy) == (TP1, EARLIEST)
    assert [either.requested or either.early or either.lookup for either in (state, other)] == [
        None,
        None,
    ]
    for either, former in zip((state, other), before, strict=True):
        assert all(
            getattr(either, name) == getattr(former, name) for name in PartitionState.__slots__
        )


def arriving(
    states: PartitionStates, planned: FetchPlan, arrived: dict[TopicPartition, HeaderSummary | None]
) -> Any:
    """Return the plan while these sets of 60 bytes each are being unpacked."""
    sets = [Arriving(planned.wanted[tp], 60, ahead) for tp, ahead in arrived.items()]
    others = [
        partition_request for tp, partition_request in planned.wanted.items() if tp not in arrived
    ]
    states.unanswered(others)
    return begin_fetch(states, BROKER, 0, arriving=sets)


def test_the_next_set_is_requested_while_one_is_unpacked() -> None:
    """It comes after the other partitions, with a size that fits the truncated entry."""
    states = states_of(TP, TP1)
    planned = plan(states)
    early = arriving(states, planned, {TP: HeaderSummary(7, 3, 2 << 20, 60)})
    assert list(early.wanted) == [TP1, TP]
    requested = early.wanted[TP]
    assert (requested.start, requested.max_bytes) == (PositionView(7, 3), 2 << 20)
    assert states.states[TP].requested is planned.wanted[TP]
    assert states.states[TP].early is requested
    assert states.states[TP1].requested is early.wanted[TP1]
    assert early.max_wait_ms == 500


def test_an_early_request_of_a_stream_does_not_wait_for_data() -> None:
    """What is still packed may wait for capacity; and its epochs are not tracked."""
    settings = CoreFetchSettings(unpacked_bytes=0, epochs=False, max_bytes=60)
    states = states_of(TP, TP1, settings=settings)
    planned = plan(states)
    early = arriving(states, planned, {TP: HeaderSummary(7, 3, 0, 60)})
    assert early.wanted[TP].start == PositionView(7)
    assert (early.max_wait_ms, early.rest_ms) == (0, 0)


def test_without_an_early_request_no_other_partition_is_requested() -> None:
    """For example, with unsupported headers, without capacity, or after a seek."""
    unsupported, sound = None, HeaderSummary(7, 3, 0, 60)
    for ahead, settings, seeks in (
        (unsupported, CoreFetchSettings(), False),
        (sound, CoreFetchSettings(max_partition_bytes=59), False),
        (sound, CoreFetchSettings(max_bytes=60), False),
        (sound, CoreFetchSettings(), True),
    ):
        states = states_of(TP, TP1, settings=settings)
        planned = plan(states)
        if seeks:
            states.seek(TP, PositionView(3))
        assert not arriving(states, planned, {TP: ahead}).wanted
        assert states.states[TP1].requested is None


def test_an_early_request_does_not_wait_at_the_broker_for_one_left_out() -> None:
    """The response comes at once, so that the remaining partition can be requested next."""
    states = states_of(TP, TP1)
    early = arriving(states, plan(states), {TP: HeaderSummary(7, 3, 0, 60), TP1: None})
    assert list(early.wanted) == [TP]
    assert early.max_wait_ms == 0


def test_with_full_buffers_only_partitions_without_records_are_fetched() -> None:
    """Records of paused partitions must not block the others."""
    states = states_of(TP, TP1, settings=CoreFetchSettings(max_bytes=50))
    fetched(states, {TP: batch(0, 1)})
    states.pause([TP])
    assert list(plan(states).wanted) == [TP1]


def test_paused_partitions_and_those_without_a_position_are_not_fetched() -> None:
    """Nor are those that were removed."""
    states = states_of(TP, TP1)
    states.pause([TP])
    states.remove([TP1])
    states.add([TP1])
    assert not plan(states).wanted


def test_a_partition_has_one_request_in_flight() -> None:
    """It is not requested again before its response."""
    states = states_of(TP)
    assert plan(states).wanted
    assert not plan(states).wanted


def test_a_broker_does_not_wait_while_a_partition_is_held_back() -> None:
    """Otherwise the response for an idle partition would delay the busy one; the client waits."""
    states = states_of(TP, TP1, settings=SMALL)
    fetched(states, {TP: batch(0, 4)})
    planned = plan(states)
    assert list(planned.wanted) == [TP1]
    assert (planned.max_wait_ms, planned.rest_ms) == (0, 500)


def test_a_broker_waits_briefly_while_a_position_is_looked_up() -> None:
    """That partition is about to be fetched as well."""
    states = states_of(TP, TP1)
    states.seek(TP1, EARLIEST)
    assert 0 < plan(states).max_wait_ms < 500


def test_a_failed_partition_pauses() -> None:
    """The request for the others returns when its pause is over."""
    states = states_of(TP, TP1)
    refused = part(TP, error_code=ErrorCode.NOT_LEADER_FOR_PARTITION)
    response(states, plan(states), {TP: refused})
    assert states.effects.refresh_metadata
    planned = plan(states)
    assert list(planned.wanted) == [TP1]
    assert planned.max_wait_ms == 100
    states.unanswered(planned.wanted.values())
    assert list(plan(states, 100).wanted) == [TP, TP1]


def test_a_partition_that_returned_records_is_requested_last() -> None:
    """A limited response thus reaches all partitions in turn."""
    states = states_of(TP, TP1)
    fetched(states, {TP: batch(0, 1)})
    assert list(plan(states).wanted) == [TP1, TP]


def test_requests_to_old_brokers_sum_up_to_the_limit() -> None:
    """Before version 3 a request has no limit for the whole response."""
    partitions = [TopicPartition("t", number) for number in range(10)]
    states = states_of(*partitions, settings=CoreFetchSettings(max_bytes=100_000))
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {partition_request.max_bytes for partition_request in planned.wanted.values()} == {
        10_000
    }


def test_larger_messages_take_turns_with_hard_limits() -> None:
    """The first one is requested whatever its size, the next one right after it."""
    states = states_of(TP, TP1, settings=CoreFetchSettings(max_bytes=8_192))
    for tp in (TP, TP1):
        states.states[tp].needed_bytes = 20_000
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {
        tp: partition_request.max_bytes for tp, partition_request in planned.wanted.items()
    } == {TP: 20_000}
    assert (planned.max_wait_ms, planned.rest_ms) == (0, 0)


def test_partitions_at_their_end_do_not_displace_a_larger_message() -> None:
    """They are in every request, before the large message, which would otherwise never come."""
    last = TopicPartition("t", 2)
    states = states_of(TP, TP1, last, settings=CoreFetchSettings(max_bytes=8_192))
    for tp in (TP1, last):
        states.states[tp].needed_bytes = 20_000
    planned = begin_fetch(states, BROKER, 0, has_hard_bounds=True)
    assert {tp: request.max_bytes for tp, request in planned.wanted.items()} == {
        TP: 4_096,
        TP1: 20_000,
    }


def test_a_new_leader_is_fetched_from_at_once() -> None:
    """Requests in flight to the old one are ignored, since it may never respond."""
    states = states_of(TP)
    old = plan(states)
    states.see(view({TP: OTHER}))
    assert states.effects.wake >= {OTHER}
    assert plan(states, broker=OTHER).wanted
    response(states, old, {TP: part(TP, batch(0, 1))})
    assert not states.states[TP].waiting


def test_a_new_leader_is_asked_for_its_epoch_end_first() -> None:
    """Nothing is fetched until its log is checked against the last epoch that was read."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 1, epoch=4)})
    states.see(view({TP: OTHER}, epoch=5))
    assert not plan(states, broker=OTHER).wanted
    lookups = begin_lookups(states, 0)
    assert [epoch.topic_partition for epoch in lookups.epochs] == [TP]
    assert not begin_lookups(states, 0).all()


@pytest.mark.parametrize(("exact", "named"), [(True, 5), (False, -1)])
def test_an_inexact_leader_epoch_is_not_sent(exact: bool, named: int) -> None:
    """A change of it still triggers the check of the leader's log."""
    states = states_of(TP)
    fetched(states, {TP: batch(0, 3, epoch=4)})
    states.see(view({TP: OTHER}, epoch=5, has_exact_epochs=exact))
    (lookup,) = begin_lookups(states, 0).epochs
    assert lookup.leader_epoch == named
    states.on_epoch_end(lookup, EpochEnd(4, 3), 0)
    assert plan(states, broker=OTHER).wanted[TP].leader_epoch == named


def test_a_position_with_an_epoch_is_checked_first() -> None:
    """It may come from a very old commit."""
    states = states_of(TP)
    states.seek(TP, PositionView(7, leader_epoch=3))
    assert not plan(states).wanted
    assert len(begin_lookups(states, 0).epochs) == 1


def test_lookups_wait_for_a_leader_and_for_their_pause() -> None:
    """Each lookup is sent once."""
    states = states_of(TP)
    states.seek(TP, EARLIEST)
    states.see(view({}))
    assert not begin_lookups(states, 0).all()
    assert states.has_leaderless_partitions()
    states.see(view({TP: BROKER}))
    lookups = begin_lookups(states, 0)
    ((lookup, policy),) = lookups.resets
    assert policy is EARLIEST
    states.on_error_code(lookup, ErrorCode.NOT_LEADER_FOR_PARTITION, 0)
    assert begin_lookups(states, 0).due_ms == 100
    assert begin_lookups(states, 100).resets


def test_a_response_counts_in_full_while_any_of_it_is_buffered() -> None:
    """It counts once for all its partitions; memory of unpacked records counts as well."""
    settings = CoreFetchSettings(max_bytes=900)
    for size_bytes, memory_bytes, has_capacity in (
        (899, 60, True),
        (901, 60, False),
        (500, 500, False),
    ):
        states = states_of(TP, TP1, settings=settings)
        fetched(states, {TP: batch(0, 1), TP1: batch(0, 1)})
        for state in states.states.values():
            state.waiting[0].frame = ResponseFrame(1, size_bytes)
            state.waiting[0].memory_bytes = memory_bytes
        assert bool(plan(states).wanted) is has_capacity


def test_requests_double_while_they_are_filled() -> None:
    """They grow up to the limit, and shrink when the partition is no longer far behind."""
    settings = CoreFetchSettings(max_partition_bytes=1_000, grown_bytes=3_000)
    states = states_of(TP, settings=settings)
    sizes = []
    for at, size in enumerate((900, 1_800, 100, 100)):
        planned = plan(states)
        sizes.append(planned.wanted[TP].max_bytes)
        response(states, planned, {TP: part(TP, batch(at, 1, size=size))})
        collect(states, 1_000, 0, [TP])
    assert sizes == [1_000, 2_000, 3_000, 1_000]
