"""Where each partition would be set, what is refused, and what is told."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Fate, OffsetStorage, plan_roll_back
from zkconsumer.offsets.migration.roll_back import RollBack, decode_roll_back, encode_roll_back
from zkconsumer.offsets.planning import (
    Aim,
    LogRange,
    OffsetPlan,
    Outside,
    Present,
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
PRESENT = Present(
    stored={T0: FetchedOffset(30, metadata="mine"), T1: FetchedOffset(5), T2: FetchedOffset(None)},
    partitions=[T0, T1, T2],
    logs={T0: LogRange(10, 50), T1: LogRange(0, 5), T2: LogRange(7, 9)},
)


def wanted(plan: OffsetPlan) -> dict[TopicPartition, int | None]:
    """What each partition shall hold."""
    return {
        move.topic_partition: None if move.wanted is None else move.wanted.offset
        for move in plan.plan.moves
    }


def fates(plan: OffsetPlan) -> dict[TopicPartition, Fate]:
    """What is done about each."""
    return {move.topic_partition: move.fate for move in plan.plan.moves}


@pytest.mark.parametrize(
    ("aim", "expected"),
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
def test_where_to(aim: Aim, expected: dict[TopicPartition, int]) -> None:
    """Unless it is said otherwise, all of which the group, or the file, has an offset."""
    plan = plan_offsets(aim, PRESENT)
    assert plan.plan.refusals == ()
    assert wanted(plan) == expected


def test_what_is_there_already_is_not_written() -> None:
    """So a second run has nothing to do."""
    plan = plan_offsets(ToLatest(), PRESENT)
    assert fates(plan) == {T0: Fate.WRITE, T1: Fate.SAME}
    assert list(plan.plan.writes) == [T0]


def test_only_a_time_newer_than_all_records_is_the_end_and_told() -> None:
    """A log's first offset is mostly 0, which is as good an answer as any."""
    (note,) = plan_offsets(ToTime({T0: -1, T1: 0}), PRESENT).notes
    assert note == "t-0: no record is that new: set to the end of its log"


def test_how_much_would_be_left_to_read() -> None:
    """Now and then; none where there is no offset."""
    plan = plan_offsets(ToEarliest(), PRESENT, scope=[T0, T2])
    lags = [
        (plan.lag(move.topic_partition, move.before), plan.lag(move.topic_partition, move.wanted))
        for move in plan.plan.moves
    ]
    assert lags == [(20, 40), (None, 2)]


def test_beyond_the_end_nothing_is_left_to_read() -> None:
    """Rather than less than nothing."""
    plan = plan_offsets(ToOffsets({T0: 51}), PRESENT, outside=Outside.KEEP)
    assert plan.lag(T0, OffsetAndMetadata(51)) == 0


def test_living_members_stop_it() -> None:
    """They would commit over it; who knows that may go on."""
    present = Present(
        stored=PRESENT.stored, partitions=PRESENT.partitions, logs=PRESENT.logs, members=["g_a"]
    )
    (refusal,) = plan_offsets(ToLatest(), present).plan.refusals
    assert "live members: g_a" in refusal
    forced = plan_offsets(ToLatest(), present, force=True)
    assert forced.plan.refusals == ()
    assert forced.notes == ("live members will overwrite it with their next commit: g_a",)


def test_only_who_goes_on_in_spite_of_members_is_told_of_them() -> None:
    """A plan that is refused for them says so once; force alone is no news."""
    present = Present(
        stored=PRESENT.stored, partitions=PRESENT.partitions, logs=PRESENT.logs, members=["g_a"]
    )
    assert plan_offsets(ToLatest(), present).notes == ()
    assert plan_offsets(ToLatest(), PRESENT, force=True).notes == ()


def test_an_offset_that_is_named_must_be_in_the_log() -> None:
    """One that is reckoned is set to the nearest, and told."""
    far = ToOffsets({T0: 9, T1: 6, T2: 9})
    plan = plan_offsets(far, PRESENT)
    assert [text.split(":")[0] for text in plan.plan.refusals] == ["t-0", "t-1"]
    assert fates(plan)[T0] is Fate.KEEP
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
    """Its end is the next offset to read once all is read."""
    ends = plan_offsets(ToOffsets({T0: 10, T1: 5}), PRESENT)
    assert ends.plan.refusals == ()
    assert wanted(ends) == {T0: 10, T1: 5}


def test_where_the_group_is_keeps_its_metadata() -> None:
    """Also where it is set back into the log."""
    present = Present(
        stored={T0: FetchedOffset(60, metadata="mine")}, partitions=[T0], logs=PRESENT.logs
    )
    (move,) = plan_offsets(ToCurrent(), present).plan.moves
    assert move.wanted == OffsetAndMetadata(50, "mine")


def test_no_offset_is_less_than_0() -> None:
    """Whatever was asked for: no store takes it."""
    plan = plan_offsets(ShiftBy(-100), PRESENT, outside=Outside.KEEP)
    assert plan.plan.writes == {}
    assert len(plan.plan.refusals) == 2
    blind = Present(stored=PRESENT.stored, partitions=PRESENT.partitions, logs={})
    assert plan_offsets(ShiftBy(-100), blind, force=True).plan.writes == {}


