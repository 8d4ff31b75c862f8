"""The file of the history: what is kept, for how long, and what becomes of bad files and disks."""

import os
import sqlite3
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.asgi_client import StatesByHand
from tests.support.manual_clock import ManualClock
from tests.support.page_world import BILLING, NOW_MS, STEPS, snapshot_at
from tests.support.status import group_of, snapshot_of
from tests.support.waiting import wait_until
from zkconsumer.errors import ConfigError
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
    size_of,
)
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder, RecorderSettings
from zkconsumer.web.history.upkeep import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    POINTS,
    Keep,
    bands,
    keep_up,
)

STORED = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=40)
)
JSON_TEXTS = st.sampled_from(
    ["[]", "[" * 20_000, '[["t",["x"]]]', "[[1,[2e99]]]", "{}", "[[]]", "9"]
)
KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
TP = TopicPartition("t", 0)


def seen(at_ms: int, lag: int) -> ClusterSnapshot:
    """A group with a lag at a time."""
    partition = GroupPartition(
        TP,
        committed=(CommittedOffset(100, "zookeeper", at_ms),),
        log_end=100 + lag,
        log_at_ms=at_ms,
    )
    return snapshot_of(replace(group_of(partition), seen_ms=at_ms), at_ms=at_ms)


def large(at_ms: int, partition_count: int = 3_000) -> ClusterSnapshot:
    """A group whose sample needs more than a page."""
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
    """One of the group."""
    reasons = (Reason(RebalanceReason.JOINED, "ä member"),)
    return Rebalance(
        key=KEY, began_ms=began_ms, not_before_ms=None, ended_ms=ended_ms, reasons=reasons
    )


@contextmanager
def recorder_of(path: Path, sample_ms: int = 1) -> Iterator[Recorder]:
    """A recorder that runs."""
    clock = ManualClock(wall_ms=10_000)
    recorder = Recorder(path, RecorderSettings(sample_ms=sample_ms), clock)
    with closing(recorder):
        recorder.start()
        yield recorder


def lags(past: RecordedPast) -> list[int | None]:
    """What is known of the group's lag."""
    return list(past.lag_series(KEY, 0, 20_000, 20_000).total)


def record(recorder: Recorder, states: StatesByHand, snapshot: ClusterSnapshot) -> None:
    """Take up a snapshot, and wait until it is written."""
    past = RecordedPast(recorder)
    at_ms = snapshot.groups[KEY].seen_ms
    recorder.take(states.publish(snapshot), ())
    wait_until(lambda: past.lag_series(KEY, at_ms, at_ms, 1).times_ms, what="the sample")


def test_what_was_seen_outlives_the_process(tmp_path: Path) -> None:
    """Lags and rebalances; a rebalance is told as it ended."""
    path = tmp_path / "past"
    states = StatesByHand(seen(1_000, 5))
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
    """With all groups and partitions."""
    states = StatesByHand(snapshot_at(STEPS))
    with recorder_of(tmp_path / "past") as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        series = wait_until(
            lambda: [one] if (one := past.lag_series(BILLING, 0, NOW_MS, 10)).times_ms else [],
            what="it",
        )[0]
    lag = states.current.judgements.lag(BILLING)
    assert series.total == (lag.total,)
    assert {tp: one.lag[0] for tp, one in series.partitions.items()} == {
        one.topic_partition: one.records for one in lag.partitions
    }


def test_samples_keep_their_distance(tmp_path: Path) -> None:
    """What is looked at each second is not recorded each second; the same is never twice."""
    states = StatesByHand(seen(10_000, 1))
    with recorder_of(tmp_path / "past", sample_ms=4_000) as recorder:
        record(recorder, states, seen(10_000, 1))
        recorder.take(states.publish(seen(13_999, 2)), ())
        record(recorder, states, seen(14_000, 3))
        assert lags(RecordedPast(recorder)) == [1, 3]


