"""Delegate the partitions of a broker to a native loop, and take them back. Pure.

Partitions of polls and ranges are delegated while one of them is far behind: then the pump fills a
queue for each of them without the GIL, and the caller's thread never waits for a single response
(0121, 0122). A broker's partitions are delegated together, or not at all: those at the end of their
logs must not wait for one that catches up. Anything unusual is Python's: errors, damage, large
entries, replicas, positions to be validated, transactions, batches to keep as received.

What the pump returns counts as a response: its sets, errors and omissions are handled as those of
any other.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.delegated import DelegatedFetch, Returned, in_topics
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shares import ResponseShares, shares_of
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.offset_order import part_from
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.fetch import FIRST_SOFT_BOUNDS, FetchedPartition, FetchRequest

MOST_PARTITIONS: Final = 64
"""With more partitions of a broker Python fetches: every ``collect`` looks at each queue."""

_FIRST_LAST_EPOCH: Final = 12
"""The first version of Fetch that names the epoch of the last record (KIP-595)."""

_QUEUED_PARTS: Final = 4
"""Capacity of a queue in parts of a response: for two sets and their successors."""

_MIN_PART_BYTES: Final = 512 * 1024
"""Minimum part of a response, bytes, unless the usual size is smaller."""

Make = Callable[[PartitionRequest, int], DelegatedFetch]
"""Makes what is shared with the native loop, with a queue of so many bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BrokerDelegation:
    """Describe what a native loop has to fetch from a broker.

    Attributes:
        fetches: the partitions, those of a topic together; they are returned in this order.
        states: their states.
        part_bytes: size to request of each.
        grown_bytes: the largest size for a partition that is far behind.
    """

    fetches: list[DelegatedFetch]
    states: list[PartitionState]
    part_bytes: int
    grown_bytes: int

    @property
    def by_id(self) -> bool:
        """Whether all topics can be named by their ids."""
        ids = {(fetch.topic_partition.topic, fetch.requested.topic_id) for fetch in self.fetches}
        return all(topic_id for _, topic_id in ids) and len(ids) == len({topic for topic, _ in ids})

    def untouched(self) -> list[Returned]:
        """Return each partition as it was delegated."""
        return [
            Returned(
                fetch.requested.start.offset,
                state.needed_bytes,
                state.grown_bytes,
                is_behind=state.is_behind,
            )
            for state, fetch in zip(self.states, self.fetches, strict=True)
        ]


class HandedBack(NamedTuple):
    """Hold what a native loop returned unfinished, as parts of a response.

    Attributes:
        sets: sets to unpack.
        errors: parts with the broker's errors.
        absent: requests whose partitions a response omitted.
    """

    sets: list[tuple[PartitionRequest, FetchedPartition]]
    errors: list[tuple[PartitionRequest, FetchedPartition]]
    absent: list[PartitionRequest]


class _Sizes(NamedTuple):
    shares: ResponseShares
    queue_bytes: int


def may_delegate(
    states: PartitionStates, broker: Broker, *, version: int, arriving_bytes: int
) -> bool:
    """Return whether to delegate the partitions of a broker once its response is unpacked.

    Args:
        states: all partitions.
        broker: the broker.
        version: the version of Fetch that it speaks.
        arriving_bytes: the memory that its response will take.
    """
    ready = _ready(states, broker, version)
    return bool(ready) and _sizes(states, ready, version, arriving_bytes) is not None


def delegate(
    states: PartitionStates, broker: Broker, make: Make, *, version: int
) -> BrokerDelegation | None:
    """Delegate the partitions of a broker.

    Args:
        states: all partitions; those of this broker have no request in flight.
        broker: the broker.
        make: see ``Make``.
        version: the version of Fetch that it speaks.

    Returns:
        None if Python must fetch.
    """
    ready = _ready(states, broker, version)
    sizes = _sizes(states, ready, version) if ready else None
    if sizes is None or any(state.requested is not None for state in ready):
        return None
    shares = sizes.shares
    together = in_topics(ready, lambda state: state.topic_partition)
    fetches = [make(_request(state, shares.part_bytes), sizes.queue_bytes) for state in together]
    for state, fetch in zip(together, fetches, strict=True):
        fetch.claim.high_watermark = state.high_watermark
        fetch.claim.log_start = state.log_start
        state.requested, state.delegated = fetch.requested, fetch
        states.delegated[state.topic_partition] = state
        fetch.queue.await_chunk()  # the caller may be waiting already
    return BrokerDelegation(
        fetches=fetches,
        states=together,
        part_bytes=shares.part_bytes,
        grown_bytes=shares.grown_bytes,
    )


