"""Which partitions of a broker are delegated to a native loop, and how they are taken back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.support.altered_messages import altered
from tests.support.delegated import (
    SETTINGS,
    back_at,
    delegated,
    far_behind,
    make_fetch,
    put,
    queue_of,
)
from tests.support.polled import BROKER, OTHER, TP, TP1, batch, fetched, offsets, plan, view
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.broker_delegation import (
    BrokerDelegation,
    delegate,
    may_delegate,
    requests_of,
    take_back,
)
from zkconsumer.fetch.core.completed import unpack
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.requests import entries_of, fetch_request
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import FetchRequest

UP = TopicPartition("u", 0)
ID = b"i" * 16


def partitions_of(states: PartitionStates) -> list[TopicPartition]:
    """Delegate what can be, if anything; return it."""
    made = delegate(states, BROKER, make_fetch, version=11)
    return [] if made is None else [fetch.topic_partition for fetch in made.fetches]


def is_due(states: PartitionStates) -> bool:
    """Whether the partitions of broker 1 are to be delegated after its next response."""
    return may_delegate(states, BROKER, version=11, arriving_bytes=0)


def test_all_partitions_of_a_broker_are_delegated_while_one_is_far_behind() -> None:
    """Each holds the request of its fetch, which begins after the last fetched record."""
    states = far_behind(TP, TP1)
    states.states[TP1].shrink()
    assert is_due(states)
    made = delegated(states)
    for state, fetch in zip(made.states, made.fetches, strict=True):
        assert state.delegated is fetch
        assert state.requested is fetch.requested
        assert fetch.requested.start == state.fetched == PositionView(10, 0)
        assert (fetch.requested.broker, fetch.claim.high_watermark) == (BROKER, 100)
        assert state.is_pumped
    assert states.delegated == states.states
    assert not plan(states).wanted


def test_nothing_is_delegated_at_the_ends_of_logs() -> None:
    """There sessions and the broker's waits are better."""
    states = far_behind(TP, TP1)
    for state in states.states.values():
        state.shrink()
    assert not is_due(states)
    assert partitions_of(states) == []


@pytest.mark.parametrize(
    "settings",
    [
        replace(SETTINGS, isolation=IsolationLevel.READ_COMMITTED),
        replace(SETTINGS, kept_codec=Codec.GZIP),
        replace(SETTINGS, client_rack="here"),
    ],
    ids=["committed", "kept codec", "rack"],
)
def test_some_settings_need_python(settings: CoreFetchSettings) -> None:
    """The loop knows neither aborted transactions, nor received batches, nor replicas."""
    states = far_behind(TP, settings=settings)
    assert not is_due(states)
    assert partitions_of(states) == []


def _is_at_a_replica(states: PartitionStates) -> None:
    states.states[TP1].leader = OTHER


def _is_new(states: PartitionStates) -> None:
    states.fresh[TP1] = states.states[TP1]


def _is_bounded(states: PartitionStates) -> None:
    states.states[TP1].bounds = cast("Any", object())


def _has_failed(states: PartitionStates) -> None:
    states.states[TP1].fail(0, 1)


def _is_doubted(states: PartitionStates) -> None:
    states.states[TP1].doubts = 1


def _is_suspect(states: PartitionStates) -> None:
    states.states[TP1].suspect_offset = 10


def _has_a_large_entry(states: PartitionStates) -> None:
    states.states[TP1].needed_bytes = 1_001


@pytest.mark.parametrize(
    "trouble",
    [
        _is_at_a_replica,
        _is_new,
        _is_bounded,
        _has_failed,
        _is_doubted,
        _is_suspect,
        _has_a_large_entry,
    ],
)
def test_a_partition_that_needs_python_keeps_all_of_its_broker(
    trouble: Callable[[PartitionStates], None],
) -> None:
    """It must not wait until another one has caught up."""
    states = far_behind(TP, TP1)
    trouble(states)
    assert not is_due(states)
    assert partitions_of(states) == []


def test_a_request_in_flight_delays_the_delegation() -> None:
    """It is due already, so that no early request follows."""
    states = far_behind(TP, TP1)
    states.begin(plan(states).wanted.values())
    assert is_due(states)
    assert partitions_of(states) == []


