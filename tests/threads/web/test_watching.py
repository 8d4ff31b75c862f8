"""The cluster watch: what it reads and when, and which states it publishes."""

import re
import threading
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.support.group_tree import GroupTree
from tests.support.manual_clock import ManualClock
from tests.support.status import group_of, member, snapshot_of
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.model import TopicPartition
from zkconsumer.notify.troubles import observe
from zkconsumer.scope import Mailbox
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    PartFailure,
)
from zkconsumer.status.reading.kept import CLUSTER_PART
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.pages.formatting import NOT_KNOWN, Tone
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.publishing import EARLIER_MS, LONG_BEFORE_MS, Publisher
from zkconsumer.web.state import ClusterState
from zkconsumer.web.watching import ClusterWatch, WatchSettings

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
TP = TopicPartition("t", 0)
LONG_MS = 10_000


def seen(at_ms: int, *, offset: int = 40, members: tuple[str, ...] = ("a",)) -> ClusterSnapshot:
    """A cluster with one group, as it was read at this time."""
    partition = GroupPartition(
        TP, committed=(CommittedOffset(offset, "zookeeper", at_ms),), log_end=100, log_at_ms=at_ms
    )
    group = group_of(partition, members=tuple(member(text, {"t": 1}) for text in members))
    return snapshot_of(replace(group, seen_ms=at_ms), at_ms=at_ms, log_ends={TP: 100})


class ScriptedCluster:
    """A cluster whose snapshots a test provides, one for each read."""

    def __init__(self) -> None:
        self.zookeeper = GroupTree().store
        self.whole: Mailbox[ClusterSnapshot] = Mailbox()
        self.snapshots: list[tuple[GroupKey, ...]] = []
        self.firsts: list[tuple[str, ...]] = []
        self.latest = seen(1_000)
        self.closed = threading.Event()

    def reader(self) -> "ScriptedCluster":
        """Return itself, as the reader."""
        return self

    def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Return the latest snapshot that the test provided; waits for the first."""
        self.firsts.append(tuple(first))
        provided = self.whole.get(LONG_MS)
        if provided is not None:
            self.latest = provided
        return self.latest

    def read_groups(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Return the latest snapshot, and note the groups."""
        self.snapshots.append(tuple(keys))
        return self.latest

    def close(self, timeout_ms: int = 0) -> None:
        """End a read that waits."""
        del timeout_ms
        self.closed.set()
        self.whole.put(self.latest)


@contextmanager
def watching(
    cluster: ScriptedCluster, *, interval_ms: int = 20, groups: str | None = None
) -> Iterator[ClusterWatch]:
    """Watch this cluster."""

    @contextmanager
    def open_it() -> Iterator[ScriptedCluster]:
        yield cluster

    settings = WatchSettings(
        through="zk:2181",
        interval_ms=interval_ms,
        groups_interval_ms=5,
        retry_ms=5,
        groups=None if groups is None else re.compile(groups),
    )
    with closing(ClusterWatch(open_it, settings)) as watch:
        watch.start()
        yield watch


def newer(watch: ClusterWatch, number: int) -> ClusterState:
    """Return the next state."""
    assert comes_newer(watch, number, LONG_MS)
    return watch.current


def comes_newer(watch: ClusterWatch, number: int, timeout_ms: int) -> bool:
    """Return whether a state with a greater number comes within the time-out."""
    came = threading.Event()
    unsubscribe = watch.subscribe(lambda _state: came.set())
    try:
        return watch.current.number > number or came.wait(timeout_ms / 1000)
    finally:
        unsubscribe()


def test_before_the_first_reading_there_is_a_state_that_says_so() -> None:
    """It has number 0 and no groups, and a problem that says so."""
    cluster = ScriptedCluster()
    with watching(cluster) as watch:
        state = watch.current
        assert (state.number, state.ready, state.snapshot.groups) == (0, False, {})
        assert state.problem is not None
        assert state.judgements.findings(None) is not None
        cluster.whole.put(seen(2_000))
        after = newer(watch, 0)
    assert (after.number, after.ready, after.problem) == (1, True, None)
    assert after.judgements.lag(KEY).total == 60
    assert after.judgements.outcome(KEY).total_lag == 60
    assert after.judgements.topics.get("t") is not None
    assert after.judgements.readers.get("t", ()) == (KEY,)
    assert GroupKey(GroupKind.COORDINATOR, "g") not in after.snapshot.groups
    with pytest.raises(KeyError):
        after.judgements.lag(GroupKey(GroupKind.COORDINATOR, "g"))


