"""Reads partitions, leaders and log ends of the cluster, on the driver.

No metadata request names a topic: a 0.8 broker would create a missing topic. Failed requests are
retried as often as ``fetchOffset.numRetries`` says, and for longer during the election of a leader,
which takes as long as the old leader's ZooKeeper session.
Source: Spark 4.2 ``KafkaOffsetReaderAdmin``.
"""

import logging
import random
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Self, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import OffsetsByTime, TimeLookup
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import (
    BrokerError,
    ConfigError,
    ConnectionLost,
    ProtocolError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.transport import Connector
from zkconsumer.printable import listed
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.broker_finder import BrokerFinder
from zkconsumer.spark.connecting import query_dialer
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.subscription import Subscription
from zkconsumer.spark.topic_creations import TopicCreations
from zkconsumer.wire.releases import Release

log = logging.getLogger(__name__)

T = TypeVar("T")
Offsets = dict[TopicPartition, int]
_FIRST_WITH_VERSIONS: Release = (0, 10)
"""The first release with ApiVersions."""
_PATIENT_PAUSE_MS = 100
"""The minimum pause between further attempts once the retries are used up."""


class ClusterReader:
    """Reads metadata and offsets from brokers. Thread: one at a time.

    Methods that send requests raise the error of their last attempt:

    - ``RegistryError``: ZooKeeper does not respond (it is used only if no brokers are given).
    - ``TransportError``: no broker can be reached, or the leader can't.
    - ``BrokerError``: a partition has no leader, or the leader responds with an error; names both.
    - ``AuthenticationFailed``, ``UnsupportedVersion``: raised at once, since no retry would help.

    Args:
        address: where the cluster is.
        client_id: sent with every request.
        timeout_ms: the time limit of connecting to a broker, and of each response.
        retries: the number of attempts, at least 1.
        retry_interval_ms: the pause between attempts.
        isolation: the isolation level: with ``READ_COMMITTED`` logs end before the first open
            transaction.
        grace_ms: how long to retry, regardless of ``retries``, if brokers responded before and one
            is now missing or no longer leads.
        connector: opens transports; TCP if not given.
        clock: measures ``grace_ms``.
    """

    def __init__(  # noqa: PLR0913 - one optional part a line, all by name
        self,
        address: ClusterAddress,
        *,
        client_id: str = "zkconsumer-spark",
        timeout_ms: int = 30_000,
        retries: int = 3,
        retry_interval_ms: int = 1_000,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        grace_ms: int = 0,
        connector: Connector | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._retries = max(1, retries)
        self._retry_interval_ms = retry_interval_ms
        self._limit_ms = grace_ms
        self._doubt_ms = min(grace_ms, timeout_ms)
        self._clock = clock or SystemClock()
        self._address = address
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._isolation = isolation
        self._connector = connector
        self._finder = BrokerFinder(address)
        self._creations = TopicCreations(address, view_of=self._view_of, clock=clock)
        self._open: tuple[BrokerDialer, ClusterClient] | None = None
        self._served_by_old = False
        self._view: ClusterView | None = None
        self._was_there = False
        self._seen: frozenset[TopicPartition] = frozenset()
        self._closed = threading.Event()

    @classmethod
    def of(cls, options: SourceOptions, *, connector: Connector | None = None) -> Self:
        """Create a reader from the options of a query."""
        return cls(
            options.address,
            client_id=options.ranges.client_id,
            timeout_ms=options.ranges.timeout_ms,
            retries=options.retries,
            retry_interval_ms=options.retry_interval_ms,
            isolation=options.ranges.isolation,
            grace_ms=options.ranges.poll_timeout_ms,
            connector=connector,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, and end a pause between two attempts. Thread: any."""
        self._closed.set()
        self._creations.close()
        self._hang_up()

    @property
    def are_old(self) -> bool:
        """Whether all brokers are known to be of 0.8 or 0.9, which get no ApiVersions request.

        Either their registrations say so, or the last metadata response came from such a broker:
        all brokers that can share a cluster with it support its requests.
        """
        return self._finder.are_old or self._served_by_old

    def brokers(self) -> tuple[Broker, ...]:
        """Return all live brokers, as one of them lists them, or else the bootstrap brokers."""
        if self._view is None:
            self._retrying(self._read_view)
        return self._finder.brokers()

    def partitions(self, subscription: Subscription) -> tuple[TopicPartition, ...]:
        """Read the partitions of a query from brokers, sorted.

        A broker that has just started may not have the metadata yet. So if partitions that existed
        before are missing now, or the response lists no live broker, the request is retried as
        often as any other before they count as deleted. (In a cluster without topics, no broker is
        listed.)

        Raises:
            ConfigError: a topic or partition of the subscription does not exist.
        """
        for left in reversed(range(self._retries)):
            view = self._retrying(self._read_view)
            known = {*view.leaders, *view.leaderless}
            try:
                found = subscription.wanted(known)
            except ConfigError as error:
                if not left:
                    raise
                log.warning("%s; requesting again", error)
            else:
                missing = self._seen.difference(known)
                if not left or (view.brokers and not missing):
                    self._seen = frozenset(found)
                    return found
                log.warning(
                    "the cluster does not know %s; requesting again",
                    f"{listed(sorted(missing))} any more" if missing else "of any broker",
                )
            self._pause()
        raise AssertionError("there is always a first try")

    def creations(self, topics: Collection[str]) -> Creations:
        """Return each topic's creation, which identifies it among topics of its name; never raises.

        A creation is the transaction id that created the topic's node in ZooKeeper or, without
        ZooKeeper, the topic's id (brokers 2.8 and later).
        """
        return self._creations.read(topics)

    def leaders(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Broker]:
        """Return the leader of each partition."""
        return self._retrying(lambda: self._led(partitions))

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Return the log start offset of each partition."""
        return self._ends(dict.fromkeys(partitions, EARLIEST))

    def latest(
        self,
        partitions: Sequence[TopicPartition],
        *,
        known: Mapping[TopicPartition, int] | None = None,
    ) -> Offsets:
        """Return the latest offset that consumers may read up to, exclusive.

        Args:
            partitions: the partitions to look up.
            known: log ends that were seen before. A new leader may for a moment report less than
                its predecessor, so a response below these is not trusted at first: the request is
                retried, as often as any other and at least for the time of one response, before
                that response is returned after all.
        """
        times = dict.fromkeys(partitions, LATEST)
        began_ms, left = self._clock.now_ms(), self._retries
        while True:
            left -= 1
            found = self._ends(times)
            behind = {tp for tp, offset in (known or {}).items() if found.get(tp, offset) < offset}
            if not behind or self._closed.is_set():
                return found
            if left <= 0 and self._clock.now_ms() - began_ms >= self._doubt_ms:
                return found
            log.warning(
                "log ends before what was known of %s: requesting them again",
                listed(sorted(behind)),
            )
            self._pause(0 if left > 0 else _PATIENT_PAUSE_MS)

    def at_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Return start offsets from which all records at least as new as a time are read.

        The offset is that of the first record that is not older, or the latest offset if there is
        none. Brokers before 0.10.1, and logs without timestamps, respond by segment: then it is the
        start of the newest segment that was last written to by that time, which may be about a
        segment too early; the earliest offset if all segments are newer, and the latest if the time
        is in the future.

        Args:
            times: milliseconds since the epoch, at least 0, for each partition.
        """
        return self._timed(times, TimeLookup.since)

    def until_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Return end offsets that include all records before the first at least as new as a time.

        By segment, the offset is the end of the segment after that of ``at_time``: the first
        segment that was last written to after the time; it may begin before that time.

        Args:
            times: milliseconds since the epoch, at least 0, for each partition.
        """
        return self._timed(times, TimeLookup.until)

    def _timed(
        self,
        times: Mapping[TopicPartition, int],
        search: Callable[[TimeLookup, Mapping[TopicPartition, int]], OffsetsByTime],
    ) -> Offsets:
        """Look up offsets by time; return the log's end if no record is as new."""

        def request() -> Offsets:
            leaders = self._led(tuple(times))
            lookup = TimeLookup(
                self._client(), timeout_ms=self._timeout_ms, isolation=self._isolation
            )
            found = search(lookup, times)
            for tp, code in sorted(found.errors.items()):
                raise self._failure(tp, code, leaders[tp])
            return found.offsets

        found = self._retrying(request) if times else {}
        return found | self.latest([tp for tp, offset in found.items() if offset < 0])

    def _ends(self, times: Mapping[TopicPartition, int]) -> Offsets:
        def request() -> Offsets:
            leaders = self._led(tuple(times))
            found: Offsets = {}
            for tp, reported in (
                self._client()
                .list_offsets(times, timeout_ms=self._timeout_ms, isolation=self._isolation)
                .items()
            ):
                if not isinstance(reported, TimedOffset) or reported.offset < 0:
                    code = ErrorCode.UNKNOWN if isinstance(reported, TimedOffset) else reported
                    raise self._failure(tp, code, leaders[tp])
                found[tp] = reported.offset
            return found

        return self._retrying(request) if times else {}

    def _failure(self, tp: TopicPartition, code: int, leader: Broker) -> ZkConsumerError:
        """Return the error for a partition without an offset."""
        why = self._client().why_unreachable(leader)
        if code == ErrorCode.NETWORK_EXCEPTION and why is not None:
            return ConnectionLost(why)
        text = f"{leader}: no offsets of {tp}: {explained(code)}"
        return BrokerError(code, "ListOffsets", text, tp)

    def _led(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Broker]:
        view = self._view
        if view is None or not all(tp in view.leaders for tp in partitions):
            view = self._read_view()
        lost = sorted(tp for tp in partitions if tp not in view.leaders)
        if lost:
            code = view.leaderless.get(lost[0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if code == ErrorCode.NONE:
                code = ErrorCode.LEADER_NOT_AVAILABLE
            text = f"no leader for {listed(lost)}: {explained(code)}"
            raise BrokerError(code, "Metadata", text, lost[0])
        return {tp: view.leaders[tp] for tp in partitions}

    def _read_view(self) -> ClusterView:
        """Read the metadata of all topics from one broker."""
        client = self._client()
        view = client.view(None, timeout_ms=self._timeout_ms)
        release = client.release
        self._served_by_old = release is not None and release < _FIRST_WITH_VERSIONS
        if view.brokers:
            self._finder.learn(view.brokers.values())
            self._was_there = True
        self._view = view
        return view

    def _view_of(self, topics: Collection[str]) -> ClusterView:
        return self._client().view(topics, timeout_ms=self._timeout_ms)

    def _client(self) -> ClusterClient:
        """Return the client of the brokers; after a failure the next caller creates a new one."""
        if self._open is None:
            brokers = self._finder.brokers()
            client_settings = ClientSettings(
                client_id=self._client_id,
                timeout_ms=self._timeout_ms,
                security=self._address.broker_security,
            )
            dialer = query_dialer(
                client_settings, are_old=self._finder.are_old, connector=self._connector
            )
            client = ClusterClient(
                dialer,
                brokers,
                request_timeout_ms=self._timeout_ms,
                # No second round: the attempts are counted here.
                retry_backoff_ms=self._timeout_ms,
                shuffle=random.shuffle,
            )
            self._open = dialer, client
        if self._closed.is_set():
            self._hang_up()
            raise ConnectionLost(f"{self._address}: nothing was requested: this reader was closed")
        return self._open[1]

    def _hang_up(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].stop()
            opened[0].stop()

    def _retrying(self, request: Callable[[], T]) -> T:
        began_ms, left = self._clock.now_ms(), self._retries
        while True:
            left -= 1
            try:
                return request()
            except (TransportError, ProtocolError, BrokerError) as error:
                self._view = None
                self._finder.doubt()
                self._hang_up()
                is_patient = (
                    self._was_there
                    and _heals(error)
                    and self._clock.now_ms() - began_ms < self._limit_ms
                )
                if self._closed.is_set() or (left <= 0 and not is_patient):
                    raise
                log.warning(
                    "the cluster can't be read: %s; %s",
                    error,
                    f"tries left: {left}" if left > 0 else "perhaps a new leader can, soon",
                )
                self._pause(0 if left > 0 else _PATIENT_PAUSE_MS)

    def _pause(self, least_ms: int = 0) -> None:
        self._closed.wait(max(self._retry_interval_ms, least_ms) / 1000)


def _heals(error: ZkConsumerError) -> bool:
    """Return whether the election of new leaders may resolve an error."""
    if isinstance(error, BrokerError):
        code = ErrorCode.of(error.code)
        return code.refresh_metadata and code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return isinstance(error, TransportError)
