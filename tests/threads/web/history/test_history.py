"""The recorded history, on real threads (the unit tests of the same name hold the rest)."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.asgi_client import ManualStates
from tests.support.history_files import history_with
from tests.support.manual_clock import ManualClock
from tests.support.page_world import BILLING, NOW_MS, STEPS, snapshot_at
from tests.support.status import group_of, snapshot_of
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition
from zkconsumer.status.causes import Reason, RebalanceReason
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
)
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.history import past
from zkconsumer.web.history import recorder as recording
from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import (
    UnusableFile,
    check_file,
    open_for_writing,
    set_aside,
)
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
TP = TopicPartition("t", 0)


def seen(at_ms: int, lag: int) -> ClusterSnapshot:
    """A group with this lag, read at this time."""
    partition = GroupPartition(
        TP,
        committed=(CommittedOffset(100, "zookeeper", at_ms),),
        log_end=100 + lag,
        log_at_ms=at_ms,
    )
    return snapshot_of(replace(group_of(partition), seen_ms=at_ms), at_ms=at_ms)


def large(at_ms: int, partition_count: int = 3_000) -> ClusterSnapshot:
    """A group whose sample needs more than one page of the database."""
    partitions = [
        GroupPartition(
            TopicPartition("t", number),
            committed=(
                CommittedOffset(hash((number, "offset")) & 0xFFFFFFFFFFFF, "zookeeper", at_ms),
            ),
        )
        for number in range(partition_count)
    ]
    return snapshot_of(replace(group_of(*partitions), seen_ms=at_ms), at_ms=at_ms)


def rebalance(began_ms: int, ended_ms: int | None) -> Rebalance:
    """A rebalance of the group."""
    reasons = (Reason(RebalanceReason.JOINED, "ä member"),)
    return Rebalance(
        key=KEY, began_ms=began_ms, not_before_ms=None, ended_ms=ended_ms, reasons=reasons
    )


@contextmanager
def recorder_of(path: Path, sample_ms: int = 1) -> Iterator[Recorder]:
    """A running recorder."""
    clock = ManualClock(wall_ms=10_000)
    recorder = Recorder(path, sample_ms=sample_ms, clock=clock)
    with closing(recorder):
        recorder.start()
        yield recorder


def lags(past: RecordedPast) -> list[int | None]:
    """Return the group's recorded lags."""
    return list(past.lag_series(KEY, 0, 20_000, 20_000).total)


def record(recorder: Recorder, states: ManualStates, snapshot: ClusterSnapshot) -> None:
    """Record a snapshot, and wait until it is written."""
    past = RecordedPast(recorder)
    at_ms = snapshot.groups[KEY].seen_ms
    recorder.take(states.publish(snapshot), ())
    wait_until(lambda: past.lag_series(KEY, at_ms, at_ms, 1).times_ms, what="the sample")


def test_the_history_outlives_the_process(tmp_path: Path) -> None:
    """Lags and rebalances are kept; a rebalance has the end that was reported last."""
    path = tmp_path / "past"
    states = ManualStates(seen(1_000, 5))
    with recorder_of(path) as recorder:
        recorder.take(states.current, (rebalance(900, None),))
        record(recorder, states, seen(2_000, 7))
        recorder.take(
            states.publish(seen(3_000, 9)), (rebalance(900, 1_500), rebalance(2_500, None))
        )
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
        assert lags(past)[-2:] == [7, 9]
        assert past.lag_series(KEY, 2_001, 9_000, 10).times_ms == (3_000,)
        first, second = past.rebalances(KEY, 0)
        assert (first.began_ms, first.ended_ms, first.reasons) == (
            900,
            1_500,
            ("member ä member joined",),
        )
        assert (second.began_ms, second.ended_ms) == (2_500, None)
        assert past.rebalances(KEY, 901) == (second,)
        nobody = GroupKey(GroupKind.COORDINATOR, "g")
        assert past.lag_series(nobody, 0, NOW_MS, 10).times_ms == ()
        assert past.rebalances(nobody, 0) == ()
        assert past.problem is None


