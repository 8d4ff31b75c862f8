"""What responses do to a partition's state: positions, errors, replicas, truncation."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.polled import (
    BROKER,
    OTHER,
    TP,
    batch,
    fetched,
    part,
    plan,
    response,
    states_of,
    view,
)
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import LogTruncated, MessageTooLarge, OffsetOutOfRange, PartitionFailed
from zkconsumer.fetch.core.partition_state import Phase
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.positions import begin_lookups
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.wire.messages.fetch import DivergingEpoch

OUT = ErrorCode.OFFSET_OUT_OF_RANGE


def states_with(policy: LogEdge | None, *, offset: int = 0) -> PartitionStates:
    """Build the state of one partition with a reset policy."""
    return states_of(TP, settings=CoreFetchSettings(reset=policy), offset=offset)


def refuse(states: PartitionStates, code: int, now_ms: int = 0) -> None:
    """Let the leader respond with an error."""
    response(states, plan(states, now_ms), {TP: part(TP, error_code=code)}, now_ms)


def resolve_edges(states: PartitionStates, start: int, end: int, now_ms: int = 0) -> None:
    """Let the lookup of both ends of the log return these offsets."""
    (lookup,) = begin_lookups(states, now_ms).edges
    states.on_edges(lookup, TimedOffset(start), TimedOffset(end), now_ms)


def read(states: PartitionStates, count: int) -> None:
    """Fetch and deliver records of epoch 1 up to an offset."""
    fetched(states, {TP: batch(0, count, epoch=1)})
    collect(states, count, 0, None)


def checked_by_new_leader(states: PartitionStates, end: EpochEnd | int | None) -> Any:
    """Let a new leader report the end of epoch 1; return the partition's state."""
    states.see(view({TP: OTHER}, epoch=2))
    (lookup,) = begin_lookups(states, 10_000).epochs
    states.on_epoch_end(lookup, end, 10_000)
    return states.states[TP]


def test_a_reset_lookup_sets_the_position() -> None:
    """The position has the epoch of the response, and a caller waiting for it is woken."""
    states = states_with(None)
    states.seek(TP, LATEST)
    assert states.states[TP].position is None
    ((lookup, _),) = begin_lookups(states, 0).resets
    states.take_effects()
    states.on_reset(lookup, TimedOffset(42, -1, 3), 0)
    assert states.take_effects().notify_caller
    assert states.states[TP].position == PositionView(42, 3)
    assert plan(states).wanted[TP].start == PositionView(42, 3)


def test_a_response_to_a_lookup_before_a_seek_is_ignored() -> None:
    """The caller's seek is newer."""
    states = states_with(None)
    states.seek(TP, LATEST)
    ((lookup, _),) = begin_lookups(states, 0).resets
    states.seek(TP, PositionView(5))
    states.on_reset(lookup, TimedOffset(42), 0)
    assert states.states[TP].position == PositionView(5)


def test_out_of_range_is_raised_without_a_policy() -> None:
    """The error names the ends of the log, and comes after the fetched records."""
    states = states_with(None)
    fetched(states, {TP: batch(0, 2)})
    refuse(states, OUT)
    resolve_edges(states, 50, 90)
    assert len(collect(states, 9, 0, None)[TP]) == 2
    with pytest.raises(OffsetOutOfRange) as reported:
        collect(states, 9, 0, None)
    error = reported.value
    assert (error.offset, error.log_start, error.log_end) == (2, 50, 90)


def test_a_reset_waits_for_the_fetched_records() -> None:
    """Records fetched before the gap are delivered first."""
    states = states_with(LATEST)
    fetched(states, {TP: batch(0, 2)})
    refuse(states, OUT)
    resolve_edges(states, 50, 90)
    assert states.states[TP].phase is Phase.OUTSIDE
    assert not begin_lookups(states, 0).all()
    collect(states, 9, 0, None)
    ((_, policy),) = begin_lookups(states, 0).resets
    assert policy is LATEST


def test_a_wrong_out_of_range_is_retried() -> None:
    """An outdated leader may report it; after several attempts it is believed."""
    states = states_with(None, offset=60)
    now_ms = 0
    for _ in range(3):
        refuse(states, OUT, now_ms)
        resolve_edges(states, 50, 90, now_ms)
        assert states.states[TP].phase is Phase.FETCHING
        now_ms += 10_000
    refuse(states, OUT, now_ms)
    resolve_edges(states, 50, 90, now_ms)
    with pytest.raises(OffsetOutOfRange):
        collect(states, 9, now_ms, None)