def test_only_chosen_groups_are_shown() -> None:
    """The pattern may match anywhere in a group's id."""
    cluster = ScriptedCluster()
    with watching(cluster, groups="^other") as watch:
        cluster.whole.put(seen(2_000))
        assert newer(watch, 0).snapshot.groups == {}


def test_a_group_that_is_watched_is_read_in_between() -> None:
    """It is read between full reads for as long as a client watches it."""
    cluster = ScriptedCluster()
    with watching(cluster, interval_ms=LONG_MS) as watch:
        cluster.whole.put(seen(2_000))
        state = newer(watch, 0)
        assert cluster.snapshots == []
        with watch.watch(KEY), watch.watch(KEY):
            for _ in range(3):
                state = newer(watch, state.number)
            assert set(cluster.snapshots) == {(KEY,)}
        wait_until(lambda: not comes_newer(watch, watch.current.number, 100), what="rest")


def test_reads_of_a_group_go_on_while_a_full_read_takes_long() -> None:
    """The page of a group is updated in any cluster, but not before the first full read."""
    cluster = ScriptedCluster()
    with watching(cluster, interval_ms=1) as watch, watch.watch(KEY):
        wait_until(lambda: cluster.firsts, what="the first reading")
        assert cluster.snapshots == []
        cluster.whole.put(seen(2_000))
        wait_until(lambda: len(cluster.firsts) == 2, what="the second reading, which hangs")
        snapshots = len(cluster.snapshots)
        cluster.latest = seen(3_000, offset=70)
        wait_until(lambda: watch.current.judgements.lag(KEY).total == 30, what="a look")
        assert len(cluster.snapshots) > snapshots
        assert watch.current.snapshot.taken_ms == 3_000


def test_a_read_of_a_group_that_was_overtaken_is_not_shown() -> None:
    """It would show other groups as they were before the full read."""
    publisher = Publisher("zk:2181", 1_000, lambda _state, _rebalances: None, ManualClock())
    publisher.publish(seen(200_000_000_000_000), read_ms=7)
    publisher.publish_groups(seen(199_999_999_999_999, offset=1), [KEY])
    assert publisher.current.judgements.lag(KEY).total == 60
    publisher.publish_groups(seen(200_000_000_000_001, offset=70), [KEY])
    assert publisher.current.covered == frozenset([KEY])
    assert publisher.current.judgements.lag(KEY).total == 30
    assert publisher.current.read_duration_ms == 7
    assert publisher.current.number == 2
    publisher.publish(seen(200_000_000_000_002), read_ms=8)
    assert publisher.current.covered is None


def test_a_read_of_a_group_after_the_clock_was_set_back_is_shown() -> None:
    """By the monotonic clock it is newer."""
    publisher = Publisher("zk:2181", 1_000, lambda _state, _rebalances: None, ManualClock())
    publisher.publish(seen(3_700_000), read_ms=7)
    later = replace(seen(101_000, offset=70), clock_ahead_ms=-3_600_000)
    publisher.publish_groups(later, [KEY])
    assert publisher.current.snapshot is later


def test_a_read_of_a_group_reuses_unchanged_results() -> None:
    """The lag of a group is computed again only if the group has changed."""
    cluster = ScriptedCluster()
    with watching(cluster, interval_ms=LONG_MS) as watch:
        cluster.whole.put(seen(2_000))
        first = newer(watch, 0)
        with watch.watch(KEY):
            second = newer(watch, first.number)
            assert second.judgements.lag(KEY) is first.judgements.lag(KEY)
            cluster.latest = seen(3_000, offset=70)
            wait_until(lambda: watch.current.judgements.lag(KEY).total == 30, what="the new offset")


def test_rebalances_are_reported_with_the_state_that_shows_them() -> None:
    """The recorder gets each rebalance once, when it is new."""
    cluster = ScriptedCluster()
    reported: list[tuple[int, tuple[Rebalance, ...]]] = []

    @contextmanager
    def open_it() -> Iterator[ScriptedCluster]:
        yield cluster

    settings = WatchSettings(through="zk:2181", interval_ms=1)
    watch = ClusterWatch(
        open_it, settings, on_change=lambda state, found: reported.append((state.number, found))
    )
    received: list[int] = []
    with closing(watch):
        end = watch.subscribe(lambda state: received.append(state.number))
        watch.start()
        cluster.whole.put(seen(2_000))
        newer(watch, 0)
        cluster.whole.put(seen(3_000, members=("a", "b")))
        state = newer(watch, 1)
        [rebalance] = state.judgements.rebalances(KEY)
        assert [str(reason) for reason in rebalance.reasons] == ["member b joined"]
        wait_until(lambda: len(reported) == 2, what="the recorder to be told")
        assert reported == [(1, ()), (2, (rebalance,))]
        assert received == [1, 2]
        end()
        cluster.whole.put(seen(4_000))
        newer(watch, 2)
    assert received == [1, 2]


