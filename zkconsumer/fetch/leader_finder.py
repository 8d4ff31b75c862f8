"""The thread that finds the leaders of partitions that have no fetcher, and owns the fetchers.

Source: Kafka 0.8.2.2 ``ConsumerFetcherManager`` and its ``LeaderFinderThread``. Only this thread
starts and ends fetch loops, so the map of them needs no lock. In the original a rebalance stops
every fetcher and waits for each; here it marks claims as given up, without a wait, and the fetchers
keep running.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from zkconsumer.assignment.java_order import string_hash
from zkconsumer.clock import Clock
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.refresh_pace import REFUSED_MS
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import AuthenticationFailed, ZkConsumerError, without_frames
from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.fetcher import LoopReport, PythonFetchLoop
from zkconsumer.fetch.leader_epochs import (
    Doubt,
    Doubts,
    EpochEnds,
    LeaderEpochs,
    is_open,
    truncated_to,
)
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import Dial
from zkconsumer.observe import SILENT, Observation, PositionReset
from zkconsumer.observe import LeaderLost as LeaderLostEvent
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.repeats import Repeats
from zkconsumer.scope import Mailbox, ThreadScope

log = logging.getLogger(__name__)

_FINDING = "finding leaders"


_MIN_INT = -(2**31)
_MOST_DOUBTS = 5
"""How often the lookup of a new leader's epoch is retried before its log is read anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderLookup:
    """Functions by which the leader finder reaches the cluster.

    Attributes:
        list_brokers: returns the live brokers; may be stale while ZooKeeper is unavailable.
        read_metadata: reads the metadata of topics from one of these brokers.
        dial: connects to a broker.
        epoch_ends: looks up where epochs ended; leaders before 2.3 don't report that.
        stop: ends calls of ``read_metadata``, ``dial`` and ``epoch_ends`` in any thread: a broker
            that hangs must not hold up a shutdown.
    """

    list_brokers: Callable[[], Sequence[Broker]]
    read_metadata: Callable[[Sequence[Broker], Sequence[str]], ClusterView]
    dial: Dial
    epoch_ends: Callable[[Doubts], EpochEnds] = lambda _doubts: {}
    stop: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, eq=False)
class _Find:
    claim: PartitionClaim
    fetch_offset: int | None
    jumps: bool = False
    doubts: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _LeaderEnds:
    """The ends of epochs in the logs of a new leader, for partitions found in a view."""

    finds: Sequence[_Find]
    view: ClusterView
    ends: EpochEnds


