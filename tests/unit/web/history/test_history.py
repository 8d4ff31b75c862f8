"""The history's file: what is kept and for how long, and how bad files are handled."""

import os
import sqlite3
import tracemalloc
import zlib
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.history_files import history_with
from tests.support.shares import examples
from zkconsumer.errors import ConfigError
from zkconsumer.status.model import (
    GroupKey,
    GroupKind,
)
from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import (
    check_file,
    open_for_writing,
    size_of,
)
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.history.upkeep import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    POINTS,
    Retention,
    intervals_by_age,
    maintain,
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


def times(connection: sqlite3.Connection) -> list[int]:
    """Return the times of the samples that are left."""
    return [at for (at,) in connection.execute("SELECT at_ms FROM samples ORDER BY at_ms")]


def kept(samples: dict[int, int], now_ms: int) -> list[int]:
    """Return which samples should be left, computed in another way."""
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
def test_older_samples_are_thinned_out(samples: dict[int, int], later_ms: list[int]) -> None:
    """All samples of the last hour stay, and of older ones the worst in each interval."""
    with closing(history_with(Path(":memory:"), list(samples.items()))) as connection:
        for now_ms in sorted(20 * DAY_MS + time_ms for time_ms in later_ms):
            maintain(connection, Retention(days=14), now_ms)
            samples = {at_ms: samples[at_ms] for at_ms in kept(samples, now_ms)}
            assert times(connection) == sorted(samples)


@given(st.integers(0, 2**45), st.integers(1, 30 * DAY_MS), st.integers(5, POINTS))
def test_bands_are_adjacent(now_ms: int, age_ms: int, points: int) -> None:
    """The intervals by age are adjacent, each twice as wide as the one before."""
    found = list(intervals_by_age(now_ms, now_ms - age_ms, points))
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


def test_groups_that_are_gone_for_long_leave_nothing(tmp_path: Path) -> None:
    """Groups that are gone for longer than samples are kept leave neither names nor layouts."""
    with closing(history_with(tmp_path / "past", [(0, 1)])) as connection:
        maintain(connection, Retention(days=1), 2 * DAY_MS)
        for table in ("series", "layouts", "samples", "rebalances"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_large_file_keeps_fewer_samples_of_the_same_time_span(tmp_path: Path) -> None:
    """A file beyond its size keeps fewer samples of the same time span, and shrinks on the disk."""
    path = tmp_path / "past"
    samples = [(at_ms, 1) for at_ms in range(0, 12 * HOUR_MS, 5_000)]
    with closing(history_with(path, samples)) as connection:
        before = size_of(connection)
        maintain(connection, Retention(max_bytes=before // 5), 12 * HOUR_MS)
        assert before // 20 < size_of(connection) <= before // 5 * 3 // 4
        left = times(connection)
        assert left[0] < 10 * MINUTE_MS
        assert left[-1] == samples[-1][0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size <= before // 5


def test_unused_layouts_are_removed_before_samples(tmp_path: Path) -> None:
    """Unused layouts are removed before any sample is."""
    with closing(
        history_with(tmp_path / "past", [(HOUR_MS + at_ms, 1) for at_ms in range(500)])
    ) as past:
        before = size_of(past)
        past.executemany(sql.ADD_LAYOUT, [(f"{at:04}" * 1_000,) for at in range(200)])
        maintain(past, Retention(max_bytes=before * 3 // 2), HOUR_MS + 500)
        assert size_of(past) <= before
        assert len(times(past)) == 500


def test_samples_are_removed_from_a_file_that_can_not_shrink(tmp_path: Path) -> None:
    """A file created without auto-vacuum can't shrink; its samples are removed all the same."""
    path = tmp_path / "past"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    check_file(path)
    with closing(history_with(path, [(at_ms, 1) for at_ms in range(1_000)])) as connection:
        maintain(connection, Retention(days=1), 2 * DAY_MS)
        assert times(connection) == []


def test_the_oldest_samples_are_removed_where_thinning_is_not_enough(tmp_path: Path) -> None:
    """If fewer samples per interval are not enough, the oldest samples are removed."""
    path = tmp_path / "past"
    with closing(history_with(path, [(at_ms, 1) for at_ms in range(0, 50_000, 5)])) as connection:
        before = size_of(connection)
        maintain(connection, Retention(max_bytes=before // 2), 50_000)
        assert size_of(connection) <= before // 2
        left = times(connection)
        assert left[-1] == 49_995
        assert len(left) > 2_000
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size <= before * 6 // 10


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Text files, other programs' databases and directories are refused and left as they are."""
    text = tmp_path / "text"
    text.write_text("mine")
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (a)")
    for path, message in (
        (text, "not a history"),
        (other, "not a history"),
        (tmp_path, "directory"),
        (tmp_path / "missing" / "file", "no directory"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_file(path)
    assert text.read_text() == "mine"


def test_a_damaged_file_under_the_default_name_is_moved_aside(tmp_path: Path) -> None:
    """A damaged file under the default name is moved aside, as after a power cut at night."""
    path = tmp_path / "past"
    path.write_bytes(bytes(5_000))
    check_file(path, ours=True)
    open_for_writing(path).close()
    [aside] = tmp_path.glob("past.damaged-*")
    assert aside.read_bytes() == bytes(5_000)


@settings(max_examples=examples(60))
@given(
    st.tuples(
        st.just(5_000) | STORED, STORED, st.just(1), st.just(zlib.compress(bytes(24))) | STORED
    ),
    st.sampled_from(['[["t",[0]]]']) | STORED | JSON_TEXTS,
    st.tuples(st.just(5_000), STORED, STORED, STORED, STORED | JSON_TEXTS),
)
@example((0.5, 0, 1, zlib.compress(bytes(24))), '[["t",[0]]]', (5_000, None, None, None, None))
def test_any_content_of_a_file_is_a_chart_or_an_error_message(
    sample: tuple[object, ...], layout: object, moved: tuple[object, ...]
) -> None:
    """Any value in any column yields a chart or an error message, and no page fails."""
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
        for rebalance in past.rebalances(KEY, 0):
            assert isinstance(rebalance.moved, int)
            assert all(isinstance(reason, str) for reason in rebalance.reasons)


def test_a_body_that_expands_too_far_is_refused(tmp_path: Path) -> None:
    """A body that expands to hundreds of megabytes is refused without allocating them."""
    path = tmp_path / "past"
    with closing(history_with(path, [])) as connection:
        connection.execute(sql.ADD_SAMPLE, (1, 5_000, 1, 1, zlib.compress(bytes(300 << 20), 9)))
    past = RecordedPast(Recorder(path))
    tracemalloc.start()
    try:
        assert past.lag_series(KEY, 0, 10_000, 10).problem is not None
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe or a device is refused at once: it would block, or get files beside it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(ConfigError, match="not a regular file"):
            check_file(path)


def test_new_files_empty_ones_and_our_own_are_accepted(tmp_path: Path) -> None:
    """A new file, an empty one, our own, and one without tables after a power cut are accepted."""
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