def test_a_state_is_compared_with_one_of_half_a_minute_earlier() -> None:
    """Progress is not judged by the state just before."""
    cluster = ScriptedCluster()
    with watching(cluster, interval_ms=1) as watch:
        befores: list[int | None] = []
        for number, at_ms in enumerate((0, 10, EARLIER_MS, EARLIER_MS + 1, 2 * EARLIER_MS)):
            cluster.whole.put(seen(at_ms))
            before = newer(watch, number).judgements._around.earlier
            befores.append(None if before is None else before.taken_ms)
    assert befores == [None, None, 0, 0, EARLIER_MS]


def stuck(at_ms: int, read_ms: int) -> ClusterSnapshot:
    """A cluster at one time, with a member that commits nothing, which was read at another time."""
    partition = GroupPartition(
        TP,
        "a-0",
        committed=(CommittedOffset(40, "zookeeper", read_ms, 500),),
        log_start=0,
        log_end=100,
        log_at_ms=at_ms,
    )
    group = replace(group_of(partition, members=(member("a", {"t": 1}),)), seen_ms=read_ms)
    return snapshot_of(group, at_ms=at_ms, log_ends={TP: 100})


def codes_after(*snapshots: ClusterSnapshot) -> set[Code]:
    """Publish these snapshots, and return the doctor's findings on the group in the last."""
    publisher = Publisher("zk:2181", 5_000, lambda _state, _rebalances: None, ManualClock())
    for snapshot in snapshots:
        publisher.publish(snapshot, read_ms=1)
    return {finding.code for finding in publisher.current.judgements.findings(KEY)}


def test_a_group_without_commits_for_long_is_diagnosed() -> None:
    """It takes minutes of unchanged reads; a group that was not read lately is not diagnosed."""
    times = range(1_000, 1_000 + LONG_BEFORE_MS + EARLIER_MS, 5_000)
    now_ms = times[-1]
    assert Code.COMMITS_PAUSED in codes_after(*(stuck(time_ms, time_ms) for time_ms in times))
    assert Code.COMMITS_PAUSED not in codes_after(
        *(stuck(time_ms, time_ms) for time_ms in times[:-20])
    )
    moved = seen(now_ms)
    assert Code.COMMITS_PAUSED not in codes_after(
        *(stuck(time_ms, time_ms) for time_ms in times[:-1]), moved
    )
    unread = [stuck(time_ms, min(time_ms, now_ms - 120_000)) for time_ms in times]
    assert Code.COMMITS_PAUSED not in codes_after(*unread)
    ahead = replace(stuck(10**9, 10**9), clock_ahead_ms=10**9)
    assert Code.COMMITS_PAUSED in codes_after(
        ahead, *(stuck(time_ms, time_ms) for time_ms in times)
    )


def found_by(publisher: Publisher) -> dict[Code, Diagnosis]:
    """Return the doctor's current findings on the group, by code."""
    return {it.code: it for it in publisher.current.judgements.findings(KEY)}


def test_a_diagnosis_stays_while_the_group_can_not_be_read() -> None:
    """A coordinator that is silent for long is no reason to call the group healthy."""
    publisher = Publisher("zk:2181", 5_000, lambda _state, _rebalances: None, ManualClock())
    read_ms = LONG_BEFORE_MS + EARLIER_MS
    for time_ms in range(1_000, 4 * LONG_BEFORE_MS, 5_000):
        publisher.publish(stuck(time_ms, min(time_ms, read_ms)), read_ms=1)
        assert (Code.COMMITS_PAUSED in found_by(publisher)) == (time_ms > LONG_BEFORE_MS), time_ms
    assert " for 5 min, although" in found_by(publisher)[Code.COMMITS_PAUSED].what
    publisher.publish(seen(4 * LONG_BEFORE_MS), read_ms=1)
    assert Code.COMMITS_PAUSED not in found_by(publisher)