class LeaderFinder:
    """Find leaders and hand partitions to the fetch loop of each, until they are given up.

    Args:
        access: looks up brokers and leaders.
        settings: fetch settings.
        scope: owns the threads; that of the leader finder starts with the first partitions.
        clock: for pauses.
        on_death: called on the leader finder's thread with the error that ended it: fetching
            stops. (A fetcher that dies gives its partitions back, and is replaced.)
        observation: observes responses, lost leaders and resets.
    """

    def __init__(
        self,
        *,
        access: LeaderLookup,
        settings: FetchSettings,
        scope: ThreadScope,
        clock: Clock,
        on_death: Callable[[BaseException], None] | None = None,
        observation: Observation = SILENT,
    ) -> None:
        self._observation = observation
        self._access = access
        self._settings = settings
        self._scope = scope
        self._clock = clock
        self._on_death = on_death
        # A loop: it has died. None: check for claims that were given up, and for ``stop``.
        self._mailbox: Mailbox[_Find | _LeaderEnds | PythonFetchLoop | None] = Mailbox()
        self._missing: dict[TopicPartition, _Find] = {}
        self._epochs = LeaderEpochs()
        # By broker, and one of ``num.consumer.fetchers``.
        self._loops: dict[tuple[Broker, int], PythonFetchLoop] = {}
        self._next_pass_ms = 0
        self._started = False
        self._stopping = False
        self._was_believed = False
        self._reported: set[ChunkSink] = set()
        self._repeats = Repeats(log, clock)

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """Fetch partitions, each from its offset (None: by the reset policy). Thread: control."""
        if not self._started:
            self._started = True
            self._scope.spawn("leader-finder", self.run, stop=self.stop, on_error=self._on_death)
        for claim, fetch_offset in claims:
            self._mailbox.put(_Find(claim, fetch_offset))

    def wake(self) -> None:
        """Release claims that were given up. Never waits. Thread: any."""
        self._mailbox.put(None)

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._stopping = True
        self._access.stop()
        self._mailbox.put(None)

    def brokers(self) -> tuple[Broker, ...]:
        """Return the brokers that are fetched from, each once. Thread: any."""
        return tuple(dict.fromkeys(broker for broker, _ in list(self._loops)))

    def run(self) -> None:
        """Find leaders, hand partitions over, and close idle fetchers, until ``stop``."""
        while not self._stopping:
            self._turn()
        for loop in self._loops.values():
            loop.stop()

    def _turn(self) -> None:
        self._take(self._mailbox.get(self._wait_ms()))
        self._repeats.tick()
        for message in self._mailbox.drain():
            self._take(message)
        self._drop_inactive()
        if not self._missing:
            # A fetcher of a partition whose leader is looked up may get it back.
            self._close_idle()
        if self._missing and self._wait_ms() == 0:
            pause_ms = self._find_leaders()
            self._next_pass_ms = self._clock.now_ms() + pause_ms
            self._close_idle()

    def _wait_ms(self) -> int | None:
        if not self._missing:
            return self._repeats.due_ms()
        return max(0, self._next_pass_ms - self._clock.now_ms())

    def _take(self, message: _Find | _LeaderEnds | PythonFetchLoop | None) -> None:
        if isinstance(message, _Find):
            if not message.claim.active:
                return  # a late report; the partition's new claim may wait here already
            self._missing[message.claim.topic_partition] = message
        elif isinstance(message, _LeaderEnds):
            self._take_ends(message)
        elif message is not None:
            for key in [key for key, loop in self._loops.items() if loop is message]:
                del self._loops[key]

    def _drop_inactive(self) -> None:
        gone = [tp for tp, find in self._missing.items() if not find.claim.active]
        for tp in gone:
            del self._missing[tp]
        self._epochs.forget_inactive()
        for loop in self._loops.values():
            loop.wake()

    def _find_leaders(self) -> int:
        """Look up leaders and hand over partitions; return the wait until the next lookup."""
        topics = sorted({tp.topic for tp in self._missing})
        try:
            view = self._access.read_metadata(self._access.list_brokers(), topics)
        except ZkConsumerError as error:
            if not self._stopping:
                text = f"no leader found yet for {len(self._missing)} partitions: {error}"
                self._repeats.happened(_FINDING, text)
            if isinstance(error, AuthenticationFailed):
                self._report_refused(error)
                return max(self._settings.leader_backoff_ms, REFUSED_MS)
            return self._settings.leader_backoff_ms
        self._was_believed = True
        self._repeats.works(_FINDING)
        found = [find for tp in view.leaders if (find := self._missing.pop(tp, None)) is not None]
        in_doubt: dict[Broker, dict[TopicPartition, tuple[_Find, Doubt]]] = {}
        for find in found:
            tp, doubt = find.claim.topic_partition, None
            if find.fetch_offset is not None:
                doubt = self._epochs.doubtful(find.claim, view)
            if doubt is None:
                self._hand_over(find, view)
            else:
                in_doubt.setdefault(view.leaders[tp], {})[tp] = find, doubt
        for leader, in_doubt_there in in_doubt.items():
            self._look_up_ends(leader, in_doubt_there, view)
        self._log_missing(view.errors)
        return self._settings.leader_backoff_ms

    def _hand_over(self, find: _Find, view: ClusterView) -> None:
        tp = find.claim.topic_partition
        self._epochs.note(find.claim, view)
        loop = self._loop_for(tp, view.leaders[tp])
        loop.add(find.claim, find.fetch_offset, jumps=find.jumps)

    def _look_up_ends(
        self,
        leader: Broker,
        in_doubt: Mapping[TopicPartition, tuple[_Find, Doubt]],
        view: ClusterView,
    ) -> None:
        """Look up whether a leader's logs were truncated, in a thread of its own: it may hang."""
        finds = [find for find, _ in in_doubt.values()]
        doubts = {tp: doubt for tp, (_, doubt) in in_doubt.items()}
        silence: EpochEnds = dict.fromkeys(doubts, ErrorCode.NETWORK_EXCEPTION)

        def run() -> None:
            try:
                ends = self._access.epoch_ends(doubts)
            except ZkConsumerError as error:
                log.info("could not check yet whether logs were truncated: %s", error)
                ends = silence
            self._mailbox.put(_LeaderEnds(finds, view, ends))

        self._scope.spawn(
            f"epochs-{leader.id}",
            run,
            stop=self._access.stop,
            on_error=lambda _error: self._mailbox.put(_LeaderEnds(finds, view, silence)),
        )

    def _take_ends(self, lookup: _LeaderEnds) -> None:
        """Hand over partitions, each from where its leader's log agrees with what was read."""
        for find in lookup.finds:
            tp, end = find.claim.topic_partition, lookup.ends.get(find.claim.topic_partition)
            if not find.claim.active:
                continue
            if not isinstance(end, int):
                self._hand_over(self._compared(find, end), lookup.view)
            elif is_open(end) and find.doubts < _MOST_DOUBTS:
                self._missing[tp] = replace(find, doubts=find.doubts + 1)
            else:
                log.warning(
                    "%s: the new leader %s does not report whether its log was truncated: "
                    "continuing at offset %d; if it was, the records that replaced "
                    "the lost ones are missed",
                    f"{tp}",
                    lookup.view.leaders[tp],
                    find.fetch_offset,
                )
                self._hand_over(find, lookup.view)

    def _compared(self, find: _Find, end: EpochEnd | None) -> _Find:
        """Move the offset back to where the new leader's log was truncated, if it was."""
        claim, read_until = find.claim, find.fetch_offset
        tp = claim.topic_partition
        assert read_until is not None
        offset = truncated_to(read_until, end)
        if offset == read_until:
            return find
        log.warning(
            "%s: an unclean leader election truncated the log to offset %d, after it was read up "
            "to %d: continuing at %d, with the records that replace the lost ones",
            f"{tp}",
            offset,
            read_until,
            offset,
        )
        self._observation.report(PositionReset(tp, read_until))
        return _Find(claim, offset, jumps=True)

    def _report_refused(self, error: AuthenticationFailed) -> None:
        """Have each stream raise, once, that brokers reject our credentials; the log repeats it.

        No stream raises it once any broker has accepted them: a broker that has just started may
        know no users yet, and partitions of other brokers are read meanwhile.
        """
        if self._was_believed:
            return
        sinks = {find.claim.sink for find in self._missing.values()}
        for sink in sinks - self._reported:
            sink.fail(without_frames(error))
        self._reported |= sinks

    def _log_missing(self, errors: Mapping[str, int]) -> None:
        for topic in sorted({tp.topic for tp in self._missing}):
            code = errors.get(topic, 0)
            reason = error_name(code) if code else "no leader now"
            log.info("topic %s: still without a leader: %s", topic, reason)

    def _loop_for(self, tp: TopicPartition, leader: Broker) -> PythonFetchLoop:
        number = fetcher_number(tp, self._settings.fetcher_count)
        loop = self._loops.get((leader, number))
        if loop is None:
            made = loop = self.new_loop(leader, self._loop_lost)
            self._scope.spawn(
                f"fetcher-{number}-{leader.id}",
                loop.run,
                stop=loop.stop,
                on_error=lambda _error: self._mailbox.put(made),
            )
            self._loops[leader, number] = loop
        return loop

    def new_loop(self, broker: Broker, report: LoopReport) -> PythonFetchLoop:
        """Create a broker's fetch loop, of this process's engine."""
        return loop_class()(
            broker,
            report,
            settings=self._settings,
            dial=self._access.dial,
            observation=self._observation,
            clock=self._clock,
            repeats=self._repeats,
        )

    def _loop_lost(self, lost: tuple[LeaderUnusable, ...]) -> None:
        """Handle a loop's report; runs on its thread."""
        if not lost:
            self._mailbox.put(None)
        for loss in lost:
            if loss.claim.active and not self._stopping:
                log.info(
                    "%s: looking up its leader again: %s",
                    f"{loss.claim.topic_partition}",
                    loss.reason,
                )
                tp = loss.claim.topic_partition
                self._observation.report(LeaderLostEvent(tp, loss.reason))
                self._mailbox.put(_Find(loss.claim, loss.fetch_offset, loss.jumps))

    def _close_idle(self) -> None:
        idle = [key for key, loop in self._loops.items() if loop.partition_count() == 0]
        for key in idle:
            self._loops.pop(key).stop()


def fetcher_number(tp: TopicPartition, fetcher_count: int) -> int:
    """Return the number of this partition's fetcher, from 0 to ``fetcher_count`` - 1.

    Source: Kafka 0.8.2.2 ``AbstractFetcherManager.getFetcherId``.
    """
    mixed = (31 * string_hash(tp.topic) + tp.partition) & 0xFFFFFFFF
    signed = mixed - 2**32 if mixed >= 2**31 else mixed
    return (0 if signed == _MIN_INT else abs(signed)) % fetcher_count


def loop_class(engine: Engine = ENGINE) -> type[PythonFetchLoop]:
    """Return the loop class of an engine.

    The native loop extends the Python loop, and runs as one if a connection has no descriptor or a
    queue is not native.
    """
    if engine is Engine.PURE:
        return PythonFetchLoop
    # The native core may not be installed.
    from zkconsumer.fetch.native_loop import NativeFetchLoop  # noqa: PLC0415

    return NativeFetchLoop