def take_back(
    states: PartitionStates, delegation: BrokerDelegation, returned: Iterable[Returned]
) -> HandedBack:
    """Take the partitions back, with what was fetched of them.

    Args:
        states: all partitions.
        delegation: the delegation.
        returned: the state of each; one that was given up meanwhile is ignored.
    """
    handed = HandedBack([], [], [])
    turns: list[tuple[int, PartitionState]] = []
    for state, fetch, back in zip(delegation.states, delegation.fetches, returned, strict=True):
        if (
            state.delegated in (fetch, None)
            and states.delegated.get(fetch.topic_partition) is state
        ):
            del states.delegated[fetch.topic_partition]
        if state.delegated is not fetch:
            continue
        _restore(states, state, fetch, back)
        _hand_over(states, state, back, delegation.part_bytes, handed)
        turns += [(back.turn, state)] if back.turn else []
    for _, state in sorted(turns, key=lambda turn: turn[0]):
        states.end_turn(state)
    return handed


def requests_of(
    states: PartitionStates, delegation: BrokerDelegation, request: FetchRequest
) -> dict[TopicPartition, PartitionRequest]:
    """Convert a request that the native loop sent, and record it as sent again.

    Args:
        states: all partitions; the delegated ones were taken back.
        delegation: the delegation.
        request: the request.
    """
    named: dict[tuple[str | bytes | None, int], tuple[PartitionState, PartitionRequest]] = {}
    for state, fetch in zip(delegation.states, delegation.fetches, strict=True):
        tp, requested = state.topic_partition, fetch.requested
        known = state, requested
        named[tp.topic, tp.partition] = named[requested.topic_id, tp.partition] = known
    found: dict[TopicPartition, PartitionRequest] = {}
    for topic in request.topics:
        for part in topic.partitions:
            state, requested = named[topic.topic or topic.topic_id, part.partition]
            if state.fetched is not None and state.fetched.offset == part.fetch_offset:
                sent = replace(requested, start=state.fetched, max_bytes=part.max_bytes)
                if _is_at(state, sent):
                    found[state.topic_partition] = sent
    states.begin(found.values())
    return found


def _is_at(state: PartitionState, sent: PartitionRequest) -> bool:
    """Return whether this request would be sent now; not if the partition has moved, or is gone."""
    return state.may_fetch and state.requested is None and state.is_at(sent)


def _ready(states: PartitionStates, broker: Broker, version: int) -> list[PartitionState]:
    """Return the partitions that a native loop can fetch; none if Python has to fetch any."""
    if not _is_plain(states.settings):
        return []
    ready = [state for state in states.of(broker).values() if state.may_fetch]
    if not any(state.is_behind for state in ready) or len(ready) > MOST_PARTITIONS:
        return []
    return ready if all(_is_supported(states, state, version) for state in ready) else []


def _is_plain(settings: CoreFetchSettings) -> bool:
    return (
        settings.isolation is IsolationLevel.READ_UNCOMMITTED
        and settings.kept_codec is Codec.NONE
        and not settings.client_rack
    )


def _is_supported(states: PartitionStates, state: PartitionState, version: int) -> bool:
    return (
        state.source == state.leader
        and state.topic_partition not in states.fresh
        and (_is_far_from_end(states, state) if state.bounds else _is_checked(state, version))
        and not state.failures
        and not state.doubts
        and state.suspect_offset is None
    )


def _is_checked(state: PartitionState, version: int) -> bool:
    """Return whether the broker notices that it has other records than those before the position.

    The pump does not name the epoch of the last record, which Python does from version 12 on.
    """
    return version < _FIRST_LAST_EPOCH or state.named_epoch != NO_EPOCH