def test_what_has_no_offset_can_not_be_shifted() -> None:
    """But it can be set."""
    plan = plan_offsets(ShiftBy(1), PRESENT, scope=[T2])
    assert "no offset to shift" in plan.plan.refusals[0]
    current = plan_offsets(ToCurrent(), PRESENT, scope=[T2])
    assert wanted(current) == {T2: 9}
    assert current.notes


def test_where_the_group_is_is_not_guessed() -> None:
    """No force takes an entry that can't be read for none: all that is left would be skipped."""
    broken = Present(
        stored={T0: FetchedOffset(None, "garbage")}, partitions=[T0], logs=PRESENT.logs
    )
    plan = plan_offsets(ToCurrent(), broken, force=True)
    assert plan.plan.refusals == ("t-0: garbage: its current offset is unknown",)
    assert plan.plan.writes == {}


@pytest.mark.parametrize("aim", [ToEarliest(), ToLatest(), ToTime({T0: 3})])
def test_a_leader_that_does_not_answer(aim: Aim) -> None:
    """Where to is not known, and no force changes that."""
    blind = Present(stored={T0: FetchedOffset(30)}, partitions=[T0], logs={})
    plan = plan_offsets(aim, blind, force=True)
    assert "did not respond" in plan.plan.refusals[0]
    assert plan.plan.writes == {}


def test_an_offset_that_can_not_be_checked_needs_force() -> None:
    """An offset given by the user is refused without ``force``."""
    blind = Present(stored={T0: FetchedOffset(30)}, partitions=[T0], logs={})
    assert plan_offsets(ToOffsets({T0: 31}), blind).plan.refusals
    forced = plan_offsets(ToOffsets({T0: 31}), blind, force=True)
    assert forced.plan.refusals == ()
    assert wanted(forced) == {T0: 31}


def test_a_time_that_nobody_looked_up_is_refused() -> None:
    """As if the leader had not answered."""
    plan = plan_offsets(ToTime({T0: 33}), PRESENT)
    assert [text.split(":")[0] for text in plan.plan.refusals] == ["t-1"]


def test_times_of_segments_are_told() -> None:
    """Old brokers know no other."""
    plan = plan_offsets(ToTime({T0: 33, T1: 0}, exact=False), PRESENT)
    assert "segments" in plan.notes[-1]


def test_what_the_cluster_does_not_have() -> None:
    """From a file or from the group it is left out; by name it is a mistake."""
    plan = plan_offsets(ToOffsets({GONE: 4, T0: 40}), PRESENT)
    assert plan.plan.refusals == ()
    assert fates(plan) == {GONE: Fate.NO_SUCH_PARTITION, T0: Fate.WRITE}
    named = plan_offsets(ToEarliest(), PRESENT, scope=[GONE])
    assert named.plan.refusals == ("gone-0: there is no such partition",)


def test_an_entry_that_can_not_be_read_needs_force() -> None:
    """What it was can't be brought back."""
    present = Present(
        stored={T0: FetchedOffset(None, "'abc' is no offset")},
        partitions=[T0],
        logs=PRESENT.logs,
    )
    plan = plan_offsets(ToEarliest(), present)
    assert "'abc' is no offset" in plan.plan.refusals[0]
    forced = plan_offsets(ToEarliest(), present, force=True)
    assert forced.plan.refusals == ()
    assert list(forced.plan.writes) == [T0]


def test_a_file_that_lacks_what_was_named() -> None:
    """The error names the missing partition."""
    plan = plan_offsets(ToOffsets({T0: 30}), PRESENT, scope=[T0, T1])
    assert plan.plan.refusals == ("t-1: the file has no offset for it",)


def test_nothing_to_do_is_refused() -> None:
    """A wrong group name looks like this."""
    nothing = Present(stored={}, partitions=[T0], logs=PRESENT.logs)
    assert "nothing to set" in plan_offsets(ToLatest(), nothing).plan.refusals[0]


def test_the_roll_back_file_is_that_of_a_migration() -> None:
    """Its undoing brings back number and metadata."""
    plan = plan_offsets(ToEarliest(), PRESENT, scope=[T0, T2]).plan
    back = RollBack(
        group_id="g",
        target=OffsetStorage.ZOOKEEPER,
        zookeeper="z:2181",
        made_ms=1,
        written=plan.changes,
    )
    written = decode_roll_back(encode_roll_back(back), "file").written
    now = {tp: FetchedOffset(move.wanted.offset) for tp, move in plan.writes.items() if move.wanted}
    undone = plan_roll_back(written, now)
    assert undone.refusals == ()
    assert {tp: move.wanted for tp, move in undone.writes.items()} == {
        T0: OffsetAndMetadata(30, "mine"),
        T2: None,
    }


def test_partitions_by_name() -> None:
    """A topic, or some of its partitions."""
    assert named_partitions(["t"], [T0, T1, GONE]) == {T0, T1}
    assert named_partitions(["t:1", "gone"], [T0, T1, GONE]) == {T1, GONE}
    assert named_partitions(["t:1,7"], [T0, T1]) == {T1, TopicPartition("t", 7)}


@pytest.mark.parametrize("name", ["x", "t:", "t:a", "t:1;2", "t:-1", "t:1,", "t:²"])
def test_names_that_are_none(name: str) -> None:
    """The error names each invalid name."""
    with pytest.raises(ConfigError, match=name):
        named_partitions([name], [T0])
