"""Promises of every plan of offsets, whatever the group, the logs and the target."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Action
from zkconsumer.offsets.planning import (
    GroupAndLogs,
    LogRange,
    OffsetTarget,
    Outside,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffsets,
    ToTime,
    plan_offsets,
)
from zkconsumer.offsets.store import FetchedOffset

partitions = st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 3))
offsets = st.integers(0, 60)
logs = st.builds(lambda start, length: LogRange(start, start + length), offsets, st.integers(0, 30))
fetched = st.one_of(
    st.builds(FetchedOffset, st.none() | offsets), st.just(FetchedOffset(None, "garbage"))
)
targets: st.SearchStrategy[OffsetTarget] = st.one_of(
    st.builds(ToEarliest),
    st.builds(ToLatest),
    st.builds(ToCurrent),
    st.builds(ShiftBy, st.integers(-70, 70)),
    st.builds(ToOffsets, st.dictionaries(partitions, offsets)),
    st.builds(ToTime, st.dictionaries(partitions, st.integers(-1, 60)), st.booleans()),
)
presents = st.builds(
    GroupAndLogs,
    stored=st.dictionaries(partitions, fetched),
    partitions=st.sets(partitions),
    logs=st.dictionaries(partitions, logs),
    members=st.lists(st.text(min_size=1), max_size=2),
)
scopes = st.none() | st.sets(partitions)


@given(targets, presents, scopes, st.none() | st.sampled_from(Outside), st.booleans())
def test_planned_writes_are_safe(
    target: OffsetTarget,
    present: GroupAndLogs,
    scope: set[TopicPartition] | None,
    outside: Outside | None,
    force: bool,
) -> None:
    """They are within the log unless configured otherwise, in scope, and not of a live group."""
    made = plan_offsets(target, present, scope=scope, outside=outside, force=force)
    for tp, move in made.plan.writes.items():
        assert tp in present.partitions
        assert scope is None or tp in scope
        assert move.wanted is not None
        assert move.wanted.offset >= 0
        log = present.logs.get(tp)
        if log is None:
            assert force or made.plan.refusals
        elif outside is not Outside.KEEP:
            assert log.start <= move.wanted.offset <= log.end
    if not made.plan.refusals:
        assert force or not present.members
        assert made.plan.moves
        assert all(move.action is not Action.KEEP for move in made.plan.moves)


@given(targets, presents, scopes)
def test_a_plan_that_was_executed_leaves_nothing_to_do(
    target: OffsetTarget, present: GroupAndLogs, scope: set[TopicPartition] | None
) -> None:
    """Only a shift would shift again."""
    if isinstance(target, ShiftBy):
        return
    first = plan_offsets(target, present, scope=scope, force=True)
    done = dict(present.stored)
    for tp, move in first.plan.writes.items():
        assert isinstance(move.wanted, OffsetAndMetadata)
        done[tp] = FetchedOffset(move.wanted.offset, None, move.wanted.metadata)
    after = GroupAndLogs(stored=done, partitions=present.partitions, logs=present.logs)
    assert plan_offsets(target, after, scope=scope, force=True).plan.writes == {}


@given(presents, st.integers(-70, 70))
def test_shifting_moves_by_that_much_or_to_an_end(present: GroupAndLogs, count: int) -> None:
    """It never moves in the other direction."""
    for tp, move in plan_offsets(ShiftBy(count), present, force=True).plan.writes.items():
        assert move.before is not None
        assert move.wanted is not None
        moved = move.wanted.offset - move.before.offset
        log = present.logs.get(tp)
        if log is not None and move.wanted.offset in log:
            continue
        assert moved == count


@given(st.dictionaries(partitions, st.tuples(logs, st.integers(-1, 2) | st.integers(0, 90))))
def test_a_time_leads_to_what_the_leader_found(
    responses: dict[TopicPartition, tuple[LogRange, int]],
) -> None:
    """The offset is in its log, and its end only if no record is that new."""
    present = GroupAndLogs(
        stored={}, partitions=set(responses), logs={tp: log for tp, (log, _) in responses.items()}
    )
    target = ToTime({tp: found for tp, (_, found) in responses.items()})
    moves = plan_offsets(target, present, scope=set(responses)).plan.moves
    assert len(moves) == len(responses)
    for move in moves:
        log, found = responses[move.topic_partition]
        assert move.wanted is not None
        nearest = min(max(found, log.start), log.end)
        assert move.wanted.offset == (log.end if found == -1 else nearest)
