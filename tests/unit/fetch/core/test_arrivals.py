"""What answers do to a partition: positions, errors, replicas, and what was cut back."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.polled import (
    BROKER,
    OTHER,
    TP,
    batch,
    board_of,
    fetched,
    part,
    plan,
    response,
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
from zkconsumer.fetch.core.starts import (
    EARLIEST,
    LATEST,
    AtOffset,
    PositionView,
    Reset,
    ResetPolicy,
)
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.wire.messages.fetch import DivergingEpoch

OUT = ErrorCode.OFFSET_OUT_OF_RANGE


def board_with(policy: ResetPolicy | None, *, offset: int = 0) -> PartitionStates:
    """One partition, under a policy."""
    return board_of(TP, settings=CoreFetchSettings(reset=policy), offset=offset)


def refuse(states: PartitionStates, code: int, now_ms: int = 0) -> None:
    """The leader answers with an error."""
    response(states, plan(states, now_ms), {TP: part(TP, error_code=code)}, now_ms)


def say_edges(states: PartitionStates, start: int, end: int, now_ms: int = 0) -> None:
    """Answer the question where the log begins and ends."""
    (lookup,) = begin_lookups(states, now_ms).edges
    states.on_edges(lookup, TimedOffset(start), TimedOffset(end), now_ms)


def read(states: PartitionStates, count: int) -> None:
    """Read records of epoch 1 up to an offset."""
    fetched(states, {TP: batch(0, count, epoch=1)})
    collect(states, count, 0, None)


def judged(states: PartitionStates, end: EpochEnd | int | None) -> Any:
    """A new leader says where epoch 1 ended."""
    states.see(view({TP: OTHER}, epoch=2))
    (lookup,) = begin_lookups(states, 10_000).epochs
    states.on_epoch_end(lookup, end, 10_000)
    return states.states[TP]


def test_a_policy_gives_the_position() -> None:
    """With the epoch that came with it; who waits for the position is woken."""
    states = board_with(None)
    states.seek(TP, Reset(LATEST))
    assert states.states[TP].position is None
    ((lookup, _),) = begin_lookups(states, 0).resets
    states.take_effects()
    states.on_reset(lookup, TimedOffset(42, -1, 3), 0)
    assert states.take_effects().notify_caller
    assert states.states[TP].position == PositionView(42, 3)
    assert plan(states).wanted[TP].start == PositionView(42, 3)


def test_an_answer_to_a_question_of_before_the_seek_does_not_count() -> None:
    """The caller's word is newer."""
    states = board_with(None)
    states.seek(TP, Reset(LATEST))
    ((lookup, _),) = begin_lookups(states, 0).resets
    states.seek(TP, AtOffset(5))
    states.on_reset(lookup, TimedOffset(42), 0)
    assert states.states[TP].position == PositionView(5)


def test_out_of_range_is_told_where_no_policy_is_set() -> None:
    """With what the log has; behind what waits."""
    states = board_with(None)
    fetched(states, {TP: batch(0, 2)})
    refuse(states, OUT)
    say_edges(states, 50, 90)
    assert len(collect(states, 9, 0, None)[TP]) == 2
    with pytest.raises(OffsetOutOfRange) as reported:
        collect(states, 9, 0, None)
    error = reported.value
    assert (error.offset, error.log_start, error.log_end) == (2, 50, 90)


def test_a_policy_waits_for_what_waits() -> None:
    """What was fetched in front of the hole is handed out first."""
    states = board_with(LATEST)
    fetched(states, {TP: batch(0, 2)})
    refuse(states, OUT)
    say_edges(states, 50, 90)
    assert states.states[TP].phase is Phase.OUTSIDE
    assert not begin_lookups(states, 0).all()
    collect(states, 9, 0, None)
    ((_, policy),) = begin_lookups(states, 0).resets
    assert policy is LATEST


def test_out_of_range_that_is_none_is_tried_again() -> None:
    """By a leader that is behind, say; if it insists, it is believed."""
    states = board_with(None, offset=60)
    now_ms = 0
    for _ in range(3):
        refuse(states, OUT, now_ms)
        say_edges(states, 50, 90, now_ms)
        assert states.states[TP].phase is Phase.FETCHING
        now_ms += 10_000
    refuse(states, OUT, now_ms)
    say_edges(states, 50, 90, now_ms)
    with pytest.raises(OffsetOutOfRange):
        collect(states, 9, now_ms, None)


