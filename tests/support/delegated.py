"""Partitions that are delegated to a native loop, whose part a test takes."""

from tests.support.model_pump import ModelChunk, ModelClaim, ModelPart, ModelQueue
from tests.support.polled import BROKER, batch, fetched, states_of
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation, delegate
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.delegated import DelegatedFetch, Returned
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.model import TopicPartition
from zkconsumer.records.decode import decode_record_set

SETTINGS = CoreFetchSettings(max_bytes=100_000, max_partition_bytes=1_000)
"""Settings with which ten records fill a request."""


def make_fetch(requested: PartitionRequest, queue_bytes: int) -> DelegatedFetch:
    """Make what is shared with the loop; see ``broker_delegation.Make``."""
    return DelegatedFetch(requested, ModelClaim(), ModelQueue(queue_bytes, lambda: None))


def far_behind(
    *partitions: TopicPartition, settings: CoreFetchSettings = SETTINGS
) -> PartitionStates:
    """Return states of partitions whose first ten records filled their requests, and were taken."""
    states = states_of(*partitions, settings=settings)
    fetched(states, {tp: batch(0, 10, size=100) for tp in partitions})
    collect(states, 1_000, 0, None)
    states.take_effects()
    return states


def delegated(states: PartitionStates) -> BrokerDelegation:
    """Delegate the partitions of broker 1."""
    made = delegate(states, BROKER, make_fetch, version=11)
    assert made is not None
    return made


def queue_of(states: PartitionStates, tp: TopicPartition) -> ModelQueue:
    """Return the queue of a delegated partition."""
    fetch = states.states[tp].delegated
    assert fetch is not None
    assert isinstance(fetch.queue, ModelQueue)
    return fetch.queue


def put(fetch: DelegatedFetch, data: bytes, offset: int, high_watermark: int = 100) -> int:
    """Queue a set as one chunk, as the loop does; return the offset after it."""
    assert isinstance(fetch.queue, ModelQueue)
    assert isinstance(fetch.claim, ModelClaim)
    decoded = decode_record_set(data, fetch_offset=offset, max_decompressed_bytes=1 << 20)
    part = ModelPart(decoded, 0, len(decoded.records), len(data))
    epoch = decoded.last_leader_epoch
    chunk = ModelChunk(offset, decoded.next_offset, epoch, len(data), part, fetch.claim)
    fetch.claim.high_watermark = high_watermark
    assert fetch.queue.put(chunk)
    return decoded.next_offset


def back_at(offset: int, **changes: object) -> Returned:
    """Return what the loop returns of a partition at an offset."""
    return Returned(offset, 0)._replace(**changes)  # type: ignore[arg-type]
