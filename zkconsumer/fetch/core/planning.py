"""Plan requests: the next fetch from a broker, and lookups of positions. Pure.

Plans are values, and change nothing: the sender records in ``PartitionStates`` what it sends.

A partition is fetched ahead of the caller until the size of one request is buffered of it, and
the total is bounded, too; a partition with an empty buffer may always be fetched, so that
records of paused or slow partitions never keep others from being fetched.

Sets not unpacked yet count as buffered, and the offsets after them may be requested early, if their
headers hold their last offsets, so that the broker works during unpacking.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from zkconsumer.fetch.core.ahead import HeaderSummary
from zkconsumer.fetch.core.completed import PartitionRequest, ResponseFrame
from zkconsumer.fetch.core.partition_state import PartitionState, Phase, PositionLookup
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shares import Wanted, share_out, shares_of
from zkconsumer.fetch.core.starts import LogEdge, PositionView
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.absent import NO_EPOCH

_SOON_MS: Final = 50
"""Maximum wait of a broker for data, ms, while another partition is about to be fetched."""


class Arriving(NamedTuple):
    """Hold a received set that is not unpacked yet.

    Attributes:
        requested: the request that it answers.
        size_bytes: its size as received.
        ahead: summary of its headers; None: it has to be unpacked first.
    """

    requested: PartitionRequest
    size_bytes: int
    ahead: HeaderSummary | None

    @property
    def memory_bytes(self) -> int:
        """Estimated size in memory once unpacked."""
        return self.size_bytes if self.ahead is None else self.ahead.memory_bytes


class FetchPlan(NamedTuple):
    """Describe a fetch request to send.

    Attributes:
        wanted: the partitions to request, in order; empty: no request now.
        max_wait_ms: longest wait of the broker for data.
        rest_ms: how long to wait here if the response is empty: the broker does not wait, since
            partitions outside this request may become fetchable at any moment.
        due_ms: when a request falls due without any event; None: never.
    """

    wanted: dict[TopicPartition, PartitionRequest]
    max_wait_ms: int
    rest_ms: int
    due_ms: int | None


def plan_fetch(
    states: PartitionStates,
    broker: Broker,
    now_ms: int,
    *,
    has_hard_bounds: bool = False,
    arriving: Collection[Arriving] = (),
) -> FetchPlan:
    """Plan the next request to a broker.

    Args:
        states: all partitions.
        broker: the broker.
        now_ms: the time.
        has_hard_bounds: whether the broker has no limit for the whole response, and cuts in the
            middle of a batch (before Fetch version 3).
        arriving: the last response's sets. If none of their partitions can be requested again, no
            request is planned: for the others it would be early, too.
    """
    settings = states.settings
    came = {
        arrival.requested.topic_partition: arrival
        for arrival in arriving
        if states.counts(arrival.requested)
    }
    found = _candidates(states, broker, now_ms, came)
    ready, due_ms = found.ready, found.due_ms
    if arriving and not any(state.topic_partition in came for state in ready):
        return FetchPlan({}, 0, 0, None)
    # The partitions of the last response had their turn: they come last.
    ready.sort(key=lambda state: state.topic_partition in came)
    sizes, held_count = _sizes(states, found, came, has_hard_bounds=has_hard_bounds)
    is_held = found.is_held or held_count > 0
    takes_turns = len(sizes) + held_count < len(ready)
    # An early request of a stream never waits for data: a set that stays packed until its queue has
    # capacity could not be followed by another request meanwhile.
    is_ahead = bool(came) and settings.is_unpacked_on_demand
    max_wait_ms = min(settings.max_wait_ms, _SOON_MS) if found.is_soon else settings.max_wait_ms
    if states.fresh.keys() & {state.topic_partition for state in ready} - came.keys():
        # Others may be held back until it is known whether these have records.
        max_wait_ms = 0
    if due_ms is not None:
        max_wait_ms = min(max_wait_ms, due_ms - now_ms)
    return FetchPlan(
        wanted={
            tp: _request(settings, states.states[tp], size, came.get(tp), now_ms)
            for tp, size in sizes.items()
        },
        max_wait_ms=0 if is_held or takes_turns or is_ahead else max_wait_ms,
        rest_ms=max_wait_ms if is_held and not takes_turns and not is_ahead else 0,
        due_ms=due_ms,
    )


class _Candidates(NamedTuple):
    """Hold the partitions of a broker that a request may include, and the state of the others.

    Attributes:
        ready: those to include, in the order of their turns.
        due_ms: when the first of those that failed may be tried again; None: none failed.
        packed_count: number of partitions whose last set is not unpacked yet.
        has_capacity: whether the buffers have capacity for fetching ahead.
        is_held: whether any may become ready at any moment, as soon as there is capacity.
        is_soon: whether any waits for its position.
    """

    ready: list[PartitionState]
    due_ms: int | None
    packed_count: int
    has_capacity: bool
    is_held: bool
    is_soon: bool


def _candidates(
    states: PartitionStates,
    broker: Broker,
    now_ms: int,
    came: Mapping[TopicPartition, Arriving],
) -> _Candidates:
    ready: list[PartitionState] = []
    due_ms: int | None = None
    is_held = is_soon = False
    packed_count = 0
    # Streams are bounded by their queues instead.
    is_on_demand = states.settings.is_unpacked_on_demand
    has_capacity = is_on_demand or _has_capacity(states, came.values())
    for state in states.of(broker).values():
        front = came.get(state.topic_partition)
        packed_count += state.packed is not None
        if not state.may_fetch or (state.requested is not None and front is None):
            is_soon = is_soon or state.is_asking
            is_held = is_held or (state.bounds is not None and state.bounds.is_held)
        elif _most_bytes(state, front) == 0:
            is_held = True  # until the reader has capacity; or a range needs no more
        elif state.retry_at_ms > now_ms:
            due_ms = min(due_ms or state.retry_at_ms, state.retry_at_ms)
        elif not _is_ready(states, state, front, has_capacity=has_capacity):
            is_held = True
        else:
            ready.append(state)
    return _Candidates(ready, due_ms, packed_count, has_capacity, is_held, is_soon)


def wants_more(states: PartitionStates, state: PartitionState, arriving_bytes: int = 0) -> bool:
    """Return whether little enough of a partition is buffered to fetch ahead."""
    most_bytes = max(states.settings.max_partition_bytes, state.filled_bytes)
    return state.unread_bytes + arriving_bytes <= most_bytes


def _is_ready(
    states: PartitionStates, state: PartitionState, front: Arriving | None, *, has_capacity: bool
) -> bool:
    """Return whether a partition may be fetched now, given its buffered and arriving records."""
    if front is None:
        return not state.waiting or (has_capacity and wants_more(states, state))
    return front.ahead is not None and has_capacity and wants_more(states, state, front.size_bytes)


def _most_bytes(state: PartitionState, front: Arriving | None) -> int:
    """Return the maximum to request, unless the next entry is larger; 0: nothing."""
    if state.bounds is None:
        return sys.maxsize
    assert state.fetched is not None
    offset = state.fetched.offset
    if front is not None and front.ahead is not None:
        offset = front.ahead.next_offset
    return state.bounds.size_at(offset)


def _has_capacity(states: PartitionStates, arriving: Iterable[Arriving]) -> bool:
    """Return whether the buffers have capacity for fetching ahead."""
    waiting_bytes = sum(arrival.memory_bytes for arrival in arriving)
    by_frame: dict[ResponseFrame, int] = {}
    for state in states.states.values():
        if state.delegated is not None:
            waiting_bytes += state.delegated.queue.queued_bytes
        for chunk in state.waiting:
            if chunk.frame is None:
                waiting_bytes += chunk.memory_bytes
            else:
                by_frame[chunk.frame] = by_frame.get(chunk.frame, 0) + chunk.memory_bytes
    # Decompressed records lie elsewhere, and may be larger.
    waiting_bytes += sum(max(frame.size_bytes, made) for frame, made in by_frame.items())
    return waiting_bytes < states.settings.max_bytes * max(1, len(list(states.sources())))


def _sizes(
    states: PartitionStates,
    found: _Candidates,
    arriving: Mapping[TopicPartition, Arriving],
    *,
    has_hard_bounds: bool,
) -> tuple[dict[TopicPartition, int], int]:
    """Return the size to request of each, and how many lack the capacity for a large entry.

    With hard bounds, larger entries take turns. Without capacity, no request is larger than usual.
    """
    settings, ready = states.settings, found.ready
    wanted: dict[TopicPartition, Wanted] = {}
    for state in ready:
        tp = state.topic_partition
        front = arriving.get(tp)
        needed_bytes = _needed_bytes(settings, state, front)
        grown_bytes = state.grown_bytes if found.has_capacity else 0
        wanted[tp] = Wanted(needed_bytes, grown_bytes, _most_bytes(state, front))
    shares = shares_of(
        settings,
        [want.needed_bytes for want in wanted.values()],
        len(ready) + found.packed_count,
        growing=sum(want.grown_bytes > 0 for want in wanted.values()),
        has_hard_bounds=has_hard_bounds,
    )
    held = [
        state.topic_partition
        for state in ready
        if wanted[state.topic_partition].needed_bytes > shares.part_bytes
        and state.bounds is not None
        and not state.bounds.takes_large()
    ]
    for tp in held:
        del wanted[tp]
    return share_out(wanted, shares), len(held)


def _needed_bytes(settings: CoreFetchSettings, state: PartitionState, came: Arriving | None) -> int:
    """Return the minimum size that the request needs."""
    if came is None or came.ahead is None:
        return state.needed_bytes
    needed_bytes = came.ahead.needed_bytes
    return needed_bytes if needed_bytes <= settings.growth_max_bytes else 0


def _request(
    settings: CoreFetchSettings,
    state: PartitionState,
    size: int,
    came: Arriving | None,
    now_ms: int,
) -> PartitionRequest:
    fetched, broker = state.fetched, state.source
    assert fetched is not None
    assert broker is not None
    start = fetched
    if came is not None and came.ahead is not None:
        # Without ``epochs`` the position after unpacking has none, and has to equal this one.
        epoch = came.ahead.leader_epoch if settings.epochs else NO_EPOCH
        start = PositionView(came.ahead.next_offset, epoch)
    return PartitionRequest(
        state.topic_partition,
        start,
        size,
        state.named_epoch,
        broker,
        is_again=state.suspect_offset == start.offset,
        topic_id=state.topic_id,
        planned_ms=now_ms,
    )


class PositionLookups(NamedTuple):
    """Hold the lookups to send.

    Attributes:
        resets: offsets of reset policies.
        edges: log start and end offsets.
        epochs: end offsets of the last fetched epochs.
        due_ms: when more fall due without any event; None: never.
    """

    resets: tuple[tuple[PositionLookup, LogEdge], ...]
    edges: tuple[PositionLookup, ...]
    epochs: tuple[PositionLookup, ...]
    due_ms: int | None

    def all(self) -> list[PositionLookup]:
        """Return every lookup."""
        return [*(lookup for lookup, _ in self.resets), *self.edges, *self.epochs]


def plan_lookups(states: PartitionStates, now_ms: int) -> PositionLookups:
    """Plan the lookups of positions that are due, and not under way."""
    resets: list[tuple[PositionLookup, LogEdge]] = []
    edges: list[PositionLookup] = []
    epochs: list[PositionLookup] = []
    due_ms: int | None = None
    for state in states.states.values():
        if not state.is_asking or state.lookup is not None or state.leader is None:
            continue
        if state.retry_at_ms > now_ms:
            due_ms = min(due_ms or state.retry_at_ms, state.retry_at_ms)
            continue
        lookup = PositionLookup(state.topic_partition, state.fetched, state.named_epoch)
        if state.phase is Phase.RESETTING:
            policy = state.policy
            assert policy is not None
            resets.append((lookup, policy))
        elif state.phase is Phase.CHECKING_RANGE:
            edges.append(lookup)
        else:
            epochs.append(lookup)
    return PositionLookups(tuple(resets), tuple(edges), tuple(epochs), due_ms)