def beyond(seen_ms: int, log_at_ms: int) -> ClusterSnapshot:
    """A group whose offset lies beyond the end of the log, each read at its own time."""
    partition = GroupPartition(
        TP,
        committed=(CommittedOffset(140, "zookeeper", seen_ms, seen_ms),),
        log_start=0,
        log_end=100,
        log_at_ms=log_at_ms,
    )
    at_ms = max(seen_ms, log_at_ms)
    group = replace(group_of(partition), seen_ms=seen_ms)
    return snapshot_of(group, at_ms=at_ms, log_ends={TP: 100})


def test_a_diagnosis_does_not_flap_with_the_order_of_reads() -> None:
    """Full reads and reads of a group alternate, log ends come late, and a leader goes silent."""
    publisher = Publisher("zk:2181", 1_000, lambda _state, _rebalances: None, ManualClock())
    publisher.publish(beyond(1_000, 1_001), read_ms=1)
    for number in range(1, 400):
        log_at_ms = min(1_000 * number + 2_000, 300_000)  # then its leader is silent
        state = beyond(1_000 * number + (2_001 if number % 2 else 1_999), log_at_ms)
        if number % 2:
            publisher.publish(state, read_ms=1)
        else:
            publisher.publish_groups(state, [KEY])
        assert Code.OFFSET_BEYOND_END in found_by(publisher), number
        (condition,) = (it for it in observe(publisher.current).conditions if it.subject == KEY)
        assert condition.trouble is not None


def test_a_cluster_that_can_no_longer_be_read_is_shown_as_it_was() -> None:
    """The state has the reason; a cluster that was never read is not ready."""
    cluster = ScriptedCluster()
    failure = PartFailure(part=CLUSTER_PART, reason="no answer", since_ms=2_000)
    with watching(cluster, interval_ms=1) as watch:
        cluster.whole.put(ClusterSnapshot(taken_ms=1, zookeeper_connect="", failures=(failure,)))
        assert not newer(watch, 0).ready
        cluster.whole.put(seen(2_000))
        assert newer(watch, 1).ready
        cluster.whole.put(replace(seen(3_000), failures=(failure,)))
        state = newer(watch, 2)
    assert (state.ready, state.problem) == (True, "no answer")
    assert state.judgements.lag(KEY).total == 60


def test_opening_a_cluster_is_retried() -> None:
    """Each failed attempt publishes its reason."""
    cluster, attempts = ScriptedCluster(), list[int]()

    @contextmanager
    def open_it() -> Iterator[ScriptedCluster]:
        attempts.append(1)
        if len(attempts) < 3:
            raise RegistryError("zk:2181 does not answer")
        yield cluster

    settings = WatchSettings(through="zk:2181", interval_ms=1, retry_ms=1)
    with closing(ClusterWatch(open_it, settings)) as watch:
        watch.start()
        assert newer(watch, 0).problem == "zk:2181 does not answer"
        cluster.whole.put(seen(2_000))
        wait_until(lambda: watch.current.ready, what="the cluster")
        stores = [watch.store]
    assert [*stores, watch.store] == [cluster.zookeeper, None]
    assert watch.error() is None


def test_invalid_settings_end_the_watch() -> None:
    """The server is notified, so that it can end as well."""
    died: list[BaseException] = []

    def open_it() -> AbstractContextManager[ScriptedCluster]:
        raise ConfigError("ssl.truststore.location: no such file")

    settings = WatchSettings(through="zk:2181")
    with closing(ClusterWatch(open_it, settings, on_death=died.append)) as watch:
        watch.start()
        wait_until(lambda: died, what="its end")
        assert isinstance(watch.error(), ConfigError)


def test_of_several_clusters_one_with_invalid_settings_is_retried() -> None:
    """The error is shown, and retried with growing pauses: a missing file may appear later."""
    clock, attempts = SystemClock(), list[int]()

    def open_it() -> AbstractContextManager[ScriptedCluster]:
        attempts.append(clock.now_ms())
        raise ConfigError("ssl.truststore.location: no such file")

    settings = WatchSettings(through="zk:2181", retry_ms=20, ends=False)
    with closing(ClusterWatch(open_it, settings)) as watch:
        watch.start()
        wait_until(lambda: len(attempts) > 4, what="further tries")
        assert watch.current.problem == "ssl.truststore.location: no such file"
        assert watch.error() is None
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    assert all(pause >= 20 * 2**number for number, pause in enumerate(pauses))