def _pause(states: PartitionStates) -> None:
    states.pause([TP1])


def _validate(states: PartitionStates) -> None:
    states.states[TP1].await_validation()


def _reset(states: PartitionStates) -> None:
    states.seek(TP1, EARLIEST)


@pytest.mark.parametrize("change", [_pause, _validate, _reset])
def test_partitions_that_can_not_be_fetched_are_left_out(
    change: Callable[[PartitionStates], None],
) -> None:
    """They keep no other partition from being delegated, and are not behind."""
    states = far_behind(TP, TP1)
    change(states)
    assert partitions_of(states) == [TP]
    states = far_behind(TP, TP1)
    states.states[TP].shrink()
    change(states)
    assert partitions_of(states) == []


def test_partitions_of_other_brokers_have_no_part_in_it() -> None:
    """Each broker has a loop of its own."""
    states = far_behind(TP, TP1)
    states.lead(TP1, OTHER)
    states.states[TP1].fail(0, 1)
    assert partitions_of(states) == [TP]
    assert delegate(states, OTHER, make_fetch, version=11) is None


def test_partitions_of_a_topic_are_together() -> None:
    """Topics come by their first turns, and partitions of one in theirs."""
    states = far_behind(TP, UP, TP1)
    states.end_turn(states.states[TP])
    assert partitions_of(states) == [UP, TP1, TP]


def test_queues_share_what_waiting_records_leave() -> None:
    """Both together fit into ``max_bytes``, and requests into the queues."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    assert made.part_bytes == SETTINGS.max_partition_bytes
    assert [queue_of(states, tp).share_bytes for tp in (TP, TP1)] == [50_000, 50_000]
    take_back(states, made, made.untouched())
    fetched(states, {TP: batch(10, 10, size=100)})
    (chunk,) = states.states[TP].waiting
    delegated(states)
    assert queue_of(states, TP1).share_bytes == (100_000 - chunk.memory_bytes) // 2


def test_queues_are_bounded() -> None:
    """More memory than this gains nothing."""
    large = replace(SETTINGS, max_bytes=1 << 30, grown_bytes=1 << 20, shares_growth=True)
    states = far_behind(TP, settings=large)
    made = delegated(states)
    assert queue_of(states, TP).share_bytes == large.queued_bytes == 16 << 20
    assert made.grown_bytes == 1 << 20


def test_parts_are_smaller_in_small_queues() -> None:
    """A queue holds several; if that makes them too small, Python fetches."""
    settings = replace(SETTINGS, max_bytes=8 << 20, max_partition_bytes=4 << 20)
    made = delegated(far_behind_in(settings, 1))
    assert made.part_bytes == 2 << 20
    assert delegated(far_behind_in(settings, 4)).part_bytes == 512 << 10
    assert partitions_of(far_behind_in(settings, 5)) == []
    tight = replace(SETTINGS, max_bytes=4_000)
    assert partitions_of(far_behind_in(tight, 1)) == [TP]
    assert partitions_of(far_behind_in(tight, 2)) == []


def far_behind_in(settings: CoreFetchSettings, count: int) -> PartitionStates:
    """Return partitions of topic t that are far behind."""
    states = far_behind(*(TopicPartition("t", number) for number in range(count)))
    states.settings = settings
    return states


# --- Ranges --------------------------------------------------------------------------------------


class SizedBounds:
    """The bounds of a range whose entries all have 100 bytes."""

    is_held = False

    def __init__(self, until_offset: int) -> None:
        self._until_offset = until_offset

    def size_at(self, offset: int) -> int:
        """See ``FetchBounds``."""
        return 100 * max(0, self._until_offset - offset)


def range_until(
    until_offset: int | None, settings: CoreFetchSettings = SETTINGS
) -> PartitionStates:
    """Return a partition that is far behind at offset 10, and is fetched to an end."""
    states = far_behind(TP, settings=settings)
    state = states.states[TP]
    state.until_offset = until_offset
    state.bounds = cast("Any", SizedBounds(until_offset or 1_000))
    return states


@pytest.mark.parametrize(
    ("until_offset", "is_delegated"), [(10, False), (19, False), (20, True), (500, True)]
)
def test_a_range_is_delegated_while_a_largest_request_does_not_reach_its_end(
    until_offset: int, *, is_delegated: bool
) -> None:
    """Its last requests are smaller, so that they do not fetch all that follows it."""
    states = range_until(until_offset)
    assert is_due(states) is is_delegated
    assert partitions_of(states) == [TP] * is_delegated


def test_a_bounded_partition_without_an_end_is_not_delegated() -> None:
    """It is fetched as its reader has capacity, such as a stream's."""
    assert partitions_of(range_until(None)) == []


