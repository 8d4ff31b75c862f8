"""Which offsets a migration writes."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import (
    Action,
    Ahead,
    MigrationOutcome,
    MigrationPlan,
    Offset,
    offset_in,
    plan_migration,
    plan_roll_back,
    same_offset,
)
from zkconsumer.offsets.store import FetchedOffset

A, B, C = (TopicPartition("t", number) for number in range(3))
PARTITIONS = st.builds(TopicPartition, st.sampled_from("tu"), st.integers(0, 2))
FOUND = st.builds(FetchedOffset, st.none() | st.integers(0, 3))
STORES = st.dictionaries(PARTITIONS, FOUND)


def found(offset: int | None) -> FetchedOffset:
    """Return an offset as a store has it."""
    return FetchedOffset(offset)


def everything(_: TopicPartition) -> bool:
    """Return True, as for a cluster that has every partition."""
    return True


def actions(plan: MigrationPlan) -> dict[TopicPartition, Action]:
    """Return the action for each partition."""
    return {move.topic_partition: move.action for move in plan.moves}


def test_offsets_that_the_target_lacks_are_written_and_equal_ones_are_not() -> None:
    """Smaller offsets are moved forward; -1 in ZooKeeper counts as none."""
    source = {A: found(5), B: found(7), C: found(None)}
    plan = plan_migration(source, {A: found(3), B: found(7)}, exists=everything)
    assert actions(plan) == {A: Action.WRITE, B: Action.SAME}
    assert plan.refusals == ()
    assert plan.writes[A].before == OffsetAndMetadata(3)
    assert plan.expected == {A: OffsetAndMetadata(5), B: OffsetAndMetadata(7)}


def test_a_target_that_is_ahead_is_not_set_back_by_default() -> None:
    """By default it is refused, with both offsets and the options; it can be kept or set back."""
    source, target = {A: found(5), B: found(1)}, {A: found(9)}
    refused = plan_migration(source, target, exists=everything)
    assert refused.refusals == (
        "t-0: the target is at 9, ahead of the source's 5: --keep-ahead leaves it there, --force "
        "sets it back",
    )
    kept = plan_migration(source, target, exists=everything, ahead=Ahead.KEEP)
    assert (kept.refusals, actions(kept)) == ((), {A: Action.KEEP, B: Action.WRITE})
    assert kept.expected[A] == OffsetAndMetadata(9)
    forced = plan_migration(source, target, exists=everything, ahead=Ahead.REWIND)
    assert (forced.refusals, actions(forced)) == ((), {A: Action.WRITE, B: Action.WRITE})


def test_an_unreadable_offset_refuses_the_whole_plan() -> None:
    """In either store an unreadable offset is not the same as none."""
    bad = FetchedOffset(None, "'x' is no offset: correct or delete the node")
    in_source = plan_migration({A: bad, B: found(1)}, {}, exists=everything)
    in_target = plan_migration({A: found(1)}, {A: bad}, exists=everything)
    assert in_source.refusals == in_target.refusals == (f"t-0: {bad.error}",)


def test_offsets_of_deleted_partitions_are_left_out() -> None:
    """They are reported and left out; nothing is expected of them."""
    plan = plan_migration({A: found(1), B: found(2)}, {}, exists=lambda tp: tp == A)
    assert actions(plan) == {A: Action.WRITE, B: Action.NO_SUCH_PARTITION}
    assert set(plan.expected) == {A}


def test_a_source_without_offsets_is_refused() -> None:
    """A mistyped group must not look like success."""
    plan = plan_migration({A: found(None)}, {B: found(4)}, exists=everything)
    assert plan.refusals == (
        "the source has no offsets for it: check the group's name and the topics",
    )
    assert plan.only_in_target == (B,)


@given(STORES, STORES, st.sampled_from(Ahead))
def test_no_offset_goes_back_by_default_and_every_one_is_accounted_for(
    source: dict[TopicPartition, FetchedOffset],
    target: dict[TopicPartition, FetchedOffset],
    ahead: Ahead,
) -> None:
    """This holds whatever both stores have."""
    plan = plan_migration(source, target, exists=everything, ahead=ahead)
    with_offset = sorted(tp for tp, fetched in source.items() if fetched.offset is not None)
    assert [partition_move.topic_partition for partition_move in plan.moves] == with_offset
    for tp, move in plan.writes.items():
        assert move.wanted == offset_in(source[tp])
        if move.before is not None and move.wanted is not None:
            assert ahead is Ahead.REWIND or move.wanted.offset > move.before.offset
    if plan.refusals:
        return
    for tp, wanted in plan.expected.items():
        assert wanted is not None
        assert wanted.offset >= max(
            source[tp].offset or 0, 0 if ahead is Ahead.REWIND else offset_before(target, tp)
        )


def offset_before(storage: dict[TopicPartition, FetchedOffset], tp: TopicPartition) -> int:
    """Return the offset that a store has, 0 for none."""
    return (storage[tp].offset or 0) if tp in storage else 0


@given(STORES, STORES)
def test_a_roll_back_undoes_exactly_what_was_written(
    source: dict[TopicPartition, FetchedOffset], target: dict[TopicPartition, FetchedOffset]
) -> None:
    """This holds if everything was written, and if the migration stopped half-way."""
    plan = plan_migration(source, target, exists=everything, ahead=Ahead.REWIND)
    written = {
        tp: (partition_move.before, partition_move.wanted)
        for tp, partition_move in plan.writes.items()
    }
    for count in range(len(written) + 1):
        now = dict(target)
        for tp in list(written)[:count]:
            wanted = written[tp][1]
            assert wanted is not None
            now[tp] = found(wanted.offset)
        undo = plan_roll_back(written, now)
        assert undo.refusals == ()
        assert set(undo.writes) == set(list(written)[:count])
        for tp, wanted_now in undo.expected.items():
            assert same_offset(wanted_now, offset_in(target.get(tp)))


def test_a_roll_back_does_not_overwrite_later_commits() -> None:
    """Only ``force`` overwrites such an offset."""
    written: dict[TopicPartition, tuple[Offset, Offset]] = {A: (None, OffsetAndMetadata(5))}
    plan = plan_roll_back(written, {A: found(6)})
    assert plan.refusals == (
        "t-0: the migration wrote 5, and now there is 6: somebody committed since; --force sets "
        "it to none all the same",
    )
    forced = plan_roll_back(written, {A: found(6)}, force=True)
    assert (forced.refusals, forced.expected) == ((), {A: None})


def test_an_outcome_has_what_was_written_and_what_was_not() -> None:
    """It relies on what was read back, whatever the response to the write was."""
    plan = plan_migration({A: found(5), B: found(6), C: found(7)}, {B: found(2)}, exists=everything)
    outcome = MigrationOutcome(
        plan=plan,
        found={A: found(5), B: found(2), C: FetchedOffset(None, "no answer")},
        errors={A: "connection lost", B: "connection lost"},
    )
    assert outcome.written == (A,)
    assert outcome.failed == {B: "connection lost; it holds 2", C: "no answer"}
    assert not outcome.verified
    whole = MigrationOutcome(plan=plan, found={A: found(5), B: found(6), C: found(7)})
    assert whole.verified
    doubtful = MigrationOutcome(plan=plan, found=whole.found, doubts=("a member came",))
    assert not doubtful.verified
    unread = MigrationOutcome(plan=plan, found={})
    assert unread.failed[A] == "it could not be read back"
