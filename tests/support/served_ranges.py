"""Ranges of a ``LogBroker``'s logs: a client that knows it, and readers over real sockets."""

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from tests.support.log_broker import Log, LogBroker
from tests.support.plain_connections import assuming_dialer, serving_fetch
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.cluster.offset_times import EARLIEST, TimedOffset
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.pump_maker import MakePump
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.net.tcp import TcpConnector

TOPIC_ID: Final = bytes(range(16))
SETTINGS: Final = RangeSettings(
    fetch_bytes=32 << 10,
    part_bytes=128 << 10,
    timeout_ms=6_000,
    max_wait_ms=20,
    retry_interval_ms=5,
    retries=3,
    poll_timeout_ms=2_000,
)


def without_pump(*_: object) -> None:
    """Make no pump: see ``MakePump``."""


@dataclass(slots=True, eq=False)
class ServedRanges:
    """A client of one broker, which leads all partitions.

    A question for the leader ends the broker's errors, as if another one had been elected.

    Attributes:
        broker: the broker.
        connections: the client's pool.
        lookups: how often the leader was looked up.
    """

    broker: LogBroker
    connections: ConnectionPool
    lookups: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def view(self, topics: set[str], **_: object) -> ClusterView:
        """See ``ClusterClient``."""
        with self._lock:
            self.lookups += 1
        for log in self.broker.logs:
            log.error = ErrorCode.NONE
        leader = self.broker.address
        return ClusterView(
            brokers={leader.id: leader},
            leaders={self.broker.partition(at): leader for at in range(len(self.broker.logs))},
            leaderless={},
            errors={},
            topic_ids=dict.fromkeys(topics, TOPIC_ID),
        )

    def list_offsets(
        self, times: Mapping[TopicPartition, int], **_: object
    ) -> Mapping[TopicPartition, TimedOffset | int]:
        """See ``ClusterClient``."""
        logs = self.broker.logs
        return {
            tp: TimedOffset(_edge(logs[tp.partition], time_ms)) for tp, time_ms in times.items()
        }

    def reader(self, make_pump: MakePump | None = None, **changes: Any) -> RangeReader:
        """Return a reader of ranges."""
        settings = replace(SETTINGS, **changes)
        return RangeReader(cast("Any", self), settings=settings, make_pump=make_pump)

    def whole(self, partition: int = 0) -> OffsetRange:
        """Return the range of a whole log, from its first offset on."""
        return OffsetRange(
            topic_partition=self.broker.partition(partition),
            from_offset=0,
            until_offset=self.broker.logs[partition].end,
        )

    def has_let_go(self) -> bool:
        """Whether no reading holds a thread or a connection."""
        return not threads_of_ranges() and not self.connections._in_use


def _edge(log: Log, time_ms: int) -> int:
    return log.start if time_ms == EARLIEST else log.end


@contextlib.contextmanager
def serving_ranges(broker: LogBroker, version: int) -> Iterator[ServedRanges]:
    """Connect a client that uses this version of Fetch; at the end no thread may be left."""
    dialer = assuming_dialer(TcpConnector(), serving_fetch(version))
    served = ServedRanges(broker, ConnectionPool(dialer, SystemClock()))
    try:
        yield served
    finally:
        served.connections.stop()
    assert not threads_of_ranges()


def threads_of_ranges() -> list[str]:
    """Return the names of threads that fetch ranges."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("range ")]


def descriptors() -> set[str]:
    """Return what the process has open: sockets, files, and descriptors of pumps."""
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
    return found