@pytest.mark.parametrize("version", [11, 12, 13])
def test_a_range_needs_no_comparison_of_epochs(version: int) -> None:
    """That its log went back does not end it; of a poll, Python has to name its last epoch."""
    for states, is_delegated in ((range_until(500), True), (far_behind(TP), version < 12)):
        states.states[TP].named_epoch = -1
        made = delegate(states, BROKER, make_fetch, version=version)
        assert (made is not None) is is_delegated


def test_the_queue_of_a_range_is_limited_by_its_reader() -> None:
    """Requests fit into it several times; with too little Python fetches."""
    limit = replace(SETTINGS, max_bytes=(1 << 31) - 1, max_partition_bytes=1 << 20)
    for queued_bytes, part_bytes in ((4 << 20, 1 << 20), (2 << 20, 512 << 10), (1 << 30, 1 << 20)):
        states = range_until(1 << 20)
        states.settings = replace(limit, queued_bytes=queued_bytes)
        made = delegated(states)
        assert queue_of(states, TP).share_bytes == queued_bytes
        assert made.part_bytes == part_bytes
    for queued_bytes in (0, (2 << 20) - 4):
        states = range_until(1 << 20)
        states.settings = replace(limit, queued_bytes=queued_bytes)
        assert partitions_of(states) == []


# --- Taking chunks -------------------------------------------------------------------------------


def queued(*counts: int) -> tuple[PartitionStates, BrokerDelegation]:
    """Return a delegation with chunks of so many records, of 100 bytes and more each."""
    states = far_behind(TP)
    made, offset = delegated(states), 10
    for count in counts:
        offset = put(made.fetches[0], batch(offset, count, size=100), offset)
    return states, made


@pytest.mark.parametrize(
    ("enough_bytes", "ends"), [(1, [15, 20, 25]), (700, [20, 25]), (1 << 20, [25])]
)
def test_following_chunks_are_joined_up_to_a_size(enough_bytes: int, ends: list[int]) -> None:
    """Until they have at least that; each result ends where its last chunk does."""
    _, made = queued(5, 5, 5)
    fetch, found, at = made.fetches[0], [], 10
    while (chunk := fetch.take(has_epochs=True, enough_bytes=enough_bytes)) is not None:
        assert list(offsets(chunk.records.take(100))) == list(range(at, chunk.end.offset))
        at = chunk.end.offset
        found.append(chunk.end)
    assert found == [PositionView(end, 0) for end in ends]


def test_joined_chunks_have_the_size_and_the_epoch_of_all() -> None:
    """The size of them all, and the epoch after the last one; without epochs, none."""
    _, made = queued(5)
    fetch = made.fetches[0]
    put(fetch, batch(15, 5, epoch=3), 15)
    joined = fetch.take(has_epochs=True, enough_bytes=1 << 20)
    assert joined is not None
    assert joined.end == PositionView(20, 3)
    assert joined.wire_bytes == len(batch(10, 5, size=100)) + len(batch(15, 5, epoch=3))
    assert len(joined.records) == 10
    put(fetch, batch(20, 5, epoch=3), 20)
    bare = fetch.take(has_epochs=False)
    assert bare is not None
    assert bare.end == PositionView(25)


def test_only_what_was_taken_last_is_charged_to_the_queue() -> None:
    """The others are the reader's: its capacity is free for what follows."""
    states, made = queued(5, 5)
    queue = queue_of(states, TP)
    size = len(batch(10, 5, size=100))
    assert queue.used_bytes == 2 * size
    assert made.fetches[0].take(has_epochs=True, enough_bytes=size + 1) is not None
    assert queue.used_bytes == size
    assert made.fetches[0].take(has_epochs=True) is None
    assert queue.used_bytes == 0