def test_a_damaged_set_is_asked_for_once_more() -> None:
    """A second time it is believed, and told behind the sound records, with what to do."""
    states = board_with(None)
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
    states.seek(TP, AtOffset(3))
    fetched(states, {TP: bytes(damaged)}, now_ms=2_000)
    assert len(collect(states, 9, 0, None)[TP]) == 1


def misplaced(data: bytes, offset: int) -> bytes:
    """The batch claiming another first offset, which no checksum covers."""
    return offset.to_bytes(8, "big") + data[8:]


def test_an_offset_that_cant_be_is_asked_for_once_more() -> None:
    """As damage is, where it contradicts what lies around it; what lies in front counts."""
    states = board_with(None)
    found = batch(0, 2) + misplaced(batch(2, 1), 50) + batch(3, 1)
    fetched(states, {TP: found})
    assert collect(states, 9, 0, None)[TP].next_offset == 2
    assert plan(states).wanted == {}  # after a pause
    fetched(states, {TP: batch(2, 1) + batch(3, 1)}, now_ms=1_000)
    assert collect(states, 9, 0, None)[TP].next_offset == 4


def test_what_stays_behind_the_end_of_the_log_is_told() -> None:
    """At once asked again, since a busy log has the same for a moment; then it stops there."""
    states = board_with(None)
    damaged = misplaced(batch(2, 1), 2 + (1 << 36)) + batch(3, 1)
    fetched(states, {TP: batch(0, 2) + damaged})
    assert collect(states, 9, 0, None)[TP].next_offset == 2
    assert states.take_effects().notes == []
    planned = plan(states)
    assert planned.wanted[TP].is_again
    response(states, planned, {TP: part(TP, damaged)})
    with pytest.raises(PartitionFailed, match=r"but the log ends at 100.*seek to 3"):
        collect(states, 9, 0, None)
    states.seek(TP, AtOffset(3))
    fetched(states, {TP: damaged})  # the broker looks for it by the same headers
    assert collect(states, 9, 0, None) == {}
    fetched(states, {TP: damaged})
    assert collect(states, 9, 0, None)[TP].next_offset == 4


def test_a_busy_log_goes_beyond_what_its_broker_noted_before() -> None:
    """Nothing of it is lost, repeated or called damaged."""
    states = board_with(None)
    log = batch(0, 2) + batch(2, 2) + batch(4, 2)
    response(states, plan(states), {TP: part(TP, log, high_watermark=4)})
    assert collect(states, 9, 0, None)[TP].next_offset == 4
    response(states, plan(states), {TP: part(TP, batch(4, 2), high_watermark=6)})
    assert collect(states, 9, 0, None)[TP].next_offset == 6


def test_a_leader_of_the_same_log_is_proved() -> None:
    """And asked from where the last one stopped."""
    states = board_with(None)
    read(states, 5)
    judged(states, EpochEnd(1, 8))
    assert plan(states, broker=OTHER).wanted[TP].start == PositionView(5, 1)


def test_nobody_can_say_is_as_good_as_proved() -> None:
    """Brokers before 2.3 can't say where an epoch ended."""
    states = board_with(None)
    read(states, 5)
    judged(states, None)
    assert plan(states, broker=OTHER).wanted


def test_what_was_fetched_ahead_and_is_gone_is_fetched_anew() -> None:
    """The caller has none of it: nobody needs to know. The new place is proved, too."""
    states = board_with(None)
    fetched(states, {TP: batch(0, 5, epoch=1)})
    collect(states, 2, 0, None)
    state = judged(states, EpochEnd(1, 3))
    assert not state.waiting
    assert state.position == PositionView(2, 1)
    (lookup,) = begin_lookups(states, 10_000).epochs
    states.on_epoch_end(lookup, EpochEnd(1, 3), 10_000)
    assert plan(states, broker=OTHER).wanted[TP].start == PositionView(2, 1)