def test_a_damaged_set_is_fetched_once_more() -> None:
    """If it is damaged again, an error follows the sound records and says where to continue."""
    states = states_with(None)
    sound, damaged = batch(0, 2), bytearray(batch(2, 1) + batch(3, 1))
    damaged[40] ^= 1
    fetched(states, {TP: sound + damaged})
    (note,) = states.take_effects().notes
    assert note.startswith("t-0: ")
    assert note.endswith("; retrying")
    assert len(collect(states, 9, 0, None)[TP]) == 2
    assert collect(states, 9, 0, None) == {}
    fetched(states, {TP: bytes(damaged)}, now_ms=1_000)
    with pytest.raises(PartitionFailed, match="seek to 3") as reported:
        collect(states, 9, 0, None)
    assert (reported.value.offset, reported.value.code) == (2, ErrorCode.CORRUPT_MESSAGE)
    states.seek(TP, PositionView(3))
    fetched(states, {TP: bytes(damaged)}, now_ms=2_000)
    assert len(collect(states, 9, 0, None)[TP]) == 1


def misplaced(data: bytes, offset: int) -> bytes:
    """Return the batch with another base offset, which no checksum covers."""
    return offset.to_bytes(8, "big") + data[8:]


def test_an_impossible_offset_is_fetched_once_more() -> None:
    """It is treated like damage if its neighbours contradict it; the records before it count."""
    states = states_with(None)
    found = batch(0, 2) + misplaced(batch(2, 1), 50) + batch(3, 1)
    fetched(states, {TP: found})
    assert collect(states, 9, 0, None)[TP].next_offset == 2
    assert plan(states).wanted == {}  # after a pause
    fetched(states, {TP: batch(2, 1) + batch(3, 1)}, now_ms=1_000)
    assert collect(states, 9, 0, None)[TP].next_offset == 4


def test_an_offset_beyond_the_end_of_the_log_is_an_error() -> None:
    """It is fetched again at once, since a busy log may show it briefly; then it is an error."""
    states = states_with(None)
    damaged = misplaced(batch(2, 1), 2 + (1 << 36)) + batch(3, 1)
    fetched(states, {TP: batch(0, 2) + damaged})
    assert collect(states, 9, 0, None)[TP].next_offset == 2
    assert states.take_effects().notes == []
    planned = plan(states)
    assert planned.wanted[TP].is_again
    response(states, planned, {TP: part(TP, damaged)})
    with pytest.raises(PartitionFailed, match=r"but the log ends at 100.*seek to 3"):
        collect(states, 9, 0, None)
    states.seek(TP, PositionView(3))
    fetched(states, {TP: damaged})  # the broker finds the offset by the same headers
    assert collect(states, 9, 0, None) == {}
    fetched(states, {TP: damaged})
    assert collect(states, 9, 0, None)[TP].next_offset == 4


def test_records_beyond_the_high_watermark_of_a_busy_log_are_kept() -> None:
    """They are neither lost, repeated nor called damaged."""
    states = states_with(None)
    log = batch(0, 2) + batch(2, 2) + batch(4, 2)
    response(states, plan(states), {TP: part(TP, log, high_watermark=4)})
    assert collect(states, 9, 0, None)[TP].next_offset == 4
    response(states, plan(states), {TP: part(TP, batch(4, 2), high_watermark=6)})
    assert collect(states, 9, 0, None)[TP].next_offset == 6


def test_a_leader_with_the_same_log_is_accepted() -> None:
    """Fetching continues where the last leader stopped."""
    states = states_with(None)
    read(states, 5)
    checked_by_new_leader(states, EpochEnd(1, 8))
    assert plan(states, broker=OTHER).wanted[TP].start == PositionView(5, 1)


def test_a_leader_that_cannot_report_epochs_is_accepted() -> None:
    """Brokers before 2.3 cannot report where an epoch ended."""
    states = states_with(None)
    read(states, 5)
    checked_by_new_leader(states, None)
    assert plan(states, broker=OTHER).wanted