def test_growth_is_shared_by_those_that_are_behind() -> None:
    """As in the requests of Python."""
    settings = replace(SETTINGS, grown_bytes=8_000, shares_growth=True)
    states = far_behind(TP, TP1, settings=settings)
    assert delegated(states).grown_bytes == 4_000
    states = far_behind(TP, TP1, settings=settings)
    states.states[TP1].shrink()
    assert delegated(states).grown_bytes == 8_000


def test_topics_are_named_by_id_if_all_have_one() -> None:
    """Older versions name them by name."""
    states = far_behind(TP, UP)
    assert not delegated(states).by_id
    states = far_behind(TP, UP)
    states.states[TP].is_of(ID)
    assert not delegated(states).by_id
    states = far_behind(TP, UP)
    for state in states.states.values():
        state.is_of(ID)
    assert delegated(states).by_id


# --- Taking back ---------------------------------------------------------------------------------


def taken(states: PartitionStates) -> dict[TopicPartition, list[int]]:
    """Collect everything that waits; return the offsets."""
    return {tp: list(offsets(piece)) for tp, piece in collect(states, 1_000, 0, None).items()}


def test_queued_chunks_wait_for_the_caller() -> None:
    """The partition continues after them, and tells the caller."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    put(made.fetches[0], batch(10, 5), 10)
    put(made.fetches[0], batch(15, 5, epoch=2), 15, high_watermark=200)
    made.fetches[0].claim.log_start = 3
    handed = take_back(states, made, [back_at(20, is_behind=True), back_at(10)])
    assert handed == ([], [], [])
    state = states.states[TP]
    assert (state.fetched, state.high_watermark, state.log_start) == (PositionView(20, 2), 200, 3)
    assert (state.delegated, state.requested, states.delegated) == (None, None, {})
    assert states.take_effects().notify_caller
    assert taken(states) == {TP: list(range(10, 20))}
    assert state.position == PositionView(20, 2)


def test_the_state_of_requests_is_taken_over() -> None:
    """Sizes, the distance from the end of the log, and where it starts."""
    states = far_behind(TP)
    state = states.states[TP]
    state.log_start = 7
    made = delegated(states)
    take_back(states, made, [back_at(10, needed_bytes=900, grown_bytes=4_000)])
    assert (state.needed_bytes, state.grown_bytes, state.filled_bytes) == (900, 4_000, 4_000)
    assert (state.is_behind, state.log_start) == (False, 7)
    assert is_due(states) is False


def test_without_epochs_positions_have_none() -> None:
    """As those of Python's own responses."""
    states = far_behind(TP, settings=replace(SETTINGS, epochs=False))
    made = delegated(states)
    put(made.fetches[0], batch(10, 5, epoch=2), 10)
    take_back(states, made, [back_at(15)])
    assert states.states[TP].fetched == PositionView(15)


def test_untouched_partitions_stay_as_they_were() -> None:
    """The connection was closed before the first request."""
    states = far_behind(TP, TP1)
    states.states[TP1].shrink()
    before = [
        (state.fetched, state.needed_bytes, state.grown_bytes, state.is_behind, state.log_start)
        for state in states.states.values()
    ]
    made = delegated(states)
    assert take_back(states, made, made.untouched()) == ([], [], [])
    assert before == [
        (state.fetched, state.needed_bytes, state.grown_bytes, state.is_behind, state.log_start)
        for state in states.states.values()
    ]


def test_the_rest_of_a_set_is_unpacked_as_the_response_to_a_request() -> None:
    """It begins after the last queued entry; the request starts at the last queued record."""
    states = far_behind(TP)
    made = delegated(states)
    first, rest = batch(10, 5), batch(15, 5)
    put(made.fetches[0], first, 10)
    packed = memoryview(first + rest), 10, 900, len(first), 0, True
    ((requested, part),) = take_back(states, made, [back_at(15, packed=packed)]).sets
    assert bytes(part.records) == rest
    assert (requested.start, requested.max_bytes) == (PositionView(15, 0), 900)
    assert part.high_watermark == 100
    assert states.counts(requested)


