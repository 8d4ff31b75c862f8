"""The driver's view of the cluster: its partitions, their leaders, where they start and end.

No topic is ever asked for by name: a 0.8 broker would create one that is missing. Connections are
kept between questions. What fails is asked again as often as ``fetchOffset.numRetries`` says.
Source: Spark 4.2 ``KafkaOffsetReaderAdmin``.
"""

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.cluster.offset_lists import list_offsets
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import BrokerError, ConnectFailed, ProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.subscription import Subscription
from zkconsumer.wire.error_codes import ErrorCode, error_name
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from zkconsumer.zk.group_reader import read_brokers
from zkconsumer.zk.kazoo_store import connect

log = logging.getLogger(__name__)

T = TypeVar("T")
Offsets = dict[TopicPartition, int]
_ALL = 2**31 - 1
_SHOWN = 10


class ClusterReader:
    """Asks brokers, and ZooKeeper for them. Thread: one at a time.

    Every method that asks raises what its last try met:

    - ``RegistryError``: ZooKeeper does not answer (it is asked only where no brokers are given).
    - ``TransportError``: no broker, or not the leader, can be reached.
    - ``BrokerError``: a partition has no leader, or the leader answers with an error; names both.

    Args:
        address: where the cluster is.
        client_id: sent with every request.
        timeout_ms: how long a broker may take to connect, and to answer.
        retries: how often to ask, at least 1.
        retry_interval_ms: the pause before asking again.
        connector: makes the transports; TCP if not given.
    """

    def __init__(
        self,
        address: ClusterAddress,
        *,
        client_id: str = "zkconsumer-spark",
        timeout_ms: int = 30_000,
        retries: int = 3,
        retry_interval_ms: int = 1_000,
        connector: Connector | None = None,
    ) -> None:
        self._address = address
        self._timeout_ms = timeout_ms
        self._retries = max(1, retries)
        self._retry_interval_ms = retry_interval_ms
        self._opener = BrokerConnector(
            connector or TcpConnector(), client_id=client_id, timeout_ms=timeout_ms
        )
        self._metadata = MetadataReader(
            self._opener.open, timeout_ms=timeout_ms, shuffle=random.shuffle
        )
        self._brokers: tuple[Broker, ...] = ()
        self._connections: dict[Broker, BrokerConnection] = {}
        self._view: ClusterView | None = None
        self._closed = threading.Event()

    @classmethod
    def of(cls, options: SourceOptions, *, connector: Connector | None = None) -> Self:
        """A reader as the options of a query want it."""
        return cls(
            options.address,
            client_id=options.client_id,
            timeout_ms=options.timeout_ms,
            retries=options.retries,
            retry_interval_ms=options.retry_interval_ms,
            connector=connector,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections, and end a pause between two tries. Thread: any."""
        self._closed.set()
        self._metadata.stop()
        self._drop_connections()

    def brokers(self) -> tuple[Broker, ...]:
        """The brokers to ask for anything: all live ones once a broker has told them."""
        return self._retrying(self._some_brokers)

    def partitions(self, subscription: Subscription) -> tuple[TopicPartition, ...]:
        """The partitions that a query reads now, sorted. Asks anew each time.

        Raises:
            ConfigError: a topic or partition is named that the cluster does not have.
        """
        view = self._retrying(self._settled_view)
        return subscription.wanted({*view.leaders, *view.leaderless})

    def leaders(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Broker]:
        """The leader of every one of these partitions."""
        return self._retrying(lambda: self._led(partitions))

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The oldest offset that is still there, of every one of these partitions."""
        return self._first_listed(dict.fromkeys(partitions, EARLIEST_TIMESTAMP))

    def latest(
        self,
        partitions: Sequence[TopicPartition],
        *,
        known: Mapping[TopicPartition, int] | None = None,
    ) -> Offsets:
        """The offset that the next message will get, as far as consumers may read.

        Args:
            partitions: which.
            known: offsets up to which the logs reached before. A new leader may for a moment know
                less than its predecessor did, so an answer before these is doubted: the question
                is asked again, as often as any, before the answer is given all the same.
        """
        times = dict.fromkeys(partitions, LATEST_TIMESTAMP)
        found = self._first_listed(times)
        for _ in range(self._retries - 1):
            behind = {tp for tp, offset in (known or {}).items() if found.get(tp, offset) < offset}
            if not behind:
                break
            log.warning("log ends before what was known of %s: asked again", _some(behind))
            self._pause()
            found = self._first_listed(times)
        return found

    def at_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Where to start so that everything written at a time or later is read.

        Brokers answer by segment: the start of the newest one that was last written to by then.
        So this may be earlier than need be, by about a segment. Where all segments are newer it is
        the earliest offset, and where the time has not come it is the latest.

        Args:
            times: milliseconds since the epoch, at least 0, for each partition.
        """
        listed = self._listed(times, 1)
        newer = [tp for tp, offsets in listed.items() if not offsets]
        found = {tp: offsets[0] for tp, offsets in listed.items() if offsets}
        return {**found, **self.earliest(newer)} if newer else found

    def until_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Where to end so that everything written before a time is read.

        That is the end of the segment behind the one that ``at_time`` gives: it is the first that
        was written to after the time, and may begin before it.

        Args:
            times: milliseconds since the epoch, at least 0, for each partition.
        """
        listed = self._listed(times, 1)
        bounds = self._listed(dict.fromkeys(times, LATEST_TIMESTAMP), _ALL)
        ends = {}
        for tp, all_bounds in bounds.items():
            at = listed[tp][0] if listed[tp] else -1
            behind = sorted(bound for bound in all_bounds if bound > at)
            ends[tp] = behind[min(1, len(behind) - 1)] if behind else at
        return ends

    def _first_listed(self, times: Mapping[TopicPartition, int]) -> Offsets:
        def ask() -> Offsets:
            listed = self._listed_once(times, 1)
            for tp, offsets in listed.items():
                if not offsets:
                    raise BrokerError(
                        ErrorCode.UNKNOWN, "ListOffsets", f"{tp}: its leader knows no offset", tp
                    )
            return {tp: offsets[0] for tp, offsets in listed.items()}

        return self._retrying(ask) if times else {}

    def _listed(
        self, times: Mapping[TopicPartition, int], max_offsets: int
    ) -> dict[TopicPartition, tuple[int, ...]]:
        return self._retrying(lambda: self._listed_once(times, max_offsets)) if times else {}

    def _listed_once(
        self, times: Mapping[TopicPartition, int], max_offsets: int
    ) -> dict[TopicPartition, tuple[int, ...]]:
        by_leader: dict[Broker, dict[TopicPartition, int]] = {}
        for tp, leader in self._led(tuple(times)).items():
            by_leader.setdefault(leader, {})[tp] = times[tp]
        found: dict[TopicPartition, tuple[int, ...]] = {}
        for leader, asked in by_leader.items():
            connection = self._connect(leader)
            found |= list_offsets(
                connection, asked, max_offsets=max_offsets, timeout_ms=self._timeout_ms
            )
        return found

    def _connect(self, broker: Broker) -> BrokerConnection:
        connection = self._connections.get(broker)
        if connection is None:
            connection = self._connections[broker] = self._opener.open(broker)
        return connection

    def _led(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Broker]:
        view = self._view
        if view is None or not all(tp in view.leaders for tp in partitions):
            view = self._settled_view()
        lost = sorted(tp for tp in partitions if tp not in view.leaders)
        if lost:
            code = view.leaderless.get(lost[0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if code == ErrorCode.NONE:
                code = ErrorCode.LEADER_NOT_AVAILABLE
            raise BrokerError(
                code,
                "Metadata",
                f"no leader for {_some(lost)}: {error_name(code)}, {ErrorCode.of(code).text}",
                lost[0],
            )
        return {tp: view.leaders[tp] for tp in partitions}

    def _settled_view(self) -> ClusterView:
        """All topics of the cluster; one whose partitions are not known yet is waited for."""
        brokers = self._some_brokers()
        view = self._view = self._metadata.read(brokers, (), all_topics=True)
        if view.brokers:
            self._brokers = tuple(sorted(view.brokers.values()))
        known = {tp.topic for tp in (*view.leaders, *view.leaderless)}
        for topic, code in sorted(view.errors.items()):
            if topic not in known and ErrorCode.of(code).retriable:
                self._view = None
                raise BrokerError(
                    code, "Metadata", f"topic {topic} is not ready: {error_name(code)}"
                )
        return view

    def _some_brokers(self) -> tuple[Broker, ...]:
        if not self._brokers:
            self._brokers = (
                tuple(Broker(-1 - at, *one) for at, one in enumerate(self._address.bootstrap))
                or self._registered()
            )
        return self._brokers

    def _registered(self) -> tuple[Broker, ...]:
        address = self._address
        assert address.zookeeper_connect is not None, "an address has one way at least"
        store = connect(
            address.zookeeper_connect,
            session_timeout_ms=address.session_timeout_ms,
            connection_timeout_ms=address.connection_timeout_ms,
        )
        try:
            found = read_brokers(store, None)
        finally:
            store.close()
        if not found.brokers:
            raise ConnectFailed(
                f"ZooKeeper {address.zookeeper_connect} has no live broker: start one, or check "
                "the chroot of zookeeper.connect"
            )
        return found.brokers

    def _retrying(self, ask: Callable[[], T]) -> T:
        for left in reversed(range(self._retries)):
            try:
                return ask()
            except (TransportError, ProtocolError, BrokerError) as error:
                self._drop_connections()
                self._view = None
                # Those that were known may all be gone: ask from the start.
                self._brokers = ()
                if not left or self._closed.is_set():
                    raise
                log.warning("offsets can't be told: %s; tries left: %d", error, left)
                self._pause()
        raise AssertionError("there is always a first try")

    def _pause(self) -> None:
        self._closed.wait(self._retry_interval_ms / 1000)

    def _drop_connections(self) -> None:
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()


def _some(partitions: "Sequence[TopicPartition] | set[TopicPartition]") -> str:
    listed = sorted(partitions)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(map(str, listed[:_SHOWN])) + more
