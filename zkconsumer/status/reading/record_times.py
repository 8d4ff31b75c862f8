"""Reads the timestamps of records at given offsets from the leaders: the exact lag in time.

Only logs in the format of 0.10 or later have timestamps. If there is no record at an offset
(compacted, or a transaction marker), the next record's timestamp is returned.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.requests import fetch_topics, responses_of
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.parts import parts_of
from zkconsumer.records.decode import decode_record_set
from zkconsumer.status.reading.broker_round import BrokerQuery, BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import Unanswered
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
)

_FIRST_WITH_TIMES: Final = 2
"""The first version of Fetch whose records can have timestamps."""
_AT_ONCE: Final = 500
_AT_ONCE_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of a response, except with one large entry; many partitions take several."""
_FIRST_BYTES: Final = 4 * 1024
"""The size of the first fetch, enough for a small record. Of a larger entry, old brokers return the
beginning."""
_NEXT_BYTES: Final = 32 * 1024
"""The size of the second fetch: producers fill batches of 16 KiB by default."""
_MOST_BYTES: Final = 32 * 1024 * 1024
_ROUNDS: Final = 6
"""The maximum number of fetches of one partition: with larger sizes, or after a marker."""


@dataclass(frozen=True, slots=True)
class RecordTimeFetch:
    """The next fetch of one partition; ``alone``: in a request of its own."""

    offset: int
    max_bytes: int = _FIRST_BYTES
    alone: bool = False


def read_record_times(
    brokers: BrokerRound,
    wanted: Mapping[TopicPartition, int],
    leaders: Mapping[TopicPartition, Broker],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """Return the timestamps of records, in ms since the epoch.

    Partitions whose record has no timestamp, or was not read in time, are missing.

    Args:
        brokers: sends the requests.
        wanted: the offset of each partition.
        leaders: the leader of each partition.
        deadline: the time limit of all requests together.
    """
    by_leader: dict[Broker, dict[TopicPartition, int]] = {}
    for tp, offset in wanted.items():
        leader = leaders.get(tp)
        if leader is not None:
            by_leader.setdefault(leader, {})[tp] = offset
    lookups = {leader: _lookup(part, deadline) for leader, part in by_leader.items()}
    found: dict[TopicPartition, int] = {}
    for response in brokers.request(lookups, deadline).values():
        if not isinstance(response, Unanswered):
            found |= response
    return found


def _lookup(
    wanted: Mapping[TopicPartition, int], deadline: Deadline
) -> BrokerQuery[dict[TopicPartition, int]]:
    def request(connection: NegotiatedConnection) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        if connection.version_of(FetchRequest) < _FIRST_WITH_TIMES:
            return found
        waiting = {tp: RecordTimeFetch(offset) for tp, offset in wanted.items()}
        for _ in range(_ROUNDS):
            again: dict[TopicPartition, RecordTimeFetch] = {}
            for part in _parts(waiting):
                if deadline.is_over:
                    return found
                for tp, response in _fetch(connection, part, deadline):
                    reported = time_at(response, part[tp])
                    if isinstance(reported, RecordTimeFetch):
                        again[tp] = reported
                    elif reported is not None:
                        found[tp] = reported
            waiting = again
        return found

    return request


def _parts(
    waiting: Mapping[TopicPartition, RecordTimeFetch],
) -> Iterator[dict[TopicPartition, RecordTimeFetch]]:
    """Yield the fetches of each request, whose response fits into memory: large ones alone."""
    yield from ({tp: fetch} for tp, fetch in waiting.items() if fetch.alone)
    together = [(tp, fetch) for tp, fetch in waiting.items() if not fetch.alone]
    least_bytes = _AT_ONCE_BYTES // _AT_ONCE
    for part in parts_of(
        together, _AT_ONCE_BYTES, lambda entry: max(least_bytes, entry[1].max_bytes)
    ):
        yield dict(part)


def _fetch(
    connection: NegotiatedConnection,
    part: Mapping[TopicPartition, RecordTimeFetch],
    deadline: Deadline,
) -> Iterable[tuple[TopicPartition, FetchedPartition]]:
    entries = (
        (
            tp,
            FetchPartition(
                partition=tp.partition, fetch_offset=fetch.offset, max_bytes=fetch.max_bytes
            ),
        )
        for tp, fetch in part.items()
    )
    response = connection.call(
        FetchRequest(max_wait_ms=0, min_bytes=0, topics=fetch_topics(entries)),
        timeout_ms=max(1, deadline.left_ms),
        at_least=_FIRST_WITH_TIMES,
        at_most=LAST_BY_NAME,
    )
    return ((tp, reported) for tp, reported in responses_of(response).items() if tp in part)


def time_at(response: FetchedPartition, requested: RecordTimeFetch) -> int | RecordTimeFetch | None:
    """Return the timestamp of the first record from an offset on, or the next fetch to find it.

    None: there is no record, it has no timestamp, or it can't be read.
    """
    if response.error_code != ErrorCode.NONE:
        return None
    offset = requested.offset
    if not response.records and response.high_watermark > offset:
        return _larger(requested)
    try:
        decoded = decode_record_set(
            response.records,
            fetch_offset=offset,
            max_decompressed_bytes=_MOST_BYTES,
            enough_bytes=1,
        )
    except ZkConsumerError:
        return None  # it is damaged, or its codec is not installed
    if decoded.records:
        at_ms = decoded.records[0].timestamp
        return at_ms if at_ms >= 0 else None
    if decoded.next_offset > offset:
        return RecordTimeFetch(decoded.next_offset)
    size = decoded.first_entry_size_bytes
    if size is not None and requested.max_bytes < size <= _MOST_BYTES:
        return RecordTimeFetch(offset, size)
    return None


def _larger(requested: RecordTimeFetch) -> RecordTimeFetch | None:
    """Return the next fetch after an entry that did not fit.

    From 0.10.1 on a broker omits what does not fit, except the first entry of the first partition:
    a partition alone in its request gets it, however large it is (KIP-74).
    """
    if requested.alone:
        return None
    if requested.max_bytes < _NEXT_BYTES:
        return RecordTimeFetch(requested.offset, _NEXT_BYTES)
    return RecordTimeFetch(requested.offset, alone=True)
