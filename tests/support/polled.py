"""Short helpers for tests of the poll engine's pure parts."""

from collections.abc import Sequence
from typing import Any

from zkconsumer.cluster.view import ClusterView
from zkconsumer.fetch.core.completed import PartitionRequest, Unpacked, unpack
from zkconsumer.fetch.core.fetch_connection import begin_fetch
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.planning import FetchPlan
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import Broker, Record, TimestampType, TopicPartition
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.wire.messages.fetch import FetchedPartition

BROKER = Broker(1, "one", 9092)
OTHER = Broker(2, "two", 9092)
TP = TopicPartition("t", 0)
TP1 = TopicPartition("t", 1)


def batch(first: int, count: int, *, epoch: int = 0, size: int = 8) -> bytes:
    """Return a record batch with ``count`` records."""
    records = [
        Record(first + at, None, b"%d" % (first + at) + b"." * size, 1, TimestampType.CREATE_TIME)
        for at in range(count)
    ]
    return build_batch(records, traits=BatchTraits(leader_epoch=epoch))


def view(
    leaders: dict[TopicPartition, Broker],
    epoch: int = 0,
    errors: dict[str, int] | None = None,
    topic_id: bytes | None = None,
    *,
    has_exact_epochs: bool = True,
) -> ClusterView:
    """Return a cluster view with these leaders, all of the same epoch."""
    return ClusterView(
        brokers={BROKER.id: BROKER, OTHER.id: OTHER},
        leaders=leaders,
        leaderless={},
        errors=errors or {},
        leader_epochs=dict.fromkeys(leaders, epoch),
        has_exact_epochs=has_exact_epochs,
        topic_ids={} if topic_id is None else {tp.topic: topic_id for tp in leaders},
    )


def states_of(
    *partitions: TopicPartition,
    settings: CoreFetchSettings | None = None,
    offset: int = 0,
    fresh: bool = False,
) -> PartitionStates:
    """Return fetch states of partitions that broker 1 leads, all positioned at ``offset``.

    Unless they are ``fresh``, an earlier response of each has been received.
    """
    states = PartitionStates(settings or CoreFetchSettings())
    states.see(view(dict.fromkeys(partitions, BROKER)))
    states.add(partitions)
    for tp in partitions:
        states.seek(tp, PositionView(offset))
    if not fresh:
        states.fresh.clear()
    states.take_effects()
    return states


def part(tp: TopicPartition, data: bytes = b"", **fields: Any) -> FetchedPartition:
    """Return a partition's entry of a fetch response."""
    values: dict[str, Any] = {"error_code": 0, "high_watermark": 100} | fields
    return FetchedPartition(partition=tp.partition, records=memoryview(data), **values)


def request_of(
    tp: TopicPartition = TP, offset: int = 0, max_bytes: int = 1_000
) -> PartitionRequest:
    """Return a partition's entry of a request that was sent."""
    return PartitionRequest(tp, PositionView(offset), max_bytes, -1, BROKER)


def plan(states: PartitionStates, now_ms: int = 0, broker: Broker = BROKER) -> FetchPlan:
    """Return the next fetch request."""
    return begin_fetch(states, broker, now_ms)


def response(
    states: PartitionStates,
    planned: FetchPlan,
    responses: dict[TopicPartition, FetchedPartition],
    now_ms: int = 0,
) -> None:
    """Process responses to a planned request, and release the other partitions."""
    for tp, fetched_partition in responses.items():
        requested = planned.wanted[tp]
        unpacked = Unpacked()
        if not fetched_partition.error_code:
            unpacked = unpack(requested, fetched_partition, states.settings, 1 << 20)
        states.arrived([(requested, fetched_partition, unpacked)], now_ms)
    states.unanswered(planned.wanted.values())


def fetched(states: PartitionStates, data: dict[TopicPartition, bytes], now_ms: int = 0) -> None:
    """Run a complete fetch: request and response."""
    response(
        states,
        plan(states, now_ms),
        {tp: part(tp, record_set) for tp, record_set in data.items()},
        now_ms,
    )


def offsets(piece: Any) -> Sequence[int]:
    """Return the offsets of the records in a slice."""
    return [row[0] for rows in piece.parts() for row in rows]