def test_truncated_records_that_were_not_delivered_are_fetched_again() -> None:
    """The caller has none of them, so there is no error; the new position is checked, too."""
    states = states_with(None)
    fetched(states, {TP: batch(0, 5, epoch=1)})
    collect(states, 2, 0, None)
    state = checked_by_new_leader(states, EpochEnd(1, 3))
    assert not state.waiting
    assert state.position == PositionView(2, 1)
    (lookup,) = begin_lookups(states, 10_000).epochs
    states.on_epoch_end(lookup, EpochEnd(1, 3), 10_000)
    assert plan(states, broker=OTHER).wanted[TP].start == PositionView(2, 1)


def test_truncation_below_the_position_is_raised() -> None:
    """The error names the first offset that may differ."""
    states = states_with(None)
    read(states, 5)
    checked_by_new_leader(states, EpochEnd(0, 3))
    with pytest.raises(LogTruncated) as reported:
        collect(states, 9, 0, None)
    assert (reported.value.position, reported.value.diverged_at) == (5, 3)
    assert reported.value.leader_epoch == 0


@pytest.mark.parametrize(
    ("policy", "end", "notes"),
    [
        (
            LATEST,
            EpochEnd(0, 3),
            ["t-0: the log was truncated to 3, below the position 5", "t-0: continuing at 3"],
        ),
        (None, EpochEnd(0, 3), ["t-0: the log was truncated to 3, below the position 5"]),
        (
            EARLIEST,
            EpochEnd(-1, -1),
            ["t-0: the leader does not know epoch 1", "t-0: continuing at its earliest offset"],
        ),
        (
            LATEST,
            int(ErrorCode.UNSUPPORTED_VERSION),
            ["t-0: can't check for a truncated log: UNSUPPORTED_VERSION (35)"],
        ),
        (LATEST, EpochEnd(1, 5), []),
    ],
    ids=["cut", "cut-no-policy", "unknown-epoch", "unknown-request", "whole"],
)
def test_a_truncation_is_logged(
    policy: LogEdge | None, end: EpochEnd | int, notes: list[str]
) -> None:
    """The log line names the partition, the leader's response and where reading continues."""
    states = states_with(policy)
    read(states, 5)
    states.take_effects()
    checked_by_new_leader(states, end)
    assert states.take_effects().notes == notes


def test_a_truncation_above_the_position_is_logged_as_such() -> None:
    """Only records fetched ahead are affected, and the position stays."""
    states = states_with(None)
    fetched(states, {TP: batch(0, 5, epoch=1)})
    collect(states, 2, 0, None)
    states.take_effects()
    checked_by_new_leader(states, EpochEnd(1, 3))
    assert states.take_effects().notes == [
        "t-0: the log was truncated to 3, not below the position"
    ]


def test_with_a_policy_the_position_goes_back_to_the_divergence() -> None:
    """Whatever the policy, reading continues where the logs diverge, so nothing is lost."""
    states = states_with(LATEST)
    read(states, 5)
    state = checked_by_new_leader(states, EpochEnd(0, 3))
    assert state.position == PositionView(3, 0)


@pytest.mark.parametrize("policy", [EARLIEST, None])
def test_a_truncated_log_that_grew_again_is_checked_before_fetching(
    policy: LogEdge | None,
) -> None:
    """Its offsets look fine, but the leader reports that the epoch ended earlier."""
    states = states_with(policy)
    read(states, 20)
    refuse(states, ErrorCode.FENCED_LEADER_EPOCH)
    assert states.take_effects().refresh_metadata
    states.see(view({TP: BROKER}, epoch=2))
    assert not plan(states, 10_000).wanted
    (lookup,) = begin_lookups(states, 10_000).epochs
    assert (lookup.fetched, lookup.leader_epoch) == (PositionView(20, 1), 2)
    states.on_epoch_end(lookup, EpochEnd(1, 13), 10_000)
    if policy is None:
        with pytest.raises(LogTruncated) as reported:
            collect(states, 9, 10_000, None)
        assert (reported.value.position, reported.value.diverged_at) == (20, 13)
    else:
        assert states.states[TP].position == PositionView(13, 1)


