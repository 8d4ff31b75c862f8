"""One plan of new offsets, for two stores."""

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Action, OffsetStorage
from zkconsumer.offsets.placing import merged, plan_of_store, stores_in_use
from zkconsumer.offsets.planning import GroupAndLogs, LogRange, ShiftBy, plan_offsets
from zkconsumer.offsets.store import FetchedOffset

A, B, C = (TopicPartition("t", number) for number in range(3))
NONE = FetchedOffset(None)
BROKEN = FetchedOffset(None, "garbage")


def test_the_larger_offset_counts_and_an_error_outweighs_both() -> None:
    """It does not matter which store has it."""
    here = {A: FetchedOffset(5), B: NONE, C: BROKEN}
    there = {A: FetchedOffset(3), B: FetchedOffset(0), C: FetchedOffset(7)}
    expected = {A: FetchedOffset(5), B: FetchedOffset(0), C: BROKEN}
    assert merged({OffsetStorage.ZOOKEEPER: here, OffsetStorage.KAFKA: there}) == expected
    assert merged({OffsetStorage.ZOOKEEPER: there, OffsetStorage.KAFKA: here}) == expected


def test_a_store_is_in_use_if_it_has_anything() -> None:
    """An unreadable offset counts, too."""
    stored = {OffsetStorage.ZOOKEEPER: {A: NONE}, OffsetStorage.KAFKA: {A: BROKEN}}
    assert stores_in_use(stored) == (OffsetStorage.KAFKA,)
    assert stores_in_use({OffsetStorage.ZOOKEEPER: {}, OffsetStorage.KAFKA: {}}) == ()


def test_each_store_gets_the_same_offsets() -> None:
    """The difference to its own offsets is written; notes and refusals appear once."""
    here = {A: FetchedOffset(5), B: FetchedOffset(9)}
    there = {A: FetchedOffset(3)}
    overall = plan_offsets(
        ShiftBy(-2),
        GroupAndLogs(
            stored=merged({OffsetStorage.ZOOKEEPER: here, OffsetStorage.KAFKA: there}),
            partitions=[A, B],
            logs={A: LogRange(0, 10), B: LogRange(8, 10)},
        ),
    )
    first = plan_of_store(overall, here, leads=True)
    second = plan_of_store(overall, there, leads=False)
    assert [move.action for move in first.plan.moves] == [Action.WRITE, Action.WRITE]
    assert [move.action for move in second.plan.moves] == [Action.SAME, Action.WRITE]
    assert [move.before and move.before.offset for move in second.plan.moves] == [3, None]
    assert first.plan.expected == second.plan.expected
    assert (len(first.notes), second.notes) == (1, ())


def test_a_partition_that_is_left_alone_is_so_in_both_stores() -> None:
    """Such partitions are missing in the cluster, or can't be set."""
    overall = plan_offsets(
        ShiftBy(1), GroupAndLogs(stored={A: FetchedOffset(5), B: BROKEN}, partitions=[B], logs={})
    )
    plan = plan_of_store(overall, {A: FetchedOffset(4)}, leads=True)
    assert [move.action for move in plan.plan.moves] == [Action.NO_SUCH_PARTITION, Action.KEEP]
    assert plan.plan.refusals == overall.plan.refusals != ()