def test_a_chart_shows_the_worst_of_each_stretch(tmp_path: Path) -> None:
    """The peak of a second is not lost in a day; each is a moment that was."""
    path = tmp_path / "past"
    with recorder_of(path) as recorder:
        states = StatesByHand(seen(0, 0))
        for at_ms, lag in ((1_000, 1), (1_500, 9), (1_999, 2), (2_000, 3), (2_900, 3)):
            record(recorder, states, seen(at_ms, lag))
        series = RecordedPast(recorder).lag_series(KEY, 1_000, 3_000, 2)
    assert series.times_ms == (1_500, 2_900)
    assert series.total == (9, 3)


def test_a_chart_of_very_many_partitions_has_fewer_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can make it work through all that a large group ever did."""
    monkeypatch.setattr(past, "NUMBERS", 2_000)
    count = 200
    path = tmp_path / "past"
    with recorder_of(path) as recorder:
        states = StatesByHand(large(0, count))
        for at_ms in range(1_000, 61_000, 1_000):
            record(recorder, states, large(at_ms, count))
        key = next(iter(large(0, count).groups))
        series = RecordedPast(recorder).lag_series(key, 0, 61_000, 2_000)
    assert 10 <= len(series.times_ms) <= past.LEAST_POINTS + 1


def in_file(path: Path, samples: list[tuple[int, int]]) -> sqlite3.Connection:
    """A history with samples of one group, written by hand."""
    connection = open_for_writing(path)
    connection.execute(sql.ADD_SERIES, ("zookeeper", "g"))
    connection.execute(sql.ADD_LAYOUT, ("[]",))
    rows = [(1, at_ms, lag, 1, b"x" * 100) for at_ms, lag in samples]
    connection.executemany(sql.ADD_SAMPLE, rows)
    return connection


def times(connection: sqlite3.Connection) -> list[int]:
    """Of the samples that are left."""
    return [at for (at,) in connection.execute("SELECT at_ms FROM samples ORDER BY at_ms")]


def kept(samples: dict[int, int], now_ms: int) -> list[int]:
    """What is left of samples, said in another way."""
    wanted: dict[tuple[int, int], tuple[int, int]] = {}
    for at_ms, lag in samples.items():
        width_ms = 10_000
        while at_ms // width_ms >= (now_ms - POINTS * width_ms) // width_ms and width_ms > 5_000:
            width_ms //= 2
        while at_ms < (now_ms - POINTS * 2 * width_ms) // (2 * width_ms) * 2 * width_ms:
            width_ms *= 2
        width_ms = 1 if width_ms < 10_000 else width_ms
        if at_ms >= now_ms - 14 * DAY_MS:
            place = (width_ms, at_ms // width_ms)
            wanted[place] = max(wanted.get(place, (-2, 0)), (lag, at_ms))
    return sorted(at_ms for _, at_ms in wanted.values())


NEAR_BORDERS = st.builds(
    lambda border_ms, off_ms: max(0, 20 * DAY_MS - border_ms + off_ms),
    st.sampled_from([0, HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS, 64 * HOUR_MS, 14 * DAY_MS]),
    st.integers(-2 * HOUR_MS, 2 * HOUR_MS) | st.integers(-2 * MINUTE_MS, 2 * MINUTE_MS),
)


@given(
    st.dictionaries(NEAR_BORDERS, st.integers(-1, 5), max_size=60),
    st.lists(st.integers(0, 3 * HOUR_MS), min_size=1, max_size=3),
)
def test_the_older_the_thinner(samples: dict[int, int], later_ms: list[int]) -> None:
    """Samples of an hour all stay; of older ones the worst of each interval; then none."""
    with closing(in_file(Path(":memory:"), list(samples.items()))) as connection:
        for now_ms in sorted(20 * DAY_MS + one for one in later_ms):
            keep_up(connection, Keep(days=14), now_ms)
            samples = {at_ms: samples[at_ms] for at_ms in kept(samples, now_ms)}
            assert times(connection) == sorted(samples)


@given(st.integers(0, 2**45), st.integers(1, 30 * DAY_MS), st.integers(5, POINTS))
def test_bands_lie_side_by_side(now_ms: int, age_ms: int, points: int) -> None:
    """From the oldest on, at whole intervals of their own; each keeps about as many."""
    found = list(bands(now_ms, now_ms - age_ms, points))
    if age_ms <= points * 10_000:
        assert found == []
    if not found:
        assert age_ms < (points + 1) * 10_000, "less than an interval, by where it begins"
        return
    for newer, older in pairwise(found):
        assert (older[1], older[2]) == (newer[0], 2 * newer[2])
    for since_ms, until_ms, width_ms in found:
        assert since_ms % width_ms == until_ms % width_ms == 0
        assert points - 1 <= (until_ms - since_ms) // width_ms <= points + 2
    assert found[0][1] <= now_ms - points * 10_000
    assert found[-1][0] <= now_ms - age_ms


def test_groups_that_are_long_gone_leave_nothing(tmp_path: Path) -> None:
    """Neither names nor layouts."""
    with closing(in_file(tmp_path / "past", [(0, 1)])) as connection:
        keep_up(connection, Keep(days=1), 2 * DAY_MS)
        for table in ("series", "layouts", "samples", "rebalances"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_large_file_keeps_fewer_moments_of_the_same_time(tmp_path: Path) -> None:
    """And gives back the room on the disk."""
    path = tmp_path / "past"
    samples = [(at_ms, 1) for at_ms in range(0, 12 * HOUR_MS, 5_000)]
    with closing(in_file(path, samples)) as connection:
        before = size_of(connection)
        keep_up(connection, Keep(max_bytes=before // 5), 12 * HOUR_MS)
        assert before // 20 < size_of(connection) <= before // 5 * 3 // 4
        left = times(connection)
        assert left[0] < 10 * MINUTE_MS
        assert left[-1] == samples[-1][0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size <= before // 5


def test_layouts_that_nobody_needs_any_more_cost_no_sample(tmp_path: Path) -> None:
    """A group whose partitions changed often."""
    with closing(
        in_file(tmp_path / "past", [(HOUR_MS + at_ms, 1) for at_ms in range(500)])
    ) as past:
        before = size_of(past)
        past.executemany(sql.ADD_LAYOUT, [(f"{at:04}" * 1_000,) for at in range(200)])
        keep_up(past, Keep(max_bytes=before * 3 // 2), HOUR_MS + 500)
        assert size_of(past) <= before
        assert len(times(past)) == 500


def test_a_file_that_gives_no_room_back_holds_up_nobody(tmp_path: Path) -> None:
    """Whoever created it empty did not say that it should."""
    path = tmp_path / "past"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    check_file(path)
    with closing(in_file(path, [(at_ms, 1) for at_ms in range(1_000)])) as connection:
        keep_up(connection, Keep(days=1), 2 * DAY_MS)
        assert times(connection) == []


def test_what_no_thinning_helps_loses_its_oldest(tmp_path: Path) -> None:
    """The newest stay."""
    path = tmp_path / "past"
    with closing(in_file(path, [(at_ms, 1) for at_ms in range(0, 50_000, 5)])) as connection:
        before = size_of(connection)
        keep_up(connection, Keep(max_bytes=before // 2), 50_000)
        assert size_of(connection) <= before // 2
        left = times(connection)
        assert left[-1] == 49_995
        assert len(left) > 2_000
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size <= before * 6 // 10


def test_a_full_disk_is_said_and_got_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ends by it; when there is room again it goes on, rebalances included."""
    full = True

    def open_small(path: Path) -> sqlite3.Connection:
        connection = open_for_writing(path)
        if full:
            connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(recording, "open_for_writing", open_small)
    states = StatesByHand(seen(1_000, 5))
    with recorder_of(tmp_path / "past") as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.publish(large(1_500)), (rebalance(900, 950),))
        wait_until(lambda: past.problem, what="the problem")
        assert "full" in str(past.problem)
        assert past.lag_series(KEY, 0, 10_000, 10).problem == past.problem
        full = False
        record(recorder, states, seen(2_000, 6))
        wait_until(lambda: past.problem is None, what="its end")
        assert [one.began_ms for one in past.rebalances(KEY, 0)] == [900]


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """It stays there for whoever wants it; a new one is begun at once."""
    path = tmp_path / "past"
    in_file(path, [(at_ms, 1) for at_ms in range(1_000)]).close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = os.urandom(len(damaged) - 4096)
    path.write_bytes(damaged)
    check_file(path)
    states = StatesByHand(seen(1_000, 5))
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        wait_until(lambda: list(tmp_path.glob("past.damaged-*")), what="it to be set aside")
        record(recorder, states, seen(5_000, 6))
        assert past.problem is None
        assert lags(past)[-1] == 6
    [aside] = tmp_path.glob("past.damaged-*")
    assert aside.read_bytes()[:4096] == damaged[:4096]


