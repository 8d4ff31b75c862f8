"""Reads a cluster repeatedly, and publishes each result as a state.

One thread reads the whole cluster at an interval; another reads the groups of open pages about once
a second, even while the first is busy. A cluster that can't be reached is retried for ever;
meanwhile the last state is shown, with its age. If a bug in this program makes a read fail, the
cluster is retried less and less often, and other clusters are still read.
"""

import contextlib
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
from zkconsumer.printable import fault_text
from zkconsumer.repeats import Repeats
from zkconsumer.scope import ThreadScope, WakeEvent
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupKey
from zkconsumer.web.publishing import OnNews, Publisher
from zkconsumer.web.state import ClusterState
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

_ABOUT = "reading the cluster"

INTERVAL_MS: Final = 5_000
GROUPS_INTERVAL_MS: Final = 1_000
RETRY_MS: Final = 2_000
_FAULT_RETRY_MOST_MS: Final = 60_000
_FAULTY_READ_REST_MS: Final = 10_000
_CLOSE_MS: Final = 1_000


class StateReader(Protocol):
    """Reads snapshots, as ``SnapshotReader`` does.

    Thread: one for ``read``, one for ``read_groups``.
    """

    def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Read the whole cluster."""
        ...

    def read_groups(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Read some groups again, after the first ``read``; the rest is as it was last read."""
        ...

    def close(self, timeout_ms: int = 5_000) -> None:
        """Interrupt running reads. Thread: any."""
        ...