def test_what_the_caller_has_and_is_gone_is_told() -> None:
    """With the first offset that may differ."""
    states = board_with(None)
    read(states, 5)
    judged(states, EpochEnd(0, 3))
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
def test_the_log_says_what_became_of_the_partition_under_its_new_leader(
    policy: ResetPolicy | None, end: EpochEnd | int, notes: list[str]
) -> None:
    """With its name, what the leader said, and where reading goes on."""
    states = board_with(policy)
    read(states, 5)
    states.take_effects()
    judged(states, end)
    assert states.take_effects().notes == notes


def test_the_log_says_that_only_what_nobody_has_yet_was_cut_off() -> None:
    """What was fetched ahead; the position stands."""
    states = board_with(None)
    fetched(states, {TP: batch(0, 5, epoch=1)})
    collect(states, 2, 0, None)
    states.take_effects()
    judged(states, EpochEnd(1, 3))
    assert states.take_effects().notes == [
        "t-0: the log was truncated to 3, not below the position"
    ]


def test_with_a_policy_the_position_steps_back() -> None:
    """To where the logs part, whatever the policy: nothing in front of it is lost."""
    states = board_with(LATEST)
    read(states, 5)
    state = judged(states, EpochEnd(0, 3))
    assert state.position == PositionView(3, 0)


@pytest.mark.parametrize("policy", [EARLIEST, None])
def test_a_log_that_grew_to_the_position_again_is_asked_before_anything_is_fetched(
    policy: ResetPolicy | None,
) -> None:
    """By its offsets nothing is amiss; that the epoch is over is what its leader says."""
    states = board_with(policy)
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


def test_the_broker_may_say_it_with_a_fetch() -> None:
    """From version 12 on."""
    states = board_with(LATEST)
    read(states, 5)
    diverging = part(TP, diverging_epoch=DivergingEpoch(epoch=0, end_offset=3))
    response(states, plan(states), {TP: diverging})
    assert states.states[TP].position == PositionView(3, 0)


def test_the_nearest_replica_is_asked_until_it_fails() -> None:
    """Then the leader again, who may name it anew."""
    states = board_of(TP)
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
    """Another replica may be nearer by now."""
    states = board_of(TP)
    response(states, plan(states), {TP: part(TP, preferred_read_replica=OTHER.id)})
    assert not plan(states, 400_000, OTHER).wanted
    assert plan(states, 400_000).wanted


def test_a_replica_that_nobody_knows_is_not_asked() -> None:
    """Nor is the leader asked again at once: it would name that one again."""
    states = board_of(TP)
    response(states, plan(states), {TP: part(TP, preferred_read_replica=99)})
    assert states.effects.refresh_metadata
    assert not plan(states).wanted
    assert plan(states, 2_000).wanted


