"""Which offset each partition would be set to, what is refused, and which notes there are."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Action, OffsetStorage, plan_roll_back
from zkconsumer.offsets.migration.roll_back import RollBack, decode_roll_back, encode_roll_backs
from zkconsumer.offsets.planning import (
    GroupAndLogs,
    LogRange,
    OffsetPlan,
    OffsetTarget,
    Outside,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffsets,
    ToTime,
    named_partitions,
    plan_offsets,
)
from zkconsumer.offsets.store import FetchedOffset

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
GONE = TopicPartition("gone", 0)
PRESENT = GroupAndLogs(
    stored={T0: FetchedOffset(30, metadata="mine"), T1: FetchedOffset(5), T2: FetchedOffset(None)},
    partitions=[T0, T1, T2],
    logs={T0: LogRange(10, 50), T1: LogRange(0, 5), T2: LogRange(7, 9)},
)


def wanted(plan: OffsetPlan) -> dict[TopicPartition, int | None]:
    """Return the offset that each partition would be set to."""
    return {
        move.topic_partition: None if move.wanted is None else move.wanted.offset
        for move in plan.plan.moves
    }


def actions(plan: OffsetPlan) -> dict[TopicPartition, Action]:
    """Return what is done about each partition."""
    return {move.topic_partition: move.action for move in plan.plan.moves}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (ToEarliest(), {T0: 10, T1: 0}),
        (ToLatest(), {T0: 50, T1: 5}),
        (ToTime({T0: 33, T1: -1}), {T0: 33, T1: 5}),
        (ToTime({T0: -1, T1: 0}), {T0: 50, T1: 0}),
        (ShiftBy(-3), {T0: 27, T1: 2}),
        (ShiftBy(4), {T0: 34, T1: 5}),
        (ShiftBy(-100), {T0: 10, T1: 0}),
        (ToOffsets({T0: 11, T2: 9}), {T0: 11, T2: 9}),
        (ToCurrent(), {T0: 30, T1: 5}),
    ],
)
def test_each_target_gives_its_offsets(
    target: OffsetTarget, expected: dict[TopicPartition, int]
) -> None:
    """By default all partitions are set for which the group, or the file, has an offset."""
    plan = plan_offsets(target, PRESENT)
    assert plan.plan.refusals == ()
    assert wanted(plan) == expected


def test_an_offset_that_is_set_already_is_not_written() -> None:
    """So a second run has nothing to do."""
    plan = plan_offsets(ToLatest(), PRESENT)
    assert actions(plan) == {T0: Action.WRITE, T1: Action.SAME}
    assert list(plan.plan.writes) == [T0]


def test_a_time_newer_than_all_records_is_the_end_of_the_log_with_a_note() -> None:
    """An offset of 0 is a normal result, as it is the start of most logs."""
    (note,) = plan_offsets(ToTime({T0: -1, T1: 0}), PRESENT).notes
    assert note == "t-0: no record is that new: set to the end of its log"


def test_the_lag_before_and_after_is_known() -> None:
    """The lag before and after is given; without an offset it is None."""
    plan = plan_offsets(ToEarliest(), PRESENT, scope=[T0, T2])
    lags = [
        (plan.lag(move.topic_partition, move.before), plan.lag(move.topic_partition, move.wanted))
        for move in plan.plan.moves
    ]
    assert lags == [(20, 40), (None, 2)]


def test_beyond_the_end_the_lag_is_0() -> None:
    """The lag is never negative."""
    plan = plan_offsets(ToOffsets({T0: 51}), PRESENT, outside=Outside.KEEP)
    assert plan.lag(T0, OffsetAndMetadata(51)) == 0


def test_live_members_refuse_the_plan() -> None:
    """They would overwrite it with their commits; ``force`` goes on all the same."""
    present = GroupAndLogs(
        stored=PRESENT.stored, partitions=PRESENT.partitions, logs=PRESENT.logs, members=["g_a"]
    )
    (refusal,) = plan_offsets(ToLatest(), present).plan.refusals
    assert "live members: g_a" in refusal
    forced = plan_offsets(ToLatest(), present, force=True)
    assert forced.plan.refusals == ()
    assert forced.notes == ("live members will overwrite it with their next commit: g_a",)


def test_only_a_forced_plan_has_a_note_of_live_members() -> None:
    """A plan that is refused for live members has no further note, and neither has force alone."""
    present = GroupAndLogs(
        stored=PRESENT.stored, partitions=PRESENT.partitions, logs=PRESENT.logs, members=["g_a"]
    )
    assert plan_offsets(ToLatest(), present).notes == ()
    assert plan_offsets(ToLatest(), PRESENT, force=True).notes == ()


def test_a_given_offset_must_be_in_the_log() -> None:
    """An offset that was computed is set to the nearest one in the log, with a note."""
    far = ToOffsets({T0: 9, T1: 6, T2: 9})
    plan = plan_offsets(far, PRESENT)
    assert [text.split(":")[0] for text in plan.plan.refusals] == ["t-0", "t-1"]
    assert actions(plan)[T0] is Action.KEEP
    clamped = plan_offsets(far, PRESENT, outside=Outside.CLAMP)
    assert wanted(clamped) == {T0: 10, T1: 5, T2: 9}
    assert clamped.notes == (
        "t-0: 9 is not in its log [10, 50): set to 10 instead",
        "t-1: 6 is not in its log [0, 5): set to 5 instead",
    )
    kept = plan_offsets(far, PRESENT, outside=Outside.KEEP)
    assert wanted(kept) == {T0: 9, T1: 6, T2: 9}
    assert all("auto.offset.reset" in note for note in kept.notes)
    shifted = plan_offsets(ShiftBy(-25), PRESENT, outside=Outside.REFUSE)
    assert len(shifted.plan.refusals) == 2


def test_both_ends_are_in_the_log() -> None:
    """The end of a log is its next offset once all records are read."""
    ends = plan_offsets(ToOffsets({T0: 10, T1: 5}), PRESENT)
    assert ends.plan.refusals == ()
    assert wanted(ends) == {T0: 10, T1: 5}


def test_the_current_offset_keeps_its_metadata() -> None:
    """This is so even if its offset is set back into the log."""
    present = GroupAndLogs(
        stored={T0: FetchedOffset(60, metadata="mine")}, partitions=[T0], logs=PRESENT.logs
    )
    (move,) = plan_offsets(ToCurrent(), present).plan.moves
    assert move.wanted == OffsetAndMetadata(50, "mine")


def test_no_offset_is_negative() -> None:
    """A negative offset is refused whatever the target, as no store accepts it."""
    plan = plan_offsets(ShiftBy(-100), PRESENT, outside=Outside.KEEP)
    assert plan.plan.writes == {}
    assert len(plan.plan.refusals) == 2
    blind = GroupAndLogs(stored=PRESENT.stored, partitions=PRESENT.partitions, logs={})
    assert plan_offsets(ShiftBy(-100), blind, force=True).plan.writes == {}


def test_an_offset_of_0_is_set_though_it_is_not_in_the_log() -> None:
    """It is the smallest that a store accepts: kept outside the log, or forced without one."""
    begin = ToOffsets({T0: 0})
    kept = plan_offsets(begin, PRESENT, outside=Outside.KEEP)
    assert kept.plan.refusals == ()
    assert wanted(kept) == {T0: 0}
    blind = GroupAndLogs(stored={T0: FetchedOffset(30)}, partitions=[T0], logs={})
    assert wanted(plan_offsets(begin, blind, force=True)) == {T0: 0}


def test_a_partition_without_an_offset_can_not_be_shifted() -> None:
    """It can be set, though."""
    plan = plan_offsets(ShiftBy(1), PRESENT, scope=[T2])
    assert "no offset to shift" in plan.plan.refusals[0]
    current = plan_offsets(ToCurrent(), PRESENT, scope=[T2])
    assert wanted(current) == {T2: 9}
    assert current.notes


def test_an_unreadable_current_offset_is_not_guessed() -> None:
    """Force does not take an unreadable offset for none, which would skip all unread records."""
    broken = GroupAndLogs(
        stored={T0: FetchedOffset(None, "garbage")}, partitions=[T0], logs=PRESENT.logs
    )
    plan = plan_offsets(ToCurrent(), broken, force=True)
    assert plan.plan.refusals == ("t-0: garbage: its current offset is unknown",)
    assert plan.plan.writes == {}


@pytest.mark.parametrize("target", [ToEarliest(), ToLatest(), ToTime({T0: 3})])
def test_a_leader_without_a_response_refuses_the_plan(target: OffsetTarget) -> None:
    """Its log's ends are unknown, and force does not change that."""
    blind = GroupAndLogs(stored={T0: FetchedOffset(30)}, partitions=[T0], logs={})
    plan = plan_offsets(target, blind, force=True)
    assert "did not respond" in plan.plan.refusals[0]
    assert plan.plan.writes == {}