def test_a_whole_cluster_is_recorded(tmp_path: Path) -> None:
    """The lag of every group and partition is."""
    states = ManualStates(snapshot_at(STEPS))
    with recorder_of(tmp_path / "past") as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        series = wait_until(
            lambda: [read] if (read := past.lag_series(BILLING, 0, NOW_MS, 10)).times_ms else [],
            what="it",
        )[0]
    lag = states.current.judgements.lag(BILLING)
    assert series.total == (lag.total,)
    assert {tp: partition_series.lag[0] for tp, partition_series in series.partitions.items()} == {
        partition.topic_partition: partition.records for partition in lag.partitions
    }


def test_samples_keep_their_distance(tmp_path: Path) -> None:
    """A group that is read each second is not recorded each second."""
    states = ManualStates(seen(10_000, 1))
    with recorder_of(tmp_path / "past", sample_ms=4_000) as recorder:
        record(recorder, states, seen(10_000, 1))
        recorder.take(states.publish(seen(13_999, 2)), ())
        record(recorder, states, seen(14_000, 3))
        assert lags(RecordedPast(recorder)) == [1, 3]


def test_a_chart_shows_the_largest_lag_of_each_interval(tmp_path: Path) -> None:
    """A peak of a second is not lost in a day; each point is a sample with its own time."""
    path = tmp_path / "past"
    with recorder_of(path) as recorder:
        states = ManualStates(seen(0, 0))
        for at_ms, lag in ((1_000, 1), (1_500, 9), (1_999, 2), (2_000, 3), (2_900, 3)):
            record(recorder, states, seen(at_ms, lag))
        series = RecordedPast(recorder).lag_series(KEY, 1_000, 3_000, 2)
    assert series.times_ms == (1_500, 2_900)
    assert series.total == (9, 3)


def test_a_chart_of_very_many_partitions_has_fewer_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request can make the page read all that was ever recorded of a large group."""
    monkeypatch.setattr(past, "NUMBERS", 2_000)
    count = 200
    path = tmp_path / "past"
    with recorder_of(path) as recorder:
        states = ManualStates(large(0, count))
        for at_ms in range(1_000, 61_000, 1_000):
            record(recorder, states, large(at_ms, count))
        key = next(iter(large(0, count).groups))
        series = RecordedPast(recorder).lag_series(key, 0, 61_000, 2_000)
    assert 10 <= len(series.times_ms) <= past.LEAST_POINTS + 1


def test_a_full_disk_is_reported_and_recording_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When there is space again, all rebalances are written, those of meanwhile included."""
    full = True

    def open_small(path: Path) -> sqlite3.Connection:
        connection = open_for_writing(path)
        if full:
            connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(recording, "open_for_writing", open_small)
    states = ManualStates(seen(1_000, 5))
    with recorder_of(tmp_path / "past") as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.publish(large(1_500)), (rebalance(900, 950),))
        wait_until(lambda: past.problem, what="the problem")
        assert "full" in str(past.problem)
        assert past.lag_series(KEY, 0, 10_000, 10).problem == past.problem
        full = False
        record(recorder, states, seen(2_000, 6))
        wait_until(lambda: past.problem is None, what="its end")
        assert [past_rebalance.began_ms for past_rebalance in past.rebalances(KEY, 0)] == [900]


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """It is renamed for whoever needs it, and a new file is begun at once."""
    path = tmp_path / "past"
    history_with(path, [(at_ms, 1) for at_ms in range(1_000)]).close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = os.urandom(len(damaged) - 4096)
    path.write_bytes(damaged)
    check_file(path)
    states = ManualStates(seen(1_000, 5))
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        wait_until(lambda: list(tmp_path.glob("past.damaged-*")), what="it to be set aside")
        record(recorder, states, seen(5_000, 6))
        assert past.problem is None
        assert lags(past)[-1] == 6
    [aside] = tmp_path.glob("past.damaged-*")
    assert aside.read_bytes()[:4096] == damaged[:4096]


def test_a_file_that_another_server_has_replaced_is_not_set_aside(tmp_path: Path) -> None:
    """Two servers share a file: one finds the damage, the other its good replacement."""
    path, begun = tmp_path / "past", tmp_path / "begun"
    open_for_writing(begun).close()
    path.write_bytes(os.urandom(8_000))
    opened = open_for_writing

    def replaced(of: Path) -> sqlite3.Connection:
        if begun.exists():
            path.rename(tmp_path / "others-aside")
            begun.rename(path)
            raise UnusableFile("as it was a moment ago")
        return opened(of)

    states = ManualStates(seen(1_000, 5))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recording, "open_for_writing", replaced)
        recorder = Recorder(path, sample_ms=1, clock=ManualClock(wall_ms=10_000))
        with pytest.raises(UnusableFile):
            recorder._connected()
        recorder._fail(UnusableFile("as it was a moment ago"))
        assert not list(tmp_path.glob("past.damaged-*"))
    with recorder_of(path) as recorder:
        record(recorder, states, seen(2_000, 6))
        other = tmp_path / "other"
        open_for_writing(other).close()
        set_aside(path, 1)
        other.rename(path)
        record(recorder, states, seen(3_000, 7))
        assert lags(RecordedPast(recorder)) == [7]


