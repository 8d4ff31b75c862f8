"""Burrow's rules for a group's status, compared with the cases of Burrow's own tests."""

from dataclasses import dataclass

import pytest

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.burrow import (
    LEAST_SPAN_MS,
    BurrowStatus,
    evaluate_group,
    partition_status,
)
from zkconsumer.status.model import CommittedOffset, GroupPartition
from zkconsumer.status.series import CommitSample, History

TP = TopicPartition("t", 0)
LATE = 1_512_224_618_356


@dataclass(frozen=True)
class Case:
    """A window of commits with offsets, lags and times, and Burrow's status for it."""

    offsets: tuple[int, ...]
    lags: tuple[int | None, ...]
    log_ends: tuple[int, ...]
    current_lag: int
    now_s: int
    status: BurrowStatus
    times: tuple[int, ...] | None = None

    def commits(self) -> list[CommitSample]:
        """Return a commit every 100 s, unless the case has times."""
        times = self.times or tuple(100_000 * (1 + i) for i in range(len(self.offsets)))
        return [
            CommitSample(*sample) for sample in zip(self.offsets, times, self.lags, strict=True)
        ]


UP = (1000, 2000, 3000, 4000, 5000)
SAME = (1000,) * 5
ALONG = tuple(792_748_079 + i for i in range(15))
ALONG_TIMES = tuple(LATE + 1000 * i for i in range(15))
BACK = (1000, 2000, 3000, 2000, 4000)
HALVES = tuple(x for i in range(5) for x in (1000 + 1000 * i, 1500 + 1000 * i))
HALF_LAGS = tuple(x for i in range(5) for x in (50 * i, None))
HALF_TIMES = tuple(100_000 + 50_000 * i for i in range(10))

# In the order of caching_test.go, without the cases with an allowed lag, which is 0 here.
CASES = [
    Case(UP, (0, 50, 100, 150, 200), (5200,), 200, 600, BurrowStatus.OK),
    Case(UP, (0, 50, 100, 150, 200), (5200,), 200, 900, BurrowStatus.OK),
    Case(UP, (0, 50, 100, 150, 200), (5200,), 200, 1000, BurrowStatus.STOP),
    Case(UP, (50, 100, 150, 200, 250), (5250,), 250, 1000, BurrowStatus.STOP),
    Case(SAME, (0, 50, 100, 150, 200), (1200,), 200, 600, BurrowStatus.OK),
    Case(SAME, (100, 150, 200, 250, 300), (1300,), 300, 600, BurrowStatus.STALL),
    Case(SAME, (100,) * 5, (1100,), 100, 600, BurrowStatus.STALL),
    Case(BACK, (100, 150, 200, 1250, 300), (4300,), 300, 600, BurrowStatus.OK),
    Case(UP, (50, 100, 150, 200, 250), (5250,), 0, 1000, BurrowStatus.OK),
    Case(
        ALONG,
        (0,) * 15,
        (792_749_024, 792_749_000, 792_748_800, 792_748_600, 792_748_500),
        931,
        1_512_224_650,
        BurrowStatus.STOP,
        times=ALONG_TIMES,
    ),
    Case(
        ALONG,
        (0,) * 15,
        (792_748_094, 792_748_093, 792_748_093, 792_748_093),
        1,
        1_512_224_650,
        BurrowStatus.OK,
        times=ALONG_TIMES,
    ),
    Case(HALVES, HALF_LAGS, (5700,), 200, 600, BurrowStatus.OK, times=HALF_TIMES),
    Case(
        (1000, 2000, 3000, 2000, 2500),
        (100, 150, 200, 1250, 300),
        (4300,),
        300,
        600,
        BurrowStatus.REWIND,
    ),
    # Our own cases, for rule 5: none of Burrow's ends in it.
    Case(UP, (50, 100, 150, 200, 250), (5250,), 250, 600, BurrowStatus.WARN),
    Case(UP, (50, 100, 150, 140, 250), (5250,), 250, 600, BurrowStatus.OK),
    Case(UP, (50,) * 5, (5250,), 250, 600, BurrowStatus.WARN),
    Case(UP, (50, 100, 150, 200, 250), (5250,), 250, 600, BurrowStatus.WARN),
    Case(UP, (None,) * 5, (5250,), 250, 600, BurrowStatus.WARN),
    Case((1000, 2000, 1000, 1500, 2000), (0, 9, 9, 9, 9), (2009,), 9, 600, BurrowStatus.OK),
    Case((1000, 2000, 1000, 1500, 1999), (0, 9, 9, 9, 9), (2009,), 10, 600, BurrowStatus.REWIND),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.status.name}")