def test_what_another_server_has_begun_anew_is_not_set_aside(tmp_path: Path) -> None:
    """Two of them write to one file; one finds the damage first, the other the good file."""
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

    states = StatesByHand(seen(1_000, 5))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recording, "open_for_writing", replaced)
        recorder = Recorder(path, RecorderSettings(sample_ms=1), ManualClock(wall_ms=10_000))
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


def test_a_file_that_was_removed_is_begun_anew(tmp_path: Path) -> None:
    """Else all would go to a file without a name."""
    path = tmp_path / "past"
    states = StatesByHand(seen(1_000, 5))
    with recorder_of(path) as recorder:
        record(recorder, states, seen(2_000, 5))
        for one in tmp_path.iterdir():
            one.unlink()
        assert lags(RecordedPast(recorder)) == []
        assert RecordedPast(recorder).lag_series(KEY, 0, NOW_MS, 5).problem is not None
        record(recorder, states, seen(3_000, 6))
        assert lags(RecordedPast(recorder)) == [6]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Text, other programs' databases, directories."""
    text = tmp_path / "text"
    text.write_text("mine")
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (a)")
    for path, message in (
        (text, "no history"),
        (other, "no history"),
        (tmp_path, "directory"),
        (tmp_path / "missing" / "file", "no directory"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_file(path)
    assert text.read_text() == "mine"


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
def test_what_only_looks_like_a_history_is_set_aside(
    statement: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another version's, or one in which somebody has planted code: one line, and a new one."""
    path = tmp_path / "past"
    with closing(open_for_writing(path)) as connection:
        connection.execute(statement)
        connection.execute("PRAGMA journal_mode = DELETE")
    check_file(path)
    states = StatesByHand(seen(1_000, 5))
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
        recorder.take(states.current, ())
        wait_until(lambda: path.exists() and list(tmp_path.glob("past.damaged-*")), what="it")
        record(recorder, states, seen(2_000, 6))
        assert lags(past)[-1] == 6
        assert past.problem is None
    assert len(list(tmp_path.glob("past.damaged-*"))) == 1
    lines = [one.getMessage() for one in caplog.records if "recorder" in one.name]
    assert len(lines) == 1
    assert "is unusable" in lines[0]


def test_a_file_that_only_we_name_is_set_aside_whatever_it_is(tmp_path: Path) -> None:
    """After a power cut it may hold anything, and nobody is there at night to name another."""
    path = tmp_path / "past"
    path.write_bytes(bytes(5_000))
    check_file(path, ours=True)
    open_for_writing(path).close()
    [aside] = tmp_path.glob("past.damaged-*")
    assert aside.read_bytes() == bytes(5_000)


@settings(max_examples=60)
@given(
    st.tuples(
        st.just(5_000) | STORED, STORED, st.just(1), st.just(zlib.compress(bytes(24))) | STORED
    ),
    st.sampled_from(['[["t",[0]]]']) | STORED | JSON_TEXTS,
    st.tuples(st.just(5_000), STORED, STORED, STORED, STORED | JSON_TEXTS),
)
def test_whatever_stands_in_a_file_is_a_chart_or_a_sentence(
    sample: tuple[object, ...], layout: object, moved: tuple[object, ...]
) -> None:
    """Any type in any column: no page fails by it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "past"
        with closing(open_for_writing(path)) as connection, suppress(sqlite3.IntegrityError):
            connection.execute(sql.ADD_SERIES, ("zookeeper", "g"))
            connection.execute(sql.ADD_LAYOUT, (layout,))
            connection.execute(sql.ADD_SAMPLE, (1, *sample))
            connection.execute(sql.PUT_REBALANCE, (1, *moved))
        past = RecordedPast(Recorder(path))
        series = past.lag_series(KEY, 0, 10_000, 10)
        assert len(series.times_ms) <= 1
        assert all(isinstance(at_ms, int) for at_ms in series.times_ms)
        for trend in past.trends([KEY], 0, 10_000, 2).values():
            assert all(lag is None or isinstance(lag, int) for lag in trend)
        for one in past.rebalances(KEY, 0):
            assert isinstance(one.moved, int)
            assert all(isinstance(reason, str) for reason in one.reasons)


def test_a_body_of_a_few_bytes_takes_no_gigabyte(tmp_path: Path) -> None:
    """However large it says that it is."""
    path = tmp_path / "past"
    with closing(in_file(path, [])) as connection:
        connection.execute(sql.ADD_SAMPLE, (1, 5_000, 1, 1, zlib.compress(bytes(300 << 20), 9)))
    past = RecordedPast(Recorder(path))
    tracemalloc.start()
    try:
        assert past.lag_series(KEY, 0, 10_000, 10).problem is not None
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_lags_beyond_all_numbers_of_sqlite_end_no_recording(tmp_path: Path) -> None:
    """A log may end where its broker likes."""
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
    states = StatesByHand(seen(1_000, 5))
    with recorder_of(tmp_path / "past") as recorder:
        record(recorder, states, replace(snapshot, groups={KEY: group}))
        [total] = RecordedPast(recorder).lag_series(KEY, 2_000, 2_000, 1).total
    assert total == 2 * (2**63 - 1)
    with closing(sqlite3.connect(tmp_path / "past")) as connection:
        lags_stored = connection.execute("SELECT lag FROM samples WHERE at_ms = 2000").fetchall()
    assert lags_stored == [(2**63 - 1,)]


def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe would keep it waiting for ever; beside a device SQLite would leave files."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(ConfigError, match="no plain file"):
            check_file(path)


def test_a_new_file_an_empty_one_and_our_own_will_do(tmp_path: Path) -> None:
    """Also one that a power cut left without tables."""
    path = tmp_path / "new"
    check_file(path)
    assert path.stat().st_size == 0
    check_file(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
    assert path.stat().st_size
    check_file(path)
    open_for_writing(path).close()
    check_file(path)


def test_the_recorder_holds_up_nobody(tmp_path: Path) -> None:
    """Of states that come faster than they are written the latest counts; rebalances all do."""
    states = StatesByHand(seen(1_000, 5))
    recorder = Recorder(
        tmp_path / "past", RecorderSettings(sample_ms=1), ManualClock(wall_ms=10_000)
    )
    for number in range(100):
        snapshot = seen(2_000 + number, number)
        recorder.take(states.publish(snapshot), (rebalance(number, None),))
    with closing(recorder):
        recorder.start()
        past = RecordedPast(recorder)
        wait_until(lambda: past.problem is None and len(past.rebalances(KEY, 0)) == 100, what="all")
        assert lags(RecordedPast(recorder)) == [99]