class OpenCluster(Protocol):
    """A connected cluster."""

    @property
    def zookeeper(self) -> ZkStore | None:
        """ZooKeeper; None if the cluster is read through its brokers only."""
        ...

    def reader(self) -> StateReader:
        """Return a new reader, closed with the cluster."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """The settings of the watcher.

    Attributes:
        through: shown before the first read: ZooKeeper's connect string, or the brokers of a
            cluster that is read through them only.
        interval_ms: from the start of one full read to the next; longer if reads are slow, so that
            the thread is idle at least half of the time.
        groups_interval_ms: likewise, for partial reads.
        retry_ms: the pause after a failure to connect.
        groups: selects the groups to show, by their id; None: all.
        ends: whether settings that can never work end the watch; if not, their error is shown.
    """

    through: str | BrokersAlone
    interval_ms: int = INTERVAL_MS
    groups_interval_ms: int = GROUPS_INTERVAL_MS
    retry_ms: int = RETRY_MS
    groups: re.Pattern[str] | None = None
    ends: bool = True


class ClusterWatch:
    """Reads a cluster repeatedly, and serves its states; a ``StateSource``. Thread: any.

    Args:
        open_cluster: connects to the cluster; retried unless it raises ConfigError before the
            cluster was ever read (see ``WatchSettings.ends``).
        settings: see ``WatchSettings``.
        on_change: called with each state, on the thread that built it; must not block.
        on_death: called with the error of a thread that dies.
        clock: for ages and intervals.
    """

    def __init__(
        self,
        open_cluster: Callable[[], AbstractContextManager[OpenCluster]],
        settings: WatchSettings,
        *,
        on_change: OnNews = lambda _state, _rebalances: None,
        on_death: Callable[[BaseException], None] = lambda _error: None,
        clock: Clock | None = None,
    ) -> None:
        self._open_cluster = open_cluster
        self._settings = settings
        self._on_death = on_death
        self._clock = clock or SystemClock()
        self._publisher = Publisher(settings.through, settings.interval_ms, on_change, self._clock)
        self._repeats = Repeats(log, self._clock)
        self._scope = ThreadScope("web", clock=self._clock)
        self._stop = threading.Event()
        self._wake_reading = WakeEvent()
        self._wake_reader = WakeEvent()
        self._cluster: OpenCluster | None = None
        self._reader: StateReader | None = None
        self._group_reader: StateReader | None = None
        self._lock = threading.Lock()
        self._watched: Counter[GroupKey] = Counter()

    @property
    def current(self) -> ClusterState:
        """The latest state."""
        return self._publisher.current

    @property
    def store(self) -> ZkStore | None:
        """ZooKeeper, to read single nodes; None while not connected, or without ZooKeeper."""
        cluster = self._cluster
        return None if cluster is None else cluster.zookeeper

    def start(self) -> None:
        """Start the threads that read the cluster."""
        self._scope.spawn("read", self._run, stop=self._request_stop, on_error=self._on_death)
        self._scope.spawn(
            "groups", self._run_reads, stop=self._request_stop, on_error=self._on_death
        )

    def close(self, timeout_ms: int = _CLOSE_MS) -> list[str]:
        """Stop watching, even if servers hang. Idempotent.

        Returns:
            The threads that still wait for a server; they end with the process.
        """
        self._request_stop()
        reader, cluster = self._reader, self._cluster
        if reader is not None:
            reader.close(timeout_ms)
        store = None if cluster is None else cluster.zookeeper
        if store is not None:
            store.close(timeout_ms)
        return self._scope.close(timeout_ms)

    def error(self) -> BaseException | None:
        """Return the error of the first thread that died; None if none has."""
        return self._scope.first_error()

    @contextmanager
    def watch(self, key: GroupKey) -> Iterator[None]:
        """Read a group more often while the context is open."""
        with self._lock:
            self._watched[key] += 1
        self._wake_reader.notify()
        try:
            yield
        finally:
            with self._lock:
                self._watched[key] -= 1
                if not self._watched[key]:
                    del self._watched[key]

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """Call ``listener`` with each new state, on the thread that built it; it must not block."""
        return self._publisher.subscribe(listener)

    def _run(self) -> None:
        faults = refusals = 0
        while not self._stop.is_set():
            number = self.current.number
            try:
                with self._open_cluster() as cluster:
                    self._read_on(cluster)
            except (ZkConsumerError, OSError) as error:
                # Settings that have worked may work again: certificates are replaced at run time.
                is_hopeless = isinstance(error, ConfigError) and not self.current.ready
                if is_hopeless and self._settings.ends:
                    raise
                if self._stop.is_set():
                    return
                self._repeats.happened(_ABOUT, f"{error}; trying again")
                self._publisher.publish_problem(str(error))
                refusals = refusals + 1 if is_hopeless else 0
                self._rest(self._wake_reading, self._pause_ms(max(1, refusals)))
            except Exception as error:  # noqa: BLE001 - a fault of ours must not end other clusters
                faults = 1 if self.current.number > number + 1 else faults + 1
                self._after_fault(error, faults)

    def _after_fault(self, error: Exception, faults: int) -> None:
        """Show and log a fault of this program, then pause, longer with each fault in a row."""
        if self._stop.is_set():
            return
        pause_ms = self._pause_ms(faults)
        problem = f"reading it failed because of a bug in zkconsumer: {fault_text(error)}"
        if faults == 1:
            log.error("%s", problem, exc_info=error)
        self._repeats.happened(_ABOUT, f"{problem}; trying again in {pause_ms} ms")
        # The fault may be a subscriber's, which would raise it again here.
        with contextlib.suppress(Exception):
            self._publisher.publish_problem(problem)
        self._rest(self._wake_reading, pause_ms)

    def _pause_ms(self, failures: int) -> int:
        """Return the pause after this many failures in a row: doubled by each, up to a limit."""
        return min(self._settings.retry_ms << min(failures - 1, 20), _FAULT_RETRY_MOST_MS)

    def _read_on(self, cluster: OpenCluster) -> None:
        self._cluster, self._reader = cluster, cluster.reader()
        try:
            while not self._stop.is_set():
                took_ms = self._read(self._reader)
                self._repeats.works(_ABOUT)
                self._group_reader = self._reader
                self._wake_reader.notify()
                pause_ms = max(self._settings.interval_ms - took_ms, took_ms)
                self._rest(self._wake_reading, pause_ms)
        finally:
            self._cluster = self._reader = self._group_reader = None

    def _read(self, reader: StateReader) -> int:
        began_ms = self._clock.now_ms()
        snapshot = self._chosen(reader.read([key.group_id for key in self._covered()]))
        if not self._stop.is_set():
            read_ms = self._clock.now_ms() - began_ms
            self._publisher.publish(snapshot, read_ms=read_ms)
        return self._clock.now_ms() - began_ms

    def _run_reads(self) -> None:
        while not self._stop.is_set():
            reader, keys = self._group_reader, self._covered()
            if reader is None or not keys:
                self._wake_reader.wait()
                continue
            began_ms = self._clock.now_ms()
            self._read_groups(reader, keys)
            took_ms = self._clock.now_ms() - began_ms
            self._rest(self._wake_reader, max(self._settings.groups_interval_ms - took_ms, took_ms))

    def _read_groups(self, reader: StateReader, keys: Collection[GroupKey]) -> None:
        try:
            snapshot = self._chosen(reader.read_groups(keys))
            if not self._stop.is_set():
                self._publisher.publish_groups(snapshot, keys)
        except ZkConsumerError as error:
            # The cluster was just closed; the reading thread finds out why.
            log.debug("reading groups: %s", error)
        except Exception as error:  # noqa: BLE001 - see ``_run``; the reader goes on, and shows them
            problem = f"reading groups failed: {fault_text(error)}"
            self._repeats.happened("reading groups", problem)
            self._rest(self._wake_reader, _FAULTY_READ_REST_MS)

    def _rest(self, waking: WakeEvent, rest_ms: int) -> None:
        """Wait for ``rest_ms``, or until the watch is stopped."""
        end_ms = self._clock.now_ms() + rest_ms
        while not self._stop.is_set() and (left_ms := end_ms - self._clock.now_ms()) > 0:
            waking.wait(left_ms)

    def _covered(self) -> tuple[GroupKey, ...]:
        with self._lock:
            return tuple(self._watched)

    def _chosen(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        chosen = self._settings.groups
        if chosen is None:
            return snapshot
        groups = {
            key: group for key, group in snapshot.groups.items() if chosen.search(key.group_id)
        }
        return replace(snapshot, groups=groups)

    def _request_stop(self) -> None:
        self._stop.set()
        self._wake_reading.notify()
        self._wake_reader.notify()
