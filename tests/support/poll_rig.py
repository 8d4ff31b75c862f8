"""A poll engine with all its parts, for real or fake brokers, and a caller that keeps records."""

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import ClusterView
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import Start
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.scope import Mailbox, ThreadScope

Got = dict[TopicPartition, list[ConsumerRecord]]


class PollRig:
    """A poll engine and its caller. Use it as a context manager; no thread may be left at the end.

    Args:
        bootstrap: the bootstrap brokers.
        topics: the topics whose metadata is kept.
        settings: the fetch settings.
        connector: the network; None: TCP.

    Attributes:
        engine: the engine under test.
        got: every collected record, in order.
    """

    def __init__(
        self,
        bootstrap: Sequence[Broker],
        topics: Sequence[str],
        settings: CoreFetchSettings,
        *,
        connector: Connector | None = None,
    ) -> None:
        clock = SystemClock()
        self.scope = ThreadScope("poll-rig")
        self.wakeup: Mailbox[str] = Mailbox()
        self.got: Got = {}
        self.dialer = BrokerDialer(
            connector or TcpConnector(),
            client_id="poll-rig",
            connect_timeout_ms=5_000,
            request_timeout_ms=settings.request_timeout_ms,
        )
        addresses = [
            Broker(-1 - at, broker.host, broker.port) for at, broker in enumerate(bootstrap)
        ]
        self.client = ClusterClient(
            self.dialer,
            addresses,
            request_timeout_ms=settings.request_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
            shuffle=lambda _: None,
        )
        self.metadata = MetadataManager(
            self.client,
            self.scope,
            refresh_ms=300_000,
            on_change=self._changed,
            backoff_ms=settings.retry_backoff_ms,
        )
        self.engine = PollEngine(
            dialer=self.dialer,
            client=self.client,
            metadata=self.metadata,
            settings=settings,
            scope=self.scope,
            wake=lambda: self.wakeup.put("news"),
            clock=clock,
        )
        self.metadata.watch(frozenset(topics))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.engine.stop()
        self.dialer.stop()
        left = self.scope.close(10_000)
        died_of = self.scope.first_error()
        if error is None:
            assert not left
            assert died_of is None

    def start(self, starts: dict[TopicPartition, Start]) -> None:
        """Read partitions from these starts."""
        self.engine.add(starts)
        for tp, start in starts.items():
            self.engine.seek(tp, start)

    def poll(self, timeout_ms: int = 1_000, max_records: int = 500) -> Got:
        """Collect records that are buffered or arrive in time, and add them to ``got``."""
        deadline_ms = SystemClock().now_ms() + timeout_ms
        while True:
            self.wakeup.drain()
            taken = self.engine.collect(max_records)
            left_ms = deadline_ms - SystemClock().now_ms()
            if taken or left_ms <= 0:
                break
            self.wakeup.get(left_ms)
        fresh = {tp: piece.records(RecordOrigin(tp)) for tp, piece in taken.items()}
        for tp, records in fresh.items():
            self.got.setdefault(tp, []).extend(records)
        return fresh

    def poll_until(self, done: Callable[[], bool], what: str, *, timeout_s: float = 30) -> None:
        """Poll until ``done`` returns True."""

        def probe() -> bool:
            self.poll(200)
            return done()

        wait_until(probe, timeout_s=timeout_s, what=what)

    def offsets(self, tp: TopicPartition) -> list[int]:
        """The offsets of all collected records of a partition."""
        return [record.offset for record in self.got.get(tp, [])]

    def values(self, tp: TopicPartition) -> list[bytes | None]:
        """The values of all collected records of a partition."""
        return [record.value for record in self.got.get(tp, [])]

    def _changed(self, view: ClusterView) -> None:
        with contextlib.suppress(AttributeError):  # the engine may not exist yet
            self.engine.cluster_changed(view)
