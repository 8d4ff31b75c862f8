"""What a batch plan holds, and how it is made."""

from collections.abc import Mapping

import pytest

from zkconsumer.drain.plan import (
    BatchPlan,
    ClusterLogs,
    Positions,
    make_plan,
    refuse_expired,
    refuse_truncated,
)
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import LogBounds

A, B, C = TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("c", 7)


def span(tp: TopicPartition, begin: int, end: int) -> OffsetRange:
    """Build a range."""
    return OffsetRange(topic_partition=tp, from_offset=begin, until_offset=end)


def logs_of(
    ends: Mapping[TopicPartition, tuple[int, int]], starts: Positions | None = None
) -> ClusterLogs:
    """Build what the cluster has: the start and the end of each log."""
    bounds = LogBounds(
        {tp: begin for tp, (begin, _) in ends.items()}, {tp: end for tp, (_, end) in ends.items()}
    )
    return ClusterLogs(bounds, starts or {})


def after(positions: Positions, number: int = 1) -> BatchPlan:
    """Build a plan after which these are the positions."""
    return BatchPlan(number=number, created_ms=0, positions=positions, starts={}, ranges=())


def test_a_plan_continues_where_the_last_one_ended() -> None:
    """Known partitions continue at their position, new ones begin at their start.

    Partitions without new messages have no range.
    """
    plan = make_plan(
        after({A: 5, B: 9}, 2),
        logs_of({A: (0, 8), B: (2, 9), C: (4, 6)}, {C: 4}),
        now_ms=1_000,
    )
    assert plan is not None
    assert (plan.number, plan.created_ms) == (3, 1_000)
    assert plan.ranges == (span(A, 5, 8), span(C, 4, 6))
    assert plan.starts == {C: 4}
    assert plan.positions == {A: 5, B: 9, C: 4}
    assert plan.after() == {A: 8, B: 9, C: 6}


def test_an_empty_partition_is_remembered() -> None:
    """Its start must not move, whatever is written before the next plan."""
    plan = make_plan(None, logs_of({A: (0, 100)}, {A: 100}), now_ms=0)
    assert plan is not None
    assert plan.ranges == ()
    assert plan.starts == {A: 100}


def test_without_new_messages_or_partitions_there_is_no_plan() -> None:
    """A plan needs new messages or new partitions."""
    logs = logs_of({A: (0, 5)})
    assert make_plan(after({A: 5}), logs, now_ms=0) is None


def test_a_plan_is_bounded() -> None:
    """A bounded batch is divided in proportion to each partition's messages; a run has an end."""
    logs = logs_of({A: (0, 100), B: (0, 300)})
    bounded = make_plan(after({A: 0, B: 0}), logs, now_ms=0, max_offsets=40)
    assert bounded is not None
    assert bounded.ranges == (span(A, 0, 10), span(B, 0, 30))
    ended = make_plan(after({A: 60, B: 0}), logs, now_ms=0, until={A: 50, B: 7})
    assert ended is not None
    assert ended.ranges == (span(B, 0, 7),)


def test_a_plan_records_expired_offsets() -> None:
    """Offsets between the position and the start of the log are lost, and the rest is read."""
    plan = make_plan(after({A: 3}), logs_of({A: (10, 12)}), now_ms=0)
    assert plan is not None
    assert plan.expired == (span(A, 3, 10),)
    assert plan.ranges == (span(A, 10, 12),)
    with pytest.raises(DrainError, match=r"/lake: a-0 \[3, 10\)\. .*--no-fail-on-data-loss"):
        refuse_expired(plan, "/lake")


def test_a_log_that_ends_before_the_position_is_noticed() -> None:
    """Such a partition is reported and not planned."""
    logs = logs_of({A: (0, 4)})
    with pytest.raises(DrainError, match="a-0 ends at 4, but was landed up to 9"):
        refuse_truncated(logs.bounds.latest, {A: 9}, "/lake")
    assert make_plan(after({A: 9}), logs, now_ms=0) is None


def test_a_plan_survives_its_file() -> None:
    """A plan that is stored and read back is unchanged."""
    plan = BatchPlan(
        number=12,
        created_ms=1_400_000_000_000,
        positions={A: 1, C: 2**62},
        starts={C: 2**62},
        ranges=(span(A, 1, 5),),
        expired=(span(A, 0, 1),),
        notes={"target_ends": {"a": {"0": 4}}},
    )
    assert BatchPlan.from_bytes("plan.json", plan.to_bytes()) == plan


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "it is not JSON"),
        (b"[]", "its content is not an object"),
        (b'{"version": 2}', "is of version 2, and this zkconsumer knows version 1"),
        (b'{"version": 1}', "it has no field number"),
        (b'{"version": 1, "number": true}', "its field number is True, not a whole number"),
        (
            b'{"version":1,"number":1,"created_ms":0,"positions":{"a":{"x":1}}}',
            "its field positions: topic a has 'x' for a partition",
        ),
        (
            b'{"version":1,"number":1,"created_ms":0,"positions":{},"starts":{},'
            b'"ranges":[{"topic":"a","partition":0,"from":5,"until":2}]}',
            r"ranges\[0\]: not a range of offsets",
        ),
    ],
)
def test_a_damaged_file_is_an_error_that_says_where(data: bytes, complaint: str) -> None:
    """The error names the file and the field."""
    with pytest.raises(DrainError, match=complaint):
        BatchPlan.from_bytes("/lake/plan.json", data)