def test_a_file_that_was_removed_is_created_again(tmp_path: Path) -> None:
    """Otherwise all samples would go to a file without a name."""
    path = tmp_path / "past"
    states = ManualStates(seen(1_000, 5))
    with recorder_of(path) as recorder:
        record(recorder, states, seen(2_000, 5))
        for file in tmp_path.iterdir():
            file.unlink()
        assert lags(RecordedPast(recorder)) == []
        assert RecordedPast(recorder).lag_series(KEY, 0, NOW_MS, 5).problem is not None
        record(recorder, states, seen(3_000, 6))
        assert lags(RecordedPast(recorder)) == [6]


@pytest.mark.parametrize(
    "statement",
    [
        f"PRAGMA user_version = {sql.VERSION + 1}",
        "DROP TABLE rebalances",
        "PRAGMA user_version = 0",
        "CREATE VIEW v AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
        " SELECT n FROM c",
        "CREATE TRIGGER t AFTER INSERT ON samples BEGIN DELETE FROM samples; END",
    ],
)
def test_a_file_that_only_looks_like_a_history_is_set_aside(
    statement: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is of another version, or has planted code: one line is logged, a new file begun."""
    path = tmp_path / "past"
    with closing(open_for_writing(path)) as connection:
        connection.execute(statement)
        connection.execute("PRAGMA journal_mode = DELETE")
    check_file(path)
    states = ManualStates(seen(1_000, 5))
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        wait_until(lambda: path.exists() and list(tmp_path.glob("past.damaged-*")), what="it")
        record(recorder, states, seen(2_000, 6))
        assert lags(past)[-1] == 6
        assert past.problem is None
    assert len(list(tmp_path.glob("past.damaged-*"))) == 1
    lines = [
        log_record.getMessage() for log_record in caplog.records if "recorder" in log_record.name
    ]
    assert len(lines) == 1
    assert "is unusable" in lines[0]


def test_lags_too_large_for_sqlite_do_not_end_recording(tmp_path: Path) -> None:
    """A broker may report any log end offset; the total is stored as the largest integer."""
    snapshot = seen(2_000, 7)
    partitions = [
        GroupPartition(
            TopicPartition("t", number),
            committed=(CommittedOffset(offset, "zookeeper", 1_000),),
            log_end=2**63 - 1,
            log_at_ms=2_000,
        )
        for number, offset in enumerate((0, 0))
    ]
    group = replace(snapshot.groups[KEY], partitions=tuple(partitions))
    states = ManualStates(seen(1_000, 5))
    with recorder_of(tmp_path / "past") as recorder:
        record(recorder, states, replace(snapshot, groups={KEY: group}))
        [total] = RecordedPast(recorder).lag_series(KEY, 2_000, 2_000, 1).total
    assert total == 2 * (2**63 - 1)
    with closing(sqlite3.connect(tmp_path / "past")) as connection:
        lags_stored = connection.execute("SELECT lag FROM samples WHERE at_ms = 2000").fetchall()
    assert lags_stored == [(2**63 - 1,)]


def test_the_recorder_does_not_block_its_callers(tmp_path: Path) -> None:
    """If states come faster than they are written, the latest counts; no rebalance is lost."""
    states = ManualStates(seen(1_000, 5))
    recorder = Recorder(tmp_path / "past", sample_ms=1, clock=ManualClock(wall_ms=10_000))
    for number in range(100):
        snapshot = seen(2_000 + number, number)
        recorder.take(states.publish(snapshot), (rebalance(number, None),))
    with closing(recorder):
        recorder.start()
        past = RecordedPast(recorder)
        wait_until(lambda: past.problem is None and len(past.rebalances(KEY, 0)) == 100, what="all")
        assert lags(RecordedPast(recorder)) == [99]