def test_a_window_has_burrows_status(case: Case) -> None:
    """Burrow's cases, and a few for rules that they leave out, have Burrow's status."""
    status = partition_status(
        case.commits(), case.log_ends, case.current_lag, case.now_s * 1000, least_span_ms=0
    )
    assert status is case.status


def test_the_numbers_are_those_of_burrows_metrics() -> None:
    """The statuses have the numbers of Burrow's metrics, on which dashboards depend."""
    assert [(burrow_status.name, burrow_status.value) for burrow_status in BurrowStatus] == [
        ("NOTFOUND", 0),
        ("OK", 1),
        ("WARN", 2),
        ("ERR", 3),
        ("STOP", 4),
        ("STALL", 5),
        ("REWIND", 6),
    ]
    assert all(burrow_status.meaning for burrow_status in BurrowStatus)


def test_a_single_commit_is_no_stop_before_the_least_span_is_over() -> None:
    """A single commit, as in a group that was just found, is a stop only after a while."""
    commits = [CommitSample(10, 1_000_000, 5)]
    just = 1_000_000 + LEAST_SPAN_MS
    assert partition_status(commits, (), 5, just) is BurrowStatus.OK
    assert partition_status(commits, (), 5, just + 1) is BurrowStatus.STOP


def _partition(
    offset: int, at_ms: int, log_end: int, number: int = 0, *, seen_ms: int | None = None
) -> GroupPartition:
    seen_ms = at_ms if seen_ms is None else seen_ms
    committed = CommittedOffset(offset, "zookeeper", seen_ms, committed_ms=at_ms)
    tp = TopicPartition("t", number)
    return GroupPartition(tp, "m-0", 1, None, (committed,), 0, log_end, at_ms)


def test_a_group_is_as_bad_as_its_worst_partition_but_never_worse_than_err() -> None:
    """A group has the status of its worst partition, but at most ERR."""
    history, group = History(), group_of()
    for step in range(1, 11):
        at_ms = step * 100_000
        group = group_of(
            _partition(7, at_ms, 100 + step),
            _partition(100 + step, at_ms, 100 + step, 1),
            GroupPartition(TopicPartition("t", 2)),
        )
        history.record(snapshot_of(group, at_ms=at_ms))
    outcome = evaluate_group(group, history, 1_000_000)
    assert [partition.status for partition in outcome.partitions] == [
        BurrowStatus.STALL,
        BurrowStatus.OK,
        BurrowStatus.OK,
    ]
    assert outcome.status is BurrowStatus.ERR
    assert outcome.total_lag == 103
    assert outcome.complete == pytest.approx(2 / 3)
    commits = list(history.commits(group.key)[outcome.partitions[0].topic_partition])
    assert (commits[0].at_ms, commits[0].lag, commits[-1].lag) == (100_000, None, 103)


def test_a_group_is_as_complete_as_its_windows() -> None:
    """A group is complete to the degree to which its partitions' windows are full."""
    history = History()
    late = 10_000_000
    group = group_of(_partition(7, 1000, 100, seen_ms=late))
    history.record(snapshot_of(group, at_ms=1000))
    outcome = evaluate_group(group, history, late)
    assert outcome.status is BurrowStatus.ERR
    assert (outcome.complete, outcome.partitions[0].complete) == (0.0, 0.1)


def test_new_records_after_a_quiet_time_are_no_stop_yet() -> None:
    """New records after a quiet time are no stop yet."""
    history, group = History(), group_of()
    for at_ms, log_end in ((1000, 7), (900_000, 7), (1_000_000, 50)):
        group = group_of(_partition(7, 1000, log_end, seen_ms=at_ms))
        history.record(snapshot_of(group, at_ms=at_ms, log_ends={TP: log_end}))
    assert evaluate_group(group, history, 1_000_000).status is BurrowStatus.OK
    later = group_of(_partition(7, 1000, 50, seen_ms=1_300_000))
    assert evaluate_group(later, history, 1_300_000).status is BurrowStatus.ERR


def test_offsets_that_can_not_be_read_again_are_no_stop() -> None:
    """While offsets can't be read again, no group counts as stopped, though logs grow."""
    history, group = History(), group_of()
    for at_ms in (1000, 100_000):
        group = group_of(_partition(7, 1000, 50, seen_ms=at_ms))
        history.record(snapshot_of(group, at_ms=at_ms, log_ends={TP: 50}))
    assert evaluate_group(group, history, 10_000_000).status is BurrowStatus.OK


def test_no_group_is_not_found() -> None:
    """A missing group is NOTFOUND, without partitions."""
    outcome = evaluate_group(None, History(), 0)
    assert outcome.status is BurrowStatus.NOTFOUND
    assert (outcome.total_lag, outcome.complete) == (0, 0.0)