def test_a_fetch_response_may_report_the_divergence() -> None:
    """From version 12 of Fetch on."""
    states = states_with(LATEST)
    read(states, 5)
    diverging = part(TP, diverging_epoch=DivergingEpoch(epoch=0, end_offset=3))
    response(states, plan(states), {TP: diverging})
    assert states.states[TP].position == PositionView(3, 0)


def test_the_preferred_replica_is_fetched_from_until_it_fails() -> None:
    """Then the leader is asked, which may name another."""
    states = states_of(TP)
    response(states, plan(states), {TP: part(TP, preferred_read_replica=OTHER.id)})
    assert not plan(states).wanted
    planned = plan(states, broker=OTHER)
    response(states, planned, {TP: part(TP, batch(0, 1))})
    assert len(collect(states, 9, 0, None)[TP]) == 1
    planned = plan(states, broker=OTHER)
    response(states, planned, {TP: part(TP, error_code=OUT)})
    assert states.states[TP].phase is Phase.FETCHING
    assert list(plan(states, 1_000).wanted) == [TP]


def test_the_leader_is_asked_again_after_a_while() -> None:
    """Another replica may be nearer by then."""
    states = states_of(TP)
    response(states, plan(states), {TP: part(TP, preferred_read_replica=OTHER.id)})
    assert not plan(states, 400_000, OTHER).wanted
    assert plan(states, 400_000).wanted


def test_an_unknown_preferred_replica_delays_the_next_fetch() -> None:
    """The leader would name it again at once, so the metadata is refreshed first."""
    states = states_of(TP)
    response(states, plan(states), {TP: part(TP, preferred_read_replica=99)})
    assert states.effects.refresh_metadata
    assert not plan(states).wanted
    assert plan(states, 2_000).wanted


