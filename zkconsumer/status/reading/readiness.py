"""Reads the releases of brokers and the formats of their logs, on which readiness depends."""

from collections.abc import Iterator, Mapping
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.fetch.core.requests import fetch_topics
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.parts import parts_of
from zkconsumer.status.doctor.readiness import ReadinessFacts
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.status.reading.broker_round import BrokerQuery, BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import Unanswered
from zkconsumer.wire.messages.fetch import LAST_BY_NAME, FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.releases import Release

_MAGIC_AT: Final = 16
"""The position of the magic in entries of any format: after offset, size, and checksum or epoch."""
_BYTES: Final = 1 << 12
_AT_ONCE: Final = 100
_CLOSE_MS: Final = 1_000

_Found = tuple[Release | None, dict[str, int]]


def read_readiness(
    snapshot: ClusterSnapshot,
    view: ClusterView,
    dialer: BrokerDialer,
    *,
    timeout_ms: int,
    clock: Clock,
    settings: Mapping[str, str] | None = None,
) -> ReadinessFacts:
    """Query every broker once, all at the same time.

    Args:
        snapshot: has the log start offsets.
        view: the brokers and leaders.
        dialer: connects to them; the caller stops it.
        timeout_ms: the time limit of all queries together.
        clock: for the time limit.
        settings: a broker's server.properties, if given.

    Returns: The responses of brokers that came in time.
    """
    deadline = Deadline(clock, timeout_ms)
    lookups = {
        broker: _lookup(part, deadline) for broker, part in _beginnings(snapshot, view).items()
    }
    brokers = BrokerRound(dialer, clock)
    try:
        responses = brokers.request(lookups, deadline)
    finally:
        brokers.close(_CLOSE_MS)
    releases: dict[int, Release] = {}
    formats: dict[str, int] = {}
    for broker, response in responses.items():
        if isinstance(response, Unanswered):
            continue
        release, magics = response
        if release is not None:
            releases[broker.id] = release
        for name, magic in magics.items():
            formats[name] = min(magic, formats.get(name, magic))
    return ReadinessFacts(releases=releases, formats=formats, settings=settings)


def _beginnings(
    snapshot: ClusterSnapshot, view: ClusterView
) -> dict[Broker, dict[TopicPartition, int]]:
    """Return the log start offset, where the oldest records are, of each log with records."""
    wanted: dict[Broker, dict[TopicPartition, int]] = {
        broker: {} for broker in view.brokers.values()
    }
    for topic in snapshot.topics:
        for partition in topic.partitions:
            tp, start = partition.topic_partition, partition.log_start
            leader = view.leaders.get(tp)
            if leader in wanted and start is not None and start != partition.log_end:
                wanted[leader][tp] = start
    return wanted


def _lookup(wanted: Mapping[TopicPartition, int], deadline: Deadline) -> BrokerQuery[_Found]:
    def request(connection: NegotiatedConnection) -> _Found:
        formats: dict[str, int] = {}
        for part in _parts(wanted):
            if deadline.is_over:
                break
            response = connection.call(
                FetchRequest(max_wait_ms=0, min_bytes=0, topics=part),
                timeout_ms=max(1, deadline.left_ms),
                at_most=LAST_BY_NAME,
            )
            for topic in response.topics:
                for partition in topic.partitions:
                    magic = magic_of(partition.records)
                    if magic is not None:
                        formats[topic.topic] = min(magic, formats.get(topic.topic, magic))
        return connection.versions.release, formats

    return request


def magic_of(records: bytes | memoryview) -> int | None:
    """Return the format (magic) of the first entry of a record set; None if there is no entry."""
    return records[_MAGIC_AT] if len(records) > _MAGIC_AT else None


def _parts(wanted: Mapping[TopicPartition, int]) -> Iterator[tuple[FetchTopic, ...]]:
    """Yield the partitions to fetch, in parts that bound the size of a response."""
    for part in parts_of(wanted.items(), _AT_ONCE, lambda _: 1):
        yield fetch_topics(
            (tp, FetchPartition(partition=tp.partition, fetch_offset=offset, max_bytes=_BYTES))
            for tp, offset in part
        )