def test_an_offset_that_can_not_be_checked_needs_force() -> None:
    """An offset given by the user is refused without ``force``."""
    blind = GroupAndLogs(stored={T0: FetchedOffset(30)}, partitions=[T0], logs={})
    assert plan_offsets(ToOffsets({T0: 31}), blind).plan.refusals
    forced = plan_offsets(ToOffsets({T0: 31}), blind, force=True)
    assert forced.plan.refusals == ()
    assert wanted(forced) == {T0: 31}


def test_a_time_without_a_lookup_is_refused() -> None:
    """It is treated as if the leader had not responded."""
    plan = plan_offsets(ToTime({T0: 33}), PRESENT)
    assert [text.split(":")[0] for text in plan.plan.refusals] == ["t-1"]


def test_times_of_segments_lead_to_a_note() -> None:
    """Old brokers know only these times."""
    plan = plan_offsets(ToTime({T0: 33, T1: 0}, exact=False), PRESENT)
    assert "segments" in plan.notes[-1]


def test_a_missing_partition_is_left_out_unless_it_was_named() -> None:
    """If it comes from a file or the group it is left out; if it was named it is a mistake."""
    plan = plan_offsets(ToOffsets({GONE: 4, T0: 40}), PRESENT)
    assert plan.plan.refusals == ()
    assert actions(plan) == {GONE: Action.NO_SUCH_PARTITION, T0: Action.WRITE}
    named = plan_offsets(ToEarliest(), PRESENT, scope=[GONE])
    assert named.plan.refusals == ("gone-0: there is no such partition",)


