"""All partitions of one consumer: their fetchers, news for the caller, due lookups. Pure.

One thread at a time: the shell holds a lock around each call, and acts on ``effects`` afterwards.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import TopicAuthorizationFailed, ZkConsumerError, without_frames
from zkconsumer.fetch.core.arrivals import Arrivals
from zkconsumer.fetch.core.completed import PartitionRequest, Unpacked
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.partition_state import (
    PartitionState,
    PendingError,
    Phase,
    PositionLookup,
)
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import Start
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.offsets.topic_checked import former_topic_warnings
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.fetch import FetchedPartition

Arrived = tuple[PartitionRequest, FetchedPartition, Unpacked]
"""A partition's part of a response: its request, the response, and what it was unpacked to."""


class PartitionStates:
    """Hold all partitions of one consumer. Thread: one at a time.

    Args:
        settings: fetch settings.

    Attributes:
        states: all partitions.
        line: partitions with news for the caller, in the order of their turns.
        failures: brokers' errors about the client (``AuthenticationFailed``), each raised once.
        fresh: partitions without any fetch response so far; see ``collecting.gathering_wait_ms``.
        gathering_since_ms: since when records are held back for these; None: they are not.
        delegated: partitions that native loops fetch; some may have been given up since.
        effects: follow-up actions for the shell; taken with ``take_effects``.
    """

    def __init__(self, settings: CoreFetchSettings) -> None:
        self.settings = settings
        self.states: dict[TopicPartition, PartitionState] = {}
        self.line: OrderedDict[TopicPartition, PartitionState] = OrderedDict()
        self.failures: OrderedDict[Broker, ZkConsumerError] = OrderedDict()
        self.fresh: dict[TopicPartition, PartitionState] = {}
        self.gathering_since_ms: int | None = None
        self.delegated: dict[TopicPartition, PartitionState] = {}
        self.effects = Effects()
        self._sources: dict[Broker, OrderedDict[TopicPartition, PartitionState]] = {}
        self._view: ClusterView | None = None

    def take_effects(self) -> Effects:
        """Return the collected effects, and clear them."""
        effects, self.effects = self.effects, Effects()
        return effects

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions; those already here stay as they are."""
        for tp in partitions:
            if tp not in self.states:
                state = self.states[tp] = self.fresh[tp] = PartitionState(tp)
                self._lead(state)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions, and drop their buffered records."""
        for tp in partitions:
            state = self.states.pop(tp, None)
            if state is not None:
                self._drop_requests(state)
                state.lookup = None
                self.line.pop(tp, None)
                self._on_reply(state)
                self._move(state, None)

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """See ``PollEngine``."""
        state = self.states[tp]
        self._take_back(state)  # before: a signal handler may raise once it has been given up
        state.seek(start)
        self._changed(state)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``; the response to a request in flight is kept."""
        for state in self._here(partitions):
            state.is_paused = True
            self.touch(state)
            self._take_back(state)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``."""
        for state in self._here(partitions):
            state.is_paused = False
            self._changed(state)

    def lead(self, tp: TopicPartition, leader: Broker) -> None:
        """Set a partition's leader that the caller found by other means than a cluster view."""
        state = self.states[tp]
        state.leader = leader
        self._assign_fetcher(state)
        self._changed(state)

    def see(self, view: ClusterView) -> None:
        """Apply a new view of the cluster."""
        self._view = view
        former: dict[TopicPartition, int] = {}
        for tp, state in self.states.items():
            position = state.position
            if not state.is_of(view.topic_ids.get(tp.topic)):
                # A lookup under way may be about the former topic.
                state.lookup = None
                if position is not None:
                    former[tp] = position.offset
                    self._arrivals(0).recreated(state)
            self._lead(state)
        follows = "reading it from its start"
        if self.settings.reset is None:
            follows = "auto.offset.reset is none: call seek() to continue"
        for topic, text in former_topic_warnings(former, follows).items():
            self.effects.notes.append(f"{self.settings.owner}: topic {topic} {text}")

    def sources(self) -> Iterable[Broker]:
        """Return the brokers that partitions are fetched from."""
        return self._sources.keys()

    def of(self, broker: Broker) -> OrderedDict[TopicPartition, PartitionState]:
        """Return the partitions fetched from a broker, in the order of their turns there."""
        return self._sources.get(broker, OrderedDict())

    def expire_replicas(self, broker: Broker, now_ms: int) -> None:
        """Let leaders name the nearest replica again, once their preference has expired."""
        for state in list(self.of(broker).values()):
            if state.replica is not None and state.replica_until_ms <= now_ms:
                state.replica = None
                self._assign_fetcher(state)

    def learn(self, requested: PartitionRequest, next_offset: int | None, size_bytes: int) -> None:
        """Record a set that is about to be unpacked in its partition's bounds.

        Args:
            requested: the request that it answers.
            next_offset: the offset after it, from its headers; None: not known.
            size_bytes: its size.
        """
        state = self.states.get(requested.topic_partition)
        if state is None or state.requested is not requested or state.bounds is None:
            return
        state.bounds.expect_set()
        if next_offset is not None:
            state.bounds.learn(requested.start.offset, next_offset, size_bytes)

    def begin(self, requests: Iterable[PartitionRequest]) -> None:
        """Record requests as sent; they are early if the last response is still being unpacked."""
        for requested in requests:
            state = self.states[requested.topic_partition]
            if state.requested is None:
                state.requested = requested
            else:
                state.early = requested

    def begin_lookups(self, lookups: Iterable[PositionLookup]) -> None:
        """Record lookups as sent."""
        for lookup in lookups:
            self.states[lookup.topic_partition].lookup = lookup

    def unanswered_lookups(self, lookups: Iterable[PositionLookup]) -> None:
        """Release lookups without a response: they are due again."""
        for lookup in lookups:
            state = self._asking(lookup)
            if state is not None:
                state.lookup = None
                self.effects.resolve_positions = True

    def arrived(self, responses: Iterable[Arrived], now_ms: int) -> None:
        """Apply a broker's responses, as far as they still count."""
        arrivals = self._arrivals(now_ms)
        for requested, response, unpacked in responses:
            state = self.states.get(requested.topic_partition)
            if state is None or state.requested is not requested:
                continue
            arrivals.fetched(state, requested, response, unpacked)
            self._on_reply(state)
            if len(response.records):
                self.end_turn(state)
            self._assign_fetcher(state, now_ms)
            if state.packed is None:
                state.on_response()
            self.touch(state)

    def unpacked(self, requested: PartitionRequest, piece: Unpacked, now_ms: int) -> None:
        """Apply the next piece of a packed set, if its response still counts."""
        state = self.states.get(requested.topic_partition)
        if state is not None and state.requested is requested:
            self._arrivals(now_ms).unpacked(state, piece)
            self.end_turn(state)
            if state.packed is None:
                state.on_response()
            self.touch(state)

    def left_out(self, requests: Iterable[PartitionRequest], now_ms: int) -> None:
        """Handle partitions that a broker's response had to name but omits."""
        for requested in requests:
            if self.counts(requested):
                state = self.states[requested.topic_partition]
                self._on_reply(state)
                self._arrivals(now_ms).left_out(state, requested)
                self._assign_fetcher(state, now_ms)
                state.on_response()

    def unanswered(self, requests: Iterable[PartitionRequest]) -> None:
        """Release requests without a response, or without news: fetch their partitions again."""
        for requested in requests:
            state = self.states.get(requested.topic_partition)
            if state is not None and state.requested is requested:
                # The rest of its response is still to be unpacked.
                if state.packed is None:
                    state.on_response()
                    # No response, or no news: a grown size may be too large, or the end is near.
                    state.shrink()
            elif state is not None and state.early is requested:
                state.early = None

    def counts(self, requested: PartitionRequest) -> bool:
        """Return whether a response to this request still counts."""
        state = self.states.get(requested.topic_partition)
        return state is not None and state.requested is requested

    def broker_lost(self, broker: Broker) -> None:
        """Handle the loss of a broker: let leaders choose replicas again, and refresh metadata."""
        for state in list(self.of(broker).values()):
            self._on_reply(state)
            if state.replica is not None:
                state.replica = None
                self._assign_fetcher(state)
        self.effects.refresh_metadata = True

    def broker_refuses(self, broker: Broker, error: ZkConsumerError) -> None:
        """Record that a broker refuses this client, to be reported to the caller."""
        self.failures[broker] = without_frames(error)
        self.effects.notify_caller = True

    def on_reset(self, lookup: PositionLookup, found: TimedOffset | int, now_ms: int) -> None:
        """Apply the position of a reset policy, or an error code."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).reset(state, found)
            self._changed(state)

    def on_edges(
        self, lookup: PositionLookup, start: TimedOffset | int, end: TimedOffset | int, now_ms: int
    ) -> None:
        """Apply the start and end offsets of a log, or an error code of either."""
        state = self._asking(lookup)
        if state is not None:
            arrivals = self._arrivals(now_ms)
            if isinstance(start, int):
                arrivals.refused(state, start)
            elif isinstance(end, int):
                arrivals.refused(state, end)
            else:
                arrivals.edges(state, lookup, start.offset, end.offset)
            self._changed(state)

    def on_epoch_end(self, lookup: PositionLookup, end: EpochEnd | int | None, now_ms: int) -> None:
        """Apply the end offset of an epoch."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).epoch_end(state, lookup, end)
            self._changed(state)

    def on_error_code(self, lookup: PositionLookup, code: int, now_ms: int) -> None:
        """Apply an error code from any lookup."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).refused(state, code)
            self._changed(state)

    def give_up_lookup(self, lookup: PositionLookup, error: ZkConsumerError, now_ms: int) -> None:
        """End a lookup that an instant retry can't fix: report its error, and retry after that."""
        state = self._asking(lookup)
        if state is not None:
            state.fail(now_ms, self.settings.retry_backoff_max_ms)
            state.stop_with(PendingError(error, is_retriable=True))
            self.touch(state)

    def has_leaderless_partitions(self) -> bool:
        """Return whether a partition waits for a leader."""
        return any(
            state.leader is None and not state.is_paused
            for state in self.states.values()
            if state.phase in (Phase.FETCHING, Phase.RESETTING, Phase.CHECKING_RANGE)
        )

    def touch(self, state: PartitionState) -> None:
        """Add a partition to those with news for the caller, or remove it from them."""
        tp = state.topic_partition
        if not state.has_changes:
            self.line.pop(tp, None)
        elif tp not in self.line and tp in self.states:
            self.line[tp] = state
            self.effects.notify_caller = True

    def drained(self, state: PartitionState, now_ms: int) -> None:
        """Update a partition after the caller took records of it, or its error."""
        self._arrivals(now_ms).leave(state)
        self._changed(state)

    def _changed(self, state: PartitionState) -> None:
        self.touch(state)
        if state.source is not None and not state.is_pumped:
            self.effects.wake.add(state.source)
        self.effects.resolve_positions |= state.is_asking
        self.effects.refresh_metadata |= state.leader is None

    def _on_reply(self, state: PartitionState) -> None:
        """Stop gathering for a partition: it has a response, or can't have one now."""
        if self.fresh.pop(state.topic_partition, None) is not None:
            self.effects.notify_caller = True

    def _asking(self, lookup: PositionLookup) -> PartitionState | None:
        state = self.states.get(lookup.topic_partition)
        return state if state is not None and state.lookup is lookup else None

    def _here(self, partitions: Iterable[TopicPartition]) -> Iterator[PartitionState]:
        for tp in partitions:
            state = self.states.get(tp)
            if state is not None:
                yield state

    def _arrivals(self, now_ms: int) -> Arrivals:
        return Arrivals(self.settings, now_ms, self.effects)

    def _lead(self, state: PartitionState) -> None:
        """Set the leader of a partition from the cluster view."""
        view, tp = self._view, state.topic_partition
        if view is None:
            self.effects.refresh_metadata = True
            return
        state.is_of(view.topic_ids.get(tp.topic))
        state.lead_by(view.leaders.get(tp), view.leader_epochs.get(tp, NO_EPOCH))
        state.named_epoch = view.named_epochs.get(tp, NO_EPOCH)
        is_refused = view.errors.get(tp.topic) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if is_refused and state.phase in (Phase.FETCHING, Phase.RESETTING):
            state.stop_with(PendingError(TopicAuthorizationFailed((tp.topic,)), is_retriable=True))
        self._assign_fetcher(state)
        self._changed(state)

    def _assign_fetcher(self, state: PartitionState, now_ms: int | None = None) -> None:
        """Assign a partition to the fetcher of its leader, or of its preferred replica."""
        source = state.leader
        if state.replica is not None and self._view is not None:
            near = self._view.brokers.get(state.replica)
            if near is None:
                # Refresh and pause: the leader would name it again at once, over and over.
                state.replica = None
                self.effects.refresh_metadata = True
                if now_ms is not None:
                    state.fail(now_ms, self.settings.retry_backoff_max_ms)
            source = near or source
        if source != state.source:
            self._move(state, source)

    def _move(self, state: PartitionState, source: Broker | None) -> None:
        """Move a partition to another broker; a request in flight, which may hang, is ignored."""
        tp = state.topic_partition
        self._drop_requests(state)
        if state.source is not None:
            of_source = self._sources[state.source]
            of_source.pop(tp, None)
            if not of_source:
                del self._sources[state.source]
        state.source = source
        if source is not None:
            self._sources.setdefault(source, OrderedDict())[tp] = state
            self.effects.wake.add(source)

    def _drop_requests(self, state: PartitionState) -> None:
        self._take_back(state)
        state.drop_requests()

    def _take_back(self, state: PartitionState) -> None:
        """Have a partition taken back that a native loop fetches."""
        # It may have been given up just now: its fetcher does not know that yet.
        if self.delegated.get(state.topic_partition) is state and state.source is not None:
            self.effects.wake.add(state.source)

    def end_turn(self, state: PartitionState) -> None:
        """Move a partition to the end of its broker's order, so that all get their turns."""
        if state.source is not None:
            self._sources[state.source].move_to_end(state.topic_partition)