def _is_far_from_end(states: PartitionStates, state: PartitionState) -> bool:
    """Return whether a partition has an end, and a largest request would not reach it.

    Its epochs need no check: a log that was truncated does not end a range (0122).
    """
    bounds, fetched = state.bounds, state.fetched
    assert bounds is not None
    assert fetched is not None
    most_bytes = states.settings.max_partition_bytes
    return state.until_offset is not None and bounds.size_at(fetched.offset) >= most_bytes


def _sizes(
    states: PartitionStates, ready: list[PartitionState], version: int, arriving_bytes: int = 0
) -> _Sizes | None:
    """Return the sizes of requests and queues; None if there is too little memory for these.

    The queues of a broker's partitions and the records that wait, also those of paused partitions,
    fit into ``max_bytes`` together.
    """
    settings, broker = states.settings, ready[0].source
    assert broker is not None
    free_bytes = settings.max_bytes - arriving_bytes
    for state in states.of(broker).values():
        free_bytes -= sum(chunk.memory_bytes for chunk in state.waiting)
    queue_bytes = min(settings.queued_bytes, free_bytes // len(ready))
    shares = shares_of(
        settings,
        (),
        len(ready),
        growing=sum(state.is_behind for state in ready),
        has_hard_bounds=version < FIRST_SOFT_BOUNDS,
    )
    part_bytes = min(shares.part_bytes, queue_bytes // _QUEUED_PARTS)
    needed_bytes = max(state.needed_bytes for state in ready)
    if part_bytes < max(needed_bytes, min(shares.part_bytes, _MIN_PART_BYTES)):
        return None
    return _Sizes(shares._replace(part_bytes=part_bytes), queue_bytes)


def _request(state: PartitionState, max_bytes: int) -> PartitionRequest:
    assert state.fetched is not None
    assert state.source is not None
    return PartitionRequest(
        state.topic_partition,
        state.fetched,
        max_bytes,
        state.named_epoch,
        state.source,
        topic_id=state.topic_id,
    )


def _restore(
    states: PartitionStates, state: PartitionState, fetch: DelegatedFetch, back: Returned
) -> None:
    """Apply the progress of a native loop to a partition's state."""
    has_epochs = states.settings.epochs
    while (chunk := fetch.take(has_epochs=has_epochs)) is not None:
        state.waiting.append(chunk)
        state.fetched = chunk.end
    assert state.fetched is not None
    assert state.fetched.offset == back.fetch_offset
    state.requested = state.delegated = None
    state.high_watermark = fetch.claim.high_watermark
    state.log_start = fetch.claim.log_start
    state.needed_bytes = back.needed_bytes
    state.grow(back.grown_bytes, back.grown_bytes)
    state.is_behind = back.is_behind
    states.touch(state)


def _hand_over(
    states: PartitionStates,
    state: PartitionState,
    back: Returned,
    part_bytes: int,
    handed: HandedBack,
) -> None:
    """Add what the native loop left to do to what it hands back."""
    if not state.may_fetch and back.packed is None:
        return
    if back.packed is not None:
        data, set_offset, requested_bytes, at_byte, _, _ = back.packed
        rest = data[at_byte:]
        assert state.fetched is not None
        if state.fetched.offset > set_offset:
            # Its offsets ascend. No broker would send entries that are queued, and in front of a
            # gap they would count as damaged.
            rest = part_from(rest, state.fetched.offset)
            if not rest:
                return
            if back.is_behind:
                # Of what filled its request the rest does, too: the partition is still far behind.
                requested_bytes = len(rest)
        request = _request(state, requested_bytes)
        handed.sets.append((request, _part(state, rest)))
    elif back.error_code:
        request = _request(state, part_bytes)
        handed.errors.append((request, _part(state, memoryview(b""), back.error_code)))
    elif back.is_left_out:
        request = _request(state, part_bytes)
        handed.absent.append(request)
    else:
        return
    states.begin([request])


def _part(state: PartitionState, records: memoryview, error_code: int = 0) -> FetchedPartition:
    return FetchedPartition(
        partition=state.topic_partition.partition,
        error_code=error_code,
        high_watermark=state.high_watermark,
        log_start_offset=state.log_start,
        records=records,
    )
