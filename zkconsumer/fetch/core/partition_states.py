"""All partitions of one consumer: who fetches which, who has news, what is to be asked. Pure.

One at a time may use it: the shell holds a lock around each call, and acts on ``effects`` after.
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
from zkconsumer.fetch.core.partition_state import PartitionState, Phase, PositionLookup, Trouble
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.fetch.core.starts import NO_EPOCH, Start
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.offsets.topic_checked import former_topic_warnings
from zkconsumer.wire.messages.fetch import FetchedPartition

Arrived = tuple[PartitionRequest, FetchedPartition, Unpacked]
"""A partition's part of an answer: what was asked, what came, and what it was unpacked to."""


class PartitionStates:
    """Thread: one at a time.

    Args:
        settings: how to fetch.

    Attributes:
        states: all partitions.
        line: those with news for the caller, in the order of their turns.
        failures: what brokers told all of us (``AuthenticationFailed``), to be raised once each.
        fresh: those about which no broker has answered a fetch yet; see ``gathering``.
        gathering_since_ms: since when what waits is held back for these; None: it is not.
        effects: what the shell is to do; taken with ``take_effects``.
    """

    def __init__(self, settings: PollFetchSettings) -> None:
        self.settings = settings
        self.states: dict[TopicPartition, PartitionState] = {}
        self.line: OrderedDict[TopicPartition, PartitionState] = OrderedDict()
        self.failures: OrderedDict[Broker, ZkConsumerError] = OrderedDict()
        self.fresh: dict[TopicPartition, PartitionState] = {}
        self.gathering_since_ms: int | None = None
        self.effects = Effects()
        self._sources: dict[Broker, OrderedDict[TopicPartition, PartitionState]] = {}
        self._view: ClusterView | None = None

    def take_effects(self) -> Effects:
        """What has gathered, once."""
        effects, self.effects = self.effects, Effects()
        return effects

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions; those that are here stay as they are."""
        for tp in partitions:
            if tp not in self.states:
                state = self.states[tp] = self.fresh[tp] = PartitionState(tp)
                self._lead(state)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions, with all that waits."""
        for tp in partitions:
            state = self.states.pop(tp, None)
            if state is not None:
                state.drop_requests()
                state.lookup = None
                self.line.pop(tp, None)
                self._on_reply(state)
                self._move(state, None)

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """See ``PollEngine``."""
        state = self.states[tp]
        state.seek(start)
        self._changed(state)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``; an answer that is on its way is kept."""
        for state in self._here(partitions):
            state.is_paused = True
            self.touch(state)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``."""
        for state in self._here(partitions):
            state.is_paused = False
            self._changed(state)

    def see(self, view: ClusterView) -> None:
        """Take a new view of the cluster."""
        self._view = view
        former: dict[TopicPartition, int] = {}
        for tp, state in self.states.items():
            position = state.position
            if not state.is_of(view.topic_ids.get(tp.topic)):
                # What is being asked about it may be answered about the former topic.
                state.lookup = None
                if position is not None:
                    former[tp] = position.offset
                    self._arrivals(0).made_anew(state)
            self._lead(state)
        follows = "reading it from its start"
        if self.settings.reset is None:
            follows = "it is the caller's to say where to go on"
        for topic, text in former_topic_warnings(former, follows).items():
            self.effects.notes.append(f"{self.settings.owner}: topic {topic} {text}")

    def sources(self) -> Iterable[Broker]:
        """The brokers that partitions are fetched from."""
        return self._sources.keys()

    def of(self, broker: Broker) -> OrderedDict[TopicPartition, PartitionState]:
        """The partitions that are fetched from a broker, in the order of their turns there."""
        return self._sources.get(broker, OrderedDict())

    def expire_replicas(self, broker: Broker, now_ms: int) -> None:
        """Ask leaders again which replica is the nearest, when the last answer has grown old."""
        for state in list(self.of(broker).values()):
            if state.replica is not None and state.replica_until_ms <= now_ms:
                state.replica = None
                self._place(state)

    def arrived(self, responses: Iterable[Arrived], now_ms: int) -> None:
        """Take what a broker answered, as far as it still counts."""
        arrivals = self._arrivals(now_ms)
        for requested, response, unpacked in responses:
            state = self.states.get(requested.topic_partition)
            if state is None or state.requested is not requested:
                continue
            arrivals.fetched(state, requested, response, unpacked)
            self._on_reply(state)
            if len(response.records):
                self._end_turn(state)
            self._place(state, now_ms)
            if state.packed is None:
                state.on_response()
            self.touch(state)

    def unanswered(self, requests: Iterable[PartitionRequest]) -> None:
        """No answer about these, or none with news: they may be asked again."""
        for requested in requests:
            state = self.states.get(requested.topic_partition)
            if state is not None and state.requested is requested:
                # What is packed still was answered.
                if state.packed is None:
                    state.on_response()
            elif state is not None and state.early is requested:
                state.early = None

    def counts(self, requested: PartitionRequest) -> bool:
        """Whether an answer to it would still be taken."""
        state = self.states.get(requested.topic_partition)
        return state is not None and state.requested is requested

    def broker_lost(self, broker: Broker) -> None:
        """A broker can't be reached: let leaders choose replicas anew, and look for leaders."""
        for state in list(self.of(broker).values()):
            self._on_reply(state)
            if state.replica is not None:
                state.replica = None
                self._place(state)
        self.effects.refresh_metadata = True

    def broker_refuses(self, broker: Broker, error: ZkConsumerError) -> None:
        """A broker will have nothing to do with us; the caller is to hear it."""
        self.failures[broker] = without_frames(error)
        self.effects.notify_caller = True

    def on_reset(self, lookup: PositionLookup, found: TimedOffset | int, now_ms: int) -> None:
        """Take where a policy points, or an error code."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).reset(state, found)
            self._changed(state)

    def on_edges(self, lookup: PositionLookup, start: int, end: int, now_ms: int) -> None:
        """Take where a log begins and ends."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).edges(state, lookup, start, end)
            self._changed(state)

    def on_epoch_end(self, lookup: PositionLookup, end: EpochEnd | int | None, now_ms: int) -> None:
        """Take where an epoch ended."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).epoch_end(state, lookup, end)
            self._changed(state)

    def on_error_code(self, lookup: PositionLookup, code: int, now_ms: int) -> None:
        """Take an error code instead of any of these."""
        state = self._asking(lookup)
        if state is not None:
            self._arrivals(now_ms).refused(state, code)
            self._changed(state)

    def give_up_lookup(self, lookup: PositionLookup, error: ZkConsumerError, now_ms: int) -> None:
        """Whoever was asked will not say it: the caller is to hear that, before the next try."""
        state = self._asking(lookup)
        if state is not None:
            state.fail(now_ms, self.settings.retry_backoff_max_ms)
            state.get_stuck(Trouble(error, passes=True))
            self.touch(state)

    def lacks_leaders(self) -> bool:
        """Whether a partition waits for somebody to lead it."""
        return any(
            state.leader is None and not state.is_paused
            for state in self.states.values()
            if state.phase in (Phase.FETCHING, Phase.RESETTING, Phase.DOUBTFUL)
        )

    def touch(self, state: PartitionState) -> None:
        """Put it in the caller's line, or take it out."""
        tp = state.topic_partition
        if not state.has_changes:
            self.line.pop(tp, None)
        elif tp not in self.line and tp in self.states:
            self.line[tp] = state
            self.effects.notify_caller = True

    def drained(self, state: PartitionState, now_ms: int) -> None:
        """The caller took of it, or heard its trouble."""
        self._arrivals(now_ms).leave(state)
        self._changed(state)

    def _changed(self, state: PartitionState) -> None:
        self.touch(state)
        if state.source is not None:
            self.effects.wake.add(state.source)
        self.effects.resolve_positions |= state.is_asking
        self.effects.refresh_metadata |= state.leader is None

    def _on_reply(self, state: PartitionState) -> None:
        """Nobody is to wait for it: there is an answer, or no hope of one."""
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
        """Note who leads it, by the view."""
        view, tp = self._view, state.topic_partition
        if view is None:
            self.effects.refresh_metadata = True
            return
        state.is_of(view.topic_ids.get(tp.topic))
        state.lead_by(view.leaders.get(tp), view.leader_epochs.get(tp, NO_EPOCH))
        state.named_epoch = view.named_epochs.get(tp, NO_EPOCH)
        is_refused = view.errors.get(tp.topic) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if is_refused and state.phase in (Phase.FETCHING, Phase.RESETTING):
            state.get_stuck(Trouble(TopicAuthorizationFailed((tp.topic,)), passes=True))
        self._place(state)
        self._changed(state)

    def _place(self, state: PartitionState, now_ms: int | None = None) -> None:
        """Let the right broker's fetcher have it."""
        source = state.leader
        if state.replica is not None and self._view is not None:
            near = self._view.brokers.get(state.replica)
            if near is None:
                # Else the leader would name it again at once, and again.
                state.replica = None
                self.effects.refresh_metadata = True
                if now_ms is not None:
                    state.fail(now_ms, self.settings.retry_backoff_max_ms)
            source = near or source
        if source != state.source:
            self._move(state, source)

    def _move(self, state: PartitionState, source: Broker | None) -> None:
        """What the last fetcher has in flight counts no more: that broker may never answer."""
        tp = state.topic_partition
        state.drop_requests()
        if state.source is not None:
            of_source = self._sources[state.source]
            of_source.pop(tp, None)
            if not of_source:
                del self._sources[state.source]
        state.source = source
        if source is not None:
            self._sources.setdefault(source, OrderedDict())[tp] = state
            self.effects.wake.add(source)

    def _end_turn(self, state: PartitionState) -> None:
        """Put it at the end of its broker's line, so that each comes to its right."""
        if state.source is not None:
            self._sources[state.source].move_to_end(state.topic_partition)