def test_an_unreadable_offset_needs_force() -> None:
    """The roll-back file can't restore it."""
    present = GroupAndLogs(
        stored={T0: FetchedOffset(None, "'abc' is no offset")},
        partitions=[T0],
        logs=PRESENT.logs,
    )
    plan = plan_offsets(ToEarliest(), present)
    assert "'abc' is no offset" in plan.plan.refusals[0]
    forced = plan_offsets(ToEarliest(), present, force=True)
    assert forced.plan.refusals == ()
    assert list(forced.plan.writes) == [T0]


def test_a_named_partition_missing_in_the_file_is_refused() -> None:
    """The error names the missing partition."""
    plan = plan_offsets(ToOffsets({T0: 30}), PRESENT, scope=[T0, T1])
    assert plan.plan.refusals == ("t-1: the file has no offset for it",)


def test_a_plan_that_sets_nothing_is_refused() -> None:
    """A mistyped group looks like this."""
    nothing = GroupAndLogs(stored={}, partitions=[T0], logs=PRESENT.logs)
    assert "nothing to set" in plan_offsets(ToLatest(), nothing).plan.refusals[0]


def test_the_roll_back_file_has_the_format_of_a_migrations() -> None:
    """Rolling back restores offset and metadata."""
    plan = plan_offsets(ToEarliest(), PRESENT, scope=[T0, T2]).plan
    back = RollBack(
        group_id="g",
        target=OffsetStorage.ZOOKEEPER,
        zookeeper="z:2181",
        made_ms=1,
        written=plan.changes,
    )
    written = decode_roll_back(encode_roll_backs([back]), "file").written
    now = {tp: FetchedOffset(move.wanted.offset) for tp, move in plan.writes.items() if move.wanted}
    undone = plan_roll_back(written, now)
    assert undone.refusals == ()
    assert {tp: move.wanted for tp, move in undone.writes.items()} == {
        T0: OffsetAndMetadata(30, "mine"),
        T2: None,
    }


def test_partitions_are_selected_by_name() -> None:
    """A name is a topic, or some of its partitions."""
    assert named_partitions(["t"], [T0, T1, GONE]) == {T0, T1}
    assert named_partitions(["t:1", "gone"], [T0, T1, GONE]) == {T1, GONE}
    assert named_partitions(["t:1,7"], [T0, T1]) == {T1, TopicPartition("t", 7)}


@pytest.mark.parametrize("name", ["x", "t:", "t:a", "t:1;2", "t:-1", "t:1,", "t:²"])
def test_invalid_names_of_partitions_are_refused(name: str) -> None:
    """The error names each invalid name."""
    with pytest.raises(ConfigError, match=name):
        named_partitions([name], [T0])