def test_no_permission_in_the_metadata_is_told() -> None:
    """Nobody leads the partition, for us."""
    states = board_of(TP)
    errors = {"t": int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    states.see(view({}, errors=errors))
    with pytest.raises(Exception, match="permission"):
        collect(states, 9, 0, None)
    states.see(view({TP: BROKER}))
    assert plan(states, 10_000).wanted


def test_a_leader_that_knows_nothing_of_the_epoch_has_another_log() -> None:
    """What the two share is not known: the policy says where to go on."""
    states = board_with(LATEST)
    read(states, 5)
    state = judged(states, EpochEnd(-1, -1))
    assert (state.phase, state.policy, state.position) == (Phase.RESETTING, LATEST, None)


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_LEADER_FOR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_a_leader_that_can_not_say_yet_where_an_epoch_ended_proves_nothing(code: int) -> None:
    """Until then nothing is read: the log may have been cut back below what was."""
    states = board_with(LATEST)
    read(states, 5)
    assert judged(states, int(code)).unproven


def test_one_that_moved_is_asked_again_with_the_next_view() -> None:
    """And then what was read holds, or not."""
    states = board_with(LATEST)
    read(states, 5)
    state = judged(states, int(ErrorCode.NOT_LEADER_FOR_PARTITION))
    states.see(view({TP: OTHER}, epoch=2))
    (lookup,) = begin_lookups(states, 60_000).epochs
    states.on_epoch_end(lookup, EpochEnd(1, 5), 60_000)
    assert not state.unproven
    assert state.phase is Phase.FETCHING


def test_without_a_policy_that_is_told() -> None:
    """With the place where the caller stood."""
    states = board_with(None)
    read(states, 5)
    judged(states, EpochEnd(-1, -1))
    with pytest.raises(LogTruncated) as reported:
        collect(states, 9, 0, None)
    assert (reported.value.position, reported.value.diverged_at) == (5, None)
    assert reported.value.leader_epoch == -1


@pytest.mark.parametrize("policy", [EARLIEST, LATEST, None], ids=["earliest", "latest", "none"])
def test_a_topic_that_was_made_again_is_read_from_its_start(policy: ResetPolicy | None) -> None:
    """Its first records are as new as the others; without a policy the caller is told.

    The log says it once, with the position.
    """
    states = board_with(policy)
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
        states.see(view({TP: BROKER}, topic_id=b"1"))  # by a broker that is behind
        states.see(view({TP: BROKER}, topic_id=b"2"))
        assert states.states[TP].phase is Phase.FETCHING


def test_a_doubt_about_the_leader_has_the_cluster_looked_at() -> None:
    """Another one may lead by now."""
    states = board_with(None, offset=60)
    refuse(states, OUT)
    states.take_effects()
    say_edges(states, 50, 90)
    effects = states.take_effects()
    assert effects.refresh_metadata
    assert any("t-0" in note and "60" in note for note in effects.notes)


def test_where_nothing_waits_the_policy_is_followed_at_once() -> None:
    """And it is said, with what the log had."""
    states = board_with(LATEST)
    refuse(states, OUT)
    say_edges(states, 50, 90)
    ((_, policy),) = begin_lookups(states, 0).resets
    assert policy is LATEST
    effects = states.take_effects()
    assert effects.resolve_positions
    assert any("[50, 90)" in note for note in effects.notes)
    assert "t-0: continuing at its latest offset" in effects.notes


def test_a_message_that_is_too_large_wakes_the_caller() -> None:
    """It is the caller's to raise the limit, or to seek."""
    states = board_of(TP, settings=CoreFetchSettings(reset=None, growth_max_bytes=100))
    states.take_effects()
    fetched(states, {TP: batch(0, 1, size=5_000)[:80]})
    assert states.take_effects().notify_caller
    with pytest.raises(MessageTooLarge):
        collect(states, 9, 0, None)


def damage_again(states: PartitionStates) -> None:
    """What follows is damaged, and so it is when it comes again."""
    whole = batch(2, 1)
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    for now_ms in (0, 1_000):
        response(states, plan(states, now_ms), {TP: part(TP, damaged)}, now_ms)


def lack_it(states: PartitionStates) -> None:
    """The log ended, and begins elsewhere."""
    refuse(states, OUT)
    say_edges(states, 50, 90)


def make_anew(states: PartitionStates) -> None:
    """The topic is deleted, and created again."""
    for topic_id in (b"1", b"2"):
        states.see(view({TP: BROKER}, topic_id=topic_id))


@pytest.mark.parametrize(
    "fail",
    [
        damage_again,
        lack_it,
        make_anew,
        lambda states: refuse(states, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        lambda states: refuse(states, ErrorCode.INVALID_FETCH_SIZE),
        lambda states: fetched(states, {TP: batch(2, 1, size=5_000)[:80]}),
    ],
    ids=["damaged", "out-of-range", "made-anew", "no-permission", "refused", "too-large"],
)
def test_an_error_behind_records_that_wait_wakes_the_caller(
    fail: Callable[[PartitionStates], None],
) -> None:
    """He may wait for more of them, which do not come."""
    states = board_of(TP, settings=CoreFetchSettings(reset=None, growth_max_bytes=100))
    fetched(states, {TP: batch(0, 2)})
    assert states.states[TP].waiting
    states.take_effects()
    fail(states)
    assert states.take_effects().notify_caller
    assert states.states[TP].trouble is not None


def test_what_is_sound_is_compared_by_an_epoch_that_the_leader_knows_from_then_on() -> None:
    """It has nothing of ours, but what is in front of us."""
    states = board_with(None)
    read(states, 3)
    state = judged(states, EpochEnd(0, 3))
    assert state.fetched == PositionView(3, 0)
    assert state.position.offset == 3
