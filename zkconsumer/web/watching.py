"""Reads a cluster again and again, and publishes what it saw as one state after the other.

One thread reads: all of the cluster each interval, and in between, about once a second, the groups
that somebody looks at. A cluster that can't be reached is tried again for ever; what is shown
meanwhile is what was seen last, with its age.
"""

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.status.reading.kept import CLUSTER_PART
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

INTERVAL_MS: Final = 5_000
LOOK_MS: Final = 1_000
RETRY_MS: Final = 2_000
EARLIER_MS: Final = 30_000
"""How old the snapshot is at least that another is compared with, for what stands still."""
_CLOSE_MS: Final = 2_000


class Reader(Protocol):
    """What reads; ``SnapshotReader`` is one."""

    def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """All of the cluster."""
        ...

    def look(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Some groups again, all else as it was last seen."""
        ...

    def close(self, timeout_ms: int = 5_000) -> None:
        """Break off what is under way. Thread: any."""
        ...


class OpenCluster(Protocol):
    """A cluster that is connected to."""

    @property
    def store(self) -> ZkStore:
        """ZooKeeper."""
        ...

    def reader(self) -> Reader:
        """A new reader, closed with the cluster."""
        ...


OnNews = Callable[[ClusterState, tuple[Rebalance, ...]], None]
"""Told of each state, with the rebalances that have begun, gone on or ended by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """What can be set.

    Attributes:
        zookeeper_connect: as it is shown while nothing was read.
        interval_ms: from one whole reading to the next; it takes longer where reading does, so
            that the watch rests at least half of the time.
        look_ms: from one look at the groups that are looked at to the next.
        retry_ms: how long to wait after a cluster could not be connected to.
        groups: which groups to show, by their id; None: all.
    """

    zookeeper_connect: str
    interval_ms: int = INTERVAL_MS
    look_ms: int = LOOK_MS
    retry_ms: int = RETRY_MS
    groups: re.Pattern[str] | None = None


class ClusterWatch:
    """A ``StateSource``. Thread: any.

    Args:
        open_cluster: connects to ZooKeeper; tried again where it raises anything but ConfigError.
        settings: what can be set.
        on_news: told of each state, on the watching thread; must not block.
        on_death: told what the watching thread died of, if it does.
        clock: for ages and the pace.
    """

    def __init__(
        self,
        open_cluster: Callable[[], AbstractContextManager[OpenCluster]],
        settings: WatchSettings,
        *,
        on_news: OnNews = lambda _state, _rebalances: None,
        on_death: Callable[[BaseException], None] = lambda _error: None,
        clock: Clock | None = None,
    ) -> None:
        self._open_cluster = open_cluster
        self._settings = settings
        self._on_news = on_news
        self._on_death = on_death
        self._clock = clock or SystemClock()
        self._memory = Memory()
        self._earlier = _Earlier()
        self._scope = ThreadScope("web", clock=self._clock)
        self._nudges: Mailbox[None] = Mailbox()
        self._stop = threading.Event()
        self._cluster: OpenCluster | None = None
        self._reader: Reader | None = None
        self._news = threading.Condition()
        self._listeners: list[Callable[[ClusterState], None]] = []
        self._watched: Counter[GroupKey] = Counter()
        self._current = self._nothing_yet()

    @property
    def current(self) -> ClusterState:
        """The latest state."""
        return self._current

    @property
    def store(self) -> ZkStore | None:
        """ZooKeeper, to look at single nodes; None while it is not connected to."""
        cluster = self._cluster
        return None if cluster is None else cluster.store

    def start(self) -> None:
        """Begin to watch."""
        self._scope.spawn("watch", self._run, stop=self._ask_to_stop, on_error=self._on_death)

    def close(self, timeout_ms: int = _CLOSE_MS) -> list[str]:
        """End, also where servers hang. Idempotent.

        Returns:
            The threads that still wait for a server; they end with the process.
        """
        self._ask_to_stop()
        reader, cluster = self._reader, self._cluster
        if reader is not None:
            reader.close(timeout_ms)
        if cluster is not None:
            cluster.store.close(timeout_ms)
        return self._scope.close(timeout_ms)

    def error(self) -> BaseException | None:
        """What the watching thread died of."""
        return self._scope.first_error()

    @contextmanager
    def watch(self, key: GroupKey) -> Iterator[None]:
        """Ask for quick looks at a group while the context is open."""
        with self._news:
            self._watched[key] += 1
        self._nudges.put(None)
        try:
            yield
        finally:
            with self._news:
                self._watched[key] -= 1
                if not self._watched[key]:
                    del self._watched[key]

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """Tell ``listener`` of every new state, on the watching thread: it must not block."""
        with self._news:
            self._listeners = [*self._listeners, listener]

        def end() -> None:
            with self._news:
                self._listeners = [one for one in self._listeners if one is not listener]

        return end

    def wait_newer(self, number: int, timeout_ms: int) -> ClusterState | None:
        """Wait for a state with a greater number; None where none comes in time."""
        with self._news:
            came = self._news.wait_for(lambda: self._current.number > number, timeout_ms / 1000)
        return self._current if came else None

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._open_cluster() as cluster:
                    self._watch_cluster(cluster)
            except ConfigError:
                raise
            except (ZkConsumerError, OSError) as error:
                if self._stop.is_set():
                    return
                if str(error) != self._current.problem:
                    log.warning("%s; trying again", error)
                self._publish_problem(str(error))
                self._rest(self._settings.retry_ms, looks=None)

    def _watch_cluster(self, cluster: OpenCluster) -> None:
        self._cluster, self._reader = cluster, cluster.reader()
        try:
            while not self._stop.is_set():
                began_ms = self._clock.now_ms()
                self._read(self._reader)
                took_ms = self._clock.now_ms() - began_ms
                until_ms = max(self._settings.interval_ms, 2 * took_ms)
                self._rest(until_ms - took_ms, looks=self._reader)
        finally:
            self._cluster = self._reader = None

    def _read(self, reader: Reader) -> None:
        began_ms = self._clock.now_ms()
        first = [key.group_id for key in self._looked_at()]
        snapshot = self._chosen(reader.read(first))
        if not self._stop.is_set():
            self._publish(snapshot, read_ms=self._clock.now_ms() - began_ms)

    def _look(self, reader: Reader, keys: Collection[GroupKey]) -> None:
        snapshot = self._chosen(reader.look(keys))
        if not self._stop.is_set():
            self._publish(snapshot, read_ms=None)

    def _rest(self, rest_ms: int, *, looks: Reader | None) -> None:
        """Wait, looking at the groups that are looked at."""
        end_ms = self._clock.now_ms() + rest_ms
        look_at_ms = self._clock.now_ms() + self._settings.look_ms
        while not self._stop.is_set():
            now_ms = self._clock.now_ms()
            if now_ms >= end_ms:
                return
            keys = () if looks is None else self._looked_at()
            if looks is not None and keys and now_ms >= look_at_ms:
                self._look(looks, keys)
                took_ms = self._clock.now_ms() - now_ms
                look_at_ms = now_ms + max(self._settings.look_ms, 2 * took_ms)
                continue
            self._nudges.get(max(1, min(end_ms, look_at_ms if keys else end_ms) - now_ms))

    def _looked_at(self) -> tuple[GroupKey, ...]:
        with self._news:
            return tuple(self._watched)

    def _chosen(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        chosen = self._settings.groups
        if chosen is None:
            return snapshot
        groups = {key: one for key, one in snapshot.groups.items() if chosen.search(key.group_id)}
        return replace(snapshot, groups=groups)

    def _publish(self, snapshot: ClusterSnapshot, *, read_ms: int | None) -> None:
        """Make a state of a snapshot; one of quick looks has no time of a whole reading."""
        previous = self._current
        failed = [one for one in snapshot.failures if one.part == CLUSTER_PART]
        ready = previous.ready or not failed
        before = self._earlier.take(snapshot)
        rebalances = self._memory.record(snapshot)
        judgements = Judgements(snapshot, before, self._memory, ready=ready)
        if read_ms is None:
            judgements.adopt(previous.judgements)
        judgements.prepare()
        state = replace(
            previous,
            number=previous.number + 1,
            snapshot=snapshot,
            snapshot_before=before,
            published_ms=self._clock.wall_ms(),
            read_duration_ms=previous.read_duration_ms if read_ms is None else read_ms,
            problem=failed[0].reason if failed else None,
            judgements=judgements,
        )
        self._tell(state, rebalances)

    def _publish_problem(self, problem: str) -> None:
        previous = self._current
        state = replace(
            previous,
            number=previous.number + 1,
            published_ms=self._clock.wall_ms(),
            problem=problem,
        )
        self._tell(state, ())

    def _tell(self, state: ClusterState, rebalances: tuple[Rebalance, ...]) -> None:
        with self._news:
            self._current = state
            self._news.notify_all()
            listeners = self._listeners
        self._on_news(state, rebalances)
        for listener in listeners:
            listener(state)

    def _ask_to_stop(self) -> None:
        self._stop.set()
        self._nudges.put(None)

    def _nothing_yet(self) -> ClusterState:
        now_ms = self._clock.wall_ms()
        snapshot = ClusterSnapshot(
            taken_ms=now_ms, zookeeper_connect=self._settings.zookeeper_connect
        )
        return ClusterState(
            number=0,
            snapshot=snapshot,
            snapshot_before=None,
            started_ms=now_ms,
            published_ms=now_ms,
            read_duration_ms=0,
            interval_ms=self._settings.interval_ms,
            problem="the cluster is being read for the first time",
            judgements=Judgements(snapshot, None, self._memory, ready=False),
        )


class _Earlier:
    """Keeps a snapshot that is half a minute old, or soon will be."""

    def __init__(self) -> None:
        self._old: ClusterSnapshot | None = None
        self._younger: ClusterSnapshot | None = None

    def take(self, snapshot: ClusterSnapshot) -> ClusterSnapshot | None:
        """Take up the latest; gives the earlier one to compare it with."""
        if self._younger is None:
            self._younger = snapshot
        elif snapshot.taken_ms - self._younger.taken_ms >= EARLIER_MS:
            self._old, self._younger = self._younger, snapshot
        return self._old