@pytest.mark.parametrize("next_offset", [15, 20])
def test_entries_that_are_queued_are_not_unpacked_again(next_offset: int) -> None:
    """Even if the loop was still at a byte before them; a gap after them is no damage."""
    states = far_behind(TP)
    made = delegated(states)
    first, rest = batch(10, 5), batch(next_offset, 5)
    put(made.fetches[0], first, 10)
    packed = memoryview(first + rest), 10, 900, 0, 0, True
    ((requested, part),) = take_back(states, made, [back_at(15, packed=packed)]).sets
    assert bytes(part.records) == rest
    unpacked = unpack(requested, part, SETTINGS, 1 << 20)
    assert (unpacked.count, unpacked.corrupt) == (5, None)


def test_a_set_that_is_queued_completely_is_not_handed_back() -> None:
    """The loop was stopped before it dropped the set."""
    states = far_behind(TP)
    made = delegated(states)
    put(made.fetches[0], batch(10, 5), 10)
    packed = memoryview(batch(10, 5)), 10, 900, 0, 0, True
    assert take_back(states, made, [back_at(15, packed=packed)]) == ([], [], [])
    assert not states.states[TP].requested


def test_of_a_set_of_which_nothing_is_queued_python_gets_everything() -> None:
    """It judges entries that lie below the offset, or claim to."""
    states = far_behind(TP)
    made = delegated(states)
    data = batch(5, 5) + batch(10, 5)
    packed = memoryview(data), 10, 900, 0, 0, True
    ((_, part),) = take_back(states, made, [back_at(10, packed=packed)]).sets
    assert bytes(part.records) == data


def test_an_error_and_an_omission_are_those_of_requests() -> None:
    """Both count as responses at the offset that was reached."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    code = int(ErrorCode.NOT_LEADER_FOR_PARTITION)
    handed = take_back(states, made, [back_at(10, error_code=code), back_at(10, is_left_out=True)])
    ((failed, part),), (absent,) = handed.errors, handed.absent
    assert (part.error_code, failed.start) == (code, PositionView(10, 0))
    assert absent.topic_partition == TP1
    assert states.counts(failed)
    assert states.counts(absent)
    assert handed.sets == []


def test_of_a_paused_partition_what_arrived_is_kept() -> None:
    """An error is not: it may be over when the partition is resumed."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    states.pause([TP, TP1])
    assert BROKER in states.take_effects().wake
    put(made.fetches[0], batch(10, 5), 10)
    packed = memoryview(batch(15, 5)), 15, 900, 0, 0, True
    handed = take_back(states, made, [back_at(15, packed=packed), back_at(10, error_code=6)])
    assert [request.topic_partition for request, _ in handed.sets] == [TP]
    assert handed.errors == []
    assert not states.states[TP1].requested
    assert taken(states) == {}
    states.resume([TP])
    assert taken(states) == {TP: list(range(10, 15))}


def _seek(states: PartitionStates) -> None:
    states.seek(TP, PositionView(3))


def _remove(states: PartitionStates) -> None:
    states.remove([TP])


def _remove_and_add(states: PartitionStates) -> None:
    states.remove([TP])
    states.add([TP])


def _elect(states: PartitionStates) -> None:
    states.see(view({TP: OTHER, TP1: BROKER}, 1))


def _elect_again(states: PartitionStates) -> None:
    states.see(view({TP: BROKER, TP1: BROKER}, 1))


def _recreate(states: PartitionStates) -> None:
    states.states[TP].is_of(ID)
    states.see(view({TP: BROKER, TP1: BROKER}, topic_id=b"j" * 16))


_CHANGES = [_seek, _remove, _remove_and_add, _elect, _elect_again, _recreate]