def test_a_missing_permission_in_the_metadata_is_raised() -> None:
    """Without it the partition has no leader that we could fetch from."""
    states = states_of(TP)
    errors = {"t": int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    states.see(view({}, errors=errors))
    with pytest.raises(Exception, match="permission"):
        collect(states, 9, 0, None)
    states.see(view({TP: BROKER}))
    assert plan(states, 10_000).wanted


def test_a_leader_that_does_not_know_the_epoch_has_another_log() -> None:
    """It is unknown what the two logs share, so the reset policy applies."""
    states = states_with(LATEST)
    read(states, 5)
    state = checked_by_new_leader(states, EpochEnd(-1, -1))
    assert (state.phase, state.policy, state.position) == (Phase.RESETTING, LATEST, None)


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_LEADER_FOR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_a_leader_that_cannot_report_the_epoch_yet_is_not_accepted(code: int) -> None:
    """Nothing is fetched meanwhile, since the log may have been truncated below the position."""
    states = states_with(LATEST)
    read(states, 5)
    assert checked_by_new_leader(states, int(code)).awaits_validation


def test_the_check_is_repeated_with_the_next_leader() -> None:
    """The next view names the leader that can report the end of the epoch."""
    states = states_with(LATEST)
    read(states, 5)
    state = checked_by_new_leader(states, int(ErrorCode.NOT_LEADER_FOR_PARTITION))
    states.see(view({TP: OTHER}, epoch=2))
    (lookup,) = begin_lookups(states, 60_000).epochs
    states.on_epoch_end(lookup, EpochEnd(1, 5), 60_000)
    assert not state.awaits_validation
    assert state.phase is Phase.FETCHING


def test_without_a_policy_another_log_is_an_error() -> None:
    """The error names the position of the caller."""
    states = states_with(None)
    read(states, 5)
    checked_by_new_leader(states, EpochEnd(-1, -1))
    with pytest.raises(LogTruncated) as reported:
        collect(states, 9, 0, None)
    assert (reported.value.position, reported.value.diverged_at) == (5, None)
    assert reported.value.leader_epoch == -1


@pytest.mark.parametrize("policy", [EARLIEST, LATEST, None], ids=["earliest", "latest", "none"])
def test_a_recreated_topic_is_read_from_its_start(policy: LogEdge | None) -> None:
    """Its first records are new as well; without a policy an error is raised.

    One log line names the former position.
    """
    states = states_with(policy)
    states.see(view({TP: BROKER}, topic_id=b"1"))
    read(states, 5)
    states.see(view({TP: BROKER}, topic_id=b"1"))
    states.see(view({TP: BROKER}))
    assert states.states[TP].position == PositionView(5, 1)
    states.take_effects()
    states.see(view({TP: BROKER}, topic_id=b"2"))
    follows = "reading it from its start"
    if policy is None:
        follows = "auto.offset.reset is none: call seek() to continue"
    assert states.take_effects().notes == [
        "consumer: topic t was deleted and created again since it was read, so these offsets are "
        f"those of the former topic (partition 0: 5): {follows}"
    ]
    if policy is None:
        with pytest.raises(LogTruncated):
            collect(states, 9, 0, None)
    else:
        ((lookup, requested),) = begin_lookups(states, 0).resets
        assert requested is EARLIEST
        states.on_reset(lookup, TimedOffset(0), 0)
        states.see(view({TP: BROKER}, topic_id=b"1"))  # from a broker that is out of date
        states.see(view({TP: BROKER}, topic_id=b"2"))
        assert states.states[TP].phase is Phase.FETCHING


def test_a_doubtful_leader_triggers_a_metadata_refresh() -> None:
    """Another broker may lead by now."""
    states = states_with(None, offset=60)
    refuse(states, OUT)
    states.take_effects()
    resolve_edges(states, 50, 90)
    effects = states.take_effects()
    assert effects.refresh_metadata
    assert any("t-0" in note and "60" in note for note in effects.notes)


def test_without_fetched_records_the_policy_applies_at_once() -> None:
    """The log line names both ends of the log."""
    states = states_with(LATEST)
    refuse(states, OUT)
    resolve_edges(states, 50, 90)
    ((_, policy),) = begin_lookups(states, 0).resets
    assert policy is LATEST
    effects = states.take_effects()
    assert effects.resolve_positions
    assert any("[50, 90)" in note for note in effects.notes)
    assert "t-0: continuing at its latest offset" in effects.notes


def test_a_message_that_is_too_large_wakes_the_caller() -> None:
    """The caller has to raise the limit, or to seek."""
    states = states_of(TP, settings=CoreFetchSettings(reset=None, growth_max_bytes=100))
    states.take_effects()
    fetched(states, {TP: batch(0, 1, size=5_000)[:80]})
    assert states.take_effects().notify_caller
    with pytest.raises(MessageTooLarge):
        collect(states, 9, 0, None)


def damage_again(states: PartitionStates) -> None:
    """Let the next batch be damaged, twice."""
    whole = batch(2, 1)
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    for now_ms in (0, 1_000):
        response(states, plan(states, now_ms), {TP: part(TP, damaged)}, now_ms)


def lose_offset(states: PartitionStates) -> None:
    """Let the log end below and start above the position."""
    refuse(states, OUT)
    resolve_edges(states, 50, 90)


def recreate_topic(states: PartitionStates) -> None:
    """Let the topic be deleted and created again."""
    for topic_id in (b"1", b"2"):
        states.see(view({TP: BROKER}, topic_id=topic_id))


@pytest.mark.parametrize(
    "fail",
    [
        damage_again,
        lose_offset,
        recreate_topic,
        lambda states: refuse(states, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        lambda states: refuse(states, ErrorCode.INVALID_FETCH_SIZE),
        lambda states: fetched(states, {TP: batch(2, 1, size=5_000)[:80]}),
    ],
    ids=["damaged", "out-of-range", "made-anew", "no-permission", "refused", "too-large"],
)
def test_an_error_after_fetched_records_wakes_the_caller(
    fail: Callable[[PartitionStates], None],
) -> None:
    """The caller may be waiting for more records, which do not come."""
    states = states_of(TP, settings=CoreFetchSettings(reset=None, growth_max_bytes=100))
    fetched(states, {TP: batch(0, 2)})
    assert states.states[TP].waiting
    states.take_effects()
    fail(states)
    assert states.take_effects().notify_caller
    assert states.states[TP].trouble is not None


def test_an_accepted_position_gets_the_epoch_that_the_leader_knows() -> None:
    """The leader has none of our epoch, but everything before the position."""
    states = states_with(None)
    read(states, 3)
    state = checked_by_new_leader(states, EpochEnd(0, 3))
    assert state.fetched == PositionView(3, 0)
    assert state.position.offset == 3