def test_an_internal_error_is_shown_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    """Any exception of a read or a listener is, with growing pauses, and logged once."""

    class Faulty(ScriptedCluster):
        """A cluster whose first reads raise an error that is not one of ours."""

        def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
            if len(self.firsts) < 3:
                self.firsts.append(())
                raise KeyError("x" * 10_000)
            return super().read(first)

        def read_groups(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
            super().read_groups(keys)
            raise RecursionError("too deep")

    cluster, died, states = Faulty(), list[BaseException](), list[ClusterState]()

    def listen(state: ClusterState) -> None:
        states.append(state)
        if len(states) == 2:
            raise RuntimeError("a listener's fault")

    @contextmanager
    def open_it() -> Iterator[ScriptedCluster]:
        yield cluster

    settings = WatchSettings(through="zk:2181", interval_ms=1, groups_interval_ms=1, retry_ms=1)
    with closing(ClusterWatch(open_it, settings, on_death=died.append)) as watch:
        watch.subscribe(listen)
        with watch.watch(KEY):
            watch.start()
            wait_until(lambda: len(cluster.firsts) >= 3, what="three tries")
            wait_until(lambda: len(states) >= 3, what="the problem to be shown")
            assert "a bug in zkconsumer: KeyError" in str(states[0].problem)
            assert len(str(states[0].problem)) < 300
            cluster.whole.put(seen(2_000))
            wait_until(lambda: watch.current.ready, what="the cluster")
            wait_until(lambda: cluster.snapshots, what="a look")
        assert watch.current.problem is None
        assert watch.error() is None
    assert died == []
    traces = [record for record in caplog.records if record.exc_info]
    assert len(traces) == 1


def test_settings_that_worked_before_are_retried() -> None:
    """A file that is being replaced must not end the page, or those of other clusters."""

    class Ending(ScriptedCluster):
        """A cluster whose session ends after the first read."""

        def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
            if self.firsts:
                raise RegistryError("the session has ended")
            return super().read(first)

    cluster = Ending()
    attempts: list[int] = []

    @contextmanager
    def open_it() -> Iterator[ScriptedCluster]:
        attempts.append(1)
        if len(attempts) > 1:
            raise ConfigError("ssl.truststore.location: no such file")
        yield cluster

    settings = WatchSettings(through="zk:2181", interval_ms=1, retry_ms=1)
    with closing(ClusterWatch(open_it, settings)) as watch:
        cluster.whole.put(seen(1_000))
        watch.start()
        wait_until(lambda: len(attempts) > 3, what="further tries")
        assert watch.current.ready
        assert watch.current.problem == "ssl.truststore.location: no such file"
        assert watch.error() is None


def test_closing_ends_a_read_that_hangs() -> None:
    """No thread is left."""
    cluster = ScriptedCluster()
    with watching(cluster) as watch:
        wait_until(lambda: cluster.firsts, what="the reading")
        assert watch.close() == []
    assert cluster.closed.is_set()
    assert watch.current.number == 0


@pytest.mark.parametrize("part", ["members", "offsets", "log"])
def test_a_group_that_was_not_read_in_full_for_long_is_not_healthy(part: str) -> None:
    """It kept up when it was last read, but whether it still does is not known."""
    publisher = Publisher("zk:2181", 1_000, lambda _state, _rebalances: None, ManualClock())
    verdicts = set[str]()
    for time_ms in range(1_000, 70_000, 1_000):
        publisher.publish(_without_lag(time_ms, part), read_ms=1)
        verdict = group_row(publisher.current, KEY).verdict
        verdicts.add(verdict.word)
        assert (verdict.tone is Tone.OK) == (time_ms <= 61_000), time_ms
    assert verdicts == {"keeps up", "not read"}
    assert group_row(publisher.current, KEY).verdict.sentence == (
        "g: it could not be read for 1 min 8 s; what was known then: keeps up"
    )
    assert group_row(publisher.current, KEY).caught_up == NOT_KNOWN
    (condition,) = (it for it in observe(publisher.current).conditions if it.subject == KEY)
    assert condition.trouble is None


def _without_lag(at_ms: int, lost: str) -> ClusterSnapshot:
    """A group without lag, of which one part was last read at the first second."""
    read = {part: 1_000 if part == lost else at_ms for part in ("members", "offsets", "log")}
    partition = GroupPartition(
        TP,
        "a-0",
        committed=(CommittedOffset(100, "zookeeper", read["offsets"], 500),),
        log_start=0,
        log_end=100,
        log_at_ms=read["log"],
    )
    group = group_of(partition, members=(member("a", {"t": 1}),))
    snapshot = snapshot_of(replace(group, seen_ms=read["members"]), at_ms=at_ms, log_ends={TP: 100})
    return replace(snapshot, failures=(PartFailure(part=lost, reason="late", since_ms=1_000),))
