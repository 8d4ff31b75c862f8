"""A large cluster: pages respond at once while it is being read and evaluated.

The limit is in multiples of a fixed piece of Python, run in the same process at the same time.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.support.large_cluster import LARGE, PATIENCE_MS, connected
from tests.support.served_page import ServedPage
from tests.support.waiting import wait_until
from tests.support.yardstick import piece_s
from zkconsumer.scope import ThreadScope
from zkconsumer.status.reading.deadline import ReadingLimits
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.web.app import build_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.serving import Address, PageServer, listening
from zkconsumer.web.site import Site
from zkconsumer.web.watching import ClusterWatch, WatchSettings
from zkconsumer.zk.store import ZkStore

MEDIAN_MOST, TENTH_MOST = 2.0, 5.0
"""Limits of the median and of the 90th percentile, in multiples of the piece's."""
FEWEST_ROUNDS = 30
"""A 90th percentile needs well over ten rounds."""
PAGES = (
    "/",
    "/topics",
    "/topics/topic-0001",
    "/groups",
    "/groups/zookeeper/group-001",
    "/api/groups",
)


class ConnectedCluster:
    """A connected cluster, whose brokers are in memory."""

    def __init__(self, store: ZkStore, zookeeper_connect: str) -> None:
        self.zookeeper = store
        self._connect = zookeeper_connect

    def reader(self) -> SnapshotReader:
        """Create a reader with long timeouts."""
        return SnapshotReader(
            self.zookeeper,
            LARGE.brokers().dialer(),
            zookeeper_connect=self._connect,
            limits=ReadingLimits(cluster_ms=PATIENCE_MS, groups_ms=PATIENCE_MS),
        )


@contextmanager
def serving(watch: ClusterWatch, recorder: Recorder) -> Iterator[str]:
    """Serve the page in this process; yield its address."""
    events = EventHub(watch)
    site = Site(
        source=watch,
        past=RecordedPast(recorder),
        store=lambda: watch.store,
        tokens=Tokens(None),
        hosts=Hosts(any_name=False),
        events=events,
    )
    server = PageServer(build_app(site), events.close)
    scope = ThreadScope("page")
    with listening(Address("127.0.0.1", 0)) as (bound, where):
        scope.spawn("server", lambda: server.run(sockets=[bound]), stop=server.end)
        try:
            yield f"http://{where}"
        finally:
            assert scope.close(10_000) == []


@pytest.mark.zk
@pytest.mark.alone
def test_pages_of_a_large_cluster_are_quick(large_connect: str, tmp_path: Path) -> None:
    """It has 500 topics of 20 partitions and 50 groups of 400, and is read all the time."""
    with ExitStack() as stack:
        store = stack.enter_context(closing(connected(large_connect)))

        @contextmanager
        def open_it() -> Iterator[ConnectedCluster]:
            yield ConnectedCluster(store, large_connect)

        recorder = stack.enter_context(closing(Recorder(tmp_path / "past")))
        recorder.start()
        settings = WatchSettings(through=large_connect, interval_ms=200)
        watch = stack.enter_context(
            closing(ClusterWatch(open_it, settings, on_change=recorder.take))
        )
        watch.start()
        page = ServedPage(stack.enter_context(serving(watch, recorder)), None)
        wait_until(lambda: watch.current.ready, what="the first reading", timeout_s=60)
        first = watch.current.number
        took: dict[str, list[float]] = {path: [] for path in PAGES}
        pieces: list[float] = []

        def request_all() -> bool:
            for path in PAGES:
                pieces.append(piece_s(time.perf_counter))
                began = time.perf_counter()
                assert page.get(path, accept="text/html").status == 200
                took[path].append(time.perf_counter() - began)
            return watch.current.number > first and len(took["/"]) >= FEWEST_ROUNDS

        wait_until(request_all, what="another reading and enough rounds", timeout_s=90)
    for share, most in ((0.5, MEDIAN_MOST), (0.9, TENTH_MOST)):
        limit_s = most * _quantile(pieces, share)
        late = {path: times for path, times in took.items() if _quantile(times, share) > limit_s}
        assert not late, (share, limit_s, late)


def _quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]