@pytest.mark.parametrize("change", _CHANGES)
def test_of_a_partition_that_was_given_up_nothing_is_taken(
    change: Callable[[PartitionStates], None],
) -> None:
    """Its claim is inactive, its fetcher is woken, and whatever it returns is ignored."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    put(made.fetches[0], batch(10, 5), 10)
    change(states)
    assert not made.fetches[0].claim.active
    assert BROKER in states.take_effects().wake
    state = states.states.get(TP)
    stands = None if state is None else state.fetched
    packed = memoryview(batch(15, 5)), 15, 900, 0, 0, True
    assert not take_back(states, made, [back_at(15, packed=packed), back_at(10)]).sets
    assert states.delegated == {}
    assert taken(states) == {}
    assert state is None or state.fetched == stands


def test_a_partition_that_another_loop_fetches_by_now_stays_with_that() -> None:
    """It moved while the first loop still ran."""
    states = far_behind(TP)
    first = delegated(states)
    states.lead(TP, OTHER)
    states.states[TP].is_behind = True
    second = delegate(states, OTHER, make_fetch, version=11)
    assert second is not None
    put(first.fetches[0], batch(10, 5), 10)
    take_back(states, first, [back_at(15)])
    assert states.delegated == {TP: states.states[TP]}
    assert states.states[TP].delegated is second.fetches[0]


def test_partitions_that_were_served_go_to_the_end_in_order() -> None:
    """As if each had been unpacked in Python."""
    states = far_behind(TP, UP, TP1)
    made = delegated(states)
    by_partition = {TP: back_at(10, turn=9), TP1: back_at(10, turn=4), UP: back_at(10)}
    take_back(states, made, [by_partition[fetch.topic_partition] for fetch in made.fetches])
    assert [*states.of(BROKER)] == [UP, TP1, TP]


# --- The second response -------------------------------------------------------------------------


def request_in(made: BrokerDelegation, *, by_id: bool = False) -> FetchRequest:
    """Return the request that the loop sends first."""
    wanted = {fetch.topic_partition: fetch.requested for fetch in made.fetches}
    request = fetch_request(SETTINGS, entries_of(without_session(wanted, {})), max_wait_ms=0)
    if by_id:
        named = tuple(altered(topic, topic="", topic_id=ID) for topic in request.topics)
        request = altered(request, topics=named)
    return request


@pytest.mark.parametrize("by_id", [False, True])
def test_a_request_that_the_loop_sent_is_answered_as_python_s(*, by_id: bool) -> None:
    """Its partitions are requested again, at the offsets where they are."""
    states = far_behind(TP, TP1)
    for state in states.states.values():
        state.is_of(ID)
    made = delegated(states)
    take_back(states, made, made.untouched())
    found = requests_of(states, made, request_in(made, by_id=by_id))
    assert found.keys() == {TP, TP1}
    for tp, requested in found.items():
        assert states.counts(requested)
        assert states.states[tp].is_at(requested)
        assert requested.max_bytes == 1_000


def test_a_partition_that_went_on_ignores_the_second_response() -> None:
    """Of those handed back the first response counts; others are at another offset."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    put(made.fetches[0], batch(10, 5), 10)
    packed = memoryview(batch(10, 5)), 10, 900, 0, 0, True
    handed = take_back(states, made, [back_at(15), back_at(10, packed=packed)])
    assert requests_of(states, made, request_in(made)) == {}
    assert states.counts(handed.sets[0][0])


@pytest.mark.parametrize("change", _CHANGES)
def test_a_partition_that_was_given_up_ignores_the_second_response(
    change: Callable[[PartitionStates], None],
) -> None:
    """Even at the requested offset: by now another leader, or another topic, may have it."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    request = request_in(made)
    change(states)
    take_back(states, made, made.untouched())
    state = states.states.get(TP)
    if change is _recreate:
        states.seek(TP, PositionView(10, 0))
    if state is not None and change is not _seek:
        state.fetched = PositionView(10, 0)
        state.awaits_validation = False
    assert requests_of(states, made, request).keys() <= {TP1}


def test_a_paused_partition_ignores_the_second_response() -> None:
    """It is fetched once it is resumed."""
    states = far_behind(TP, TP1)
    made = delegated(states)
    states.pause([TP])
    take_back(states, made, made.untouched())
    assert requests_of(states, made, request_in(made)).keys() == {TP1}


def test_a_partition_continues_as_it_was_told_until_something_changes() -> None:
    """Then its fetcher is woken, even if the partition is not given up."""
    states = far_behind(TP, TP1)
    delegated(states)
    states.resume([TP])
    assert states.take_effects().wake == set()
    states.see(view({TP: BROKER, TP1: BROKER}, topic_id=ID))
    assert states.take_effects().wake == {BROKER}
    assert not states.states[TP].is_pumped
    assert states.states[TP].delegated is not None
